//! Pools that the cluster autoscaler scales, with `kvshoot keep` as its provider of node groups. The sandbox has a stand-in for
//! the autoscaler, which speaks its protocol.

use crate::support::cron_job::{documents, resource};
use crate::support::provider::{DEPLOYMENT, Provider, Resource, VM};
use crate::support::shoot_api::ShootApi;
use crate::support::shoots::Manifest;
use serde_json::{Value, json};
use std::time::Instant;

pub(super) const NAME: &str = "scaled";
/// Name of the printed Deployment, and of its Role.
pub(super) const KEEP: &str = "kvshoot-keep";
const ROLE: Resource = Resource("rbac.authorization.k8s.io", "v1", "Role");

/// The second pool is empty until a pod needs its label.
pub(super) fn manifest() -> Manifest {
    let settings = json!({
        "scanInterval": "1s",
        "scaleDownDelayAfterAdd": "1s",
        "scaleDownUnneededTime": "3s",
    });
    let manifest = Manifest::small(NAME).pool(|it| {
        it["maximum"] = json!(3);
        it["zones"] = json!(["zone-a", "zone-b"]);
    });
    manifest.with(|it| {
        let spec = &mut it.shoot["spec"];
        spec["kubernetes"]["clusterAutoscaler"] = settings;
        let workers = spec["provider"]["workers"].as_array_mut().unwrap();
        let mut batch = workers[0].clone();
        batch["name"] = json!("batch");
        batch["minimum"] = json!(0);
        batch["maximum"] = json!(1);
        batch["zones"] = json!(["zone-b"]);
        batch["labels"] = json!({ "example.org/for": "batch" });
        batch["taints"] =
            json!([{ "key": "example.org/for", "value": "batch", "effect": "NoSchedule" }]);
        workers.push(batch);
    })
}

/// A new node of a pool has room for one of its pods, and the node with the system's pods for none.
pub(super) fn workload(pool: &str, replicas: u32) -> Value {
    let labels = json!({ "app": pool });
    let mut selector = json!({ "worker.gardener.cloud/pool": pool, "kubernetes.io/os": "linux" });
    if pool == "batch" {
        selector["example.org/for"] = json!(pool);
        selector["topology.kubernetes.io/zone"] = json!("zone-b");
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": pool, "namespace": "default" },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": {
                    "nodeSelector": selector,
                    "tolerations": [{ "key": "example.org/for", "operator": "Exists" }],
                    "containers": [{
                        "name": "large",
                        "image": "registry.k8s.io/pause:3.10",
                        "resources": { "requests": { "cpu": "700m" } },
                    }],
                },
            },
        },
    })
}

/// Waits for the pods of new nodes, and for `keep` to finish what it does; then an apply changes nothing.
pub(super) fn assert_settled(provider: &Provider, manifest: &Manifest) {
    let kvshoot = provider.kvshoot_with(manifest);
    let settled = format!("No changes. Shoot {NAME} matches the manifest.\n");
    provider.wait_for("a plan without changes", |_| {
        kvshoot.run("plan -f shoot.yaml").out.ends_with(&settled)
    });
    provider.assert_unchanged(manifest);
}

/// Takes the right to change records from `keep`; returns the rules that it had.
fn forbid_decisions(provider: &Provider) -> Value {
    let role = provider.get(ROLE, KEEP).unwrap();
    let rules = role.data["rules"].clone();
    let mut fewer = rules.clone();
    for rule in fewer.as_array_mut().unwrap() {
        if rule["resources"] == json!(["configmaps"]) {
            rule["verbs"] = json!(["get", "list", "watch"]);
        }
    }
    assert_ne!(fewer, rules);
    provider.patch(ROLE, KEEP, &json!({ "rules": fewer }));
    rules
}

/// Prints the logs of `keep` and of the autoscaler if the test fails.
struct Logs<'a>(&'a Provider);

impl Drop for Logs<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let begin = format!("{}_", self.0.namespace);
        let is_wanted = |it: &str| it.contains(KEEP) || it.contains("autoscaler");
        for file in std::fs::read_dir(self.0.pod_logs()).into_iter().flatten() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(&begin) && is_wanted(&name) {
                let log = std::fs::read_to_string(&path).unwrap_or_default();
                println!("{name}:\n{log}");
            }
        }
    }
}

#[test]
fn pending_pods_get_nodes_and_empty_nodes_go() {
    let provider = Provider::new();
    let manifest = manifest();
    provider.assert_applied(&manifest, "created");
    let _logs = Logs(&provider);
    let kvshoot = provider.kvshoot_with(&manifest);
    let printed = kvshoot.run(&format!("keep --print -n {}", provider.namespace));
    for object in documents(&printed.out) {
        provider.create(resource(&object), object);
    }
    let shoot = ShootApi::connect(&provider, &kvshoot, NAME);
    let begun = Instant::now();
    shoot.create(DEPLOYMENT, "default", workload("worker", 2));
    shoot.create(DEPLOYMENT, "default", workload("batch", 1));
    provider.wait_for("four nodes", |_| shoot.nodes_with("True") == 4);
    let time = begun.elapsed();
    println!("all nodes are ready {time:.1?} after the pods were created");
    assert_eq!(provider.zones("worker"), [2, 1]);
    assert_eq!(provider.zones("batch"), [1]);
    let status = kvshoot.run(&format!("status {NAME}"));
    assert!(status.out.contains("pool worker: 3 (1 to 3)\n"), "{status}");
    // An apply keeps the sizes.
    assert_settled(&provider, &manifest);

    let rules = forbid_decisions(&provider);
    let none = json!({ "spec": { "replicas": 0 } });
    for pool in ["worker", "batch"] {
        assert!(shoot.is_patched(DEPLOYMENT, ("default", pool), &none));
    }
    provider.wait_for("a deletion that cannot be decided", |it| {
        let pod = "shoot--local--scaled-cluster-autoscaler-";
        let log = it.pod_log(pod, "cluster-autoscaler");
        log.contains("NodeGroupDeleteNodes: rpc error")
    });
    assert_eq!(provider.names(VM).len(), 4);
    provider.patch(ROLE, KEEP, &json!({ "rules": rules }));
    let begun = Instant::now();
    provider.wait_for("one node", |it| it.names(VM).len() == 1);
    println!(
        "one node is left {:.1?} after keep may decide again",
        begun.elapsed()
    );
    assert_eq!(provider.zones("worker").iter().sum::<usize>(), 1);
    assert_settled(&provider, &manifest);
    provider.delete(DEPLOYMENT, KEEP);
}
