use super::*;
use crate::state::facts::{MachinePhase, NodeInfo, ObservedMachine, ObservedNode, Quota};
use crate::state::testing;
use crate::state::upgrade::{BudgetPod, ObservedBudget, RequestedApi, StoredVersion};
use crate::validate::testing::{SHOOT, valid_for_tests};

const NODE: &str = "cpu-one";

/// A shoot with one machine that is ready, before an upgrade by one minor version.
struct Scene {
    before: ValidShoot,
    after: ValidShoot,
    facts: Facts,
    shoot: UpgradeFacts,
}

fn scene() -> Scene {
    let mut before = valid_for_tests(SHOOT);
    let mut after = before.clone();
    "1.33.6".clone_into(&mut before.kubernetes);
    "1.34.2".clone_into(&mut after.kubernetes);
    before.pools[0].kubernetes = before.kubernetes.clone();
    after.pools[0].kubernetes = after.kubernetes.clone();
    let node = ObservedNode {
        info: NodeInfo {
            kubelet_version: "v1.33.6".into(),
            ..NodeInfo::default()
        },
        ..testing::node()
    };
    let machine: ObservedMachine = testing::machine(MachinePhase::Ready);
    let facts = Facts {
        machines: [("cpu".into(), [(NODE.into(), machine)].into())].into(),
        nodes: [(NODE.into(), node)].into(),
        shoot_api: ShootApi::Reachable,
        ..Facts::default()
    };
    Scene {
        before,
        after,
        facts,
        shoot: UpgradeFacts::default(),
    }
}

/// Checks, objects, and whether they refuse the upgrade.
fn found(scene: &Scene) -> Vec<(&'static str, String, bool)> {
    let findings = findings(&Preflight {
        before: &scene.before,
        after: &scene.after,
        facts: &scene.facts,
        shoot: Ok(&scene.shoot),
    });
    let found = findings.into_iter();
    found
        .map(|it| (it.check.id(), it.object, it.refuses))
        .collect()
}

fn one(check: &'static str, object: &str, refuses: bool) -> Vec<(&'static str, String, bool)> {
    vec![(check, object.to_owned(), refuses)]
}

#[test]
fn a_healthy_shoot_has_no_findings() {
    assert_eq!(found(&scene()), []);
}

#[test]
fn an_api_that_the_new_version_removes_refuses_the_upgrade() {
    let mut scene = scene();
    let api = |removed_release: &str| RequestedApi {
        name: format!("things.v1.of-{removed_release}"),
        removed_release: removed_release.to_owned(),
    };
    scene.shoot.requested_apis = ["", "1.33", "1.34", "1.35", "soon"].map(api).into();
    let removed = one("removed-api", "API things.v1.of-1.34", true);
    assert_eq!(found(&scene), removed);
    // A patch removes nothing.
    "1.33.9".clone_into(&mut scene.after.kubernetes);
    assert_eq!(found(&scene), []);
}

#[test]
fn budgets_count_only_where_machines_are_replaced() {
    let mut scene = scene();
    let pod = BudgetPod {
        name: "default/web".to_owned(),
        node: NODE.to_owned(),
    };
    scene.shoot.budgets = vec![ObservedBudget {
        name: "default/web".to_owned(),
        expected: 1,
        desired: 1,
        pods: vec![pod],
        ..ObservedBudget::default()
    }];
    let refused = one("disruption-budget", "PodDisruptionBudget default/web", true);
    assert_eq!(found(&scene), refused);
    scene.after.pools[0].kubernetes = scene.before.kubernetes.clone();
    assert_eq!(found(&scene), []);
}

#[test]
fn a_webhook_without_an_endpoint_refuses_only_if_the_cluster_needs_its_requests() {
    let mut scene = scene();
    let webhook = ObservedWebhook {
        configuration: "ValidatingWebhookConfiguration policy".to_owned(),
        name: "check".to_owned(),
        service: Some("policy/server".to_owned()),
        has_endpoint: false,
        is_vital: true,
    };
    let object = "ValidatingWebhookConfiguration policy webhook check";
    scene.shoot.webhooks = vec![webhook];
    assert_eq!(found(&scene), one("webhook", object, true));
    scene.shoot.webhooks[0].is_vital = false;
    assert_eq!(found(&scene), one("webhook", object, false));
    scene.shoot.webhooks[0].has_endpoint = true;
    assert_eq!(found(&scene), []);
}

#[test]
fn unready_and_old_nodes_are_named() {
    let mut scene = scene();
    let node = scene.facts.nodes.get_mut(NODE).expect("the node");
    node.info.cordoned = true;
    let object = format!("Node {NODE}");
    assert_eq!(found(&scene), one("node-not-ready", &object, false));

    let node = scene.facts.nodes.get_mut(NODE).expect("the node");
    (node.serves, node.why) = (false, "no network".into());
    assert_eq!(found(&scene), one("node-not-ready", &object, true));
    scene.after.pools[0].kubernetes = scene.before.kubernetes.clone();
    assert_eq!(found(&scene), one("node-not-ready", &object, false));

    let node = scene.facts.nodes.get_mut(NODE).expect("the node");
    node.serves = true;
    node.info.cordoned = false;
    node.info.kubelet_version = "v1.31.1".into();
    assert_eq!(found(&scene), []);
    node_version(&mut scene, "v1.30.9");
    assert_eq!(found(&scene), one("kubelet-skew", &object, true));
}

fn node_version(scene: &mut Scene, version: &str) {
    let node = scene.facts.nodes.get_mut(NODE).expect("the node");
    node.info.kubelet_version = version.into();
}

#[test]
fn a_full_quota_refuses_the_upgrade_of_a_pool_that_may_lack_no_machine() {
    let mut scene = scene();
    let amounts = |count: &str| {
        let one = (
            "count/virtualmachines.kubevirt.io".to_owned(),
            count.to_owned(),
        );
        crate::state::facts::amounts(&[one].into())
    };
    let quota = |hard| Quota {
        name: "vms".into(),
        is_scoped: false,
        hard: amounts(hard),
        used: amounts("1"),
    };
    scene.facts.namespace_limits.quotas = vec![quota("2")];
    assert_eq!(found(&scene), []);
    scene.facts.namespace_limits.quotas = vec![quota("1")];
    assert_eq!(found(&scene), one("quota", "namespace", true));
    scene.after.pools[0].unavailable = crate::model::Amount::Number(1);
    assert_eq!(found(&scene), []);
}

#[test]
fn a_shoot_that_cannot_be_read_refuses_the_upgrade() {
    let scene = scene();
    let findings = findings(&Preflight {
        before: &scene.before,
        after: &scene.after,
        facts: &scene.facts,
        shoot: Err("no response within 10s"),
    });
    let [finding] = &findings[..] else {
        panic!("one finding: {findings:?}");
    };
    assert_eq!(finding.check, UpgradeCheck::ControlPlane);
    assert!(finding.refuses);
    assert_eq!(
        finding.problem,
        "cannot be read, so that little can be checked: no response within 10s"
    );
}

#[test]
fn services_and_stored_versions_are_named() {
    let mut scene = scene();
    scene.shoot.unavailable_services = vec![(
        "v1beta1.metrics.k8s.io".to_owned(),
        "no endpoints".to_owned(),
    )];
    scene.shoot.stored_versions = vec![StoredVersion {
        definition: "things.example.com".to_owned(),
        version: "v1alpha1".to_owned(),
    }];
    let mut expected = one(
        "stored-version",
        "CustomResourceDefinition things.example.com",
        false,
    );
    expected.extend(one(
        "api-service",
        "APIService v1beta1.metrics.k8s.io",
        true,
    ));
    assert_eq!(found(&scene), expected);
}
