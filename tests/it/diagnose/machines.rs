//! Machines that no host has room for, and machines that never join: a run fails early, with the reason.

use crate::support::process::Running;
use crate::support::provider::{self, Provider};
use crate::support::shoots::{Manifest, PATIENCE};
use serde_json::json;

/// More CPUs than a host of the sandbox has.
const CPUS: &str = "500";

#[test]
#[ignore = "second tier: waits for the time limits of machines; unit tests of plan::pool have both rules"]
fn runs_fail_with_9_without_a_host_and_with_10_and_the_console_if_a_machine_does_not_join() {
    let provider = Provider::new();
    let patient = |name: &str, limit: &str| {
        let limit = json!({ "machineCreationTimeout": limit });
        Manifest::small(name).pool(|it| it["machineControllerManager"] = limit)
    };
    let large = patient("large", "1m").with(|it| {
        let types = it.profile["spec"]["machineTypes"].as_array_mut().unwrap();
        let small = types.iter_mut().find(|it| it["name"] == "small").unwrap();
        small["cpu"] = json!(CPUS);
    });
    let dark = patient("unlit", "1m");
    provider.fail(&format!("guest-boot {}", dark.id()));
    let homes = [&large, &dark].map(|it| provider.kvshoot_with(it));
    let runs = homes.each_ref();
    let runs = runs.map(|it| it.start("apply -f shoot.yaml --timeout 15m"));
    let [large_run, dark_run] = runs.map(|it: Running| it.wait());

    assert_eq!(large_run.code, 9, "{large_run}");
    let numbers = format!("zone-a has no host with {CPUS} CPU and ");
    assert!(large_run.err.contains(&numbers), "{large_run}");
    assert_eq!(dark_run.code, 10, "{dark_run}");
    let printed = "firmware: loading from disk";
    assert!(dark_run.err.contains("console of worker-z1-"), "{dark_run}");
    assert!(dark_run.err.contains(printed), "{dark_run}");

    // The machine is gone, and its console is kept until an apply succeeds.
    provider.wait_for("the machine to be deleted", |provider| {
        let machines = provider.names(provider::VM);
        !machines.iter().any(|it| it.starts_with(&dark.id()))
    });
    let why = homes[1].run("why unlit");
    assert!(why.out.contains(printed), "{why}");
    assert_eq!(consoles(&provider, &dark).len(), 1);
    provider.fail(&format!("none {}", dark.id()));
    let mut run = homes[1].start("apply -f shoot.yaml --timeout 15m");
    let output = run.wait_at_most(3 * PATIENCE);
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(consoles(&provider, &dark), [""; 0]);
    for manifest in [&large, &dark] {
        provider.assert_deleted(manifest.name());
    }
}

/// Keys of consoles in a record.
fn consoles(provider: &Provider, manifest: &Manifest) -> Vec<String> {
    let record = provider.get(provider::CONFIG_MAP, &manifest.id()).unwrap();
    let data = record.data["data"].as_object().unwrap();
    let keys = data.keys().filter(|it| it.starts_with("console."));
    keys.cloned().collect()
}
