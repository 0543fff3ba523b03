//! The controller of KubeVirt's CSI driver: makes disks in the provider and plugs them into machines. The shoot's
//! nodes have the other half, and never any right in the provider.
//!
//! Where the profile lists classes of snapshots, what makes these runs beside it.

use super::context::Context;
use super::parts::account::{Rule, account};
use super::parts::flags::Flags;
use super::parts::network_policy::closed;
use super::parts::pod::{Pods, container, probe};
use super::parts::volume::Volume;
use crate::render::component::Component;
use crate::render::images::KUBEVIRT_CSI;
use crate::render::storage_classes::offered;
use crate::state::names::CSI_CLUSTER;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const NAME: &str = "csi-controller";
const HEALTH_PORT: u16 = 10301;

/// What it does in the provider namespace.
const RULES: [Rule; 4] = [
    Rule {
        group: "cdi.kubevirt.io",
        resources: &["datavolumes"],
        verbs: &["get", "create", "delete"],
    },
    Rule {
        group: "kubevirt.io",
        resources: &["virtualmachines", "virtualmachineinstances"],
        verbs: &["get", "list"],
    },
    Rule {
        group: "subresources.kubevirt.io",
        resources: &[
            "virtualmachines/addvolume",
            "virtualmachines/removevolume",
            "virtualmachineinstances/addvolume",
            "virtualmachineinstances/removevolume",
        ],
        verbs: &["update"],
    },
    Rule {
        group: "",
        resources: &["persistentvolumeclaims"],
        verbs: &["get", "list", "watch", "patch"],
    },
];

/// Where there are classes of snapshots.
const SNAPSHOT_RULE: Rule = Rule {
    group: "snapshot.storage.k8s.io",
    resources: &["volumesnapshots"],
    verbs: &["get", "list", "create", "delete"],
};

pub(crate) fn component(context: &Context) -> Component {
    let own = Volume::secret(context, NAME);
    let socket = Volume::memory("socket", "/csi");
    let pods = Pods {
        part: NAME,
        replicas: context.replicas(),
        containers: containers(context, &own, &socket),
        sidecars: Vec::new(),
        volumes: &[own, socket],
        account: Some(context.name(NAME)),
        grace: 30,
    };
    Component {
        name: NAME,
        title: "Run the controller of the KubeVirt CSI driver".into(),
        objects: account(context, NAME, &rules(context))
            .into_iter()
            .chain([closed(context, NAME)])
            .chain(pods.deployment(context))
            .collect(),
    }
}

fn rules(context: &Context) -> Vec<Rule> {
    let snapshots = (!snapshot_classes(context).is_empty()).then_some(SNAPSHOT_RULE);
    RULES.into_iter().chain(snapshots).collect()
}

/// By name.
fn snapshot_classes<'a>(context: &Context<'a>) -> Vec<&'a str> {
    let config = &context.shoot.profile.spec.provider_config;
    let classes = config.volume_snapshot_classes.iter();
    classes.map(|it| it.name.as_str()).collect()
}

fn containers(context: &Context, own: &Volume, socket: &Volume) -> Vec<Value> {
    let address = socket.file("csi.sock");
    let helper = |component: &str, adjust: &dyn Fn(Flags) -> Flags| {
        // Longer than the driver itself waits for a disk.
        let flags = Flags::of(&format!("/{component}"))
            .set("csi-address", &address)
            .set("kubeconfig", own.file("kubeconfig"))
            // Without it they would look for the namespace of their own pod, which is none of the shoot's.
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
        driver(context, own, socket),
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

/// Binds what people ask for to what the driver makes; it serves this cluster alone, and needs nothing inside it.
fn snapshot_controller(context: &Context, own: &Volume) -> Value {
    const NAME: &str = "snapshot-controller";
    let command = Flags::of(&format!("/{NAME}"))
        .set("kubeconfig", own.file("kubeconfig"))
        .set("leader-election", true)
        .set("leader-election-namespace", "kube-system")
        .done();
    container(context, NAME, command, ("10m", "32Mi"), &[own])
}

fn driver(context: &Context, own: &Volume, socket: &Volume) -> Value {
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
    let mut it = container(
        context,
        KUBEVIRT_CSI,
        command,
        ("10m", "64Mi"),
        &[own, socket],
    );
    it["name"] = json!("csi-driver");
    it["ports"] = json!([{ "name": "healthz", "containerPort": HEALTH_PORT }]);
    it["startupProbe"] = probe("HTTP", HEALTH_PORT, "/healthz", 2, 120);
    it["livenessProbe"] = probe("HTTP", HEALTH_PORT, "/healthz", 10, 5);
    // Which of the provider's classes may be used.
    it["env"] = json!([{ "name": "INFRA_STORAGE_CLASS_ENFORCEMENT", "value": classes(context) }]);
    it
}

/// All that the shoot has a class for, and the provider's default one.
fn classes(context: &Context) -> String {
    let types = context.shoot.profile.spec.volume_types.iter();
    let usable = types.filter(|it| it.usable != Some(false));
    let usable = usable.map(|it| it.class.as_str());
    let offered = offered(context.shoot, context.classes);
    let classes: BTreeSet<&str> = usable.chain(offered.into_keys()).collect();
    let snapshots = snapshot_classes(context);
    // Where the provider's default class may be used, the driver takes the default one of snapshots as well, whatever is
    // asked for.
    let is_default = snapshots.is_empty() || classes.contains("");
    let mut all = json!({ "allowAll": false, "allowDefault": is_default, "allowList": classes });
    if !snapshots.is_empty() {
        let mapping = json!({ "storageClasses": classes, "volumeSnapshotClasses": snapshots });
        all["storageSnapshotMapping"] = json!([mapping]);
    }
    all.to_string()
}
