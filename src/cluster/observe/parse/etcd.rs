//! etcd's StatefulSet, and the Deployment that uses it.

use crate::cluster::objects::core::pod::PodSpec;
use crate::cluster::objects::workload::PartialReplicatedWorkload;
use crate::render::control_plane::etcd::{LOAD, RECEIVED};
use crate::state::facts::{EtcdClientDeployment, EtcdRole, EtcdStart, EtcdStatefulSet};
use crate::state::names::part::{API_SERVER, ETCD};

/// The relation of a workload to etcd, by its containers; None without one.
pub(crate) fn parse_role(workload: &PartialReplicatedWorkload) -> Option<EtcdRole> {
    if !workload.command(ETCD).is_empty() {
        return Some(EtcdRole::Server(parse_stateful_set(workload)));
    }
    let is_client = !workload.command(API_SERVER).is_empty();
    is_client.then(|| EtcdRole::Client(parse_client(workload)))
}

fn parse_stateful_set(set: &PartialReplicatedWorkload) -> EtcdStatefulSet {
    let command = set.command(ETCD);
    let (start, incarnation) = parse_pods(set.pod_spec());
    let quota = flag(command, "quota-backend-bytes").and_then(|it| it.parse().ok());
    EtcdStatefulSet {
        replicas: set.replicas(),
        start,
        incarnation,
        quota: quota.unwrap_or_default(),
        claim_size: set.claim_size().map(Into::into),
        revision: set.revision().map(Into::into),
    }
}

fn parse_client(deployment: &PartialReplicatedWorkload) -> EtcdClientDeployment {
    let command = deployment.command(API_SERVER);
    let servers = flag(command, "etcd-servers").unwrap_or_default();
    let rollout = deployment.rollout();
    EtcdClientDeployment {
        endpoints: servers.split(',').count() as u32,
        is_rolled_out: rollout.why.is_none(),
        is_available: rollout.available > 0,
    }
}

/// How a member starts without data, and the incarnation in its data directory.
pub(crate) fn parse_pods(spec: &PodSpec) -> (EtcdStart, u32) {
    let command = spec.command(ETCD);
    let (start, incarnation) = parse_command(command);
    let directory = flag(command, "data-dir").unwrap_or_default();
    match directory.strip_suffix(RECEIVED) {
        Some(directory) => (EtcdStart::Receive, ordinal(directory).unwrap_or_default()),
        None if spec.has_init_container(LOAD) => (EtcdStart::Load, incarnation),
        None => (start, incarnation),
    }
}

pub(crate) fn parse_command(command: &[String]) -> (EtcdStart, u32) {
    let cluster = flag(command, "initial-cluster").unwrap_or_default();
    let joins = cluster.split(',').find_map(|it| {
        let name = it.split_once('=')?.0;
        ordinal(name).filter(|_| !name.starts_with("other-"))
    });
    let start = match (flag(command, "initial-cluster-state"), joins) {
        (Some("existing"), Some(ordinal)) => EtcdStart::Open(ordinal),
        (Some("existing"), None) => EtcdStart::Sealed,
        // Without the flag, a member founds a cluster.
        _ => EtcdStart::New,
    };
    let directory = flag(command, "data-dir").unwrap_or_default();
    (start, ordinal(directory).unwrap_or_default())
}

fn flag<'a>(command: &'a [String], name: &str) -> Option<&'a str> {
    let of = |it: &'a String| it.strip_prefix("--")?.strip_prefix(name)?.strip_prefix('=');
    command.iter().find_map(of)
}

/// The number at the end of the name of a pod, a claim or a directory.
pub(crate) fn ordinal(name: &str) -> Option<u32> {
    name.rsplit_once('-')?.1.parse().ok()
}
