//! Health of a shoot as conditions in Gardener's style.

use crate::state::facts::certificate_judgment::judged;
use crate::state::facts::{Facts, ObjectStatus, ObservedMachine, ShootApi};
use crate::state::key::{ClusterSide, ObjectKey, ObjectKind};
use std::sync::Arc;

/// Certificates that expire sooner need renewal; any apply renews them.
const MARGIN: i64 = 30 * DAY;
const DAY: i64 = 24 * 60 * 60;
/// Number of faults listed by name; the rest is only counted.
const NAMED: usize = 3;

/// A component of a cluster and its fault. None when healthy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ComponentHealth {
    pub(crate) name: Arc<str>,
    pub(crate) why: Option<Arc<str>>,
}

/// Input of [`conditions`].
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct HealthInput {
    pub(crate) images: Vec<ComponentHealth>,
    pub(crate) machines: Vec<ComponentHealth>,
    /// Minimum number of machines in the manifest.
    pub(crate) wanted: usize,
    /// Workloads in the provider namespace.
    pub(crate) control_plane: Vec<ComponentHealth>,
    /// The certificate that expires first: seconds since 1970, and its Secret.
    pub(crate) expiry: Option<(i64, Arc<str>)>,
    /// Machines whose kubelets wait for a certificate. They may still serve with the one before.
    pub(crate) pending_certificates: Vec<Arc<str>>,
    /// Keys and data of etcd that are lost, each a sentence.
    pub(crate) lost: Vec<Arc<str>>,
    /// Seconds since 1970.
    pub(crate) now: i64,
    pub(crate) inside: ShootHealth,
    /// True if kvshoot installs the pod network. Otherwise nodes may stay not ready.
    pub(crate) has_network: bool,
    /// True once everything is stopped; None while the shoot is to be awake. The caller reads it in the record.
    pub(crate) hibernation: Option<bool>,
}

/// Health as reported by the shoot's own API server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ShootHealth {
    /// Holds the reason.
    Unreachable(String),
    Reachable {
        nodes: Vec<ComponentHealth>,
        /// Deployments and DaemonSets of kube-system.
        workloads: Vec<ComponentHealth>,
        /// APIServices.
        answers: Vec<ComponentHealth>,
    },
}

impl Default for ShootHealth {
    fn default() -> Self {
        ShootHealth::Unreachable("not queried".to_owned())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) kind: &'static str,
    pub(crate) is_true: bool,
    pub(crate) message: String,
}

const IMAGES: &str = "ImagesImported";
const MACHINES: &str = "EveryMachineReady";
const CONTROL_PLANE: &str = "ControlPlaneHealthy";
const CERTIFICATES: &str = "CertificatesValid";
pub(crate) const API_SERVER: &str = "APIServerAvailable";
pub(crate) const NODES: &str = "EveryNodeReady";
const COMPONENTS: &str = "SystemComponentsHealthy";
const API_SERVICES: &str = "APIServicesAvailable";
pub(crate) const HIBERNATED: &str = "Hibernated";

/// All condition types. Those of the shoot itself are unknown while its API server does not answer.
pub(crate) const CONDITIONS: [&str; 9] = [
    IMAGES,
    MACHINES,
    CONTROL_PLANE,
    CERTIFICATES,
    API_SERVER,
    NODES,
    COMPONENTS,
    API_SERVICES,
    HIBERNATED,
];

impl HealthInput {
    /// Health by the facts that plans are made of.
    ///
    /// `wanted` is the number of machines that was decided; `has_network` is true if kvshoot installs the pod
    /// network.
    pub(crate) fn of(facts: &Facts, wanted: usize, has_network: bool) -> HealthInput {
        let machines = facts.machines().into_iter();
        let images = facts.images().into_iter();
        let provider = |kind| components(facts, ClusterSide::Provider, kind);
        HealthInput {
            images: images
                .map(|(name, image)| ComponentHealth {
                    name: name.clone(),
                    why: (!image.done).then(|| join(&image.volume.phase, image.reason())),
                })
                .collect(),
            machines: machines
                .map(|(_, name, machine)| ComponentHealth {
                    name: name.clone(),
                    why: machine_problem(machine),
                })
                .collect(),
            wanted,
            control_plane: [
                provider(ObjectKind::StatefulSet),
                provider(ObjectKind::Deployment),
            ]
            .concat(),
            expiry: earliest_expiry(facts),
            pending_certificates: judged(facts).map(|it| it.2).collect(),
            lost: Vec::new(),
            now: facts.time,
            inside: ShootHealth::of(facts),
            has_network,
            hibernation: None,
        }
    }

    /// Adds a workload that should exist and does not. Those of a shoot that does not answer are unknown.
    pub(crate) fn add_missing(&mut self, key: &ObjectKey) {
        let missing = ComponentHealth {
            name: short_name(key).into(),
            why: Some("not found".into()),
        };
        match (key.side, &mut self.inside) {
            (ClusterSide::Provider, _) => self.control_plane.push(missing),
            (ClusterSide::Shoot, ShootHealth::Reachable { workloads, .. }) => {
                workloads.push(missing);
            }
            (ClusterSide::Shoot, ShootHealth::Unreachable(_)) => {}
        }
    }

    /// Number of healthy nodes. None while the shoot's API server does not answer.
    pub(crate) fn ready_nodes(&self) -> Option<usize> {
        let ShootHealth::Reachable { nodes, .. } = &self.inside else {
            return None;
        };
        let ready = nodes
            .iter()
            .filter(|it| it.why.is_none() || !self.has_network);
        Some(ready.count())
    }
}

impl ShootHealth {
    fn of(facts: &Facts) -> ShootHealth {
        let nodes = facts.nodes.iter();
        let shoot = |kind| components(facts, ClusterSide::Shoot, kind);
        match &facts.shoot_api {
            ShootApi::Absent => ShootHealth::default(),
            ShootApi::Unreachable(why) => ShootHealth::Unreachable(why.to_string()),
            ShootApi::Reachable => ShootHealth::Reachable {
                nodes: nodes
                    .map(|(name, node)| ComponentHealth {
                        name: name.clone(),
                        // A node that still exists is useless while its machine is down.
                        why: (!node.serves)
                            .then(|| node.why.clone())
                            .or_else(|| machine_problem(facts.machine(name)?)),
                    })
                    .collect(),
                workloads: [shoot(ObjectKind::Deployment), shoot(ObjectKind::DaemonSet)].concat(),
                answers: shoot(ObjectKind::ApiService),
            },
        }
    }
}

/// Why a VM does not run; None if it does.
fn machine_problem(machine: &ObservedMachine) -> Option<Arc<str>> {
    (!machine.runs).then(|| join(machine.shown_status(), machine.cause.as_ref()))
}

/// A status with its reason, if any.
fn join(status: &str, reason: Option<&Arc<str>>) -> Arc<str> {
    match (status, reason) {
        (status, None) => status.into(),
        ("", Some(reason)) => reason.clone(),
        (status, Some(reason)) => format!("{status}, {reason}").into(),
    }
}

/// Name of an object without its namespace.
fn short_name(key: &ObjectKey) -> &str {
    key.name.rsplit_once('/').map_or(&*key.name, |it| it.1)
}

/// Workloads or APIServices of the shoot, by name.
fn components(facts: &Facts, side: ClusterSide, kind: ObjectKind) -> Vec<ComponentHealth> {
    let objects = facts
        .objects
        .iter()
        .filter(|it| it.0.side == side && it.0.kind == kind);
    let components = objects.filter_map(|(key, object)| {
        let why = match &object.status {
            ObjectStatus::Rollout(rollout) => rollout.why.clone(),
            ObjectStatus::Answer(why) => why.clone(),
            _ => return None,
        };
        Some(ComponentHealth {
            name: short_name(key).into(),
            why,
        })
    });
    let mut components: Vec<_> = components.collect();
    components.sort_by(|a, b| a.name.cmp(&b.name));
    components
}

/// The certificate in the provider that expires first: seconds since 1970, and its Secret.
pub(crate) fn earliest_expiry(facts: &Facts) -> Option<(i64, Arc<str>)> {
    let objects = facts
        .objects
        .iter()
        .filter(|it| it.0.side == ClusterSide::Provider);
    let ends = objects.filter_map(|(key, object)| match &object.status {
        ObjectStatus::Secret(secret) => {
            Some((secret.certificate.as_ref()?.expires, key.name.clone()))
        }
        _ => None,
    });
    ends.min()
}

/// A shoot that hibernates has no other conditions.
fn hibernated(is_complete: bool) -> Vec<Condition> {
    let message = match is_complete {
        true => "all machines are halted and the control plane is stopped",
        false => "the shoot is being stopped; kvshoot apply resumes it",
    };
    vec![
        Condition {
            kind: HIBERNATED,
            is_true: is_complete,
            message: message.to_owned(),
        },
        Condition {
            kind: API_SERVER,
            is_true: false,
            message: "the shoot hibernates; kvshoot wake starts it".to_owned(),
        },
    ]
}

/// A shoot is healthy if all conditions are true.
pub(crate) fn conditions(input: &HealthInput) -> Vec<Condition> {
    if let Some(is_complete) = input.hibernation {
        return hibernated(is_complete);
    }
    let mut conditions = vec![
        of_parts(IMAGES, &input.images, 0, "images are imported"),
        of_parts(MACHINES, &input.machines, input.wanted, "machines run"),
        with_losses(
            of_parts(CONTROL_PLANE, &input.control_plane, 1, "workloads run"),
            &input.lost,
        ),
        with_pending(
            certificates(input.expiry.as_ref(), input.now),
            &input.pending_certificates,
        ),
    ];
    match &input.inside {
        ShootHealth::Unreachable(why) => conditions.push(Condition {
            kind: API_SERVER,
            is_true: false,
            message: why.clone(),
        }),
        ShootHealth::Reachable {
            nodes,
            workloads,
            answers,
        } => {
            conditions.push(Condition {
                kind: API_SERVER,
                is_true: true,
                message: "the API server answers".to_owned(),
            });
            conditions.push(nodes_ready(nodes, input));
            if input.has_network {
                conditions.push(of_parts(
                    COMPONENTS,
                    workloads,
                    0,
                    "workloads of kube-system run",
                ));
            }
            conditions.push(of_parts(API_SERVICES, answers, 0, "API services answer"));
        }
    }
    conditions
}

/// Losses come first: everything else follows from them.
fn with_losses(condition: Condition, lost: &[Arc<str>]) -> Condition {
    if lost.is_empty() {
        return condition;
    }
    let lost: Vec<&str> = lost.iter().map(|it| &**it).collect();
    Condition {
        is_true: false,
        message: format!("{}; {}", lost.join("; "), condition.message),
        ..condition
    }
}

/// Without a pod network from kvshoot, nodes count as soon as they have joined.
fn nodes_ready(nodes: &[ComponentHealth], input: &HealthInput) -> Condition {
    if input.has_network {
        return of_parts(NODES, nodes, input.wanted, "nodes are ready");
    }
    let joined: Vec<ComponentHealth> = nodes
        .iter()
        .map(|node| ComponentHealth {
            name: node.name.clone(),
            why: None,
        })
        .collect();
    of_parts(
        NODES,
        &joined,
        input.wanted,
        "nodes have joined (the pod network is not managed by kvshoot)",
    )
}

fn of_parts(kind: &'static str, parts: &[ComponentHealth], least: usize, what: &str) -> Condition {
    let wrong: Vec<String> = parts
        .iter()
        .filter_map(|part| part.why.as_ref().map(|why| format!("{}: {why}", part.name)))
        .collect();
    let good = parts.len() - wrong.len();
    let mut message = format!("{good} of {} {what}", parts.len().max(least));
    for wrong in wrong.iter().take(NAMED) {
        message += &format!("; {wrong}");
    }
    if wrong.len() > NAMED {
        message += &format!("; and {} more", wrong.len() - NAMED);
    }
    Condition {
        kind,
        is_true: wrong.is_empty() && good >= least,
        message,
    }
}

/// Judged by the certificate that expires first: seconds since 1970, and its Secret.
pub(crate) fn certificates(expiry: Option<&(i64, Arc<str>)>, now: i64) -> Condition {
    let (is_true, message) = match expiry {
        None => (false, "no certificates exist yet".to_owned()),
        Some((end, name)) => {
            // It is text of a Secret.
            let left = end.saturating_sub(now);
            let message = match left {
                ..0 => format!("{name} has expired"),
                _ => format!("the first one, {name}, expires in {} days", left / DAY),
            };
            match left < MARGIN {
                true => (false, format!("{message}; kvshoot apply renews it")),
                false => (true, message),
            }
        }
    };
    Condition {
        kind: CERTIFICATES,
        is_true,
        message,
    }
}

/// Names the kubelets that wait for a certificate. `why` has the reasons.
fn with_pending(mut condition: Condition, machines: &[Arc<str>]) -> Condition {
    for machine in machines.iter().take(NAMED) {
        condition.message += &format!("; the certificate of node {machine} is not approved");
    }
    if machines.len() > NAMED {
        condition.message += &format!("; and {} more", machines.len() - NAMED);
    }
    condition
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, why: Option<&str>) -> ComponentHealth {
        ComponentHealth {
            name: name.into(),
            why: why.map(Arc::from),
        }
    }

    fn well() -> HealthInput {
        HealthInput {
            images: vec![part("image", None)],
            machines: vec![part("a", None), part("b", None)],
            wanted: 2,
            control_plane: vec![part("kube-apiserver", None)],
            expiry: Some((100 * DAY, "leaf".into())),
            pending_certificates: Vec::new(),
            lost: Vec::new(),
            now: DAY,
            inside: ShootHealth::Reachable {
                nodes: vec![part("a", None), part("b", None)],
                workloads: vec![part("coredns", None)],
                answers: vec![part("v1.", None)],
            },
            has_network: true,
            hibernation: None,
        }
    }

    /// Kinds of the conditions that are not true.
    fn wrong(input: &HealthInput) -> Vec<&'static str> {
        let conditions = conditions(input).into_iter();
        conditions
            .filter(|it| !it.is_true)
            .map(|it| it.kind)
            .collect()
    }

    #[test]
    fn a_shoot_is_healthy_when_all_of_it_is() {
        assert_eq!(wrong(&well()), [""; 0]);
        assert_eq!(conditions(&well()).len(), 8);
    }

    #[test]
    fn kubelets_without_an_approved_certificate_are_named() {
        let mut input = well();
        input.pending_certificates = ["a", "b", "c", "d", "e"].map(Into::into).into();
        let message = &conditions(&input)[3].message;
        assert!(message.contains("; the certificate of node a is not approved"));
        assert!(message.ends_with(" more"), "{message}");
        assert_eq!(wrong(&input), [""; 0]);
    }

    #[test]
    fn unhealthy_components_are_listed_with_their_reason() {
        let mut input = well();
        input.machines[0].why = Some("ErrorUnschedulable".into());
        input.control_plane.clear();
        input.expiry = Some((29 * DAY, "leaf".into()));
        assert_eq!(wrong(&input), [MACHINES, CONTROL_PLANE, CERTIFICATES]);
        let message = &conditions(&input)[1].message;
        assert_eq!(message, "1 of 2 machines run; a: ErrorUnschedulable");
    }

    #[test]
    fn a_machine_that_has_not_joined_counts_as_missing() {
        let mut input = well();
        let ShootHealth::Reachable { nodes, .. } = &mut input.inside else {
            unreachable!()
        };
        nodes.pop();
        assert_eq!(wrong(&input), [NODES]);
    }

    #[test]
    fn a_workload_that_was_deleted_counts() {
        let mut input = well();
        let name = "kube-system/kubevirt-csi-node";
        input.add_missing(&ObjectKey::shoot(ObjectKind::DaemonSet, name));
        assert_eq!(wrong(&input), [COMPONENTS]);
        let message = &conditions(&input)[6].message;
        assert!(
            message.ends_with("kubevirt-csi-node: not found"),
            "{message}"
        );
        input.add_missing(&ObjectKey::provider(ObjectKind::Deployment, "a-csi"));
        assert_eq!(wrong(&input), [CONTROL_PLANE, COMPONENTS]);
    }

    #[test]
    fn without_an_api_server_the_shoots_own_conditions_are_left_out() {
        let mut input = well();
        input.inside = ShootHealth::Unreachable("it does not answer".to_owned());
        assert_eq!(wrong(&input), [API_SERVER]);
    }

    #[test]
    fn without_a_managed_network_nodes_need_only_join() {
        let mut input = well();
        let ShootHealth::Reachable {
            nodes, workloads, ..
        } = &mut input.inside
        else {
            unreachable!()
        };
        nodes[0].why = Some("no network".into());
        workloads[0].why = Some("no network".into());
        input.has_network = false;
        assert_eq!(wrong(&input), [""; 0]);
    }

    #[test]
    fn a_shoot_that_hibernates_is_not_healthy_and_its_parts_do_not_count() {
        let mut input = well();
        input.machines[0].why = Some("Stopped".into());
        input.hibernation = Some(true);
        assert_eq!(wrong(&input), [API_SERVER]);
        input.hibernation = Some(false);
        assert_eq!(wrong(&input), [HIBERNATED, API_SERVER]);
    }

    #[test]
    fn long_lists_of_faults_are_cut() {
        let parts: Vec<ComponentHealth> =
            (0..9).map(|it| part(&it.to_string(), Some("no"))).collect();
        let message = of_parts("Any", &parts, 0, "are well").message;
        assert_eq!(message, "0 of 9 are well; 0: no; 1: no; 2: no; and 6 more");
    }
}
