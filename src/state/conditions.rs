//! What makes a shoot healthy, in the words of Gardener's conditions.

use std::sync::Arc;

/// A certificate that ends sooner has to be renewed: any apply does it.
const MARGIN: i64 = 30 * DAY;
const DAY: i64 = 24 * 60 * 60;
/// So many of what is wrong are named; the others are counted.
const NAMED: usize = 3;

/// A part of a cluster, and what it misses; nothing when all is well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) name: Arc<str>,
    pub(crate) why: Option<Arc<str>>,
}

/// All that health rests on.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Seen {
    pub(crate) images: Vec<Part>,
    pub(crate) machines: Vec<Part>,
    /// How many machines the manifest asks for at least.
    pub(crate) wanted: usize,
    /// Workloads in the provider namespace.
    pub(crate) control_plane: Vec<Part>,
    /// The certificate that ends first: seconds since 1970, and its Secret.
    pub(crate) expiry: Option<(i64, Arc<str>)>,
    /// Seconds since 1970.
    pub(crate) now: i64,
    pub(crate) inside: Inside,
    /// The shoot has networking: without, no node becomes ready by kvshoot's doing.
    pub(crate) has_network: bool,
}

/// What the shoot's own API server tells.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Inside {
    /// Says why it does not answer.
    Unreachable(String),
    Seen {
        nodes: Vec<Part>,
        /// Deployments and DaemonSets of kube-system.
        workloads: Vec<Part>,
        /// APIServices.
        answers: Vec<Part>,
    },
}

impl Default for Inside {
    fn default() -> Self {
        Inside::Unreachable("it was not asked".to_owned())
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

/// All there are; those of the shoot itself are not known while nobody answers.
pub(crate) const CONDITIONS: [&str; 8] = [
    IMAGES,
    MACHINES,
    CONTROL_PLANE,
    CERTIFICATES,
    API_SERVER,
    NODES,
    COMPONENTS,
    API_SERVICES,
];

impl Seen {
    /// How many nodes are as they should be; None while nobody says.
    pub(crate) fn ready_nodes(&self) -> Option<usize> {
        let Inside::Seen { nodes, .. } = &self.inside else {
            return None;
        };
        let ready = nodes
            .iter()
            .filter(|it| it.why.is_none() || !self.has_network);
        Some(ready.count())
    }
}

/// Healthy is a shoot of which all are true.
pub(crate) fn conditions(seen: &Seen) -> Vec<Condition> {
    let mut conditions = vec![
        of_parts(IMAGES, &seen.images, 0, "images are imported"),
        of_parts(MACHINES, &seen.machines, seen.wanted, "machines run"),
        of_parts(CONTROL_PLANE, &seen.control_plane, 1, "workloads run"),
        certificates(seen.expiry.as_ref(), seen.now),
    ];
    match &seen.inside {
        Inside::Unreachable(why) => conditions.push(Condition {
            kind: API_SERVER,
            is_true: false,
            message: why.clone(),
        }),
        Inside::Seen {
            nodes,
            workloads,
            answers,
        } => {
            conditions.push(Condition {
                kind: API_SERVER,
                is_true: true,
                message: "the API server answers".to_owned(),
            });
            conditions.push(nodes_ready(nodes, seen));
            if seen.has_network {
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

/// Machines that nobody's network makes ready are there as soon as they have joined.
fn nodes_ready(nodes: &[Part], seen: &Seen) -> Condition {
    if seen.has_network {
        return of_parts(NODES, nodes, seen.wanted, "nodes are ready");
    }
    let joined: Vec<Part> = nodes
        .iter()
        .map(|it| Part {
            name: it.name.clone(),
            why: None,
        })
        .collect();
    of_parts(
        NODES,
        &joined,
        seen.wanted,
        "nodes have joined; the network is not kvshoot's",
    )
}

fn of_parts(kind: &'static str, parts: &[Part], least: usize, what: &str) -> Condition {
    let wrong: Vec<String> = parts
        .iter()
        .filter_map(|it| it.why.as_ref().map(|why| format!("{}: {why}", it.name)))
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

/// By the one that ends first: seconds since 1970, and its Secret.
pub(crate) fn certificates(expiry: Option<&(i64, Arc<str>)>, now: i64) -> Condition {
    let (is_true, message) = match expiry {
        None => (false, "there are no certificates yet".to_owned()),
        Some((end, name)) => {
            let left = end - now;
            let told = match left {
                ..0 => format!("{name} has expired"),
                _ => format!("the first one, {name}, expires in {} days", left / DAY),
            };
            match left < MARGIN {
                true => (false, format!("{told}; kvshoot apply renews it")),
                false => (true, told),
            }
        }
    };
    Condition {
        kind: CERTIFICATES,
        is_true,
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, why: Option<&str>) -> Part {
        Part {
            name: name.into(),
            why: why.map(Arc::from),
        }
    }

    fn well() -> Seen {
        Seen {
            images: vec![part("image", None)],
            machines: vec![part("a", None), part("b", None)],
            wanted: 2,
            control_plane: vec![part("kube-apiserver", None)],
            expiry: Some((100 * DAY, "leaf".into())),
            now: DAY,
            inside: Inside::Seen {
                nodes: vec![part("a", None), part("b", None)],
                workloads: vec![part("coredns", None)],
                answers: vec![part("v1.", None)],
            },
            has_network: true,
        }
    }

    /// Kinds of the conditions that are not true.
    fn wrong(seen: &Seen) -> Vec<&'static str> {
        let conditions = conditions(seen).into_iter();
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
    fn each_part_that_is_not_well_is_told_with_its_reason() {
        let mut seen = well();
        seen.machines[0].why = Some("ErrorUnschedulable".into());
        seen.control_plane.clear();
        seen.expiry = Some((29 * DAY, "leaf".into()));
        assert_eq!(wrong(&seen), [MACHINES, CONTROL_PLANE, CERTIFICATES]);
        let told = &conditions(&seen)[1].message;
        assert_eq!(told, "1 of 2 machines run; a: ErrorUnschedulable");
    }

    #[test]
    fn a_machine_that_has_not_joined_is_missed() {
        let mut seen = well();
        let Inside::Seen { nodes, .. } = &mut seen.inside else {
            unreachable!()
        };
        nodes.pop();
        assert_eq!(wrong(&seen), [NODES]);
    }

    #[test]
    fn without_an_answer_nothing_inside_is_judged() {
        let mut seen = well();
        seen.inside = Inside::Unreachable("it does not answer".to_owned());
        assert_eq!(wrong(&seen), [API_SERVER]);
    }

    #[test]
    fn without_a_network_of_kvshoot_s_nodes_need_only_join() {
        let mut seen = well();
        let Inside::Seen {
            nodes, workloads, ..
        } = &mut seen.inside
        else {
            unreachable!()
        };
        nodes[0].why = Some("no network".into());
        workloads[0].why = Some("no network".into());
        seen.has_network = false;
        assert_eq!(wrong(&seen), [""; 0]);
    }

    #[test]
    fn long_lists_of_what_is_wrong_are_cut() {
        let parts: Vec<Part> = (0..9).map(|it| part(&it.to_string(), Some("no"))).collect();
        let told = of_parts("Any", &parts, 0, "are well").message;
        assert_eq!(told, "0 of 9 are well; 0: no; 1: no; 2: no; and 6 more");
    }
}
