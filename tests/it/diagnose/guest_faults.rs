//! Faults inside a new cluster: reported while a run waits, which succeeds when they are removed.

use crate::support::provider::Provider;
use crate::support::shoot_api::ShootApi;
use crate::support::shoots::{Manifest, PATIENCE};
use serde_json::Value;

/// Name of a shoot, fault, output of the run, and root cause in the output of `why`.
type Fault = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static str,
);

const FAULTS: [Fault; 4] = [
    (
        "dark",
        "guest-boot",
        &["VM running, waiting for node to register"],
        "Machine shoot--local--dark-worker-z1-89e78-0: Node missing: VM running, waiting for node to register",
    ),
    (
        "crash",
        "pod-crash",
        &[
            "0 of 1 pods available; Pod ",
            "kube-scheduler",
            "CrashLoopBackOff: exit code 137",
        ],
        "Deployment shoot--local--crash-kube-scheduler: 0 of 1 pods available \
         <- Pod shoot--local--crash-kube-scheduler-",
    ),
    (
        "unwired",
        "guest-network",
        &["cannot reach https://", "timeout"],
        "Machine shoot--local--unwired-worker-z1-89e78-0: VirtualMachineInstance Running: kubelet: cannot",
    ),
    (
        "late",
        "guest-clock",
        &["certificate has expired or is not yet valid"],
        "Machine shoot--local--late-worker-z1-89e78-0: VirtualMachineInstance Running: kubelet: cannot",
    ),
];

#[test]
#[ignore = "second tier: four clusters; unit tests have each cause"]
fn faults_in_a_shoot_are_reported_with_their_cause_and_runs_recover() {
    runs_recover_from(FAULTS);
}

/// The faults are limited to machines and pods of these shoots by name.
fn runs_recover_from(faults: [Fault; 4]) {
    let provider = Provider::new();
    let manifests = faults.map(|(name, ..)| Manifest::small(name));
    let prefixes = faults.map(|(name, fault, ..)| {
        let id = Manifest::small(name).id();
        match fault {
            "pod-crash" => format!("{id}-kube-scheduler"),
            _ => id,
        }
    });
    for (prefix, (_, fault, ..)) in prefixes.iter().zip(faults) {
        provider.fail(&format!("{fault} {prefix}"));
    }
    let homes = manifests.each_ref().map(|it| provider.kvshoot_with(it));
    let runs = homes.each_ref();
    let mut runs = runs.map(|it| it.start("apply -f shoot.yaml --timeout 10m"));
    for (run, (name, _, messages, why)) in runs.iter_mut().zip(faults) {
        messages.iter().for_each(|it| run.wait_for(it, PATIENCE));
        let output = provider.kvshoot().run(&format!("why {name}"));
        assert_eq!(output.code, 1, "{output}");
        assert!(output.out.lines().any(|it| it.starts_with(why)), "{output}");
    }
    a_timeout_is_reported_with_the_cause(&provider);
    let nodes = provider.kvshoot().run("nodes list dark");
    assert!(nodes.out.contains("Joining"), "{nodes}");
    for prefix in &prefixes {
        provider.fail(&format!("none {prefix}"));
    }
    for run in runs {
        let output = run.wait();
        assert_eq!(output.code, 0, "{output}");
    }
    manifests
        .iter()
        .for_each(|it| provider.assert_unchanged(it));
    for manifest in &manifests {
        let output = provider.kvshoot().run(&format!("why {}", manifest.name()));
        let wanted = format!("Shoot {} is healthy.\n", manifest.name());
        assert_eq!((output.code, &*output.out), (0, &*wanted), "{output}");
    }
    a_run_waits_for_a_silent_node(&provider, &manifests[0]);
    for manifest in &manifests {
        provider.assert_deleted(manifest.name());
    }
}

fn a_timeout_is_reported_with_the_cause(provider: &Provider) {
    let kvshoot = provider.kvshoot();
    let output = kvshoot.run("wait crash --for condition=controlplanehealthy --timeout 1s");
    assert_eq!(output.code, 124, "{output}");
    for part in [
        "ControlPlaneHealthy is False, expected True",
        "<- Pod shoot--local--crash-kube-scheduler-",
        "hint: read the log: kubectl logs -n ",
    ] {
        assert!(output.err.contains(part), "{part}: {output}");
    }
    let output = kvshoot.run("wait dark --for api-server --for nodes=1 --timeout 1s");
    assert_eq!(output.code, 124, "{output}");
    assert!(output.err.contains("0 of 1 nodes ready"), "{output}");
    assert!(output.err.contains("Node missing"), "{output}");
    let output = kvshoot.run("wait dark --for api-server --for nodes=0 --timeout 1s");
    assert_eq!(output.code, 0, "{output}");
    let output = kvshoot.run("why crash -o json");
    let report: Value = serde_json::from_str(&output.out).unwrap();
    let deepest = &report["findings"][0]["chain"][1];
    assert_eq!(deepest["kind"], "Pod", "{output}");
    assert_eq!(deepest["state"], "CrashLoopBackOff", "{output}");
}

fn a_run_waits_for_a_silent_node(provider: &Provider, manifest: &Manifest) {
    let kvshoot = provider.kvshoot_with(manifest);
    let api = ShootApi::connect(provider, &kvshoot, manifest.name());
    let nodes = api.nodes();
    provider.fail(&format!("node-silent {}", manifest.id()));
    provider.wait_for("the node to be NotReady", |_| {
        let list = kvshoot.run(&format!("nodes list {} -o wide", manifest.name()));
        list.out.contains("NotReady") && list.out.contains("stopped posting node status")
    });
    let health = kvshoot.run(&format!("status {}", manifest.name()));
    assert_eq!(health.code, 1, "{health}");
    assert!(health.out.contains("0 of 1 nodes are ready"), "{health}");
    let why = kvshoot.run(&format!("why {}", manifest.name()));
    let expected = "Node not ready: Kubelet stopped posting node status.";
    assert!(why.out.contains(expected), "{why}");
    assert!(
        why.err
            .contains("hint: read the console: kvshoot nodes console "),
        "{why}"
    );
    // Below it are the last lines of the console.
    let causes = why.out.lines().filter(|it| !it.starts_with("  |"));
    assert_eq!(causes.count(), 1, "consequences are left out: {why}");
    let mut run = kvshoot.start("apply -f shoot.yaml --timeout 10m");
    run.wait_for("stopped posting node status", PATIENCE);
    provider.fail(&format!("none {}", manifest.id()));
    let output = run.wait();
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(api.nodes(), nodes, "the machine was not replaced");
}
