mod accepted;
mod parts;

use super::components;
use super::context::SystemContext;
use super::metrics_server;
use crate::render::component::Component;
use crate::render::control_plane::context::ControlPlaneFacts;
use crate::render::images::image;
use crate::state::facts::StorageClass;
use crate::state::key::ObjectKind;
use crate::state::names::SYSTEM_COMPONENTS;
use crate::state::record::rotation::KeyGeneration;
use crate::state::site::Site;
use crate::validate::ValidShoot;
use crate::validate::component_images::COMPONENTS;
use crate::validate::control_plane::{Address, Tolerance};
use crate::validate::testing::{SHOOT, WIDE, valid_for_tests};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

pub(crate) fn known(host: &str) -> ControlPlaneFacts {
    ControlPlaneFacts {
        cluster_ip: "10.96.7.7".into(),
        external: None,
        node_address: Address {
            host: host.into(),
            port: 6443,
        },
        konnectivity_port: 8132,
        ca: "-----BEGIN CERTIFICATE-----\n".into(),
        checksums: HashMap::new(),
    }
}

/// The components of a shoot whose API server has this address.
pub(crate) fn inside(shoot: &ValidShoot, host: &str) -> Vec<Component> {
    inside_with(shoot, host, &BTreeMap::new())
}

/// The components if the provider has these storage classes.
pub(crate) fn inside_with(
    shoot: &ValidShoot,
    host: &str,
    classes: &BTreeMap<Arc<str>, StorageClass>,
) -> Vec<Component> {
    rendered(shoot, host, classes, |_| ())
}

/// The components after an edit of their context.
fn rendered(
    shoot: &ValidShoot,
    host: &str,
    classes: &BTreeMap<Arc<str>, StorageClass>,
    edit: impl FnOnce(&mut SystemContext),
) -> Vec<Component> {
    let site = Site {
        id: &shoot.id,
        namespace: "provider",
        uid: "1",
    };
    let known = known(host);
    let mut context = SystemContext {
        shoot,
        site,
        known: &known,
        classes,
        expands_volumes: true,
        token_generation: None,
        roots: KeyGeneration::default(),
    };
    edit(&mut context);
    components(&context)
}

/// A shoot with everything enabled: flannel, two replicas of everything, and both add-ons.
pub(crate) fn whole() -> ValidShoot {
    let mut shoot = valid_for_tests(WIDE);
    shoot.networking.type_ = "flannel".into();
    shoot.control_plane.tolerance = Tolerance::Zone;
    let addons = json!({
        "kubernetesDashboard": { "enabled": true, "authenticationMode": "token" },
        "nginxIngress": {
            "enabled": true,
            "loadBalancerSourceRanges": ["10.0.0.0/8"],
            "config": { "use-gzip": "true" },
            "externalTrafficPolicy": "Local",
        },
    });
    let manifest = Arc::make_mut(&mut shoot.manifest);
    manifest.spec.addons = serde_json::from_value(addons).expect("add-ons");
    shoot
}

pub(crate) fn objects(components: &[Component]) -> Vec<&Value> {
    components.iter().flat_map(|it| &it.objects).collect()
}

pub(crate) fn find<'a>(objects: &[&'a Value], kind: &str, name: &str) -> &'a Value {
    let mut found = objects
        .iter()
        .filter(|it| it["kind"] == kind && it["metadata"]["name"] == name);
    found.next().expect("such an object exists")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The pod templates, with the kind of their workload.
fn templates<'a>(objects: &[&'a Value]) -> Vec<(&'a str, &'a Value)> {
    let mut found = Vec::new();
    for object in objects {
        if ["DaemonSet", "Deployment"].contains(&text(&object["kind"])) {
            found.push((text(&object["kind"]), &object["spec"]["template"]));
        }
    }
    found
}

fn containers(template: &Value) -> impl Iterator<Item = &Value> {
    let spec = &template["spec"];
    list(&spec["initContainers"])
        .iter()
        .chain(list(&spec["containers"]))
}

#[test]
fn every_object_has_an_observed_kind_and_the_right_namespace() {
    let all = inside(&whole(), "10.96.7.7");
    let objects = objects(&all);
    let mut seen = BTreeSet::new();
    for object in objects {
        let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
        assert!(ObjectKind::generic(kind).is_some(), "{kind}");
        let of_cluster = kind.starts_with("Cluster")
            || ["StorageClass", "CSIDriver", "IngressClass", "APIService"].contains(&kind);
        let namespace = &object["metadata"]["namespace"];
        assert_eq!(namespace.is_null(), of_cluster, "{kind} {name}");
        let once = seen.insert((kind, namespace.as_str(), name));
        assert!(once, "{kind} {name} exists twice");
    }
}

#[test]
fn every_image_is_a_listed_component() {
    let shoot = whole();
    let listed: Vec<String> = COMPONENTS.iter().map(|it| image(&shoot, it)).collect();
    let all = inside(&shoot, "10.96.7.7");
    let mut count = 0;
    for (_, template) in templates(&objects(&all)) {
        for container in containers(template) {
            assert!(listed.contains(&text(&container["image"]).to_owned()));
            count += 1;
        }
    }
    assert!(count >= 12, "{count}");
}

#[test]
fn daemon_sets_tolerate_everything_and_deployments_select_pools_that_allow_them() {
    let all = inside(&whole(), "10.96.7.7");
    for (kind, template) in templates(&objects(&all)) {
        let spec = &template["spec"];
        if kind == "DaemonSet" {
            assert_eq!(spec["tolerations"], json!([{ "operator": "Exists" }]));
            assert_eq!(spec["priorityClassName"], "system-node-critical");
        } else {
            assert_eq!(spec["nodeSelector"][SYSTEM_COMPONENTS], "true");
            // Without the add-ons, the pods of a cluster work.
            let is_add_on = ["dashboard", "ingress"]
                .iter()
                .any(|it| template.to_string().contains(it));
            assert!(
                is_add_on || spec["priorityClassName"] == "system-cluster-critical",
                "{spec}"
            );
        }
    }
}

#[test]
fn every_referenced_object_exists() {
    let all = inside(&whole(), "10.96.7.7");
    let objects = objects(&all);
    let site = Site {
        id: "shoot--dev--demo",
        namespace: "provider",
        uid: "1",
    };
    let issued = metrics_server::certificate(
        &site,
        crate::state::record::rotation::KeyGeneration::default(),
    );
    let is_there = |kind: &str, name: &Value| {
        let mut same = objects.iter().filter(|it| it["kind"] == kind);
        let is_issued = kind == "Secret" && issued.key.name.ends_with(&format!("/{}", text(name)));
        // The controller manager creates it in every namespace.
        let is_root = kind == "ConfigMap" && *name == "kube-root-ca.crt";
        is_issued || is_root || same.any(|it| it["metadata"]["name"] == *name)
    };
    for object in &objects {
        let (role, subjects) = (&object["roleRef"], list(&object["subjects"]));
        if let Some(name) = role["name"].as_str() {
            let built_in = ["cluster-admin", "extension-apiserver-authentication-reader"];
            let known = built_in.contains(&name) || name.starts_with("system:");
            assert!(
                known || is_there(text(&role["kind"]), &role["name"]),
                "{name}"
            );
        }
        for subject in subjects.iter().filter(|it| it["kind"] == "ServiceAccount") {
            assert!(is_there("ServiceAccount", &subject["name"]), "{subject}");
        }
    }
    for (_, template) in templates(&objects) {
        let spec = &template["spec"];
        assert!(is_there("ServiceAccount", &spec["serviceAccountName"]));
        let volumes: Vec<&Value> = list(&spec["volumes"]).iter().collect();
        for volume in &volumes {
            let (config, secret) = (&volume["configMap"], &volume["secret"]);
            let is_needed = config["optional"] != true;
            assert!(config.is_null() || !is_needed || is_there("ConfigMap", &config["name"]));
            assert!(secret.is_null() || is_there("Secret", &secret["secretName"]));
        }
        for mount in containers(template).flat_map(|it| list(&it["volumeMounts"])) {
            assert!(
                volumes.iter().any(|it| it["name"] == mount["name"]),
                "{mount}"
            );
        }
    }
}

#[test]
fn selectors_match_pods() {
    let all = inside(&whole(), "10.96.7.7");
    let objects = objects(&all);
    let templates = templates(&objects);
    let finds = |selector: &Value| {
        let selector = selector.as_object().expect("a selector").iter();
        let mut templates = templates.iter();
        let selector: Vec<_> = selector.collect();
        templates.any(|(_, object)| {
            let labels = &object["metadata"]["labels"];
            selector
                .iter()
                .all(|(key, value)| labels[key.as_str()] == **value)
        })
    };
    for object in objects
        .iter()
        .filter(|it| !it["spec"]["selector"].is_null())
    {
        let selector = &object["spec"]["selector"];
        let labels = selector.get("matchLabels").unwrap_or(selector);
        assert!(finds(labels), "{}", object["metadata"]["name"]);
    }
}

#[test]
fn another_registry_applies_to_every_pod() {
    let mut shoot = whole();
    shoot.control_plane.registry = Some("registry.example.org/mirror".into());
    let all = inside(&shoot, "10.96.7.7");
    for (_, template) in templates(&objects(&all)) {
        for container in containers(template) {
            let image = text(&container["image"]);
            assert!(image.starts_with("registry.example.org/mirror/"), "{image}");
        }
    }
}

#[test]
fn a_minimal_shoot_has_no_built_in_network_and_no_add_ons() {
    let all = inside(&valid_for_tests(SHOOT), "10.96.7.7");
    let names: Vec<_> = all.iter().map(|it| it.name).collect();
    assert_eq!(
        names,
        [
            "rbac",
            "bootstrap",
            "kubernetes-endpoints",
            "kube-proxy",
            "konnectivity-agent",
            "core-dns",
            "metrics-server",
            "storage",
        ]
    );
}
