//! The objects of a control plane, as they are sent.

use super::context::{ControlPlaneContext, ControlPlaneFacts, KONNECTIVITY_PORT};
use super::*;
use crate::render::component::Component;
use crate::state::facts::{NamespaceLimits, OfferedStorageClass, StorageClass};
use crate::state::hash::Hash;
use crate::state::key::ClusterSide;
use crate::state::names;
use crate::state::site::Site;
use crate::validate::ValidShoot;
use crate::validate::control_plane::{Address, Tolerance};
use crate::validate::testing::{SHOOT, valid_for_tests};
use serde_json::Value;
use std::collections::BTreeMap;

mod autoscaler;
mod flags;
mod pods;
mod provider;

const SECRETS: [&str; 14] = [
    "ca",
    "kube-apiserver",
    "kube-apiserver-kubelet-client",
    "kube-apiserver-etcd-client",
    "etcd-server",
    "etcd-peer",
    "front-proxy-client",
    "kube-controller-manager",
    "kube-scheduler",
    "cloud-controller-manager",
    "csi-controller",
    "konnectivity-server",
    "service-account-key",
    "encryption-key",
];

fn known(id: &str) -> ControlPlaneFacts {
    let checksums = SECRETS.iter().enumerate();
    ControlPlaneFacts {
        cluster_ip: "10.43.0.7".into(),
        external: None,
        node_address: Address {
            host: "192.0.2.10".into(),
            port: 6443,
        },
        konnectivity_port: KONNECTIVITY_PORT,
        ca: "PEM".into(),
        checksums: checksums
            .map(|(i, part)| {
                let name = names::control_plane(id, part).into();
                (name, Hash(i as u64))
            })
            .collect(),
    }
}

fn with<T>(shoot: &ValidShoot, look: impl FnOnce(&ControlPlaneContext) -> T) -> T {
    under(&NamespaceLimits::default(), shoot, look)
}

/// The context in a namespace with these rules.
fn under<T>(
    rules: &NamespaceLimits,
    shoot: &ValidShoot,
    look: impl FnOnce(&ControlPlaneContext) -> T,
) -> T {
    let site = Site {
        id: &shoot.id,
        namespace: "clusters",
        uid: "0c1a",
    };
    let offered = OfferedStorageClass {
        is_default: false,
        binding_mode: "Immediate".into(),
        reclaim_policy: "Delete".into(),
        expandable: true,
    };
    let class = |offered| StorageClass {
        zonal: false,
        expandable: true,
        offered,
    };
    look(&ControlPlaneContext {
        shoot,
        site,
        known: &known(&shoot.id),
        classes: &BTreeMap::from([
            ("marked".into(), class(Some(offered))),
            ("plain".into(), class(None)),
        ]),
        rules,
    })
}

fn components(context: &ControlPlaneContext) -> Vec<Component> {
    let services = [
        Some(service::services(context.shoot, None)),
        service::exposure(context.shoot),
    ];
    services
        .into_iter()
        .flatten()
        .chain(super::workloads(context))
        .collect()
}

fn objects(shoot: &ValidShoot) -> Vec<Value> {
    with(shoot, finished)
}

fn finished(context: &ControlPlaneContext) -> Vec<Value> {
    let components = components(context).into_iter();
    let finished = components.flat_map(|it| it.finished(ClusterSide::Provider, &context.site));
    finished.map(|(_, _, object)| object).collect()
}

fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|it| it["kind"] == kind).collect()
}

fn named<'a>(objects: &'a [Value], kind: &str, part: &str) -> &'a Value {
    let suffix = format!("--demo-{part}");
    of_kind(objects, kind)
        .into_iter()
        .find(|object| {
            object["metadata"]["name"]
                .as_str()
                .is_some_and(|it| it.ends_with(&suffix))
        })
        .unwrap_or_else(|| panic!("no {kind} {part}"))
}

/// Objects with a pod template.
fn workloads(objects: &[Value]) -> Vec<&Value> {
    let has_pods = |it: &&Value| it["spec"]["template"].is_object();
    objects.iter().filter(has_pods).collect()
}

/// A valid Shoot with this text below `spec.kubernetes`, in this minor version.
fn shoot(minor: u64, kubernetes: &str) -> ValidShoot {
    let yaml = SHOOT.replace(
        "version: \"1.34\"",
        &format!("version: \"1.34\"\n{kubernetes}"),
    );
    let mut shoot = valid_for_tests(&yaml);
    shoot.kubernetes = format!("1.{minor}.1");
    shoot
}

fn tolerating(tolerance: Tolerance) -> ValidShoot {
    let mut shoot = valid_for_tests(SHOOT);
    shoot.control_plane.tolerance = tolerance;
    shoot
}
