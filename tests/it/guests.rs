//! What goes wrong inside a cluster that is made is told while it is waited for, and the same run goes on when it is
//! mended.

use crate::inside::Inside;
use crate::life::{LONG, Manifest};
use crate::provider::Provider;

/// A shoot's name, what hits it, and what has to be said.
const FAULTS: [(&str, &str, &[&str]); 4] = [
    (
        "dark",
        "guest-boot",
        &["its node to join the shoot", "serial console"],
    ),
    (
        "cut",
        "guest-network",
        &["cannot reach https://", "timeout"],
    ),
    (
        "late",
        "guest-clock",
        &["certificate has expired or is not yet valid"],
    ),
    (
        "crash",
        "pod-crash",
        &[
            "0 of 1 pods are available; pod ",
            "kube-scheduler",
            "back-off",
        ],
    ),
];

/// Faults hit a whole sandbox, here by names of machines and pods; no other test has any in this one.
#[test]
fn faults_inside_are_told_by_their_cause_and_a_run_that_waits_goes_on_without_them() {
    let provider = Provider::new();
    let manifests = FAULTS.map(|(name, ..)| Manifest::small(name));
    for (manifest, (_, fault, _)) in manifests.iter().zip(FAULTS) {
        let part = match fault {
            "pod-crash" => "-kube-scheduler",
            _ => "",
        };
        provider.fail(&format!("{fault} {}{part}", manifest.id()));
    }
    let homes = manifests.each_ref().map(|it| provider.applying(it));
    let runs = homes.each_ref();
    let mut runs = runs.map(|it| it.start("apply -f shoot.yaml --timeout 10m"));
    for (run, (_, _, told)) in runs.iter_mut().zip(FAULTS) {
        told.iter().for_each(|it| run.wait_for(it, LONG));
    }
    let nodes = provider.kvshoot().run("nodes list cut");
    assert!(nodes.out.contains("Joining"), "{nodes}");
    provider.fail("none");
    for run in runs {
        let output = run.wait();
        assert_eq!(output.code, 0, "{output}");
    }
    manifests.iter().for_each(|it| provider.unchanged(it));
    a_silent_node_is_waited_for(&provider, &manifests[0]);
    for manifest in &manifests {
        provider.deleted(manifest.name());
    }
}

fn a_silent_node_is_waited_for(provider: &Provider, manifest: &Manifest) {
    let kvshoot = provider.applying(manifest);
    let inside = Inside::of(provider, &kvshoot, manifest.name());
    let nodes = inside.nodes();
    provider.fail(&format!("node-silent {}", manifest.id()));
    provider.until("the node to be missed", |_| {
        let list = kvshoot.run(&format!("nodes list {} -o wide", manifest.name()));
        list.out.contains("NotReady") && list.out.contains("stopped posting node status")
    });
    let health = kvshoot.run(&format!("status {}", manifest.name()));
    assert_eq!(health.code, 1, "{health}");
    assert!(health.out.contains("0 of 1 nodes are ready"), "{health}");
    let mut run = kvshoot.start("apply -f shoot.yaml --timeout 10m");
    run.wait_for("stopped posting node status", LONG);
    provider.fail("none");
    let output = run.wait();
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(inside.nodes(), nodes, "the machine was not replaced");
}
