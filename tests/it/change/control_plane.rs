//! Edits of the control plane of a living cluster: machines and data stay, or the edit is refused.

use crate::support::provider::{self, Provider, Resource};
use crate::support::shoot_api::ShootApi;
use crate::support::shoots::Manifest;
use serde_json::{Value, json};

const NAME: &str = "planes";
const CONFIG_MAP: Resource = Resource("", "v1", "ConfigMap");
const SECRET: Resource = Resource("", "v1", "Secret");

#[test]
#[ignore = "second tier: nine applies; unit tests plan each of these edits"]
fn edits_of_the_control_plane_keep_machines_and_data_or_are_refused() {
    let provider = Provider::new();
    provider.assert_applied(&Manifest::small(NAME), "created");
    let content = json!({ "metadata": { "name": "keep" }, "stringData": { "a": "b" } });
    api(&provider).create(SECRET, "default", content);
    settings_of_the_api_server_keep_machines(&provider);
    another_exposure_keeps_machines(&provider);
    another_node_address_replaces_machines_and_is_not_taken_away(&provider);
}

fn api(provider: &Provider) -> ShootApi<'_> {
    ShootApi::connect(provider, &provider.kvshoot(), NAME)
}

fn config(settings: Value) -> Manifest {
    let mut config = json!({
        "apiVersion": "kubevirt.provider.extensions.gardener.cloud/v1alpha1",
        "kind": "ControlPlaneConfig",
    });
    let given = settings.as_object().unwrap().clone();
    config.as_object_mut().unwrap().extend(given);
    Manifest::small(NAME).with(|it| it.shoot["spec"]["provider"]["controlPlaneConfig"] = config)
}

/// Applies an edit that keeps the machines, and asserts that they, their node and the data are there.
fn assert_kept(provider: &Provider, edit: &Manifest) {
    let machines = provider.uids();
    provider.assert_applied(edit, "configured");
    assert_eq!(provider.uids(), machines);
    provider.assert_applied(edit, "unchanged");
    // After a restart of the API server, konnectivity's agents connect again.
    let wait = format!("wait {NAME} --timeout 3m");
    let output = provider.kvshoot().run(&wait);
    assert_eq!(output.code, 0, "{output}");
}

fn assert_data(provider: &Provider) {
    let api = api(provider);
    let kept = api.get(SECRET, "default", "keep");
    assert_eq!(kept.data["data"]["a"], "Yg==");
    assert_eq!(api.nodes().len(), 1);
}

fn settings_of_the_api_server_keep_machines(provider: &Provider) {
    let policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None}]\n";
    let policy = json!({ "metadata": { "name": "audit" }, "data": { "policy": policy } });
    provider.create(CONFIG_MAP, policy);
    let server = |settings: Value| {
        Manifest::small(NAME).with(|it| it.shoot["spec"]["kubernetes"]["kubeAPIServer"] = settings)
    };
    let audit = json!({ "auditPolicy": { "configMapRef": { "name": "audit" } } });
    let oidc = json!({ "issuerURL": "https://issuer.example.org", "clientID": "kubernetes" });
    let encryption = json!({ "resources": ["secrets"] });
    for settings in [
        json!({ "auditConfig": audit }),
        json!({ "auditConfig": audit, "oidcConfig": oidc }),
        json!({ "oidcConfig": oidc, "encryptionConfig": encryption }),
    ] {
        assert_kept(provider, &server(settings));
        assert_data(provider);
    }
    assert_kept(provider, &Manifest::small(NAME));
    assert_data(provider);
}

fn another_exposure_keeps_machines(provider: &Provider) {
    let node_port = json!({ "exposure": { "type": "NodePort", "address": "127.0.0.1" } });
    assert_kept(provider, &config(node_port));
    assert_kept(provider, &config(json!({ "exposure": { "type": "None" } })));
    assert_kept(
        provider,
        &config(json!({ "exposure": { "type": "LoadBalancer" } })),
    );
    assert_data(provider);
}

fn another_node_address_replaces_machines_and_is_not_taken_away(provider: &Provider) {
    let service = format!("shoot--local--{NAME}-kube-apiserver-external");
    let service = provider.get(provider::SERVICE, &service).unwrap();
    let ingress = &service.data["status"]["loadBalancer"]["ingress"][0];
    let address = ingress["ip"].as_str().expect("an address");
    let machines = provider.uids();
    let exposed = |exposure: &str| {
        config(json!({ "nodeAddress": address, "exposure": { "type": exposure } }))
    };
    let balanced = exposed("LoadBalancer");
    provider.assert_applied(&balanced, "configured");
    let replaced = provider.uids();
    assert!(replaced.keys().all(|it| !machines.contains_key(it)));
    provider.assert_applied(&balanced, "unchanged");
    assert_data(provider);

    let refused = provider.apply(&exposed("None"));
    assert_eq!(refused.code, 4, "{refused}");
    assert!(
        refused.err.contains("first apply another nodeAddress"),
        "{refused}"
    );
    let both = provider.apply(&config(json!({ "exposure": { "type": "None" } })));
    assert_eq!(both.code, 3, "{both}");
    assert!(
        both.err.contains("cannot be changed together with"),
        "{both}"
    );
    assert_eq!(provider.uids(), replaced);
    provider.assert_applied(&balanced, "unchanged");
}
