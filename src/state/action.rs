//! Actions: objects to write and to delete, as data.

use crate::state::desired::machine_content::DiskGrowth;
use crate::state::failure::ErrorClass;
use crate::state::hash::Hash;
use crate::state::key::ObjectKey;
use crate::state::record::etcd::EtcdRecord;
use crate::state::record::hibernation::HibernationChange;
use crate::state::record::rotation::{KeyGeneration, RotationChange};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    /// Creates the object, or updates it to the desired content.
    Apply(Desired),
    Delete(DeleteTarget),
    /// Marks the machine for removal (that write is the decision), then drains its node.
    Drain(DeleteTarget),
}

/// An action with the objects that it sends.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RenderedAction {
    /// In the order in which they are written: for a machine its Secrets and the VM, for metadata a merge patch.
    Apply(Desired, Vec<Value>),
    Delete(DeleteTarget),
    Drain(DeleteTarget),
}

/// A desired object, as data. Rendered only when the action is performed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Desired {
    pub(crate) key: ObjectKey,
    /// Hash of everything that determines the content.
    pub(crate) hash: Hash,
    pub(crate) payload: Payload,
}

/// Input for rendering besides the shoot itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Payload {
    /// Nothing more than the key.
    Plain,
    /// A new machine with its user data; `zone` is the index in the pool.
    Machine {
        pool: Arc<str>,
        zone: usize,
        ordinal: u32,
    },
    /// User data of an existing machine that lacks it.
    UserData { pool: Arc<str> },
    /// Bootstrap token of an existing machine whose node has not joined.
    Token { machine: Arc<str> },
    /// Labels and annotations of a machine or its node; everything else stays unchanged.
    Metadata { pool: Arc<str>, uid: Arc<str> },
    /// Approval or denial of a kubelet's certificate signing request.
    Decision(Decision),
    /// Restart of a machine, or its mark for replacement.
    Repair(Repair),
    /// The cluster of etcd, written to the record.
    EtcdRecord(EtcdRecord),
    /// A change of the rotations in the record, after what the step does.
    Rotation(RotationChange),
    /// A change of the hibernation in the record.
    Hibernation(HibernationChange),
    /// A machine is marked, unless it is, emptied, and halted.
    Halt(Halt),
    /// A machine is migrated to another host, or marked for replacement if it cannot be.
    Migrate { uid: Arc<str> },
    /// KubeVirt is asked to leave a machine on its host, which is no longer drained.
    CancelEvacuation { uid: Arc<str> },
    /// A halted machine is started.
    Start {
        uid: Arc<str>,
        resize: Option<MachineResize>,
    },
    /// A request to etcd.
    Etcd(EtcdRequest),
    /// Complete objects, applied in order.
    Objects(Arc<[Value]>),
    /// Manifests of third parties. Objects that left the set are deleted.
    Manifests(Arc<AddonManifests>),
    /// A Secret whose content is generated when it is written: private keys are never part of a plan.
    Issue(Arc<IssuedSecret>),
}

/// How a machine is halted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Halt {
    /// UID of the machine.
    pub(crate) uid: Arc<str>,
    pub(crate) is_marked: bool,
    /// Longest time that its node is drained.
    pub(crate) limit: Duration,
    pub(crate) purpose: HaltPurpose,
}

/// Why a machine is halted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HaltPurpose {
    /// The whole shoot hibernates, so that evicted pods start nowhere else.
    Hibernation,
    /// It is started again with another size, or with these disks larger.
    Resize(Arc<[DiskGrowth]>),
}

/// A machine starts with the size that its pool has now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MachineResize {
    pub(crate) pool: Arc<str>,
    /// Disks that are larger then.
    pub(crate) disks: Arc<[DiskGrowth]>,
}

/// A request to the members of etcd, or for their volumes. Each counts as done if it was carried out before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) enum EtcdRequest {
    /// Adds a member that does not vote yet.
    AddLearner {
        peer_url: String,
    },
    /// Lets a learner vote, once it has caught up.
    Promote {
        id: String,
    },
    Remove {
        id: String,
    },
    /// Moves the leadership from the member with an ordinal to that with an ID.
    MoveLeader {
        from: u32,
        to: String,
    },
    /// Requests a larger size, a quantity, for the claim of a member.
    Expand {
        claim: String,
        uid: String,
        size: String,
    },
    /// Gives free space of the database back to the volume, for the member with an ordinal.
    Defragment {
        member: u32,
    },
    /// Drops old revisions, gives the space back, and ends the alarm, for the members with these ordinals. An alarm comes back if
    /// more than nine tenths of the quota, in bytes, are in use.
    FreeSpace {
        members: Vec<u32>,
        quota: u64,
    },
}

/// A repair of a machine whose node is not healthy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repair {
    /// UID of the machine.
    pub(crate) uid: Arc<str>,
    pub(crate) kind: RepairKind,
    /// Time of the decision, in seconds since 1970.
    pub(crate) time: i64,
    /// Times of earlier repairs of the shoot that count.
    pub(crate) earlier: Arc<[i64]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RepairKind {
    /// Deletes the instance with this UID, after the decision was written unless it `is_decided`.
    Restart {
        instance: Arc<str>,
        is_decided: bool,
    },
    /// Marks the machine, for a reason.
    Replace(Arc<str>),
}

/// A decision on a certificate signing request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Decision {
    /// UID of the request.
    pub(crate) uid: Arc<str>,
    /// The machine that it is about.
    pub(crate) machine: Arc<str>,
    /// Why it is denied; None if it is approved.
    pub(crate) denied: Option<Arc<str>>,
}

/// Objects tracked by an inventory, so that those no longer in the set can be deleted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AddonManifests {
    pub(crate) name: Arc<str>,
    /// The inventory ConfigMap, without its data.
    pub(crate) inventory: Value,
    pub(crate) objects: Vec<Value>,
}

/// A Secret with keys and certificates. `object` has no data yet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct IssuedSecret {
    pub(crate) object: Value,
    pub(crate) what: KeyMaterial,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum KeyMaterial {
    /// `tls.crt`, `tls.key`, and `ca.crt` with all trusted CA certificates.
    Root {
        common_name: &'static str,
        generation: KeyGeneration,
    },
    /// `tls.crt`, `tls.key`, `ca.crt` of its CA, and `kubeconfig` when a server is given.
    Leaf(LeafCertificate),
    /// `key` and `pub`: signs the tokens of service accounts.
    SigningKey(KeyGeneration),
    /// `config.yaml`: an EncryptionConfiguration with a random key.
    EncryptionKey(KeyGeneration),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LeafCertificate {
    /// Name of the CA's Secret.
    pub(crate) root: Arc<str>,
    pub(crate) common_name: String,
    pub(crate) organization: Option<&'static str>,
    /// DNS names and addresses of a server.
    pub(crate) names: Vec<String>,
    pub(crate) server: bool,
    pub(crate) client: bool,
    /// URL of the API server in its kubeconfig.
    pub(crate) kubeconfig: Option<String>,
    /// Content of the CA's Secret, which says what is trusted.
    pub(crate) trust: KeyGeneration,
    /// The root before is its issuer: clients do not trust the newest one yet.
    pub(crate) is_of_previous: bool,
}

impl KeyMaterial {
    /// The same with the content that its Secret has at this point of a rotation.
    #[must_use]
    pub(crate) fn at(self, generation: KeyGeneration) -> KeyMaterial {
        match self {
            KeyMaterial::Root { common_name, .. } => KeyMaterial::Root {
                common_name,
                generation,
            },
            KeyMaterial::SigningKey(_) => KeyMaterial::SigningKey(generation),
            KeyMaterial::EncryptionKey(_) => KeyMaterial::EncryptionKey(generation),
            leaf @ KeyMaterial::Leaf(_) => leaf,
        }
    }

    /// Content of the Secret of a root or key; None for certificates.
    pub(crate) fn generation(&self) -> Option<KeyGeneration> {
        match self {
            KeyMaterial::Root { generation, .. }
            | KeyMaterial::SigningKey(generation)
            | KeyMaterial::EncryptionKey(generation) => Some(*generation),
            KeyMaterial::Leaf(_) => None,
        }
    }
}

/// An existing object, identified by UID: a new object of the same name is not affected.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DeleteTarget {
    pub(crate) key: ObjectKey,
    pub(crate) uid: Arc<str>,
    /// Latest known resourceVersion. Irreversible actions use it as a precondition.
    pub(crate) version: Arc<str>,
    /// Set when the decision depends on the machine not being ready: its Node is read once more first.
    pub(crate) unless_ready: bool,
    /// Time limit for draining. None when nothing is drained.
    pub(crate) drain: Option<Duration>,
    /// Set when the machine is removed because it failed; counts against its zone in this run.
    pub(crate) zone_failure: Option<ZoneFailure>,
}

/// Place and cause of a machine's failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ZoneFailure {
    pub(crate) pool: Arc<str>,
    pub(crate) hash: Hash,
    pub(crate) zone: usize,
    pub(crate) class: ErrorClass,
    /// The cause, as far as known.
    pub(crate) why: Arc<str>,
}

impl Action {
    /// Adds the objects of [`Action::Apply`], rendered by `render`.
    pub(crate) fn rendered(self, render: impl FnOnce(&Desired) -> Vec<Value>) -> RenderedAction {
        match self {
            Action::Apply(desired) => {
                let objects = render(&desired);
                RenderedAction::Apply(desired, objects)
            }
            Action::Delete(target) => RenderedAction::Delete(target),
            Action::Drain(target) => RenderedAction::Drain(target),
        }
    }

    pub(crate) fn key(&self) -> &ObjectKey {
        match self {
            Action::Apply(it) => &it.key,
            Action::Delete(it) | Action::Drain(it) => &it.key,
        }
    }

    /// Returns true if both request the same change, whatever the resourceVersion of the object.
    pub(crate) fn is_same(&self, other: &Action) -> bool {
        match (self, other) {
            (Action::Apply(one), Action::Apply(other)) => {
                // The time and the reason of a repair change from look to look.
                let is_repair = |it: &Desired| matches!(it.payload, Payload::Repair(_));
                let is_same = is_repair(one) && is_repair(other);
                one == other || is_same && (&one.key, one.hash) == (&other.key, other.hash)
            }
            (Action::Delete(one), Action::Delete(other))
            | (Action::Drain(one), Action::Drain(other)) => {
                (&one.key, &one.uid) == (&other.key, &other.uid)
            }
            _ => false,
        }
    }
}
