//! A restore lists what is newer than the backup.

use crate::support::provider::{self, Provider};
use crate::support::shoot_api::user_resources::create_user_resources;
use crate::support::shoot_api::{ShootApi, shoot_client};
use crate::support::shoots::Manifest;

#[test]
#[ignore = "second tier: a restore with machines and volumes; unit tests compare what is newer"]
fn machines_that_joined_after_the_backup_join_again_and_volumes_are_named() {
    const NAME: &str = "newer";
    let provider = Provider::new();
    let manifest = Manifest::small(NAME);
    provider.assert_applied(&manifest, "created");
    let backup = provider.kvshoot_with(&manifest);
    let output = backup.run(&format!("backup {NAME} --to there --with-plain-keys"));
    assert_eq!(output.code, 0, "{output}");

    let larger = manifest.clone().with_size(2);
    provider.assert_applied(&larger, "configured");
    create_user_resources(&provider, &shoot_client(&provider, NAME));
    let machines = provider.names(provider::VM);
    assert_eq!(machines.len(), 2);
    let from = backup.home().join("there").display().to_string();
    let kvshoot = provider.kvshoot_with(&larger);
    let restored = kvshoot.run(&format!("restore {NAME} --from {from} --yes"));
    assert_eq!(restored.code, 0, "{restored}");
    let told = [
        "Restarted 1 machine without a Node",
        "is newer than the backup: create a PersistentVolume with volumeHandle pvc-",
        "of Service default/web is newer than the backup",
        &format!("kubectl delete -n {} service ", provider.namespace),
    ];
    for told in told {
        assert!(restored.err.contains(told), "{told}\n{restored}");
    }
    assert_eq!(provider.names(provider::VM), machines);
    let api = ShootApi::connect(&provider, &kvshoot, NAME);
    assert_eq!(api.nodes(), machines);
    provider.assert_unchanged(&larger);
}
