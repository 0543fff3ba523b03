//! The objects that concern the provider cluster: exposure, disks, roles and storage classes.

use super::*;
use crate::render::control_plane::etcd::{self, EtcdShape, EtcdSizes};
use crate::state::facts::EtcdStart;
use crate::validate::ValidShoot;
use crate::validate::control_plane::{Address, ApiServerExposure};
use serde_json::json;
use std::collections::BTreeMap;

fn external(exposure: ApiServerExposure) -> Option<Value> {
    external_of(valid_for_tests(SHOOT), exposure)
}

fn external_of(mut shoot: ValidShoot, exposure: ApiServerExposure) -> Option<Value> {
    shoot.control_plane.exposure = exposure;
    let objects = objects(&shoot);
    let mut services = of_kind(&objects, "Service").into_iter();
    let name = "shoot--dev--demo-kube-apiserver-external";
    services.find(|it| it["metadata"]["name"] == name).cloned()
}

#[test]
fn the_api_server_is_exposed_as_the_shoot_asks_for() {
    let annotations = BTreeMap::from([("example.org/pool".to_owned(), "a".to_owned())]);
    let source_ranges = vec!["192.0.2.0/24".to_owned()];
    let balanced = external(ApiServerExposure::LoadBalancer {
        annotations,
        source_ranges,
    });
    let balanced = balanced.expect("a Service");
    assert_eq!(
        balanced["spec"]["loadBalancerSourceRanges"],
        json!(["192.0.2.0/24"])
    );
    assert_eq!(balanced["spec"]["type"], "LoadBalancer");
    assert_eq!(balanced["metadata"]["annotations"]["example.org/pool"], "a");
    let address = "192.0.2.1".to_owned();
    let port = Some(30443);
    let on_nodes = external(ApiServerExposure::NodePort { address, port }).expect("a Service");
    assert_eq!(on_nodes["spec"]["type"], "NodePort");
    assert_eq!(on_nodes["spec"]["ports"][0]["nodePort"], 30443);
    assert_eq!(external(ApiServerExposure::None), None);
}

#[test]
fn the_konnectivity_server_is_exposed_only_for_machines_outside_of_the_pod_network() {
    let exposure = || ApiServerExposure::NodePort {
        address: "192.0.2.1".to_owned(),
        port: Some(30443),
    };
    let inside = external(exposure()).expect("a Service");
    assert_eq!(inside["spec"]["ports"].as_array().map(Vec::len), Some(1));
    let mut shoot = valid_for_tests(SHOOT);
    shoot.control_plane.node_address = Some(Address {
        host: "192.0.2.1".to_owned(),
        port: 30443,
    });
    let outside = external_of(shoot, exposure()).expect("a Service");
    assert_eq!(outside["spec"]["ports"][1]["port"], 8132);
    assert!(outside["spec"]["ports"][1]["nodePort"].is_null());
}

#[test]
fn the_konnectivity_server_is_reachable_only_for_machines_if_they_are_in_the_pod_network() {
    let rule = |shoot: &ValidShoot| {
        let objects = objects(shoot);
        let policy = named(&objects, "NetworkPolicy", "kube-apiserver");
        let rules = policy["spec"]["ingress"].as_array().expect("rules").clone();
        let is_of_agents = |it: &Value| it["ports"][0]["port"] == 8132;
        rules.into_iter().find(is_of_agents).expect("a rule")
    };
    let mut shoot = valid_for_tests(SHOOT);
    let selector = &rule(&shoot)["from"][0]["podSelector"];
    assert_eq!(
        selector["matchExpressions"][0]["values"],
        json!(["machine"])
    );
    shoot.control_plane.node_address = Some(Address {
        host: "192.0.2.1".to_owned(),
        port: 30443,
    });
    assert!(rule(&shoot)["from"].is_null());
}

/// The value of a flag of etcd in a shape.
fn etcd_flag(shape: &EtcdShape, flag: &str) -> String {
    with(&tolerating(Tolerance::Node), |context| {
        let component = etcd::component(context, shape, &EtcdSizes::default());
        let set = component
            .objects
            .iter()
            .find(|it| it["kind"] == "StatefulSet");
        let container = &set.expect("a StatefulSet")["spec"]["template"]["spec"]["containers"][0];
        let command = container["command"].as_array().expect("a command");
        let mut command = command.iter().filter_map(Value::as_str);
        let value = command.find_map(|it| it.strip_prefix(&format!("--{flag}=")));
        value.expect("the flag").to_owned()
    })
}

/// An address in the list of members, without the parts that all of them share.
fn members(shape: &EtcdShape) -> String {
    let list = etcd_flag(shape, "initial-cluster");
    list.replace(".shoot--dev--demo-etcd-peers.clusters.svc:2380", "")
        .replace("shoot--dev--demo-etcd", "etcd")
}

#[test]
fn a_member_of_etcd_without_data_founds_a_cluster_only_if_it_is_new() {
    let shape = |start| EtcdShape {
        replicas: 1,
        start,
        voters: vec![0, 2],
        incarnation: 1,
        snapshot: 0,
    };
    let own = "$(POD_NAME)=https://$(POD_NAME)";
    let new = shape(EtcdStart::New);
    assert_eq!(
        (
            members(&new).as_str(),
            etcd_flag(&new, "initial-cluster-state").as_str()
        ),
        (own, "new")
    );
    let sealed = shape(EtcdStart::Sealed);
    assert_eq!(
        (
            members(&sealed).as_str(),
            etcd_flag(&sealed, "initial-cluster-state").as_str()
        ),
        (own, "existing")
    );
    let open = shape(EtcdStart::Open(1));
    let list = "etcd-1=https://etcd-1,other-0=https://etcd-0,other-2=https://etcd-2";
    assert_eq!(
        (
            members(&open).as_str(),
            etcd_flag(&open, "initial-cluster-state").as_str()
        ),
        (list, "existing")
    );
}

#[test]
fn data_of_another_incarnation_of_etcd_are_not_found() {
    let shape = |incarnation| EtcdShape {
        replicas: 1,
        start: EtcdStart::Sealed,
        voters: Vec::new(),
        incarnation,
        snapshot: 0,
    };
    let of = |incarnation, flag| etcd_flag(&shape(incarnation), flag);
    assert_eq!(of(0, "data-dir"), "/var/lib/etcd/data");
    assert_eq!(of(2, "data-dir"), "/var/lib/etcd/0c1a-2");
    assert_eq!(of(0, "initial-cluster-token"), "0c1a");
    assert_eq!(of(2, "initial-cluster-token"), "0c1a-2");
    // 80 % of 10 GiB, and 45 % of what the log leaves.
    assert_eq!(of(0, "quota-backend-bytes"), (8192_u64 << 20).to_string());
    assert_eq!(of(2, "quota-backend-bytes"), (4377_u64 << 20).to_string());
}

#[test]
fn the_api_server_knows_all_members_of_etcd() {
    let objects = objects(&tolerating(Tolerance::Node));
    let server = named(&objects, "Deployment", "kube-apiserver")["spec"]["template"].to_string();
    for ordinal in 0..3 {
        let member = format!(
            "https://shoot--dev--demo-etcd-{ordinal}.shoot--dev--demo-etcd-peers.clusters.svc:2379"
        );
        assert!(server.contains(&member));
    }
}

#[test]
fn the_disk_of_etcd_is_deleted_with_the_shoot() {
    let mut shoot = valid_for_tests(SHOOT);
    shoot.control_plane.etcd_class = Some("fast".into());
    let objects = objects(&shoot);
    let claim = &named(&objects, "StatefulSet", "etcd")["spec"]["volumeClaimTemplates"][0];
    assert_eq!(claim["spec"]["storageClassName"], "fast");
    assert_eq!(claim["spec"]["resources"]["requests"]["storage"], "10Gi");
    assert_eq!(
        claim["metadata"]["labels"][names::PART_OF],
        "shoot--dev--demo"
    );
    assert_eq!(claim["metadata"]["ownerReferences"][0]["uid"], "0c1a");
}

#[test]
fn only_the_api_server_and_its_members_reach_etcd() {
    let objects = objects(&tolerating(Tolerance::None));
    let ingress = &named(&objects, "NetworkPolicy", "etcd")["spec"]["ingress"];
    let from =
        |rule: usize| &ingress[rule]["from"][0]["podSelector"]["matchExpressions"][0]["values"];
    assert_eq!(*from(0), json!(["kube-apiserver"]));
    assert_eq!(*from(1), json!(["etcd"]));
    assert!(ingress[2].is_null());
    for part in [
        "kube-controller-manager",
        "kube-scheduler",
        "cloud-controller-manager",
        "csi-controller",
    ] {
        assert_eq!(
            named(&objects, "NetworkPolicy", part)["spec"]["ingress"],
            json!([]),
            "{part}"
        );
    }
}

#[test]
fn the_cloud_controller_manager_finds_machines_and_their_namespace() {
    let mut shoot = valid_for_tests(SHOOT);
    shoot
        .control_plane
        .cloud_controller_gates
        .insert("A".into(), true);
    let objects = objects(&shoot);
    let data = &named(&objects, "ConfigMap", "cloud-controller-manager")["data"]["cloud-config"];
    let config: Value = serde_json::from_str(data.as_str().expect("a file")).expect("JSON");
    assert_eq!(config["namespace"], "clusters");
    assert_eq!(config["instancesV2"]["zoneAndRegionEnabled"], false);
    let pod =
        named(&objects, "Deployment", "cloud-controller-manager")["spec"]["template"].to_string();
    for flag in [
        "--cluster-name=shoot--dev--demo",
        "--feature-gates=A=true",
        "--authentication-skip-lookup=true",
        "--node-status-update-frequency=30s",
    ] {
        assert!(pod.contains(flag), "{flag}");
    }
}

#[test]
fn the_cloud_controller_manager_runs_where_its_image_does() {
    let mut shoot = valid_for_tests(SHOOT);
    let selector = |shoot: &ValidShoot| {
        let objects = objects(shoot);
        let deployment = named(&objects, "Deployment", "cloud-controller-manager");
        deployment["spec"]["template"]["spec"]["nodeSelector"].clone()
    };
    assert_eq!(selector(&shoot), json!({ "kubernetes.io/arch": "amd64" }));
    let own = "example.org/ccm:arm64".to_owned();
    let name = "kubevirt-cloud-controller-manager".to_owned();
    shoot.control_plane.images.insert(name, own);
    assert_eq!(selector(&shoot), Value::Null);
}

#[test]
fn roles_are_limited_to_the_namespace_and_exclude_secrets() {
    let objects = objects(&tolerating(Tolerance::None));
    assert_eq!(of_kind(&objects, "ClusterRole").len(), 0);
    for role in of_kind(&objects, "Role") {
        let rules = role["rules"].to_string();
        assert!(
            !rules.contains("secrets") && !rules.contains('*'),
            "{rules}"
        );
    }
}

#[test]
fn disks_use_only_classes_that_the_shoot_has() {
    let mut shoot = tolerating(Tolerance::None);
    let listed = json!([{ "name": "listed" }]);
    shoot.profile.spec.provider_config.storage_classes =
        serde_json::from_value(listed).expect("a class");
    let objects = objects(&shoot);
    let pod = &named(&objects, "Deployment", "csi-controller")["spec"]["template"]["spec"];
    let enforced = pod["containers"][0]["env"][0]["value"]
        .as_str()
        .expect("a text");
    let enforced: Value = serde_json::from_str(enforced).expect("JSON");
    let classes = json!(["fast-rwo", "listed", "marked", "standard-rwo"]);
    assert_eq!(enforced["allowList"], classes);
    assert_eq!(enforced["allowAll"], false);
    assert_eq!(enforced["allowDefault"], true);
    assert_eq!(enforced["storageSnapshotMapping"], Value::Null);
}

#[test]
fn snapshots_are_enabled_if_the_profile_lists_classes_for_them() {
    let mut shoot = tolerating(Tolerance::None);
    let parts = |shoot: &ValidShoot| {
        let objects = objects(shoot);
        let pod =
            named(&objects, "Deployment", "csi-controller")["spec"]["template"]["spec"].clone();
        let containers = pod["containers"].as_array().expect("a list").clone();
        let rules = named(&objects, "Role", "csi-controller")["rules"].to_string();
        (containers, rules)
    };
    let (before, rules) = parts(&shoot);
    assert!(!rules.contains("volumesnapshots"), "{rules}");

    let listed = json!([{ "name": "snap" }]);
    shoot.profile.spec.provider_config.volume_snapshot_classes =
        serde_json::from_value(listed).expect("a class");
    let (after, rules) = parts(&shoot);
    assert!(rules.contains("volumesnapshots"), "{rules}");
    let more: Vec<&Value> = after[before.len()..].iter().map(|it| &it["name"]).collect();
    assert_eq!(more, ["csi-snapshotter", "snapshot-controller"]);
    let enforced = after[0]["env"][0]["value"].as_str().expect("a text");
    let enforced: Value = serde_json::from_str(enforced).expect("JSON");
    // Otherwise the driver would use the provider's default class, whatever is requested.
    assert_eq!(enforced["allowDefault"], false);
    let mapping = json!([{
        "storageClasses": ["fast-rwo", "marked", "standard-rwo"],
        "volumeSnapshotClasses": ["snap"],
    }]);
    assert_eq!(enforced["storageSnapshotMapping"], mapping);
}
