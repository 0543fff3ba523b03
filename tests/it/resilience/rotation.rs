//! Rotations of a highly available shoot, and another version of etcd, while clients write.

use super::etcd;
use crate::support::provider::{POD, Provider};
use crate::support::shoot_api::ShootApi;
use crate::support::shoot_api::writer::{lost_or_reordered, write_during};
use serde_json::json;
use std::time::Duration;

/// The etcd of the sandbox, whatever the tag.
pub(super) const PATCHED: &str = "registry.k8s.io/etcd:3.6.99-0";

#[test]
#[ignore = "second tier: minutes of rolling updates; who trusts whom in each step is in the first tier"]
fn writers_lose_nothing_while_everything_is_rotated_and_etcd_is_upgraded() {
    const NAME: &str = "steady";
    let provider = Provider::new();
    let manifest = etcd::manifest(NAME, "node");
    provider.assert_applied(&manifest, "created");
    let kvshoot = provider.kvshoot_with(&manifest);
    let mut writers = Vec::new();
    for phase in ["start", "complete"] {
        // Of the phase before, since that works until the end of this one, or of none.
        let api = ShootApi::connect(&provider, &kvshoot, NAME);
        writers.push(write_during(&api, &format!("rotation-{phase}"), || {
            let output = kvshoot.run(&format!("rotate {NAME} all --{phase} --yes"));
            assert_eq!(output.code, 0, "{output}");
        }));
    }
    let api = ShootApi::connect(&provider, &kvshoot, NAME);
    let patched = manifest.with(|it| {
        it.profile["spec"]["providerConfig"]["componentImages"] = json!({ "etcd": PATCHED });
    });
    writers.push(write_during(&api, "upgrade", || {
        provider.assert_applied(&patched, "configured");
    }));
    assert_patched(&provider);
    assert_eq!(lost_or_reordered(&api, &writers), Vec::<&str>::new());
    for (writer, limit) in writers.iter().zip([3, 3, 1]) {
        writer.assert_gap(Duration::from_secs(limit));
    }
    provider.assert_unchanged(&patched);
}

/// Three members of etcd have the other image.
pub(super) fn assert_patched(provider: &Provider) {
    let pods = provider.list(POD).into_iter();
    let images = pods.map(|it| it.data["spec"]["containers"][0]["image"].clone());
    assert_eq!(images.filter(|it| it == PATCHED).count(), 3);
}
