//! Deletion of a shoot with load balancers and volumes of its users.

use crate::support::accounts::may_attach_volumes;
use crate::support::provider::{self, Provider, Resource};
use crate::support::shoot_api::user_resources::create_user_resources;
use crate::support::shoot_api::{create, shoot_client};
use crate::support::shoots::Manifest;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::Client;
use kube::api::Api;
use serde_json::json;

const SERVICE: Resource = Resource("", "v1", "Service");
const DEPLOYMENT: Resource = Resource("apps", "v1", "Deployment");
const STATEFUL_SET: Resource = Resource("apps", "v1", "StatefulSet");

/// Creates a webhook without a backend, which rejects all changes of Services and PersistentVolumeClaims.
fn create_failing_webhook(provider: &Provider, client: &Client) {
    let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let webhook = json!({
        "metadata": { "name": "failing" },
        "webhooks": [{
            "name": "failing.example.org",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "clientConfig": { "service": { "namespace": "default", "name": "missing" } },
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE", "DELETE"],
                "resources": ["services", "persistentvolumeclaims"],
            }],
        }],
    });
    create(provider, &webhooks, webhook);
}

/// Lists all objects of the shoot, its users and controllers in the namespace.
fn inventory(provider: &Provider) -> Vec<String> {
    let own = provider.dump().into_keys();
    let kinds = [SERVICE, DEPLOYMENT, STATEFUL_SET];
    let more = kinds.into_iter().flat_map(|kind| {
        let names = provider.names(kind).into_iter();
        names.map(move |it| format!("{} {it}", kind.2))
    });
    own.chain(more).collect()
}

fn disks(provider: &Provider) -> Vec<String> {
    let disks = provider.list(provider::DATA_VOLUME).into_iter();
    let label = "csi-driver/cluster";
    let disks = disks.filter(|disk| {
        let labels = disk.metadata.labels.as_ref();
        labels.is_some_and(|labels| labels.contains_key(label))
    });
    disks.map(|it| it.metadata.name.unwrap()).collect()
}

#[test]
fn load_balancers_and_volumes_are_deleted_before_the_shoot() {
    let provider = Provider::new();
    // A class of the CloudProfile that no volume type uses.
    let classes = json!([{ "name": "local", "isDefaultClass": true }]);
    let manifest = Manifest::small("used")
        .with(|it| it.profile["spec"]["providerConfig"]["storageClasses"] = classes);
    provider.assert_applied(&manifest, "created");
    let client = shoot_client(&provider, "used");
    create_user_resources(&provider, &client);
    create_failing_webhook(&provider, &client);
    assert_eq!(disks(&provider).len(), 1);
    // A neighbor in the namespace.
    provider.create_other_vm("other");
    let driver = format!("{}-csi-controller", manifest.id());
    let machines = provider.names(provider::VM).into_iter();
    let attachable: Vec<_> = machines
        .filter(|it| may_attach_volumes(&provider, &driver, it))
        .collect();
    assert_eq!(attachable.len(), 1, "{attachable:?}");
    assert!(attachable[0].starts_with(&manifest.id()), "{attachable:?}");
    provider.delete(provider::VM, "other");
    provider.wait_for("the other machine to be deleted", |it| {
        it.get(provider::VM, "other").is_none()
    });
    let output = provider.kvshoot().run("delete used -y --timeout 5m");
    assert_eq!(output.code, 0, "{output}");
    assert!(!output.err.contains("Continue without"), "{output}");
    assert!(output.err.contains("(0 objects remain)"), "{output}");
    assert_eq!(inventory(&provider), [""; 0]);
}

/// Without the controllers inside. With `--keep-volumes` the volumes are kept until the next delete.
#[test]
#[ignore = "second tier: unit tests of the plan of deletion have it"]
fn a_shoot_without_an_api_server_can_be_deleted() {
    let provider = Provider::new();
    provider.assert_applied(&Manifest::small("dead"), "created");
    create_user_resources(&provider, &shoot_client(&provider, "dead"));
    let disks = disks(&provider);
    assert_eq!(disks.len(), 1);
    provider.delete(DEPLOYMENT, "shoot--local--dead-kube-apiserver");
    let kvshoot = provider.kvshoot();
    let output = kvshoot.run("delete dead -y --keep-volumes --timeout 5m");
    assert_eq!(output.code, 0, "{output}");
    let expected = format!("(0 objects remain; kept DataVolumes {}", disks[0]);
    assert!(output.err.contains(&expected), "{output}");
    let kept = [
        format!("DataVolume {}", disks[0]),
        format!("PersistentVolumeClaim {}", disks[0]),
    ];
    assert_eq!(inventory(&provider), kept);
    let output = kvshoot.run("delete dead -y --keep-volumes");
    assert_eq!(output.code, 7, "{output}");
    let output = kvshoot.run("wait dead --for deleted --timeout 0s");
    assert_eq!(output.code, 0, "{output}");

    let output = kvshoot.run("delete dead -y --timeout 5m");
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(inventory(&provider), [""; 0]);
}
