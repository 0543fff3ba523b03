//! The Deployment that runs `kvshoot keep`, with its service account.

use crate::support::cron_job::{documents, resource};
use crate::support::kvshoot::Kvshoot;
use crate::support::provider::{DEPLOYMENT, POD, Provider};
use crate::support::shoots::Manifest;
use serde_json::json;
use std::fs;

const EXAMPLE: &str = "examples/keep.yaml";

#[test]
fn the_deployment_in_the_examples_is_the_one_that_keep_prints() {
    let output = Kvshoot::new().run("keep --print -n shoots");
    assert_eq!(output.code, 0, "{output}");
    if std::env::var("SNAPSHOTS").is_ok_and(|it| it == "overwrite") {
        fs::write(EXAMPLE, &output.out).unwrap();
    }
    assert_eq!(fs::read_to_string(EXAMPLE).unwrap(), output.out);
    let line = "keep dev --print -n shoots --skip=expiry --skip drains --timeout 5m --image a:1";
    let deployment = documents(&Kvshoot::new().run(line).out).remove(5);
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let command = [
        "kvshoot",
        "keep",
        "dev",
        "--skip=drains",
        "--skip=expiry",
        "--timeout=300s",
    ];
    assert_eq!(container["command"], json!(command));
    assert_eq!(container["image"], "a:1");
    assert_eq!(deployment["metadata"]["name"], "kvshoot-keep-dev");
    for (line, message) in [
        ("keep --print", "a namespace is required"),
        ("keep --image a", "--print"),
        ("keep dev --all", "cannot be used with"),
        ("keep --skip all", "invalid value"),
    ] {
        let output = Kvshoot::new().run(line);
        assert_eq!(output.code, 2, "{output}");
        assert!(output.err.contains(message), "{output}");
    }
}

#[test]
fn the_printed_deployment_keeps_a_cluster() {
    let provider = Provider::new();
    let manifest = Manifest::small("kept");
    provider.assert_applied(&manifest, "created");
    let kvshoot = provider.kvshoot();
    let printed = kvshoot.run(&format!("keep --print -n {}", provider.namespace));
    for object in documents(&printed.out) {
        provider.create(resource(&object), object);
    }
    provider.wait_for("the cluster to be kept", |_| {
        kvshoot
            .run("status kept")
            .out
            .contains("  kept             by ")
    });
    let manager = "shoot--local--kept-kube-controller-manager";
    provider.delete(DEPLOYMENT, manager);
    provider.wait_for("the Deployment to be created again", |it| {
        let is_kept = |name: &str| name.starts_with("kvshoot-keep-");
        let pod = it.names(POD).into_iter().find(|it| is_kept(it)).unwrap();
        let log = format!("{}_{pod}_keep.log", it.namespace);
        let log = fs::read_to_string(it.pod_logs().join(log)).unwrap_or_default();
        log.contains("shoot.core.gardener.cloud/kept kept\n")
    });
    assert!(provider.get(DEPLOYMENT, manager).is_some());
    provider.delete(DEPLOYMENT, "kvshoot-keep");
}
