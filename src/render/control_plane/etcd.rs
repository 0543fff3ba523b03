//! etcd: one member, or three on different nodes.

use super::context::{CLIENT_PORT, ControlPlaneContext, PEER_PORT};
use super::parts::flags::{CIPHER_SUITES, Flags};
use super::parts::network_policy::{allow, policy};
use super::parts::pod::{Pods, container, labels, probe};
use super::parts::replicas::budget;
use super::parts::volume::PodVolume;
use crate::render::component::Component;
use crate::render::metadata::owner;
use crate::state::facts::EtcdStart;
use crate::state::names::part::ETCD;
use serde_json::{Value, json};
use std::sync::Arc;

const METRICS_PORT: u16 = 2381;
const MIB: f64 = 1024.0 * 1024.0;
/// The largest database size that etcd recommends.
const MOST_MIB: f64 = 8192.0;
/// Space for the log, with some to spare.
const LOG_MIB: f64 = 512.0;
/// Name of the volume in the pod.
const VOLUME: &str = "data";

/// The part of the StatefulSet that depends on its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EtcdShape {
    pub(crate) replicas: u32,
    pub(crate) start: EtcdStart,
    /// Ordinals of the voters, for a member that joins them.
    pub(crate) voters: Vec<u32>,
    /// Number in the names of data directories; 0 for shoots of earlier releases.
    pub(crate) incarnation: u32,
    /// Number of the snapshot of a member that loads it.
    pub(crate) snapshot: u64,
}

/// Sizes that differ from those of the manifest while volumes grow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct EtcdSizes {
    /// Size in the claim template, which cannot be changed: a quantity. None for that of the manifest.
    pub(crate) claim: Option<Arc<str>>,
    /// Most bytes of the database; None for a share of the size in the manifest.
    pub(crate) quota: Option<u64>,
}

/// Incarnation of a new cluster.
pub(crate) const FIRST: u32 = 1;
/// End of the name of the directory of a member that only stores a snapshot.
pub(crate) const RECEIVED: &str = "-received";
/// Name of the init container that makes a data directory of a snapshot.
pub(crate) const LOAD: &str = "load";
/// Added to the revision of a snapshot: 11 days at 1000 writes per second. No client has seen a higher one, so none waits
/// for changes that do not come.
const REVISION_BUMP: u64 = 1_000_000_000;

pub(crate) fn component(
    context: &ControlPlaneContext,
    shape: &EtcdShape,
    sizes: &EtcdSizes,
) -> Component {
    let budget = budget(context, ETCD, context.members());
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
        title: "Deploy etcd".into(),
        objects: [stateful_set(context, shape, sizes), policy]
            .into_iter()
            .chain(budget)
            .collect(),
    }
}

/// The client URLs of the first `count` members, so that clients do not depend on a single one.
pub(crate) fn endpoints(context: &ControlPlaneContext, count: u32) -> String {
    let of = |ordinal| {
        format!(
            "https://{}:{CLIENT_PORT}",
            host(context, &member(context, ordinal))
        )
    };
    let members: Vec<String> = (0..count).map(of).collect();
    members.join(",")
}

/// Name of the pod of a member, and of the member.
pub(crate) fn member(context: &ControlPlaneContext, ordinal: u32) -> String {
    format!("{}-{ordinal}", context.name(ETCD))
}

/// The host name of a member, without the provider's cluster domain, which is not known.
fn host(context: &ControlPlaneContext, pod: &str) -> String {
    let service = context.name("etcd-peers");
    format!("{pod}.{service}.{}.svc", context.site.namespace)
}

/// Name of the volume of a member.
pub(crate) fn claim_name(context: &ControlPlaneContext, ordinal: u32) -> String {
    format!("{VOLUME}-{}", member(context, ordinal))
}

pub(crate) fn peer_url(context: &ControlPlaneContext, ordinal: u32) -> String {
    format!(
        "https://{}:{PEER_PORT}",
        host(context, &member(context, ordinal))
    )
}

fn stateful_set(context: &ControlPlaneContext, shape: &EtcdShape, sizes: &EtcdSizes) -> Value {
    let server = PodVolume::secret(context, "etcd-server");
    let peer = PodVolume::secret(context, "etcd-peer");
    let data = PodVolume::claim(VOLUME, "/var/lib/etcd");
    let quota = sizes.quota.unwrap_or_else(|| quota(context, shape));
    let command = command(context, shape, [&server, &peer, &data], quota);
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
    // A learner is never ready, and must not be restarted for that.
    container["startupProbe"] = probe("HTTP", METRICS_PORT, "/livez", 2, 120);
    container["livenessProbe"] = probe("HTTP", METRICS_PORT, "/livez", 10, 8);
    container["readinessProbe"] = probe("HTTP", METRICS_PORT, "/readyz", 5, 3);
    let load = (shape.start == EtcdStart::Load).then(|| load(context, shape, &data));
    let pods = Pods {
        part: ETCD,
        replicas: context.members(),
        containers: vec![container],
        sidecars: load.into_iter().collect(),
        volumes: &[server, peer, data],
        account: None,
        grace: grace(context),
    };
    json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": { "name": context.name(ETCD) },
        "spec": {
            "replicas": shape.replicas,
            "serviceName": context.name("etcd-peers"),
            // With ordered startup three members would never become ready: the first needs a quorum.
            "podManagementPolicy": "Parallel",
            "persistentVolumeClaimRetentionPolicy": {
                "whenDeleted": "Retain",
                "whenScaled": "Retain",
            },
            "revisionHistoryLimit": 2,
            "selector": { "matchLabels": context.selector(ETCD) },
            "template": pods.template(context, None),
            // kvshoot restarts members, the leader last: the controller does not know which one leads.
            "updateStrategy": { "type": "OnDelete" },
            "volumeClaimTemplates": [claim(context, sizes)],
        },
    })
}

/// Makes a data directory of the snapshot that the member stored before: its hash is checked, all revisions are raised
/// and compacted, and the membership is new. It fails if there is such a directory: each attempt has its own, so a member
/// never starts with half of the data.
fn load(context: &ControlPlaneContext, shape: &EtcdShape, data: &PodVolume) -> Value {
    let received = EtcdShape {
        start: EtcdStart::Receive,
        ..shape.clone()
    };
    let directory = data_directory(context, &received);
    let file = format!("{directory}/member/snap/{:016x}.snap.db", shape.snapshot);
    let name = member(context, 0);
    let mut command: Vec<String> = ["etcdutl", "snapshot", "restore"].map(str::to_owned).into();
    command.push(data.file(&file));
    let flags = Flags::of("etcdutl")
        .set("name", &name)
        .set("data-dir", data.file(&data_directory(context, shape)))
        .set(
            "initial-cluster",
            format!("{name}={}", peer_url(context, 0)),
        )
        .set("initial-advertise-peer-urls", peer_url(context, 0))
        .set("initial-cluster-token", token(context, shape))
        .set("bump-revision", REVISION_BUMP)
        .set("mark-compacted", true)
        .done();
    command.extend(flags.into_iter().skip(1));
    let mut container = container(context, ETCD, command, ("200m", "512Mi"), &[data]);
    container["name"] = json!(LOAD);
    container
}

/// Termination grace period in seconds. With clients, etcd ends only after 7 s or more, and does not answer meanwhile; a
/// single member has no other one to hand over to, and can be killed at any time.
fn grace(context: &ControlPlaneContext) -> u32 {
    match context.members() {
        1 => 2,
        _ => 30,
    }
}

/// The claim outlives the StatefulSet, but not the shoot.
fn claim(context: &ControlPlaneContext, sizes: &EtcdSizes) -> Value {
    let control_plane = &context.shoot.control_plane;
    let size = sizes
        .claim
        .as_deref()
        .unwrap_or(control_plane.etcd_size.text());
    let mut claim = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": VOLUME,
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

fn command(
    context: &ControlPlaneContext,
    shape: &EtcdShape,
    [server, peer, data]: [&PodVolume; 3],
    quota: u64,
) -> Vec<String> {
    let own = host(context, "$(POD_NAME)");
    // Its only peer is kvshoot, which connects to the loopback address.
    let peer = match shape.start {
        EtcdStart::Receive => server,
        _ => peer,
    };
    Flags::of("etcd")
        .set("name", "$(POD_NAME)")
        // etcd creates this subdirectory with the mode it requires; the volume's root has another one.
        .set("data-dir", data.file(&data_directory(context, shape)))
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
        .set("initial-cluster", initial_cluster(context, shape))
        .set("initial-cluster-token", token(context, shape))
        .set("initial-cluster-state", initial_state(shape.start))
        .set("tls-min-version", "TLS1.2")
        .set("cipher-suites", CIPHER_SUITES.join(","))
        .set("client-cert-auth", true)
        .set("cert-file", server.file("tls.crt"))
        .set("key-file", server.file("tls.key"))
        .set("trusted-ca-file", server.file("ca.crt"))
        .set("peer-client-cert-auth", true)
        .set("peer-cert-file", peer.file("tls.crt"))
        .set("peer-key-file", peer.file("tls.key"))
        .set("peer-trusted-ca-file", peer.file("ca.crt"))
        .set("quota-backend-bytes", quota)
        .set("feature-gates", "InitialCorruptCheck=true")
        .set("watch-progress-notify-interval", "5s")
        .done()
}

/// A volume of another shoot, or from before the data were restored, has no directory of this name.
fn data_directory(context: &ControlPlaneContext, shape: &EtcdShape) -> String {
    match shape.incarnation {
        0 => "data".to_owned(),
        number => {
            let shoot: String = context.site.uid.chars().take(8).collect();
            format!("{shoot}-{number}{}", suffix(shape))
        }
    }
}

/// Members of different clusters have different tokens, and so different IDs.
fn token(context: &ControlPlaneContext, shape: &EtcdShape) -> String {
    match shape.incarnation {
        0 => context.site.uid.to_owned(),
        number => format!("{}-{number}{}", context.site.uid, suffix(shape)),
    }
}

fn suffix(shape: &EtcdShape) -> &'static str {
    match shape.start {
        EtcdStart::Receive => RECEIVED,
        _ => "",
    }
}

fn initial_state(start: EtcdStart) -> &'static str {
    match start {
        EtcdStart::New | EtcdStart::Receive => "new",
        EtcdStart::Sealed | EtcdStart::Open(_) | EtcdStart::Load => "existing",
    }
}

/// A member with data ignores this. Without data, it founds a cluster of its own if that is to be new. In an existing
/// one it must be in the list under its own name, and all other members with their URLs: a sealed list has no other
/// member, and an open one has the name of only one member that may join.
fn initial_cluster(context: &ControlPlaneContext, shape: &EtcdShape) -> String {
    let own = "$(POD_NAME)";
    match shape.start {
        EtcdStart::New | EtcdStart::Sealed | EtcdStart::Receive | EtcdStart::Load => {
            format!("{own}=https://{}:{PEER_PORT}", host(context, own))
        }
        EtcdStart::Open(ordinal) => {
            let joins = (member(context, ordinal), ordinal);
            let others = shape.voters.iter().map(|it| (format!("other-{it}"), *it));
            let all = [joins].into_iter().chain(others);
            let all = all.map(|(name, ordinal)| format!("{name}={}", peer_url(context, ordinal)));
            all.collect::<Vec<_>>().join(",")
        }
    }
}

/// A share of the disk, so that etcd rejects writes before the disk is full: the log takes up to 384 MiB, and
/// defragmentation and snapshots write a second database.
fn quota(context: &ControlPlaneContext, shape: &EtcdShape) -> u64 {
    let size = context.shoot.control_plane.etcd_size.value / MIB;
    let mib = match shape.incarnation {
        // The database may be larger already than the quota of newer shoots.
        0 => size * 0.8,
        _ => (size - LOG_MIB) * 0.45,
    };
    // An integer of MiB below the maximum, so the conversion is exact.
    mib.clamp(1.0, MOST_MIB) as u64 * 1024 * 1024
}
