//! Defragmentation of etcd's databases: one member after the other, the leader last and not before another one leads.

use super::rolls::{leader, until_it_answers, until_it_is_ready};
use super::step::{EtcdStep, MAX_AGE, NOT_OBSERVED};
use crate::plan::planner::Planner;
use crate::state::action::{Action, Desired, EtcdRequest, Payload};
use crate::state::facts::{EtcdMembership, EtcdStatus, ObservedEtcd};
use crate::state::failure::{ErrorClass, Failure};
use crate::state::hash::Hash;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::names::{self, part};
use crate::state::observed::Observed;
use crate::state::plan::{ItemState, Plan};

const MIB: u64 = 1024 * 1024;

/// Databases that are defragmented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DefragmentationScope {
    /// Those with free space that is worth a pause of about a second for each 100 MB: over 100 MiB, and over 45 % of the
    /// database. The numbers are those of etcd-druid.
    Worthwhile,
    /// All with free space: over 1 MiB, and over a tenth of the database.
    All,
}

impl DefragmentationScope {
    fn includes(self, status: &EtcdStatus) -> bool {
        let free = status.size.saturating_sub(status.size_in_use);
        match self {
            DefragmentationScope::Worthwhile => free > 100 * MIB && free > status.size / 100 * 45,
            DefragmentationScope::All => free > MIB && free > status.size / 10,
        }
    }
}

/// Plans the defragmentation of the members of a shoot's etcd, by its technical ID.
pub(crate) fn defragmentation(id: &str, scope: DefragmentationScope, observed: &Observed) -> Plan {
    let mut planner = Planner::new(observed);
    let checked = match &observed.facts.etcd {
        None => Err(ItemState::Waiting(NOT_OBSERVED.to_owned())),
        Some(etcd) => match &etcd.membership {
            Ok(membership) => Ok((etcd, membership)),
            Err(why) => {
                let failure = Failure::new(ErrorClass::Infrastructure, why.to_string());
                Err(ItemState::Failed(failure))
            }
        },
    };
    let (etcd, membership) = match checked {
        Ok(checked) => checked,
        Err(state) => {
            add_check(&mut planner, state);
            return planner.plan;
        }
    };
    let step = next(scope, membership, etcd);
    let is_new = observed.now.saturating_sub(etcd.at) <= MAX_AGE;
    add_check(
        &mut planner,
        match &step {
            Some(EtcdStep::Wait(why)) => ItemState::Waiting(why.clone()),
            Some(_) if !is_new => ItemState::Waiting(NOT_OBSERVED.to_owned()),
            _ => ItemState::Done,
        },
    );
    for ordinal in membership.voters() {
        let status = etcd.pods.get(&ordinal).and_then(|it| it.status.as_ref());
        let is_done = status.is_some_and(|it| !scope.includes(it));
        let request = step
            .as_ref()
            .and_then(|it| request(ordinal, it, membership));
        let state = match request {
            _ if is_done => ItemState::Done,
            Some(request) if is_new => planner.in_run(action(id, ordinal, request)),
            // Another member comes first.
            _ => ItemState::Blocked,
        };
        let title = format!("Defragment member {ordinal} of etcd");
        let id = format!("etcd/defragmentation/{ordinal}");
        planner.add(id.into(), title, [], state);
    }
    planner.plan
}

fn add_check(planner: &mut Planner, state: ItemState) {
    let title = "Check members of etcd".to_owned();
    planner.add("etcd/members".to_owned().into(), title, [], state);
}

/// The next step; None if all databases are as they should be.
fn next(
    scope: DefragmentationScope,
    membership: &EtcdMembership,
    etcd: &ObservedEtcd,
) -> Option<EtcdStep> {
    let voters = membership.voters();
    let status = |it: &u32| etcd.pods.get(it)?.status.as_ref();
    let mut open: Vec<u32> = voters.clone();
    open.retain(|it| status(it).is_none_or(|it| scope.includes(it)));
    let first = *open.last()?;
    if membership.learner().is_some() {
        return Some(EtcdStep::Wait("a member joins etcd".to_owned()));
    }
    let blocked = voters.iter().find_map(|it| {
        until_it_answers(*it, etcd).or_else(|| until_it_is_ready(*it, &voters, etcd))
    });
    match blocked {
        Some(EtcdStep::Wait(why)) => return Some(EtcdStep::Wait(why)),
        Some(_) => {
            let why = "a member of etcd does not answer";
            return Some(EtcdStep::Wait(why.to_owned()));
        }
        None => {}
    }
    if voters.len() == 1 {
        return Some(EtcdStep::Defragment(first));
    }
    let Some(leader) = leader(membership, etcd) else {
        return Some(EtcdStep::Wait("etcd has no leader".to_owned()));
    };
    let follower = open.iter().rev().find(|it| **it != leader);
    let heir = voters.iter().find(|it| **it != leader);
    Some(match (follower, heir) {
        (Some(follower), _) => EtcdStep::Defragment(*follower),
        (None, Some(heir)) => EtcdStep::MoveLeader(leader, *heir),
        (None, None) => EtcdStep::Defragment(first),
    })
}

/// The request of the step for a member; None if the step is that of another one.
fn request(ordinal: u32, step: &EtcdStep, membership: &EtcdMembership) -> Option<EtcdRequest> {
    match step {
        EtcdStep::Defragment(member) if *member == ordinal => {
            Some(EtcdRequest::Defragment { member: ordinal })
        }
        EtcdStep::MoveLeader(from, to) if *from == ordinal => Some(EtcdRequest::MoveLeader {
            from: *from,
            to: membership.members.get(to)?.id.to_string(),
        }),
        _ => None,
    }
}

/// A member has a key of its own: its request is new while that of another one is about to end.
fn action(id: &str, ordinal: u32, request: EtcdRequest) -> Action {
    let name = format!("{}-{ordinal}", names::control_plane(id, part::ETCD));
    Action::Apply(Desired {
        key: ObjectKey::provider(ObjectKind::Pod, name),
        hash: Hash::of(&request),
        payload: Payload::Etcd(request),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::etcd::check::world::World;
    use crate::state::facts::{EtcdStart, Facts};
    use std::sync::Arc;
    use std::time::Duration;

    /// Members with databases of the given sizes and sizes in use, in MiB. Member 0 leads.
    fn observed(databases: &[(u64, u64)]) -> ObservedEtcd {
        let world = World::settled(databases.len() as u32, EtcdStart::Sealed);
        let mut etcd = world.observe(Duration::ZERO);
        for ((size, in_use), pod) in databases.iter().zip(etcd.pods.values_mut()) {
            let status = pod.status.as_mut().expect("it serves");
            (status.size, status.size_in_use) = (size * MIB, in_use * MIB);
        }
        etcd
    }

    fn plan(etcd: &ObservedEtcd, scope: DefragmentationScope) -> Plan {
        let facts = Facts {
            etcd: Some(Arc::new(etcd.clone())),
            ..Facts::default()
        };
        let observed = Observed {
            facts: facts.into(),
            ..Observed::default()
        };
        defragmentation("shoot--a--b", scope, &observed)
    }

    /// The request that is due.
    fn due(etcd: &ObservedEtcd, scope: DefragmentationScope) -> Option<EtcdRequest> {
        let plan = plan(etcd, scope);
        let mut due = plan.items.iter().filter_map(|it| match &it.state {
            ItemState::Due(Action::Apply(desired)) => match &desired.payload {
                Payload::Etcd(request) => Some(request.clone()),
                _ => None,
            },
            _ => None,
        });
        let first = due.next();
        assert_eq!(due.next(), None, "one at a time");
        first
    }

    const ALL: DefragmentationScope = DefragmentationScope::All;

    #[test]
    fn the_leader_comes_last_and_hands_over_before() {
        let mut etcd = observed(&[(200, 50), (200, 50), (200, 50)]);
        for member in [2, 1] {
            assert_eq!(due(&etcd, ALL), Some(EtcdRequest::Defragment { member }));
            let pod = etcd.pods.get_mut(&member).expect("a pod");
            pod.status.as_mut().expect("it serves").size = 50 * MIB;
        }
        let to = etcd.membership.as_ref().expect("members").members[&1]
            .id
            .to_string();
        assert_eq!(
            due(&etcd, ALL),
            Some(EtcdRequest::MoveLeader {
                from: 0,
                to: to.clone()
            })
        );
        for pod in etcd.pods.values_mut() {
            pod.status.as_mut().expect("it serves").leader = Some(to.as_str().into());
        }
        assert_eq!(due(&etcd, ALL), Some(EtcdRequest::Defragment { member: 0 }));
        let pod = etcd.pods.get_mut(&0).expect("a pod");
        pod.status.as_mut().expect("it serves").size = 50 * MIB;
        assert_eq!(due(&etcd, ALL), None);
        let plan = plan(&etcd, ALL);
        assert!(plan.items.iter().all(|it| it.state == ItemState::Done));
    }

    #[test]
    fn a_single_member_is_defragmented_if_it_pays() {
        let request = Some(EtcdRequest::Defragment { member: 0 });
        for (size, in_use, worthwhile, all) in [
            (300, 100, true, true),
            (300, 200, false, true),
            (120, 10, true, true),
            (90, 1, false, true),
            (1000, 880, false, true),
            (1000, 920, false, false),
            (2, 1, false, false),
        ] {
            let etcd = observed(&[(size, in_use)]);
            let due = |scope| due(&etcd, scope) == request;
            assert_eq!(due(DefragmentationScope::Worthwhile), worthwhile, "{size}");
            assert_eq!(due(ALL), all, "{size}");
        }
    }

    #[test]
    fn no_member_pauses_while_another_one_does_not_answer() {
        let mut etcd = observed(&[(200, 50), (200, 50), (200, 50)]);
        etcd.pods.get_mut(&1).expect("a pod").status = None;
        assert_eq!(due(&etcd, ALL), None);
        let plan = plan(&etcd, ALL);
        let waits = |it: &ItemState| matches!(it, ItemState::Waiting(_));
        assert!(waits(&plan.items[0].state));
    }

    #[test]
    fn without_a_quorum_it_fails_with_the_cause() {
        let mut etcd = observed(&[(200, 50)]);
        etcd.membership = Err("no member of etcd answers".into());
        let plan = plan(&etcd, ALL);
        let [item] = &plan.items[..] else {
            panic!("{:?}", plan.items);
        };
        assert!(matches!(&item.state, ItemState::Failed(it) if it.message.contains("answers")));
    }
}
