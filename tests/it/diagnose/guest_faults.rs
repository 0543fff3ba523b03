//! What goes wrong inside a cluster that is made is told while it is waited for, and the same run goes on when it is
//! mended.

use crate::support::provider::Provider;
use crate::support::shoot_api::ShootApi;
use crate::support::shoots::{Manifest, PATIENCE};
use serde_json::Value;

/// A shoot's name, what hits it, what a run has to say, and what stands deepest when somebody asks why.
const FAULTS: [(&str, &str, &[&str], &str); 4] = [
    (
        "dark",
        "guest-boot",
        &["its node to join the shoot", "serial console"],
        "Machine shoot--local--dark-worker-z1-34f72-0: Node missing: its VM runs",
    ),
    (
        "cut",
        "guest-network",
        &["cannot reach https://", "timeout"],
        "Machine shoot--local--cut-worker-z1-34f72-0: VirtualMachineInstance Running: kubelet: cannot",
    ),
    (
        "late",
        "guest-clock",
        &["certificate has expired or is not yet valid"],
        "Machine shoot--local--late-worker-z1-34f72-0: VirtualMachineInstance Running: kubelet: cannot",
    ),
    (
        "crash",
        "pod-crash",
        &[
            "0 of 1 pods are available; Pod ",
            "kube-scheduler",
            "CrashLoopBackOff: exit code 137",
        ],
        "Deployment shoot--local--crash-kube-scheduler: 0 of 1 pods are available \
         <- Pod shoot--local--crash-kube-scheduler-",
    ),
];

/// Faults hit a whole sandbox, here by names of machines and pods; no other test has any in this one.
#[test]
fn faults_inside_are_told_by_their_cause_and_a_run_that_waits_goes_on_without_them() {
    let provider = Provider::new();
    let manifests = FAULTS.map(|(name, ..)| Manifest::small(name));
    for (manifest, (_, fault, ..)) in manifests.iter().zip(FAULTS) {
        let part = match fault {
            "pod-crash" => "-kube-scheduler",
            _ => "",
        };
        provider.fail(&format!("{fault} {}{part}", manifest.id()));
    }
    let homes = manifests.each_ref().map(|it| provider.kvshoot_with(it));
    let runs = homes.each_ref();
    let mut runs = runs.map(|it| it.start("apply -f shoot.yaml --timeout 10m"));
    for (run, (name, _, told, why)) in runs.iter_mut().zip(FAULTS) {
        told.iter().for_each(|it| run.wait_for(it, PATIENCE));
        let output = provider.kvshoot().run(&format!("why {name}"));
        assert_eq!(output.code, 1, "{output}");
        assert!(output.out.lines().any(|it| it.starts_with(why)), "{output}");
    }
    time_that_is_up_is_told_with_the_cause(&provider);
    let nodes = provider.kvshoot().run("nodes list cut");
    assert!(nodes.out.contains("Joining"), "{nodes}");
    provider.fail("none");
    for run in runs {
        let output = run.wait();
        assert_eq!(output.code, 0, "{output}");
    }
    manifests
        .iter()
        .for_each(|it| provider.assert_unchanged(it));
    for manifest in &manifests {
        let output = provider.kvshoot().run(&format!("why {}", manifest.name()));
        let wanted = format!("nothing is wrong with shoot {}\n", manifest.name());
        assert_eq!((output.code, &*output.out), (0, &*wanted), "{output}");
    }
    a_silent_node_is_waited_for(&provider, &manifests[0]);
    for manifest in &manifests {
        provider.assert_deleted(manifest.name());
    }
}

fn time_that_is_up_is_told_with_the_cause(provider: &Provider) {
    let kvshoot = provider.kvshoot();
    let output = kvshoot.run("wait crash --for condition=controlplanehealthy --timeout 1s");
    assert_eq!(output.code, 124, "{output}");
    for told in [
        "waiting for ControlPlaneHealthy to be True",
        "<- Pod shoot--local--crash-kube-scheduler-",
        "hint: kubectl logs -n ",
    ] {
        assert!(output.err.contains(told), "{told}: {output}");
    }
    let output = kvshoot.run("wait dark --for api-server --for nodes=1 --timeout 1s");
    assert_eq!(output.code, 124, "{output}");
    let told = "waiting for 1 ready nodes: 0 are";
    assert!(output.err.contains(told), "{output}");
    assert!(output.err.contains("Node missing"), "{output}");
    let output = kvshoot.run("wait dark --for api-server --for nodes=0 --timeout 1s");
    assert_eq!(output.code, 0, "{output}");
    let output = kvshoot.run("why crash -o json");
    let told: Value = serde_json::from_str(&output.out).unwrap();
    let deepest = &told["findings"][0]["chain"][1];
    assert_eq!(deepest["kind"], "Pod", "{output}");
    assert_eq!(deepest["state"], "CrashLoopBackOff", "{output}");
}

fn a_silent_node_is_waited_for(provider: &Provider, manifest: &Manifest) {
    let kvshoot = provider.kvshoot_with(manifest);
    let inside = ShootApi::connect(provider, &kvshoot, manifest.name());
    let nodes = inside.nodes();
    provider.fail(&format!("node-silent {}", manifest.id()));
    provider.wait_for("the node to be missed", |_| {
        let list = kvshoot.run(&format!("nodes list {} -o wide", manifest.name()));
        list.out.contains("NotReady") && list.out.contains("stopped posting node status")
    });
    let health = kvshoot.run(&format!("status {}", manifest.name()));
    assert_eq!(health.code, 1, "{health}");
    assert!(health.out.contains("0 of 1 nodes are ready"), "{health}");
    let why = kvshoot.run(&format!("why {}", manifest.name()));
    let told = "Node not ready: Kubelet stopped posting node status.";
    assert!(why.out.contains(told), "{why}");
    assert!(why.err.contains("hint: virtctl console "), "{why}");
    assert_eq!(
        why.out.lines().count(),
        1,
        "the rest only follows from it: {why}"
    );
    let mut run = kvshoot.start("apply -f shoot.yaml --timeout 10m");
    run.wait_for("stopped posting node status", PATIENCE);
    provider.fail("none");
    let output = run.wait();
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(inside.nodes(), nodes, "the machine was not replaced");
}
