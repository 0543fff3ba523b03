//! Rotations of a highly available shoot while clients write.

use crate::support::provider::Provider;
use crate::support::shoot_api::ShootApi;
use crate::support::shoot_api::writer::{lost, write_during};
use crate::support::shoots::Manifest;
use serde_json::json;
use std::time::Duration;

#[test]
#[ignore = "second tier: minutes of rolling updates; who trusts whom in each step is in the first tier"]
fn writers_lose_nothing_while_the_cas_of_a_highly_available_shoot_are_rotated() {
    const NAME: &str = "steady";
    let provider = Provider::new();
    let manifest = Manifest::small(NAME).with(|it| {
        let given = &mut it.shoot["spec"]["controlPlane"]["highAvailability"];
        given["failureTolerance"]["type"] = json!("node");
    });
    provider.assert_applied(&manifest, "created");
    let kvshoot = provider.kvshoot_with(&manifest);
    let mut writers = Vec::new();
    for credential in ["etcd-ca", "ca"] {
        for phase in ["start", "complete"] {
            // Of the phase before, since that works until the end of this one, or of none.
            let api = ShootApi::connect(&provider, &kvshoot, NAME);
            let writer = write_during(&api, &format!("{credential}-{phase}"), || {
                let output = kvshoot.run(&format!("rotate {NAME} {credential} --{phase} --yes"));
                assert_eq!(output.code, 0, "{output}");
            });
            writers.push(writer);
        }
    }
    let api = ShootApi::connect(&provider, &kvshoot, NAME);
    assert_eq!(lost(&api, &writers), Vec::<&str>::new());
    for writer in &writers {
        writer.assert_gap(Duration::from_secs(8));
    }
    provider.assert_unchanged(&manifest);
}
