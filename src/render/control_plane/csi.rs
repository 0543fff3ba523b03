//! The controller of KubeVirt's CSI driver, which creates disks in the provider and attaches them to machines. The node
//! part runs on the shoot's nodes and never has permissions in the provider.
//!
//! If the profile lists snapshot classes, the snapshot controllers run in the same pod.

use super::context::ControlPlaneContext;
use super::parts::account::{RoleRule, account, binding, role};
use super::parts::flags::Flags;
use super::parts::network_policy::closed;
use super::parts::pod::{Pods, container, probe};
use super::parts::volume::PodVolume;
use crate::render::component::Component;
use crate::render::images::KUBEVIRT_CSI;
use crate::render::storage_classes::offered;
use crate::state::names::{self, CSI_CLUSTER, part};
use crate::state::site::Site;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const NAME: &str = part::CSI_CONTROLLER;
const HEALTH_PORT: u16 = 10301;

/// The Role for the machines of this shoot.
pub(crate) const MACHINE_ROLE: &str = "csi-machines";

/// Its permissions in the provider namespace. Volumes cannot be limited to those of this shoot: a Role selects objects
/// only by name, and the driver chooses the names.
const RULES: [RoleRule; 3] = [
    RoleRule {
        group: "cdi.kubevirt.io",
        resources: &["datavolumes"],
        verbs: &["get", "create", "delete"],
    },
    RoleRule {
        group: "kubevirt.io",
        resources: &["virtualmachines", "virtualmachineinstances"],
        verbs: &["get", "list"],
    },
    RoleRule {
        group: "",
        resources: &["persistentvolumeclaims"],
        verbs: &["get", "list", "watch", "patch"],
    },
];

/// Its permissions on the machines of this shoot: to attach and detach volumes.
const MACHINE_RULE: RoleRule = RoleRule {
    group: "subresources.kubevirt.io",
    resources: &[
        "virtualmachines/addvolume",
        "virtualmachines/removevolume",
        "virtualmachineinstances/addvolume",
        "virtualmachineinstances/removevolume",
    ],
    verbs: &["update"],
};

/// Additional permission if the profile has snapshot classes.
const SNAPSHOT_RULE: RoleRule = RoleRule {
    group: "snapshot.storage.k8s.io",
    resources: &["volumesnapshots"],
    verbs: &["get", "list", "create", "delete"],
};

pub(crate) fn component(context: &ControlPlaneContext) -> Component {
    let own = PodVolume::secret(context, NAME);
    let socket = PodVolume::memory("socket", "/csi");
    let token = PodVolume::service_account_token();
    let pods = Pods {
        part: NAME,
        replicas: context.replicas(),
        containers: containers(context, &own, &socket, &token),
        sidecars: Vec::new(),
        volumes: &[own, socket, token],
        account: Some(context.name(NAME)),
        grace: 30,
    };
    Component {
        name: NAME,
        title: "Deploy CSI controller".into(),
        objects: account(context, NAME, &rules(context))
            .into_iter()
            .chain([closed(context, NAME)])
            .chain(pods.deployment(context))
            .collect(),
    }
}

/// The permission to attach volumes to these machines, and to no others of the namespace. It is a Role of its own, so
/// that a new machine changes nothing else.
pub(crate) fn machine_access(site: &Site, machines: &BTreeSet<String>) -> Component {
    let (own, account) = (
        names::control_plane(site.id, MACHINE_ROLE),
        names::control_plane(site.id, NAME),
    );
    let mut rule = MACHINE_RULE.value();
    rule["resourceNames"] = json!(machines);
    // A rule without names would be for all machines.
    let rules: Vec<Value> = [rule]
        .into_iter()
        .filter(|_| !machines.is_empty())
        .collect();
    Component {
        name: MACHINE_ROLE,
        title: "Grant access of the CSI controller to machines".into(),
        objects: vec![
            role(&own, rules.into()),
            binding(&own, &account, site.namespace),
        ],
    }
}

/// All rules of its Roles.
#[cfg(test)]
pub(crate) fn granted() -> impl Iterator<Item = &'static RoleRule> {
    RULES.iter().chain([&SNAPSHOT_RULE, &MACHINE_RULE])
}

fn rules(context: &ControlPlaneContext) -> Vec<RoleRule> {
    let snapshots = (!snapshot_classes(context).is_empty()).then_some(SNAPSHOT_RULE);
    RULES.into_iter().chain(snapshots).collect()
}

/// Names of the profile's snapshot classes.
fn snapshot_classes<'a>(context: &ControlPlaneContext<'a>) -> Vec<&'a str> {
    let config = &context.shoot.profile.spec.provider_config;
    let classes = config.volume_snapshot_classes.iter();
    classes.map(|it| it.name.as_str()).collect()
}

fn containers(
    context: &ControlPlaneContext,
    own: &PodVolume,
    socket: &PodVolume,
    token: &PodVolume,
) -> Vec<Value> {
    let address = socket.file("csi.sock");
    let helper = |component: &str, adjust: &dyn Fn(Flags) -> Flags| {
        // Longer than the driver's own timeout for a disk.
        let flags = Flags::of(&format!("/{component}"))
            .set("csi-address", &address)
            .set("kubeconfig", own.file("kubeconfig"))
            // Otherwise they would use the namespace of their own pod, which does not exist in the shoot.
            .set("leader-election", true)
            .set("leader-election-namespace", "kube-system")
            .set("timeout", "3m");
        let command = adjust(flags).done();
        container(context, component, command, ("10m", "32Mi"), &[own, socket])
    };
    let patient = |flags: Flags| flags.set("retry-interval-max", "1m");
    let liveness = Flags::of("/livenessprobe")
        .set("csi-address", &address)
        .set("probe-timeout", "3s")
        .set("health-port", HEALTH_PORT)
        .done();
    let has_snapshots = !snapshot_classes(context).is_empty();
    let snapshots = has_snapshots.then(|| {
        [
            helper("csi-snapshotter", &|it| it),
            snapshot_controller(context, own),
        ]
    });
    let containers = vec![
        driver(context, &[own, socket, token]),
        helper("csi-provisioner", &|it| {
            patient(it).set("default-fstype", "ext4")
        }),
        helper("csi-attacher", &patient),
        helper("csi-resizer", &|it| {
            it.set("handle-volume-inuse-error", false)
        }),
        container(
            context,
            "livenessprobe",
            liveness,
            ("10m", "16Mi"),
            &[socket],
        ),
    ];
    let snapshots = snapshots.into_iter().flatten();
    containers.into_iter().chain(snapshots).collect()
}

/// Binds VolumeSnapshots to the snapshots that the driver creates. It serves only this cluster.
fn snapshot_controller(context: &ControlPlaneContext, own: &PodVolume) -> Value {
    const NAME: &str = "snapshot-controller";
    let command = Flags::of(&format!("/{NAME}"))
        .set("kubeconfig", own.file("kubeconfig"))
        .set("leader-election", true)
        .set("leader-election-namespace", "kube-system")
        .done();
    container(context, NAME, command, ("10m", "32Mi"), &[own])
}

/// The only container that calls the provider's API.
fn driver(context: &ControlPlaneContext, volumes: &[&PodVolume; 3]) -> Value {
    let [own, socket, _] = volumes;
    let command = Flags::of("/kubevirt-csi-driver")
        .set("endpoint", format!("unix://{}", socket.file("csi.sock")))
        .set("infra-cluster-namespace", context.site.namespace)
        .set(
            "infra-cluster-labels",
            format!("{CSI_CLUSTER}={}", context.shoot.id),
        )
        .set("tenant-cluster-kubeconfig", own.file("kubeconfig"))
        .set("run-node-service", false)
        .set("run-controller-service", true)
        .done();
    let mut it = container(context, KUBEVIRT_CSI, command, ("10m", "64Mi"), volumes);
    it["name"] = json!("csi-driver");
    it["ports"] = json!([{ "name": "healthz", "containerPort": HEALTH_PORT }]);
    it["startupProbe"] = probe("HTTP", HEALTH_PORT, "/healthz", 2, 120);
    it["livenessProbe"] = probe("HTTP", HEALTH_PORT, "/healthz", 10, 5);
    // Restricts the driver to these classes of the provider.
    it["env"] = json!([{ "name": "INFRA_STORAGE_CLASS_ENFORCEMENT", "value": classes(context) }]);
    it
}

/// All classes of the provider that the shoot has a StorageClass for, and the provider's default class.
fn classes(context: &ControlPlaneContext) -> String {
    let types = context.shoot.profile.spec.volume_types.iter();
    let usable = types
        .filter(|it| it.usable != Some(false))
        .map(|it| it.class.as_str());
    let offered = offered(context.shoot, context.classes);
    let classes: BTreeSet<&str> = usable.chain(offered.into_keys()).collect();
    let snapshots = snapshot_classes(context);
    // If the provider's default storage class is allowed, the driver uses the default snapshot class too, whatever is
    // requested.
    let is_default = snapshots.is_empty() || classes.contains("");
    let mut all = json!({ "allowAll": false, "allowDefault": is_default, "allowList": classes });
    if !snapshots.is_empty() {
        let mapping = json!({ "storageClasses": classes, "volumeSnapshotClasses": snapshots });
        all["storageSnapshotMapping"] = json!([mapping]);
    }
    all.to_string()
}
