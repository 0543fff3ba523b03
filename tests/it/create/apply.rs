//! Apply and delete of a cluster, and the provider cluster of a SecretBinding.

use crate::support::kvshoot::Kvshoot;
use crate::support::provider::{self, Provider};

#[test]
fn apply_creates_machines_in_all_zones_and_a_second_apply_changes_nothing() {
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

#[test]
fn the_secret_of_a_secret_binding_selects_the_provider() {
    let (source, target) = (Provider::new(), Provider::new());
    let kubeconfig = std::fs::read_to_string(source.kubeconfig()).unwrap();
    let kubeconfig_for = |namespace: &str| {
        let mut config: serde_yaml::Value = serde_yaml::from_str(&kubeconfig).unwrap();
        config["contexts"][0]["context"]["namespace"] = namespace.into();
        serde_yaml::to_string(&config).unwrap()
    };
    let secret = serde_json::json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "provider" },
        "stringData": { "kubeconfig": kubeconfig_for(&target.namespace) },
    });
    source.create(provider::SECRET, secret);
    let manifest = std::fs::read_to_string("examples/minimal.yaml").unwrap();
    let manifest = manifest.replacen("\n  region:", "\n  secretBindingName: way\n  region:", 1);
    let binding = "---\napiVersion: core.gardener.cloud/v1beta1\nkind: SecretBinding\nmetadata:\n  name: way\nsecretRef:\n  name: provider\n";
    let kvshoot = Kvshoot::new()
        .file("config", &kubeconfig_for(&source.namespace))
        .file("shoot.yaml", &(manifest + binding));
    let config = kvshoot.home().join("config").display().to_string();
    let output = kvshoot
        .env("KUBECONFIG", &config)
        .run("apply -f shoot.yaml");
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(source.names(provider::VM), Vec::<String>::new());
    assert_eq!(target.names(provider::VM).len(), 1);
}
