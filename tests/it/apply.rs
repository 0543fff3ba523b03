//! The main job: from a manifest to machines that run, and nothing left after delete.

use crate::provider::{self, Provider};

#[test]
fn an_apply_makes_machines_in_all_zones_and_a_second_one_changes_nothing() {
    let provider = Provider::new();
    let manifest = std::fs::read_to_string("examples/three-zones.yaml").unwrap();
    let kvshoot = provider.kvshoot().file("shoot.yaml", &manifest);
    let first = kvshoot.run("apply -f shoot.yaml");
    assert_eq!(
        (first.code, first.out.as_str()),
        (0, "shoot.core.gardener.cloud/three-zones created\n"),
        "{first}"
    );
    assert_eq!(provider.names(provider::VM).len(), 3);
    let second = kvshoot.run("apply -f shoot.yaml");
    assert_eq!(
        (second.code, second.out.as_str()),
        (0, "shoot.core.gardener.cloud/three-zones unchanged\n"),
        "{second}"
    );
    let deleted = kvshoot.run("delete three-zones --yes");
    assert_eq!(deleted.code, 0, "{deleted}");
    for kind in [
        provider::VM,
        provider::DATA_VOLUME,
        provider::SECRET,
        provider::LEASE,
        provider::CLAIM,
    ] {
        assert_eq!(provider.names(kind), Vec::<String>::new(), "{}", kind.2);
    }
}
