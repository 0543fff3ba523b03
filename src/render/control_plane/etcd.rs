//! etcd: one member, or three that stand apart.

use super::context::{CLIENT_PORT, Context, PEER_PORT};
use super::parts::flags::Flags;
use super::parts::network_policy::{allow, policy};
use super::parts::pod::{Pods, container, labels, probe};
use super::parts::replicas::budget;
use super::parts::volume::Volume;
use crate::render::component::Component;
use crate::render::metadata::owner;
use serde_json::{Value, json};

const ETCD: &str = "etcd";
const METRICS_PORT: u16 = 2381;
const MIB: f64 = 1024.0 * 1024.0;
/// More than this etcd is not made for.
const MOST_MIB: f64 = 8192.0;

pub(crate) fn component(context: &Context) -> Component {
    let members = context.members();
    let budget = budget(context, ETCD, members);
    let policy = policy(
        context,
        ETCD,
        vec![
            allow(context, &["kube-apiserver"], &[CLIENT_PORT]),
            allow(context, &[ETCD], &[CLIENT_PORT, PEER_PORT]),
        ],
    );
    Component {
        name: ETCD,
        title: "Run etcd".into(),
        objects: [stateful_set(context, members), policy]
            .into_iter()
            .chain(budget)
            .collect(),
    }
}

/// What clients are told: every member, so that none of them is in the way of the others.
pub(crate) fn endpoints(context: &Context) -> String {
    let of = |ordinal| {
        format!(
            "https://{}:{CLIENT_PORT}",
            host(context, &member(context, ordinal))
        )
    };
    let members: Vec<String> = (0..context.members()).map(of).collect();
    members.join(",")
}

fn member(context: &Context, ordinal: u32) -> String {
    format!("{}-{ordinal}", context.name(ETCD))
}

/// Without the domain of the provider cluster, which nobody has to tell us.
fn host(context: &Context, pod: &str) -> String {
    let service = context.name("etcd-peers");
    format!("{pod}.{service}.{}.svc", context.site.namespace)
}

fn stateful_set(context: &Context, members: u32) -> Value {
    let server = Volume::secret(context, "etcd-server");
    let peer = Volume::secret(context, "etcd-peer");
    let data = Volume::claim("data", "/var/lib/etcd");
    let command = command(context, &server, &peer, &data);
    let mut container = container(
        context,
        ETCD,
        command,
        ("200m", "512Mi"),
        &[&data, &server, &peer],
    );
    container["env"] = json!([
        { "name": "POD_NAME", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } },
    ]);
    container["ports"] = json!([
        { "name": "client", "containerPort": CLIENT_PORT },
        { "name": "peer", "containerPort": PEER_PORT },
        { "name": "metrics", "containerPort": METRICS_PORT },
    ]);
    container["startupProbe"] = probe("HTTP", METRICS_PORT, "/readyz", 2, 120);
    container["livenessProbe"] = probe("HTTP", METRICS_PORT, "/livez", 10, 8);
    container["readinessProbe"] = probe("HTTP", METRICS_PORT, "/readyz", 5, 3);
    let pods = Pods {
        part: ETCD,
        replicas: members,
        containers: vec![container],
        sidecars: Vec::new(),
        volumes: &[server, peer, data],
        account: None,
        grace: 30,
    };
    json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": { "name": context.name(ETCD) },
        "spec": {
            "replicas": members,
            "serviceName": context.name("etcd-peers"),
            // Three members cannot become ready one after the other.
            "podManagementPolicy": "Parallel",
            "persistentVolumeClaimRetentionPolicy": {
                "whenDeleted": "Retain",
                "whenScaled": "Retain",
            },
            "revisionHistoryLimit": 2,
            "selector": { "matchLabels": context.selector(ETCD) },
            "template": pods.template(context, None),
            "updateStrategy": { "type": "RollingUpdate" },
            "volumeClaimTemplates": [claim(context)],
        },
    })
}

/// Outlives the StatefulSet, but not the shoot.
fn claim(context: &Context) -> Value {
    let control_plane = &context.shoot.control_plane;
    let size = control_plane.etcd_size.to_string();
    let mut claim = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "data",
            "labels": labels(context, ETCD),
            "ownerReferences": [owner(&context.site)],
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": { "requests": { "storage": size } },
        },
    });
    if let Some(class) = &control_plane.etcd_class {
        claim["spec"]["storageClassName"] = json!(class);
    }
    claim
}

fn command(context: &Context, server: &Volume, peer: &Volume, data: &Volume) -> Vec<String> {
    let own = host(context, "$(POD_NAME)");
    let members = (0..context.members()).map(|ordinal| {
        let name = member(context, ordinal);
        format!("{name}=https://{}:{PEER_PORT}", host(context, &name))
    });
    let members = members.collect::<Vec<_>>().join(",");
    Flags::of("etcd")
        .set("name", "$(POD_NAME)")
        // Made by etcd itself, with the mode that it wants: the volume's own directory has that of its group.
        .set("data-dir", data.file("data"))
        .set(
            "listen-client-urls",
            format!("https://0.0.0.0:{CLIENT_PORT}"),
        )
        .set(
            "advertise-client-urls",
            format!("https://{own}:{CLIENT_PORT}"),
        )
        .set("listen-peer-urls", format!("https://0.0.0.0:{PEER_PORT}"))
        .set(
            "initial-advertise-peer-urls",
            format!("https://{own}:{PEER_PORT}"),
        )
        .set(
            "listen-metrics-urls",
            format!("http://0.0.0.0:{METRICS_PORT}"),
        )
        .set("initial-cluster", members)
        .set("initial-cluster-token", context.site.uid)
        .set("initial-cluster-state", "new")
        .set("client-cert-auth", true)
        .set("cert-file", server.file("tls.crt"))
        .set("key-file", server.file("tls.key"))
        .set("trusted-ca-file", server.file("ca.crt"))
        .set("peer-client-cert-auth", true)
        .set("peer-cert-file", peer.file("tls.crt"))
        .set("peer-key-file", peer.file("tls.key"))
        .set("peer-trusted-ca-file", peer.file("ca.crt"))
        .set("quota-backend-bytes", quota(context))
        .set("feature-gates", "InitialCorruptCheck=true")
        .set("watch-progress-notify-interval", "5s")
        .done()
}

/// A part of the disk, so that etcd says no before the disk does: logs and snapshots want room too.
fn quota(context: &Context) -> u64 {
    let size = context.shoot.control_plane.etcd_size.value / MIB;
    let mib = (size * 0.8).clamp(1.0, MOST_MIB);
    // Whole MiB below a bound: the conversion loses nothing.
    mib as u64 * 1024 * 1024
}
