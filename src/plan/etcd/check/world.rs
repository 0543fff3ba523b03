//! etcd, its pods and its volumes, as far as steps observe and change them. The rules are those of etcd 3.6.

use crate::plan::etcd::EtcdStep;
use crate::render::control_plane::etcd::EtcdShape;
use crate::state::facts::{
    EtcdClaim, EtcdClientDeployment, EtcdExit, EtcdMember, EtcdMembership, EtcdPod, EtcdStart,
    EtcdStatefulSet, EtcdStatus, ObservedEtcd,
};
use crate::state::record::etcd::EtcdRecord;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Revision of every cluster: what is lost is seen by other means.
const REVISION: u64 = 7;

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct World {
    pub(crate) record: Option<EtcdRecord>,
    pub(crate) set: Option<Set>,
    pub(crate) pods: BTreeMap<u32, Pod>,
    pub(crate) volumes: BTreeMap<u32, Volume>,
    /// The members of the cluster by ordinal, as its log has them.
    pub(crate) members: BTreeMap<u32, Member>,
    /// Ordinal of the leader.
    pub(crate) leader: Option<u32>,
    /// Number of members that the API server knows, once it exists, and what its pods know.
    pub(crate) client: Option<(u32, u32)>,
    /// Number of members that were ever added.
    pub(crate) ids: u32,
}

/// The StatefulSet.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Set {
    pub(crate) replicas: u32,
    pub(crate) template: Template,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Template {
    pub(crate) start: EtcdStart,
    pub(crate) voters: Vec<u32>,
    /// Rises with edits of other parts.
    pub(crate) edition: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Pod {
    pub(crate) template: Template,
    pub(crate) state: PodState,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum PodState {
    /// Its container is to be started.
    Starting,
    /// The member serves.
    Running,
    Ended(EtcdExit),
    /// It is deleted, and ends.
    Leaving,
}

/// A claim with its volume.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Volume {
    /// ID of the member whose data it has.
    pub(crate) data: Option<u32>,
    pub(crate) is_leaving: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Member {
    pub(crate) id: u32,
    pub(crate) is_learner: bool,
    pub(crate) has_started: bool,
}

/// A change without kvshoot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Move {
    /// The controller creates a pod, with a claim if there is none.
    Create(u32),
    /// The controller deletes a pod above the replicas.
    ScaleDown(u32),
    /// A pod starts its container.
    Start(u32),
    /// A pod that is deleted is gone.
    End(u32),
    /// A claim that is deleted is gone.
    Release(u32),
    /// A member becomes the leader.
    Elect(u32),
    /// The API server's pods know what it was given.
    RollOut,
    /// The API server is created, or changed to know the members that are wanted.
    Client(u32),
}

impl World {
    /// A cluster of members that kvshoot knows, with an API server.
    pub(crate) fn settled(members: u32, start: EtcdStart) -> World {
        let template = Template {
            start,
            voters: Vec::new(),
            edition: 0,
        };
        let ordinals = 0..members;
        World {
            record: (start == EtcdStart::Sealed).then(World::known),
            pods: BTreeMap::from_iter(ordinals.clone().map(|it| {
                let template = template.clone();
                let state = PodState::Running;
                (it, Pod { template, state })
            })),
            set: Some(Set {
                replicas: members,
                template,
            }),
            volumes: BTreeMap::from_iter(ordinals.clone().map(|it| {
                let data = Some(it + 1);
                let is_leaving = false;
                (it, Volume { data, is_leaving })
            })),
            members: BTreeMap::from_iter(ordinals.map(|it| {
                let member = Member {
                    id: it + 1,
                    is_learner: false,
                    has_started: true,
                };
                (it, member)
            })),
            leader: Some(0),
            client: Some((members, members)),
            ids: members,
        }
    }

    fn known() -> EtcdRecord {
        EtcdRecord {
            incarnation: 1,
            cluster_id: "1".to_owned(),
            revision: REVISION,
            restore: None,
        }
    }

    pub(crate) fn voters(&self) -> Vec<u32> {
        let voters = self.members.iter().filter(|it| !it.1.is_learner);
        voters.map(|it| *it.0).collect()
    }

    /// Returns true if a member serves, with its own data.
    pub(crate) fn serves(&self, ordinal: u32) -> bool {
        let runs = |it: &Pod| it.state == PodState::Running;
        self.pods.get(&ordinal).is_some_and(runs)
    }

    pub(crate) fn has_quorum(&self) -> bool {
        let voters = self.voters();
        let serving = voters.iter().filter(|it| self.serves(**it)).count();
        !voters.is_empty() && serving > voters.len() / 2
    }

    /// Returns true if the members agree on who they are.
    pub(crate) fn answers(&self) -> bool {
        self.has_quorum() && self.leader.is_some()
    }

    pub(crate) fn observe(&self, at: Duration) -> ObservedEtcd {
        let text = |it: u32| -> Arc<str> { it.to_string().into() };
        let has_leader = self.answers();
        let leader = self.leader.and_then(|it| self.members.get(&it));
        let status = |ordinal: u32| EtcdStatus {
            cluster_id: "1".into(),
            member_id: self
                .members
                .get(&ordinal)
                .map_or("0".into(), |it| text(it.id)),
            leader: leader.filter(|_| has_leader).map(|it| text(it.id)),
            revision: REVISION,
            applied: 1,
            size: 1,
            size_in_use: 1,
            errors: Vec::new(),
        };
        let is_voter = |it: &u32| self.members.get(it).is_some_and(|it| !it.is_learner);
        let pods = self.pods.iter().map(|(ordinal, pod)| {
            let runs = pod.state == PodState::Running;
            let observed = EtcdPod {
                load_error: None,
                uid: text(*ordinal),
                version: "1".into(),
                revision: format!("{:?}", pod.template).into(),
                start: pod.template.start,
                is_ready: runs && has_leader && is_voter(ordinal),
                is_leaving: pod.state == PodState::Leaving,
                runs,
                exit: match &pod.state {
                    PodState::Ended(exit) => Some(exit.clone()),
                    _ => None,
                },
                status: runs.then(|| status(*ordinal)),
            };
            (*ordinal, observed)
        });
        let members = self.members.iter().map(|(ordinal, it)| {
            let member = EtcdMember {
                id: text(it.id),
                is_learner: it.is_learner,
                has_started: it.has_started,
            };
            (*ordinal, member)
        });
        let claims = self.volumes.iter().map(|(ordinal, it)| {
            let claim = EtcdClaim {
                uid: text(*ordinal),
                version: "1".into(),
                is_leaving: it.is_leaving,
                // Growth has tests of its own.
                requested: u64::MAX,
                capacity: Some(u64::MAX),
                resizing: None,
            };
            (*ordinal, claim)
        });
        let membership = EtcdMembership {
            cluster_id: "1".into(),
            members: members.collect(),
        };
        ObservedEtcd {
            at,
            stateful_set: self.set.as_ref().map(|it| EtcdStatefulSet {
                replicas: it.replicas,
                start: it.template.start,
                incarnation: 1,
                quota: 0,
                claim_size: None,
                revision: Some(format!("{:?}", it.template).into()),
            }),
            pods: pods.collect(),
            claims: claims.collect(),
            membership: match has_leader {
                true => Ok(membership),
                false => Err("no member of etcd answers".into()),
            },
            client: self.client.map(|(endpoints, known)| EtcdClientDeployment {
                endpoints,
                is_rolled_out: endpoints == known,
                is_available: true,
            }),
        }
    }

    /// Returns true if the StatefulSet has the shape.
    pub(crate) fn has_shape(&self, shape: &EtcdShape) -> bool {
        self.set.as_ref().is_some_and(|it| {
            it.replicas == shape.replicas
                && it.template.start == shape.start
                && it.template.voters == shape.voters
        })
    }

    pub(crate) fn write(&mut self, shape: &EtcdShape) {
        let edition = self.set.as_ref().map_or(0, |it| it.template.edition);
        self.set = Some(Set {
            replicas: shape.replicas,
            template: Template {
                start: shape.start,
                voters: shape.voters.clone(),
                edition,
            },
        });
    }

    /// Carries out a step; etcd refuses some of them.
    pub(crate) fn step(&mut self, step: &EtcdStep) {
        match step {
            EtcdStep::FreeSpace(_)
            | EtcdStep::Defragment(_)
            | EtcdStep::Expand(_)
            | EtcdStep::Settled
            | EtcdStep::Wait(_)
            | EtcdStep::Stop(_)
            | EtcdStep::MoveClients => {}
            EtcdStep::Record(record) => self.record = Some(record.clone()),
            EtcdStep::AddLearner(ordinal) => {
                let healthy = self.voters().iter().all(|it| self.serves(*it));
                let has_learner = self.members.values().any(|it| it.is_learner);
                if healthy && !has_learner && !self.members.contains_key(ordinal) {
                    self.ids += 1;
                    let member = Member {
                        id: self.ids,
                        is_learner: true,
                        has_started: false,
                    };
                    self.members.insert(*ordinal, member);
                }
            }
            EtcdStep::Promote(ordinal) => {
                let serves = self.serves(*ordinal) && self.has_quorum();
                if let Some(member) = self.members.get_mut(ordinal)
                    && serves
                {
                    member.is_learner = false;
                }
            }
            EtcdStep::Remove(ordinal) => self.remove(*ordinal),
            EtcdStep::MoveLeader(_, to) => {
                let is_voter = self.voters().contains(to);
                if is_voter && self.serves(*to) && self.has_quorum() {
                    self.leader = Some(*to);
                }
            }
            EtcdStep::DeletePod(ordinal) => self.delete_pod(*ordinal),
            EtcdStep::DeleteClaim(ordinal) => {
                if let Some(volume) = self.volumes.get_mut(ordinal) {
                    volume.is_leaving = true;
                }
            }
        }
    }

    fn remove(&mut self, ordinal: u32) {
        if !self.has_quorum() {
            return;
        }
        let mut after = self.clone();
        after.members.remove(&ordinal);
        // etcd refuses what would cost the quorum.
        if !after.has_quorum() {
            return;
        }
        *self = after;
        if let Some(pod) = self.pods.get_mut(&ordinal)
            && pod.state == PodState::Running
        {
            pod.state = PodState::Ended(EtcdExit::Removed);
        }
        if self.leader == Some(ordinal) {
            self.leader = None;
        }
    }

    pub(crate) fn delete_pod(&mut self, ordinal: u32) {
        if let Some(pod) = self.pods.get_mut(&ordinal) {
            pod.state = PodState::Leaving;
        }
        if self.leader == Some(ordinal) {
            self.leader = None;
        }
    }

    /// What may happen next without kvshoot and without faults.
    pub(crate) fn moves(&self) -> Vec<Move> {
        let mut moves = Vec::new();
        for (ordinal, volume) in &self.volumes {
            if volume.is_leaving && !self.pods.contains_key(ordinal) {
                moves.push(Move::Release(*ordinal));
            }
        }
        for (ordinal, pod) in &self.pods {
            match pod.state {
                PodState::Leaving => moves.push(Move::End(*ordinal)),
                // The kubelet starts it again and again, mostly with the same result.
                PodState::Starting => moves.push(Move::Start(*ordinal)),
                PodState::Ended(_) | PodState::Running => {}
            }
        }
        if let Some(set) = &self.set {
            let missing = (0..set.replicas).filter(|it| {
                let is_leaving = self.volumes.get(it).is_some_and(|it| it.is_leaving);
                !self.pods.contains_key(it) && !is_leaving
            });
            moves.extend(missing.map(Move::Create));
            let above = self.pods.iter().filter(|it| *it.0 >= set.replicas);
            let above = above.filter(|it| it.1.state != PodState::Leaving);
            moves.extend(above.map(|it| Move::ScaleDown(*it.0)));
        }
        if self.leader.is_none() && self.has_quorum() {
            let voters = self.voters().into_iter().filter(|it| self.serves(*it));
            moves.extend(voters.map(Move::Elect));
        }
        if let Some((given, known)) = self.client
            && given != known
        {
            moves.push(Move::RollOut);
        }
        moves
    }

    pub(crate) fn make(&mut self, change: &Move) {
        match change {
            Move::Create(ordinal) => {
                let template = self.set.as_ref().expect("it has replicas").template.clone();
                let state = PodState::Starting;
                self.pods.insert(*ordinal, Pod { template, state });
                self.volumes.entry(*ordinal).or_insert(Volume {
                    data: None,
                    is_leaving: false,
                });
            }
            Move::ScaleDown(ordinal) => self.delete_pod(*ordinal),
            Move::Start(ordinal) => {
                let state = self.started(*ordinal);
                if let Some(pod) = self.pods.get_mut(ordinal) {
                    pod.state = state;
                }
            }
            Move::End(ordinal) => drop(self.pods.remove(ordinal)),
            Move::Release(ordinal) => drop(self.volumes.remove(ordinal)),
            Move::Elect(ordinal) => self.leader = Some(*ordinal),
            Move::RollOut => {
                self.client = self.client.map(|it| (it.0, it.0));
            }
            Move::Client(endpoints) => {
                let known = self.client.map_or(*endpoints, |it| it.1);
                self.client = Some((*endpoints, known));
            }
        }
    }

    /// What a pod becomes when it starts.
    fn started(&mut self, ordinal: u32) -> PodState {
        let template = self.pods[&ordinal].template.clone();
        let volume = self.volumes.get_mut(&ordinal).expect("a pod has a volume");
        let member = self.members.get_mut(&ordinal);
        match (volume.data, member) {
            (Some(data), Some(member)) if data == member.id => PodState::Running,
            (Some(_), _) => PodState::Ended(EtcdExit::Removed),
            (None, member) => match template.start {
                EtcdStart::New => {
                    // It founds a cluster of its own, even if there is another one.
                    self.ids += 1;
                    volume.data = Some(self.ids);
                    let member = Member {
                        id: self.ids,
                        is_learner: false,
                        has_started: true,
                    };
                    self.members = BTreeMap::from([(ordinal, member)]);
                    self.leader = None;
                    PodState::Running
                }
                // Restores have tests of their own.
                EtcdStart::Receive | EtcdStart::Load | EtcdStart::Sealed => {
                    PodState::Ended(EtcdExit::Empty)
                }
                EtcdStart::Open(k) if k != ordinal => PodState::Ended(EtcdExit::Empty),
                EtcdStart::Open(_) => match member {
                    Some(member) => {
                        volume.data = Some(member.id);
                        member.has_started = true;
                        PodState::Running
                    }
                    None => PodState::Ended(EtcdExit::Other("validating".into())),
                },
            },
        }
    }
}
