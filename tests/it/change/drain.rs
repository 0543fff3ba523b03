//! Nodes that are emptied by name.

use crate::support::provider::{POD, Provider, Resource};
use crate::support::shoot_api::{NODE, ShootApi};
use crate::support::shoots::Manifest;
use serde_json::{Value, json};

const NAME: &str = "drained";
pub(super) const BUDGET: Resource = Resource("policy", "v1", "PodDisruptionBudget");
const DEPLOYMENT: Resource = Resource("apps", "v1", "Deployment");

/// One pod in the pool `worker`, and a budget that never allows its eviction.
pub(super) fn protect_a_pod(api: &ShootApi) {
    let labels = json!({"app": "web"});
    let container = json!({"name": "web", "image": "registry.k8s.io/pause:3.10"});
    let pool = json!({"worker.gardener.cloud/pool": "worker"});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": [container],
                    "nodeSelector": pool,
                    "terminationGracePeriodSeconds": 0,
                },
            },
        },
    });
    api.create(DEPLOYMENT, "default", deployment);
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}},
    });
    api.create(BUDGET, "default", budget);
    api.wait_for(BUDGET, ("default", "web"), |it| {
        it["status"]["currentHealthy"] == json!(1)
    });
}

fn node_of_the_pod(api: &ShootApi) -> String {
    let pods = api.list(POD).into_iter();
    let mut own = pods.filter(|it| {
        it.metadata
            .labels
            .iter()
            .any(|it| it.get("app").is_some_and(|it| it == "web"))
    });
    let pod = own.next().expect("the pod of the test");
    pod.data["spec"]["nodeName"].as_str().unwrap().to_owned()
}

#[test]
fn a_node_is_described_and_drained_as_far_as_budgets_allow() {
    let provider = Provider::new();
    // Evicted pods need another node: CoreDNS has a budget too.
    let manifest = Manifest::small(NAME).with_size(2);
    provider.assert_applied(&manifest, "created");
    let kvshoot = provider.kvshoot_with(&manifest);
    let api = ShootApi::connect(&provider, &kvshoot, NAME);
    protect_a_pod(&api);
    let node = node_of_the_pod(&api);
    let is_cordoned = || api.get_global(NODE, &node)["spec"]["unschedulable"] == json!(true);

    let blocked = kvshoot.run(&format!("nodes drain {NAME} {node} --timeout 1s"));
    assert_eq!((blocked.code, &*blocked.out), (124, ""), "{blocked}");
    let reason = "cannot be evicted: Cannot evict pod as it would violate";
    assert!(blocked.err.contains("pod default/web-"), "{blocked}");
    assert!(blocked.err.contains(reason), "{blocked}");
    let hint = format!("kvshoot nodes uncordon {NAME} {node}");
    assert!(blocked.err.contains(&hint), "{blocked}");
    assert!(is_cordoned());

    let shown = kvshoot.run(&format!("nodes describe {NAME} {node} -o json"));
    assert_eq!(shown.code, 0, "{shown}");
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!(shown["status"], "Ready,SchedulingDisabled", "{shown}");
    assert_eq!(shown["vmi"], "Running", "{shown}");
    let events = shown["events"].as_array().unwrap();
    assert!(!events.is_empty(), "{shown}");

    logs_of_a_node_are_shown_or_it_is_said_why_not(&provider, &node);

    let patch = json!({"spec": {"minAvailable": 0}});
    assert!(api.is_patched(BUDGET, ("default", "web"), &patch));
    let drained = kvshoot.run(&format!("nodes drain {NAME} {node}"));
    let done = format!("node/{node} drained\n");
    assert_eq!((drained.code, &drained.out), (0, &done), "{drained}");
    let uncordoned = kvshoot.run(&format!("nodes uncordon {NAME} {node}"));
    assert_eq!(uncordoned.code, 0, "{uncordoned}");
    assert!(!is_cordoned());
    provider.assert_unchanged(&manifest);

    let missing = kvshoot.run(&format!("nodes drain {NAME} missing"));
    assert_eq!(missing.code, 7, "{missing}");
}

fn logs_of_a_node_are_shown_or_it_is_said_why_not(provider: &Provider, node: &str) {
    let kvshoot = provider.kvshoot();
    let console = kvshoot.run(&format!("nodes console {NAME} {node}"));
    assert_eq!(console.code, 0, "{console}");
    let lines = console.out.lines().count();
    assert!(lines > 1, "{console}");
    assert!(!console.out.contains('\x1b'), "{console}");
    let last = kvshoot.run(&format!("nodes console {NAME} {node} --tail 1"));
    assert_eq!(last.out.lines().count(), 1, "{last}");
    // Kubelets of the sandbox have no logs.
    let log = kvshoot.run(&format!("nodes logs {NAME} {node}"));
    assert!(log.code != 0 && log.out.is_empty(), "{log}");
    assert!(log.err.contains(node), "{log}");
    for verb in ["console", "logs"] {
        let missing = kvshoot.run(&format!("nodes {verb} {NAME} missing"));
        assert_eq!(missing.code, 7, "{missing}");
        let hint = format!("kvshoot nodes list {NAME}");
        assert!(missing.err.contains(&hint), "{missing}");
    }
    let invalid = kvshoot.run(&format!("nodes logs {NAME} {node} --service a/b"));
    assert_eq!(invalid.code, 2, "{invalid}");
    let fish = kvshoot.env("COMPLETE", "fish");
    // On a busy computer the provider may not respond in time.
    provider.wait_for("the names of nodes", |_| {
        let line = ["--", "kvshoot", "nodes", "console", NAME, ""];
        fish.args(line).out.contains(node)
    });
}
