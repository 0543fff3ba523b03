//! What a plan is made of.

use super::hash::Hash;
use super::observed::Observed;
use serde_json::Value;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Names the thing wanted, not how it is done, so it outlives a replaced machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Id(pub(crate) Arc<str>);

/// Reason of an item whose request is in flight. Screens for people leave it out.
pub(crate) const REQUEST_SENT: &str = "request sent";

/// An item already in the plan. Only [`Plan::add`] makes one, so no cycle can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Need(u32);

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    pub(crate) id: Id,
    /// A sentence that the person sees.
    pub(crate) title: String,
    pub(crate) needs: Arc<[Need]>,
    pub(crate) state: State,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum State {
    Done,
    /// May be done now.
    Due(Action),
    /// The world is at it; says at what.
    Waiting(String),
    /// Due, but a need or a bound holds it back. Keeps no run alive.
    Blocked,
    Failed(Failure),
}

/// Why something cannot be done, and whose matter that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) class: Class,
    /// A lower-case fragment that names the object and the cause.
    pub(crate) message: String,
}

/// Judged by the typed status of an answer, never by its text; decides the exit code and Gardener's error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Class {
    /// A right is missing: 401 or 403.
    NotAllowed,
    /// 403 of the quota admission.
    Quota,
    /// An object of the name is there and is not ours.
    Foreign,
    /// Something that has to be there is not: a shared network, an installed API.
    Missing,
    /// The server or one of its webhooks refuses the object as it is.
    Refused,
    /// KubeVirt, CDI, storage or the scheduler cannot do it.
    Infrastructure,
    /// A machine runs, and its node does not join or does not become ready.
    Guest,
    /// No answer from the API server in all the time there was.
    Unreachable,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    /// Makes the object, or brings it to the wanted content.
    Apply(Wanted),
    Delete(Target),
    /// Marks the machine as leaving (that write is the decision), then empties its node.
    Drain(Target),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Side {
    Provider,
    /// The cluster that is made.
    Shoot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// The ConfigMap that stands for the shoot.
    Record,
    /// A tenant network's NetworkAttachmentDefinition.
    Network,
    /// A golden volume's DataVolume.
    Image,
    /// The shoot's own VirtualMachineInstancetype.
    Instancetype,
    /// The shoot's own VirtualMachinePreference.
    Preference,
    /// A machine's Secret.
    UserData,
    /// A VirtualMachine, with its user data.
    Machine,
    /// Several objects that come up together; no object itself.
    Component,
    /// A machine's VirtualMachineInstance.
    Instance,
    /// A machine's bootstrap token, a Secret of the shoot.
    Token,
    /// A node of the shoot.
    Node,
    /// Of the shoot, for as long as it is deleted: a Service of type LoadBalancer.
    Balancer,
    /// A PersistentVolumeClaim.
    Claim,
    /// A PersistentVolume.
    Volume,
    /// A StorageClass that new volumes could be made by.
    VolumeClass,
    Pod,
    ValidatingWebhook,
    MutatingWebhook,
    /// What a Balancer is in the provider: a Service.
    Mirror,
    /// What a Volume is in the provider: a DataVolume.
    Disk,
    /// A VolumeSnapshot that the shoot's driver made in the provider.
    Snapshot,
    /// The rest are whatever the API calls so.
    Service,
    Secret,
    ConfigMap,
    ServiceAccount,
    Role,
    RoleBinding,
    ClusterRole,
    ClusterRoleBinding,
    StatefulSet,
    Deployment,
    DaemonSet,
    DisruptionBudget,
    NetworkPolicy,
    EndpointSlice,
    StorageClass,
    CsiDriver,
    IngressClass,
    ApiService,
}

/// One object on one side: what tells actions apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) side: Side,
    pub(crate) kind: Kind,
    pub(crate) name: Arc<str>,
}

/// An object to be, as data; rendered only when it is performed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wanted {
    pub(crate) key: Key,
    /// Of all that decides the content.
    pub(crate) hash: Hash,
    pub(crate) content: Content,
}

/// What rendering needs beyond the shoot itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    /// The name says it all.
    Plain,
    /// A new machine with its user data; `zone` is the index in the pool.
    Machine {
        pool: Arc<str>,
        zone: usize,
        ordinal: u32,
    },
    /// The user data of a machine that is there without it.
    UserData { pool: Arc<str> },
    /// The bootstrap token of a machine that is there and has not joined.
    Token { machine: Arc<str> },
    /// Labels and annotations of a machine or its node, which stays as it is otherwise.
    Metadata { pool: Arc<str>, uid: Arc<str> },
    /// Whole objects, one after the other.
    Objects(Arc<[Value]>),
    /// Somebody else's objects, and what is no longer among them.
    Bundle(Arc<Bundle>),
    /// A Secret whose content is made when it is written: nobody plans a private key.
    Issue(Arc<Issue>),
}

/// Objects that are known by a list of them, so that those which are no longer wanted can be removed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bundle {
    pub(crate) name: Arc<str>,
    /// The ConfigMap of the list, without its data.
    pub(crate) inventory: Value,
    pub(crate) objects: Vec<Value>,
}

/// A Secret of keys and certificates: `object` without its data.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Issue {
    pub(crate) object: Value,
    pub(crate) what: Issued,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Issued {
    /// `tls.crt`, `tls.key`, and `ca.crt`, which holds all roots that are trusted.
    Root { common_name: &'static str },
    /// `tls.crt`, `tls.key`, `ca.crt` of its root, and `kubeconfig` when a server is named.
    Leaf(Leaf),
    /// `key` and `pub`: signs the tokens of service accounts.
    SigningKey,
    /// `config.yaml`: an EncryptionConfiguration with a random key.
    EncryptionKey,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Leaf {
    /// Name of the root's Secret.
    pub(crate) root: Arc<str>,
    pub(crate) common_name: String,
    pub(crate) organization: Option<&'static str>,
    /// DNS names and addresses of a server.
    pub(crate) names: Vec<String>,
    pub(crate) server: bool,
    pub(crate) client: bool,
    /// URL of the API server that its kubeconfig leads to.
    pub(crate) kubeconfig: Option<String>,
}

/// An object that is there: a new one of the same name is not meant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Target {
    pub(crate) key: Key,
    pub(crate) uid: Arc<str>,
    /// The newest that is known of it; an action that decides for good is tied to it.
    pub(crate) version: Arc<str>,
    /// Set when the decision rests on the machine not being ready: look again first.
    pub(crate) unless_ready: bool,
    /// How long emptying it may take; None where nothing is to be emptied.
    pub(crate) drain: Option<Duration>,
    /// Set when it goes because it failed; counts against its zone in this run.
    pub(crate) setback: Option<Setback>,
}

/// Where a machine failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setback {
    pub(crate) pool: Arc<str>,
    pub(crate) hash: Hash,
    pub(crate) zone: usize,
    pub(crate) class: Class,
    /// What was known of the cause.
    pub(crate) why: Arc<str>,
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Plan {
    pub(crate) items: Vec<Item>,
    /// When time alone would change the plan, since the run began.
    pub(crate) wake: Option<Duration>,
    /// What components consist of: whatever else is there of their kinds is to go.
    pub(crate) parts: HashSet<Key>,
}

impl Plan {
    /// Adds an item, and settles its state.
    ///
    /// Needs hold back what is due, never what is done: an old address that flickers does not undo a
    /// certificate. What was sent is waited for, and what was refused as it stands has failed.
    pub(crate) fn add(
        &mut self,
        observed: &Observed,
        id: Id,
        title: String,
        needs: impl Into<Arc<[Need]>>,
        state: State,
    ) -> Need {
        let needs = needs.into();
        let state = match state {
            State::Due(_) if !observed.ahead && !needs.iter().all(|it| self.is_done(*it)) => {
                State::Blocked
            }
            State::Due(action) => observed.in_run(action),
            other => other,
        };
        self.items.push(Item {
            id,
            title,
            needs,
            state,
        });
        Need(
            u32::try_from(self.items.len() - 1)
                .expect("fewer items than machines that a cluster can hold"),
        )
    }

    pub(crate) fn is_done(&self, need: Need) -> bool {
        self.items[need.0 as usize].state == State::Done
    }

    pub(crate) fn item(&self, need: Need) -> &Item {
        &self.items[need.0 as usize]
    }

    pub(crate) fn wake_at(&mut self, at: Duration) {
        self.wake = Some(self.wake.map_or(at, |it| it.min(at)));
    }
}

impl Action {
    pub(crate) fn key(&self) -> &Key {
        match self {
            Action::Apply(it) => &it.key,
            Action::Delete(it) | Action::Drain(it) => &it.key,
        }
    }

    /// Whether the same is asked for, of whatever version of the object.
    pub(crate) fn is_same(&self, other: &Action) -> bool {
        match (self, other) {
            (Action::Apply(one), Action::Apply(other)) => one == other,
            (Action::Delete(one), Action::Delete(other))
            | (Action::Drain(one), Action::Drain(other)) => {
                (&one.key, &one.uid) == (&other.key, &other.uid)
            }
            _ => false,
        }
    }
}

impl Key {
    pub(crate) fn provider(kind: Kind, name: impl Into<Arc<str>>) -> Key {
        Key {
            side: Side::Provider,
            kind,
            name: name.into(),
        }
    }

    /// What has a namespace is called `namespace/name`.
    pub(crate) fn shoot(kind: Kind, name: impl Into<Arc<str>>) -> Key {
        Key {
            side: Side::Shoot,
            kind,
            name: name.into(),
        }
    }
}

impl Kind {
    /// What users of a shoot and its controllers make, which does not carry our labels.
    pub(crate) fn is_of_guest(self) -> bool {
        use Kind::{Balancer, Claim, Disk, Mirror, MutatingWebhook, Pod};
        use Kind::{Snapshot, ValidatingWebhook, Volume, VolumeClass};
        matches!(
            self,
            Balancer
                | Claim
                | Volume
                | VolumeClass
                | Pod
                | ValidatingWebhook
                | MutatingWebhook
                | Mirror
                | Disk
                | Snapshot
        )
    }

    /// Kinds of objects that components are made of.
    pub(crate) const GENERIC: [Kind; 18] = [
        Kind::Service,
        Kind::Secret,
        Kind::ConfigMap,
        Kind::ServiceAccount,
        Kind::Role,
        Kind::RoleBinding,
        Kind::ClusterRole,
        Kind::ClusterRoleBinding,
        Kind::StatefulSet,
        Kind::Deployment,
        Kind::DaemonSet,
        Kind::DisruptionBudget,
        Kind::NetworkPolicy,
        Kind::EndpointSlice,
        Kind::StorageClass,
        Kind::CsiDriver,
        Kind::IngressClass,
        Kind::ApiService,
    ];

    /// Of an object of a component, by its `kind` field.
    pub(crate) fn generic(text: &str) -> Option<Kind> {
        Kind::GENERIC.into_iter().find(|it| it.to_string() == text)
    }
}

impl Failure {
    pub(crate) fn new(class: Class, message: impl Into<String>) -> Failure {
        Failure {
            class,
            message: message.into(),
        }
    }
}

impl Class {
    /// The code that Gardener gives such an error, as its `last errors` have it.
    pub(crate) fn gardener_code(self) -> Option<&'static str> {
        match self {
            Class::NotAllowed => Some("ERR_INFRA_UNAUTHORIZED"),
            Class::Quota => Some("ERR_INFRA_QUOTA_EXCEEDED"),
            Class::Missing | Class::Foreign | Class::Refused => Some("ERR_CONFIGURATION_PROBLEM"),
            Class::Infrastructure | Class::Guest => Some("ERR_INFRA_DEPENDENCIES"),
            Class::Unreachable => None,
        }
    }
}

impl fmt::Display for Kind {
    /// As kubectl names the kind of the object.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Record => "ConfigMap",
            Kind::Network => "NetworkAttachmentDefinition",
            Kind::Image => "DataVolume",
            Kind::Instancetype => "VirtualMachineInstancetype",
            Kind::Preference => "VirtualMachinePreference",
            Kind::UserData | Kind::Token | Kind::Secret => "Secret",
            Kind::Machine => "VirtualMachine",
            Kind::Instance => "VirtualMachineInstance",
            Kind::Component => "component",
            Kind::Node => "Node",
            Kind::Balancer | Kind::Mirror => "Service",
            Kind::Claim => "PersistentVolumeClaim",
            Kind::Volume => "PersistentVolume",
            Kind::VolumeClass => "StorageClass",
            Kind::Pod => "Pod",
            Kind::ValidatingWebhook => "ValidatingWebhookConfiguration",
            Kind::MutatingWebhook => "MutatingWebhookConfiguration",
            Kind::Disk => "DataVolume",
            Kind::Snapshot => "VolumeSnapshot",
            Kind::Service => "Service",
            Kind::ConfigMap => "ConfigMap",
            Kind::ServiceAccount => "ServiceAccount",
            Kind::Role => "Role",
            Kind::RoleBinding => "RoleBinding",
            Kind::ClusterRole => "ClusterRole",
            Kind::ClusterRoleBinding => "ClusterRoleBinding",
            Kind::StatefulSet => "StatefulSet",
            Kind::Deployment => "Deployment",
            Kind::DaemonSet => "DaemonSet",
            Kind::DisruptionBudget => "PodDisruptionBudget",
            Kind::NetworkPolicy => "NetworkPolicy",
            Kind::EndpointSlice => "EndpointSlice",
            Kind::StorageClass => "StorageClass",
            Kind::CsiDriver => "CSIDriver",
            Kind::IngressClass => "IngressClass",
            Kind::ApiService => "APIService",
        })
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

impl From<String> for Id {
    fn from(text: String) -> Id {
        Id(text.into())
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
