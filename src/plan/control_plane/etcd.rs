//! Items of etcd: its objects, its bootstrap, and the step that its members are at.

use crate::plan::component;
use crate::plan::etcd::{EtcdDecision, EtcdStep, MAX_AGE, NOT_OBSERVED, decide, expand, sizes};
use crate::plan::planner::Planner;
use crate::render::component::Component;
use crate::render::control_plane::context::ControlPlaneContext;
use crate::render::control_plane::etcd::{self, EtcdShape};
use crate::state::action::{Action, DeleteTarget, Desired, EtcdRequest, Payload};
use crate::state::facts::{EtcdStart, EtcdStatefulSet, Facts, ObservedEtcd};
use crate::state::failure::{ErrorClass, Failure};
use crate::state::hash::Hash;
use crate::state::key::{ClusterSide, ObjectKey, ObjectKind};
use crate::state::names::{self, part};
use crate::state::plan::{Dependency, ItemState, REQUEST_SENT};
use crate::state::record::etcd::EtcdRecord;
use std::sync::Arc;

/// ID of the item of the members.
pub(crate) const ETCD_MEMBERS: &str = "etcd/members";

/// Results that the rest of the control plane uses.
pub(super) struct EtcdItems {
    /// Dependencies of a change of the API server.
    pub(super) ready: Vec<Dependency>,
    /// Number of members that the API server knows.
    pub(super) endpoints: u32,
}

pub(super) fn add(
    planner: &mut Planner,
    context: &ControlPlaneContext,
    needs: &[Dependency],
) -> EtcdItems {
    let facts = &planner.observed.facts;
    let record = facts.record.as_ref().and_then(|it| it.etcd.as_ref());
    let wanted = context.members();
    let observed = observed(facts, context);
    let size = size(context);
    let (decision, sizes) = match &observed {
        Some(etcd) => {
            let decision = expand(decide(wanted, record, etcd), size, etcd);
            (decision, sizes(size, etcd.stateful_set.as_ref(), etcd))
        }
        None => {
            let unknown = ObservedEtcd::nothing();
            let sizes = sizes(size, facts.etcd_server(), &unknown);
            (assumed(wanted, record), sizes)
        }
    };
    let component = etcd::component(context, &decision.shape, &sizes);
    let side = ClusterSide::Provider;
    let objects = component::add(planner, component, side, &context.site, needs);
    match &decision.step {
        _ if observed.is_none() => planner.plan.hold(objects, NOT_OBSERVED),
        EtcdStep::Stop(why) => planner.plan.hold(objects, why),
        _ => {}
    }
    let bootstrap = bootstrap_state(record, observed.as_ref());
    let members = match &observed {
        None if planner.plan.is_done(objects) => ItemState::Done,
        None => ItemState::Waiting(NOT_OBSERVED.to_owned()),
        Some(etcd) => members(planner, context, objects, &decision, etcd),
    };
    let [bootstrap, members] =
        [bootstrap, members].map(|it| unless_held(it, &planner.plan.item(objects).state));
    let title = "Bootstrap etcd".to_owned();
    let founded = planner.add("etcd/bootstrap".to_owned().into(), title, needs, bootstrap);
    let title = title_of(&decision.step, wanted);
    let members = planner.add(ETCD_MEMBERS.to_owned().into(), title, needs, members);
    // A new API server is started while more members join.
    let is_new = observed.is_some_and(|it| it.client.is_none());
    let ready = match decision.step == EtcdStep::MoveClients || is_new {
        true => vec![founded],
        false => vec![founded, objects, members],
    };
    EtcdItems {
        ready,
        endpoints: decision.endpoints,
    }
}

/// The wanted size of each volume, in bytes.
fn size(context: &ControlPlaneContext) -> u64 {
    // A quantity of storage is an integer far below 2^53.
    context.shoot.control_plane.etcd_size.value as u64
}

fn bootstrap_state(record: Option<&EtcdRecord>, observed: Option<&ObservedEtcd>) -> ItemState {
    let is_founded =
        record.is_some() && observed.is_none_or(|it| is_sealed(it) || it.client.is_some());
    match is_founded {
        true => ItemState::Done,
        false => ItemState::Waiting("etcd is starting for the first time".to_owned()),
    }
}

/// Nothing waits for objects that cannot be applied: a run that only waits does not end.
fn unless_held(state: ItemState, objects: &ItemState) -> ItemState {
    match (state, objects) {
        (ItemState::Waiting(_), ItemState::Blocked | ItemState::Failed(_)) => ItemState::Blocked,
        (state, _) => state,
    }
}

/// The facts of etcd, with those of watched objects; nothing before the StatefulSet of a new shoot exists. None if it
/// must be observed first.
fn observed(facts: &Facts, context: &ControlPlaneContext) -> Option<ObservedEtcd> {
    let key = ObjectKey::provider(ObjectKind::StatefulSet, context.name(part::ETCD));
    let is_new = !facts.objects.contains_key(&key)
        && facts.record.as_ref().is_none_or(|it| it.etcd.is_none());
    match &facts.etcd {
        Some(etcd) => Some(ObservedEtcd {
            stateful_set: facts.etcd_server().cloned(),
            client: facts.etcd_client().cloned(),
            ..(**etcd).clone()
        }),
        None => is_new.then(ObservedEtcd::nothing),
    }
}

/// The end of all steps: most clusters are there.
fn assumed(wanted: u32, record: Option<&EtcdRecord>) -> EtcdDecision {
    EtcdDecision {
        shape: EtcdShape {
            replicas: wanted,
            start: EtcdStart::Sealed,
            voters: Vec::new(),
            incarnation: record.map_or(0, |it| it.incarnation),
            snapshot: 0,
        },
        step: EtcdStep::Settled,
        endpoints: wanted,
    }
}

/// etcd with members that serve on their own data.
pub(super) fn settled_component(planner: &Planner, context: &ControlPlaneContext) -> Component {
    let facts = &planner.observed.facts;
    let record = facts.record.as_ref().and_then(|it| it.etcd.as_ref());
    let shape = assumed(context.members(), record).shape;
    let unknown = ObservedEtcd::nothing();
    let sizes = sizes(size(context), facts.etcd_server(), &unknown);
    etcd::component(context, &shape, &sizes)
}

/// Returns true if no member can found a cluster. A pod that leaves counts until it is gone: an API server that finds its
/// address goes on trying it for seconds after the pod was replaced.
fn is_sealed(etcd: &ObservedEtcd) -> bool {
    let is_new = |it: EtcdStart| it == EtcdStart::New;
    let server = etcd.stateful_set.as_ref();
    !server.is_some_and(|it| is_new(it.start)) && !etcd.pods.values().any(|it| is_new(it.start))
}

/// The step as the state of an item: it is taken once the StatefulSet has the shape that it needs.
fn members(
    planner: &Planner,
    context: &ControlPlaneContext,
    objects: Dependency,
    decision: &EtcdDecision,
    etcd: &ObservedEtcd,
) -> ItemState {
    match &decision.step {
        EtcdStep::Settled => return ItemState::Done,
        EtcdStep::Stop(why) => {
            return ItemState::Failed(Failure::new(ErrorClass::Missing, why.clone()));
        }
        EtcdStep::Wait(why) => return ItemState::Waiting(why.clone()),
        EtcdStep::MoveClients => {
            let why = "kube-apiserver is given the members of etcd";
            return ItemState::Waiting(why.to_owned());
        }
        _ => {}
    }
    let shape = &decision.shape;
    let is_shaped = |it: &EtcdStatefulSet| {
        (it.replicas, it.start, it.incarnation) == (shape.replicas, shape.start, shape.incarnation)
            && it.revision.is_some()
    };
    let is_shaped = etcd.stateful_set.as_ref().is_some_and(is_shaped);
    let is_written = match &planner.plan.item(objects).state {
        ItemState::Done => true,
        ItemState::Waiting(why) => why != REQUEST_SENT,
        _ => false,
    };
    if !is_written || !is_shaped {
        return ItemState::Waiting("the StatefulSet of etcd is changed first".to_owned());
    }
    if planner.observed.now.saturating_sub(etcd.at) > MAX_AGE {
        return ItemState::Waiting(NOT_OBSERVED.to_owned());
    }
    match action(&decision.step, context, etcd) {
        Some(action) => ItemState::Due(action),
        None => ItemState::Waiting(REQUEST_SENT.to_owned()),
    }
}

/// The request of a step; None if its object is gone meanwhile.
fn action(step: &EtcdStep, context: &ControlPlaneContext, etcd: &ObservedEtcd) -> Option<Action> {
    let member = |ordinal: &u32| {
        let membership = etcd.membership.as_ref().ok()?;
        Some(membership.members.get(ordinal)?.id.to_string())
    };
    let request = match step {
        EtcdStep::Record(record) => {
            return Some(Action::Apply(Desired {
                key: ObjectKey::provider(ObjectKind::Record, context.site.id),
                hash: Hash::of(record),
                payload: Payload::EtcdRecord(record.clone()),
            }));
        }
        EtcdStep::DeletePod(ordinal) => {
            let pod = etcd.pods.get(ordinal)?;
            let name = etcd::member(context, *ordinal);
            return Some(delete(ObjectKind::Pod, name, &pod.uid, &pod.version));
        }
        EtcdStep::DeleteClaim(ordinal) => {
            let claim = etcd.claims.get(ordinal)?;
            let kind = ObjectKind::PersistentVolumeClaim;
            let name = etcd::claim_name(context, *ordinal);
            return Some(delete(kind, name, &claim.uid, &claim.version));
        }
        EtcdStep::AddLearner(ordinal) => EtcdRequest::AddLearner {
            peer_url: etcd::peer_url(context, *ordinal),
        },
        EtcdStep::Promote(ordinal) => EtcdRequest::Promote {
            id: member(ordinal)?,
        },
        EtcdStep::Remove(ordinal) => EtcdRequest::Remove {
            id: member(ordinal)?,
        },
        EtcdStep::Expand(ordinal) => EtcdRequest::Expand {
            claim: etcd::claim_name(context, *ordinal),
            uid: etcd.claims.get(ordinal)?.uid.to_string(),
            size: context.shoot.control_plane.etcd_size.to_string(),
        },
        EtcdStep::Defragment(member) => EtcdRequest::Defragment { member: *member },
        EtcdStep::FreeSpace(members) => EtcdRequest::FreeSpace {
            members: members.clone(),
            quota: etcd.stateful_set.as_ref()?.quota,
        },
        EtcdStep::MoveLeader(from, to) => EtcdRequest::MoveLeader {
            from: *from,
            to: member(to)?,
        },
        EtcdStep::Settled | EtcdStep::Wait(_) | EtcdStep::Stop(_) | EtcdStep::MoveClients => {
            return None;
        }
    };
    let name = names::control_plane(context.site.id, part::ETCD);
    Some(Action::Apply(Desired {
        key: ObjectKey::provider(ObjectKind::StatefulSet, name),
        hash: Hash::of(&request),
        payload: Payload::Etcd(request),
    }))
}

fn delete(kind: ObjectKind, name: String, uid: &Arc<str>, version: &Arc<str>) -> Action {
    Action::Delete(DeleteTarget {
        key: ObjectKey::provider(kind, name),
        uid: uid.clone(),
        version: version.clone(),
        unless_ready: false,
        drain: None,
        zone_failure: None,
    })
}

fn title_of(step: &EtcdStep, wanted: u32) -> String {
    match step {
        EtcdStep::Record(_) => "Record the cluster of etcd".to_owned(),
        EtcdStep::AddLearner(it) => format!("Add member {it} to etcd, which gets {wanted}"),
        EtcdStep::Promote(it) => format!("Promote member {it} of etcd"),
        EtcdStep::Remove(it) => format!("Remove member {it} from etcd"),
        EtcdStep::MoveLeader(_, to) => format!("Make member {to} the leader of etcd"),
        EtcdStep::FreeSpace(_) => "Free space in the database of etcd".to_owned(),
        EtcdStep::Defragment(it) => format!("Defragment member {it} of etcd"),
        EtcdStep::Expand(it) => format!("Expand volume {it} of etcd"),
        EtcdStep::DeletePod(it) => format!("Restart member {it} of etcd"),
        EtcdStep::DeleteClaim(it) => format!("Delete old volume {it} of etcd"),
        _ if wanted == 1 => "Check member of etcd".to_owned(),
        _ => format!("Check {wanted} members of etcd"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::etcd::check::world::World;
    use std::time::Duration;

    #[test]
    fn the_api_server_waits_until_the_pod_that_founded_the_cluster_is_gone() {
        let record = EtcdRecord {
            incarnation: 1,
            cluster_id: "1".to_owned(),
            revision: 7,
            restore: None,
        };
        let mut etcd = World::settled(1, EtcdStart::Sealed).observe(Duration::ZERO);
        etcd.client = None;
        let pod = etcd.pods.get_mut(&0).unwrap();
        (pod.start, pod.is_leaving) = (EtcdStart::New, true);
        let state = bootstrap_state(Some(&record), Some(&etcd));
        assert!(matches!(state, ItemState::Waiting(_)), "{state:?}");
        etcd.pods.clear();
        assert_eq!(bootstrap_state(Some(&record), Some(&etcd)), ItemState::Done);
    }
}
