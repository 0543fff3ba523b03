//! The CronJob of `gc`, with its service account.

use crate::support::accounts::{Rule, as_account, rules_in};
use crate::support::cron_job::{CRON_JOB, documents, resource, run_job};
use crate::support::kvshoot::Kvshoot;
use crate::support::provider::{self, NAMESPACE, POD, Provider};
use crate::support::shoots::Manifest;
use kube::api::PostParams;
use serde_json::json;
use std::fs;

const EXAMPLE: &str = "examples/gc.yaml";

#[test]
fn the_cronjob_in_the_examples_is_the_one_that_gc_prints() {
    let output = Kvshoot::new().run("gc --print-cronjob");
    assert_eq!(output.code, 0, "{output}");
    if std::env::var("SNAPSHOTS").is_ok_and(|it| it == "overwrite") {
        fs::write(EXAMPLE, &output.out).unwrap();
    }
    assert_eq!(fs::read_to_string(EXAMPLE).unwrap(), output.out);

    let line = "gc --print-cronjob -n shoots --schedule @hourly --orphans --timeout 5m --image registry.example/kvshoot:1";
    let output = Kvshoot::new().run(line);
    for object in &documents(&output.out) {
        assert_eq!(object["metadata"]["namespace"], "shoots", "{object}");
    }
    let job = documents(&output.out).remove(3);
    assert_eq!(job["spec"]["schedule"], "@hourly");
    let job = &job["spec"]["jobTemplate"]["spec"];
    assert_eq!(job["activeDeadlineSeconds"], 360);
    let container = &job["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "registry.example/kvshoot:1");
    let command = json!(["kvshoot", "gc", "--orphans", "--timeout=300s"]);
    assert_eq!(container["command"], command);

    for (line, message) in [
        ("gc --schedule @hourly", "--print-cronjob"),
        ("gc --print-cronjob --dry-run", "cannot be used with"),
        ("gc --print-cronjob --schedule 10m", "MINUTE HOUR DAY"),
    ] {
        let output = Kvshoot::new().run(line);
        assert_eq!(output.code, 2, "{output}");
        assert!(output.err.contains(message), "{output}");
    }
}

#[test]
#[ignore = "second tier: two clusters; the first tier runs gc itself, and the Job that evacuates"]
fn the_job_deletes_only_the_expired_cluster() {
    let provider = Provider::new();
    let kvshoot = provider.kvshoot();
    let printed = kvshoot.run("gc --print-cronjob").out;
    for object in documents(&printed) {
        provider.create(resource(&object), object);
    }
    for name in ["old", "young"] {
        provider.assert_applied(&Manifest::small(name), "created");
    }
    let expired = kvshoot.run("ttl old --until 2026-01-01T00:00:00Z");
    assert_eq!(expired.code, 0, "{expired}");

    let cron_job = provider.get(CRON_JOB, "kvshoot-gc").unwrap();
    let template = &cron_job.data["spec"]["jobTemplate"];
    let log = run_job(&provider, &json!({ "spec": cron_job.data["spec"] }), "gc");
    assert!(log.contains("Deleted shoot old in "), "{log}");
    let deleted = "(0 objects remain; Kubernetes deletes the Secrets with the record)";
    assert!(log.contains(deleted), "{log}");
    provider.wait_for("the Secrets to be deleted", |it| {
        let names = it.names(provider::SECRET);
        !names
            .iter()
            .any(|name| name.starts_with("shoot--local--old-"))
    });
    assert!(!log.contains("no permission to list"), "{log}");
    let remaining = kvshoot.run("list -o name").out;
    assert_eq!(remaining, "shoot.core.gardener.cloud/young\n");

    // The pod is admitted under the strictest Pod Security Standard.
    let strict = Provider::new();
    let label = json!({ "pod-security.kubernetes.io/enforce": "restricted" });
    let label = json!({ "metadata": { "labels": label } });
    strict.patch(NAMESPACE, &strict.namespace, &label);
    let mut spec = template["spec"]["template"]["spec"].clone();
    spec["serviceAccountName"] = json!("default");
    let pod =
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "gc" }, "spec": spec });
    strict.wait_for("the namespace to be initialized", |it| {
        it.get(provider::CONFIG_MAP, "kube-root-ca.crt").is_some()
    });
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let pod = serde_json::from_value(pod).unwrap();
    let _ = strict.block_on(strict.api(POD).create(&dry, &pod)).unwrap();
}

#[test]
fn gc_names_a_missing_permission_before_it_deletes_anything() {
    let provider = Provider::new();
    let role = documents(&fs::read_to_string(EXAMPLE).unwrap()).remove(1);
    let required = rules_in(&role);
    let enough = as_account(&provider, "enough", &required).run("gc");
    assert_eq!(enough.code, 0, "{enough}");
    // Permissions for instancetypes are optional.
    let checked = required
        .iter()
        .filter(|it| it.0 != "instancetype.kubevirt.io");
    for (number, (_, resource, verbs)) in checked.enumerate() {
        let mut rules: Vec<Rule> = required.clone();
        for rule in rules.iter_mut().filter(|it| it.1 == *resource) {
            rule.2.retain(|it| !verbs.contains(it));
        }
        rules.retain(|it| !it.2.is_empty());
        let kvshoot = as_account(&provider, &format!("lacks-{number}"), &rules);
        let output = kvshoot.run("gc");
        assert_eq!(output.code, 8, "without {verbs:?} {resource}\n{output}");
        let named = |it: &String| output.err.contains(&format!("{it} {resource}"));
        assert!(
            verbs.iter().any(named),
            "without {verbs:?} {resource}\n{output}"
        );
    }
    println!("{} missing permissions tested", required.len());
}
