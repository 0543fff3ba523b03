//! Properties of all pods.

use super::*;
use crate::state::facts::{Quota, amounts};
use serde_json::json;

const ALL: [Tolerance; 3] = [Tolerance::None, Tolerance::Node, Tolerance::Zone];

fn containers(workload: &Value) -> Vec<&Value> {
    let spec = &workload["spec"]["template"]["spec"];
    let lists = [&spec["initContainers"], &spec["containers"]];
    lists
        .into_iter()
        .filter_map(Value::as_array)
        .flatten()
        .collect()
}

#[test]
fn every_pod_is_restricted() {
    for object in workloads(&objects(&tolerating(Tolerance::Zone))) {
        let pod = &object["spec"]["template"]["spec"]["securityContext"];
        assert_eq!(pod["runAsNonRoot"], true);
        assert_eq!(pod["seccompProfile"]["type"], "RuntimeDefault");
        for container in containers(object) {
            let security = &container["securityContext"];
            assert_eq!(security["allowPrivilegeEscalation"], false);
            assert_eq!(security["readOnlyRootFilesystem"], true);
            assert_eq!(security["capabilities"]["drop"], json!(["ALL"]));
            let added = &security["capabilities"]["add"];
            let may = added.is_null() || *added == json!(["NET_BIND_SERVICE"]);
            assert!(may, "{container:#}");
        }
        let volumes = object["spec"]["template"]["spec"]["volumes"].as_array();
        for volume in volumes.into_iter().flatten() {
            let kinds = ["secret", "configMap", "emptyDir", "projected"];
            assert!(kinds.iter().any(|it| volume[it].is_object()), "{volume}");
        }
    }
}

/// OpenShift refuses a user that is not of the namespace's range, and assigns one.
#[test]
fn a_provider_that_assigns_users_is_not_told_one() {
    let rules = NamespaceLimits {
        assigns_users: true,
        ..NamespaceLimits::default()
    };
    let objects = under(&rules, &tolerating(Tolerance::Node), finished);
    for object in workloads(&objects) {
        let pod = &object["spec"]["template"]["spec"]["securityContext"];
        let expected = json!({
            "runAsNonRoot": true,
            "seccompProfile": { "type": "RuntimeDefault" },
        });
        assert_eq!(*pod, expected);
    }
}

#[test]
fn every_container_has_limits_where_a_quota_asks_for_them() {
    let hard = ["limits.cpu", "limits.memory"].map(|it| (it.to_owned(), "99".to_owned()));
    let quota = Quota {
        is_scoped: false,
        name: "q".to_owned(),
        hard: amounts(&hard.into()),
        used: amounts(&Default::default()),
    };
    let rules = NamespaceLimits {
        quotas: vec![quota],
        ..NamespaceLimits::default()
    };
    let objects = under(&rules, &tolerating(Tolerance::None), finished);
    let all = workloads(&objects).into_iter().flat_map(containers);
    let limited = all.filter(|it| {
        let limits = &it["resources"]["limits"];
        assert!(
            limits["cpu"].is_string() && limits["memory"].is_string(),
            "{it:#}"
        );
        true
    });
    assert!(limited.count() >= 10);
}

#[test]
fn only_components_that_call_the_provider_have_a_service_account() {
    for object in workloads(&objects(&tolerating(Tolerance::None))) {
        let spec = &object["spec"]["template"]["spec"];
        let name = object["metadata"]["name"].as_str().expect("a name");
        let is_csi = name.ends_with("csi-controller");
        let talks = name.ends_with("cloud-controller-manager") || is_csi;
        assert_eq!(spec["serviceAccountName"].is_string(), talks, "{name}");
        let automounts = talks && !is_csi;
        assert_eq!(spec["automountServiceAccountToken"], automounts, "{name}");
    }
}

#[test]
fn of_the_csi_controller_only_the_driver_has_the_token_of_its_service_account() {
    let objects = objects(&tolerating(Tolerance::None));
    let deployment = named(&objects, "Deployment", "csi-controller");
    let has_token = |container: &&Value| {
        let mut mounts = container["volumeMounts"].as_array().into_iter().flatten();
        mounts.any(|it| it["mountPath"] == "/var/run/secrets/kubernetes.io/serviceaccount")
    };
    let all = containers(deployment);
    let with: Vec<&Value> = all
        .into_iter()
        .filter(has_token)
        .map(|it| &it["name"])
        .collect();
    assert_eq!(with, ["csi-driver"]);
}

#[test]
fn a_pod_rolls_with_each_of_its_secrets_and_config_maps() {
    let objects = objects(&tolerating(Tolerance::None));
    let mut seen = std::collections::BTreeSet::new();
    for object in workloads(&objects) {
        let template = &object["spec"]["template"];
        let annotations = template["metadata"]["annotations"]
            .as_object()
            .expect("some");
        let volumes = template["spec"]["volumes"].as_array().expect("some");
        let names: std::collections::BTreeSet<String> = volumes
            .iter()
            .filter_map(|volume| {
                let of = |kind: &str, field: &str| volume[kind][field].as_str();
                let secret = of("secret", "secretName").map(|it| format!("checksum/{it}"));
                secret.or_else(|| Some(format!("checksum-config/{}", of("configMap", "name")?)))
            })
            .collect();
        assert!(
            annotations.keys().eq(&names),
            "{annotations:?} and {names:?}"
        );
        seen.extend(names);
    }
    for part in SECRETS {
        let name = names::control_plane("shoot--dev--demo", part);
        assert!(
            seen.contains(&format!("checksum/{name}")),
            "{name} is not mounted"
        );
    }
}

#[test]
fn only_the_controller_manager_has_the_private_key_of_the_ca() {
    let objects = objects(&tolerating(Tolerance::None));
    let mounting = workloads(&objects).into_iter().filter(|workload| {
        let volumes = workload["spec"]["template"]["spec"]["volumes"].as_array();
        let mut volumes = volumes.into_iter().flatten();
        volumes.any(|it| it["secret"]["secretName"] == "shoot--dev--demo-ca")
    });
    let names: Vec<&Value> = mounting.map(|it| &it["metadata"]["name"]).collect();
    assert_eq!(names, ["shoot--dev--demo-kube-controller-manager"]);
}

#[test]
fn replicas_and_budgets_follow_the_failure_tolerance() {
    for (tolerance, replicas, members) in ALL
        .into_iter()
        .zip([1, 2, 2])
        .zip([1, 3, 3])
        .map(|((a, b), c)| (a, b, c))
    {
        let objects = objects(&tolerating(tolerance));
        for object in workloads(&objects) {
            let expected = if object["kind"] == "StatefulSet" {
                members
            } else {
                replicas
            };
            assert_eq!(
                object["spec"]["replicas"], expected,
                "{}",
                object["metadata"]["name"]
            );
        }
        let budgets = of_kind(&objects, "PodDisruptionBudget").len();
        assert_eq!(
            budgets,
            if replicas > 1 {
                workloads(&objects).len()
            } else {
                0
            }
        );
    }
}

#[test]
fn members_of_etcd_spread_as_the_failure_tolerance_requires() {
    let hard = |tolerance| {
        let objects = objects(&tolerating(tolerance));
        let spec = &named(&objects, "StatefulSet", "etcd")["spec"]["template"]["spec"];
        let constraints = spec["topologySpreadConstraints"].as_array().cloned();
        let constraints = constraints.into_iter().flatten();
        constraints
            .filter(|it| it["whenUnsatisfiable"] == "DoNotSchedule" && it["minDomains"] == 3)
            .map(|it| it["topologyKey"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(hard(Tolerance::None), [""; 0]);
    assert_eq!(hard(Tolerance::Node), [names::HOSTNAME_LABEL]);
    assert_eq!(
        hard(Tolerance::Zone),
        [names::HOSTNAME_LABEL, names::ZONE_LABEL]
    );
}

#[test]
fn objects_of_each_part_are_selected_by_their_labels() {
    let objects = objects(&tolerating(Tolerance::Node));
    let pods: Vec<&Value> = workloads(&objects)
        .into_iter()
        .map(|it| &it["spec"]["template"]["metadata"]["labels"])
        .collect();
    let selectors = objects
        .iter()
        .filter_map(|object| match object["kind"].as_str()? {
            "Service" => Some(&object["spec"]["selector"]),
            "NetworkPolicy" => Some(&object["spec"]["podSelector"]["matchLabels"]),
            "PodDisruptionBudget" | "Deployment" | "StatefulSet" => {
                Some(&object["spec"]["selector"]["matchLabels"])
            }
            _ => None,
        });
    for selector in selectors {
        let selector = selector.as_object().expect("labels");
        let matching = pods
            .iter()
            .filter(|pod| selector.iter().all(|(key, value)| pod[key] == *value));
        assert_eq!(matching.count(), 1, "{selector:?}");
    }
    assert_eq!(
        of_kind(&objects, "NetworkPolicy").len(),
        pods.len(),
        "every component has one"
    );
}

#[test]
fn every_pod_has_the_priority_class_of_the_manifest_and_else_that_of_the_provider() {
    let mut shoot = valid_for_tests(SHOOT);
    let classes = |shoot: &ValidShoot| -> Vec<Value> {
        let objects = objects(shoot);
        let all = workloads(&objects).into_iter();
        all.map(|it| it["spec"]["template"]["spec"]["priorityClassName"].clone())
            .collect()
    };
    assert!(classes(&shoot).iter().all(Value::is_null));
    shoot.control_plane.priority_class = Some("gardener-system-300".into());
    let given = classes(&shoot);
    assert!(
        given.len() >= 6 && given.iter().all(|it| it == "gardener-system-300"),
        "{given:?}"
    );
}

#[test]
fn pull_secrets_and_another_registry_reach_every_pod() {
    let mut shoot = valid_for_tests(SHOOT);
    shoot.control_plane.pull_secrets = vec!["pull".into()];
    shoot.control_plane.registry = Some("mirror.example.org".into());
    for object in workloads(&objects(&shoot)) {
        let spec = &object["spec"]["template"]["spec"];
        assert_eq!(spec["imagePullSecrets"], json!([{ "name": "pull" }]));
        for container in containers(object) {
            let image = container["image"].as_str().expect("an image");
            assert!(image.starts_with("mirror.example.org/"), "{image}");
        }
    }
}

#[test]
fn rendering_is_deterministic() {
    let shoot = tolerating(Tolerance::Zone);
    let text = |objects: Vec<Value>| serde_json::to_string(&objects).expect("JSON");
    assert_eq!(text(objects(&shoot)), text(objects(&shoot)));
}
