//! Machines on draining nodes: KubeVirt rejects the eviction and waits until kvshoot has replaced them.

use crate::support::accounts::{Rule, rules, rules_in};
use crate::support::cron_job::{documents, resource, run_job};
use crate::support::kvshoot::Kvshoot;
use crate::support::provider::drain::{evict, has_no_active_pod, without_cordons};
use crate::support::provider::{Provider, VM};
use crate::support::shoots::{Manifest, PATIENCE};
use crate::support::vm_watcher::{Bounds, Watcher};
use rustix::process::Signal;
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;

const EXAMPLE: &str = "examples/evacuate.yaml";
const NOTHING: &str = "no machines on draining nodes\n";

/// Pool `worker` has two machines, and `alone` one without surge. The eviction strategy is the default, External.
fn manifest() -> Manifest {
    let manifest = Manifest::named("drains").with_size(2).pool(|it| {
        it["zones"] = json!(["zone-a", "zone-b"]);
        it["maxSurge"] = json!(1);
        it["maxUnavailable"] = json!(0);
    });
    manifest.with(|it| {
        let workers = &mut it.shoot["spec"]["provider"]["workers"];
        let mut alone = workers[0].clone();
        alone["zones"] = json!(["zone-a"]);
        alone["minimum"] = json!(1);
        alone["maximum"] = json!(1);
        alone["name"] = json!("alone");
        alone["maxSurge"] = json!(0);
        alone["maxUnavailable"] = json!(1);
        // It is not in the record, which is what machines are replaced by.
        alone["providerConfig"] = json!({
            "apiVersion": "kubevirt.provider.extensions.gardener.cloud/v1alpha1",
            "kind": "WorkerConfig",
            "userData": "#cloud-config\npackages: [jq]\n",
        });
        workers.as_array_mut().unwrap().push(alone);
    })
}

fn machines(provider: &Provider, pool: &str) -> Vec<String> {
    let mut names = provider.names(VM);
    names.retain(|it| it.contains(&format!("-{pool}-z")));
    names
}

#[test]
fn evacuate_replaces_only_machines_on_draining_nodes() {
    let provider = Provider::new();
    let manifest = manifest();
    provider.assert_applied(&manifest, "created");
    let kvshoot = provider.kvshoot_with(&manifest);
    assert_eq!(kvshoot.run("evacuate").err, NOTHING);
    let before = provider.uids();
    let machine = machines(&provider, "worker").remove(0);

    let _drains = without_cordons();
    evict(&provider, &machine);

    let plan = kvshoot.run("plan -f shoot.yaml --exit-code");
    assert_eq!(plan.code, 1, "{plan}");
    assert!(plan.out.contains("its node is being drained"), "{plan}");

    // As a Job in the provider cluster, with the printed service account.
    let printed = kvshoot.run(&format!(
        "evacuate --print-cronjob -n {}",
        provider.namespace
    ));
    let mut objects = documents(&printed.out);
    let cron_job = objects.pop().unwrap();
    for object in objects {
        provider.create(resource(&object), object);
    }
    let watcher = Watcher::start(&provider, "worker");
    let log = run_job(&provider, &cron_job, "evacuate");
    watcher.assert_within(
        "evacuation",
        Bounds {
            max_total: 3,
            min_ready: 2,
        },
    );
    assert!(
        log.contains(&format!("machine {machine} is on a draining node")),
        "{log}"
    );
    let after = provider.uids();
    let replaced = before.iter().filter(|it| !after.contains_key(it.0));
    let replaced: BTreeSet<&String> = replaced.map(|it| it.1).collect();
    assert_eq!(replaced, BTreeSet::from([&machine]));
    assert_eq!(after.len(), before.len());
    provider.wait_for("the pod to terminate", |it| has_no_active_pod(it, &machine));

    let before = provider.settled_contents();
    let again = kvshoot.run("evacuate drains");
    assert_eq!((again.code, again.err.as_str()), (0, NOTHING), "{again}");
    assert_eq!(provider.contents(), before);
    provider.assert_unchanged(&manifest);

    let mut watch = kvshoot.start("evacuate drains --watch");
    watch.wait_for("watching", PATIENCE);
    let machine = machines(&provider, "worker").remove(0);
    evict(&provider, &machine);
    provider.wait_for("the evacuation to be reported", |_| {
        watch.stdout().contains("evacuated")
    });
    assert!(provider.get(VM, &machine).is_none());
    watch.interrupt();
    let output = watch.wait();
    assert_eq!(output.code, 130, "{output}");
    assert_eq!(output.out, "shoot.core.gardener.cloud/drains evacuated\n");

    // Killed between delete and create: no machine is on a draining node then.
    let machine = machines(&provider, "alone").remove(0);
    evict(&provider, &machine);
    let mut killed = kvshoot.start("evacuate drains");
    provider.wait_for("the machine to be deleted", |it| is_deleting(it, &machine));
    killed.signal(Signal::KILL);
    let output = killed.wait_at_most(PATIENCE);
    assert_eq!(output.code, 137, "{output}");
    provider.wait_for("the machine to be removed", |it| {
        it.get(VM, &machine).is_none()
    });
    assert_eq!(machines(&provider, "alone"), [""; 0]);
    let again = kvshoot.run("evacuate drains");
    assert_eq!(again.code, 0, "{again}");
    let expected = "shoot drains: the last evacuation was interrupted\n";
    assert!(again.err.contains(expected), "{again}");
    assert_eq!(machines(&provider, "alone").len(), 1);
    assert_eq!(kvshoot.run("evacuate drains").err, NOTHING);
    provider.assert_unchanged(&manifest);
}

fn is_deleting(provider: &Provider, machine: &str) -> bool {
    let machine = provider.get(VM, machine);
    machine.is_none_or(|it| it.metadata.deletion_timestamp.is_some())
}

#[test]
fn the_cronjob_in_the_examples_is_the_one_that_evacuate_prints() {
    let line = "evacuate --print-cronjob -n shoots";
    let output = Kvshoot::new().run(line);
    assert_eq!(output.code, 0, "{output}");
    if std::env::var("SNAPSHOTS").is_ok_and(|it| it == "overwrite") {
        fs::write(EXAMPLE, &output.out).unwrap();
    }
    assert_eq!(fs::read_to_string(EXAMPLE).unwrap(), output.out);
    let objects = documents(&output.out);
    // Each verb has a unit test.
    let all = rules();
    for (group, resource, verbs) in rules_in(&objects[1]) {
        let is_same = |it: &&Rule| it.0 == group && it.1 == resource;
        let granted = all.iter().filter(is_same).flat_map(|it| &it.2);
        let granted: BTreeSet<&String> = granted.collect();
        assert!(
            verbs.iter().all(|it| granted.contains(it)),
            "{verbs:?} {resource}"
        );
    }
    let read = objects[3]["rules"].as_array().unwrap();
    for rule in read {
        let is_question = rule["resources"] == json!(["subjectaccessreviews"]);
        let verb = match is_question {
            true => "create",
            false if rule["resources"] == json!(["storageprofiles"]) => "get",
            false => "list",
        };
        assert_eq!(rule["verbs"], json!([verb]), "{rule}");
    }
    assert_eq!(objects[4]["subjects"][0]["namespace"], "shoots");
    let job = &objects.iter().find(|it| it["kind"] == "CronJob").unwrap()["spec"];
    assert_eq!(job["schedule"], "* * * * *");

    let line = "evacuate dev --print-cronjob -n shoots --schedule @hourly --timeout 5m";
    let mut objects = documents(&Kvshoot::new().run(line).out).into_iter();
    let job = objects.find(|it| it["kind"] == "CronJob").unwrap();
    assert_eq!(job["spec"]["schedule"], "@hourly");
    let containers = &job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"];
    let command = json!(["kvshoot", "evacuate", "dev", "--timeout=300s"]);
    assert_eq!(containers[0]["command"], command);
    for (line, message) in [
        ("evacuate --print-cronjob", "a namespace is required"),
        ("evacuate --print-cronjob --watch", "cannot be used with"),
        ("evacuate --image a", "--print-cronjob"),
    ] {
        let output = Kvshoot::new().run(line);
        assert_eq!(output.code, 2, "{output}");
        assert!(output.err.contains(message), "{output}");
    }
}
