//! A plan as a value: its items, in order, with their states.

use crate::state::action::Action;
use crate::state::failure::Failure;
use crate::state::key::{ClusterSide, ObjectKey, ObjectKind};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Stable identifier of an item. Names the desired thing, not the means, so it survives the replacement of a machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ItemId(pub(crate) Arc<str>);

/// Waiting reason of an item whose request has no answer yet: true of nearly every item, so progress lines leave it out.
pub(crate) const REQUEST_SENT: &str = "request sent, no answer yet";

/// Reference to an item already in the plan. Only [`Plan::push`] creates one, so cycles are impossible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dependency(u32);

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    pub(crate) id: ItemId,
    pub(crate) kind: ItemKind,
    /// A sentence shown to the user.
    pub(crate) title: String,
    pub(crate) needs: Arc<[Dependency]>,
    pub(crate) state: ItemState,
}

/// Purpose of an item, as data. The title describes it in words, which may change with the state.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ItemKind {
    Record,
    /// The Secret with the manifest, by name.
    Manifest(Arc<str>),
    /// A network, with its name in the manifest or `namespace/name`.
    Network(Arc<str>),
    Image(ImageItem),
    /// An instancetype or preference of the shoot.
    MachineType {
        key: ObjectKey,
        /// For people: `instancetype small`.
        text: Arc<str>,
    },
    /// A Secret with keys or certificates, by the part of its name after the technical ID.
    Certificate(Arc<str>),
    Component {
        side: ClusterSide,
        name: Arc<str>,
    },
    /// Manifests of third parties.
    AddOn(Arc<str>),
    /// The connection to the shoot's API server.
    Connection,
    Machine(MachineItem),
    Deletion {
        key: ObjectKey,
        uid: Arc<str>,
    },
    /// A kubelet's request for a certificate, or the node whose request is missing.
    NodeCertificate {
        name: Arc<str>,
        denied: bool,
    },
    /// Anything else, with its ID.
    Other(Arc<str>),
}

/// The import of an image into a golden volume.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ImageItem {
    /// Name of the golden volume.
    pub(crate) volume: Arc<str>,
    /// For people: `image ubuntu 24.04`.
    pub(crate) image: String,
    /// Size, class and zone, for people: `10Gi on fast`.
    pub(crate) size: String,
}

/// A slot of a pool, and the machine in it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MachineItem {
    pub(crate) pool: Arc<str>,
    /// Index of the zone in the pool.
    pub(crate) zone: usize,
    pub(crate) zone_name: Arc<str>,
    /// Index of the slot in the zone.
    pub(crate) slot: usize,
    /// None if the slot is empty.
    pub(crate) machine: Option<Arc<str>>,
    pub(crate) step: MachineStep,
}

/// Step in the life of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MachineStep {
    Create,
    /// Writes labels, annotations and taints of its node.
    LabelNode,
    /// Completes its objects, or waits until it is ready.
    Start,
    /// Restarts it with another size.
    Resize,
    /// Waits until it has taken new CAs, and notes that.
    TakeRoots,
    /// Migrates it away from a host that is being drained, or cancels that.
    Evacuate,
}

impl ItemKind {
    pub(crate) fn deletion(key: &ObjectKey, uid: &Arc<str>) -> ItemKind {
        ItemKind::Deletion {
            key: key.clone(),
            uid: uid.clone(),
        }
    }

    pub(crate) fn id(&self) -> ItemId {
        ItemId(match self {
            ItemKind::Record => "record".into(),
            ItemKind::Manifest(_) => "manifest".into(),
            ItemKind::Network(name) => format!("network/{name}").into(),
            ItemKind::Image(image) => format!("image/{}", image.volume).into(),
            ItemKind::MachineType { key, .. } => match key.kind {
                ObjectKind::Preference => format!("preference/{}", key.name).into(),
                _ => format!("instancetype/{}", key.name).into(),
            },
            ItemKind::Certificate(part) => format!("certificate/{part}").into(),
            ItemKind::Component { side, name } => match side {
                ClusterSide::Provider => format!("control-plane/{name}").into(),
                ClusterSide::Shoot => format!("system/{name}").into(),
            },
            ItemKind::AddOn(name) => format!("bundle/{name}").into(),
            ItemKind::Connection => "reach".into(),
            ItemKind::Machine(MachineItem {
                pool, zone, slot, ..
            }) => format!("machine/{pool}/z{}/{slot}", zone + 1).into(),
            ItemKind::Deletion { uid, .. } => format!("remove/{uid}").into(),
            ItemKind::NodeCertificate { name, .. } => format!("node-certificate/{name}").into(),
            ItemKind::Other(id) => id.clone(),
        })
    }
}

/// Returns the title of an item whose slot is empty. `why` finds the error of an earlier run by it.
pub(crate) fn empty_slot_title(pool: &str, zone: &str) -> String {
    format!("Create a machine of pool {pool} in zone {zone}")
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ItemState {
    Done,
    /// Can be performed now.
    Due(Action),
    /// In progress. The text is a clause that stands alone, such as "VM running, waiting for node to register".
    Waiting(String),
    /// Due, but held back by a dependency or a limit. Keeps no run alive.
    Blocked,
    Failed(Failure),
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Plan {
    pub(crate) items: Vec<Item>,
    /// The next time, since the run began, at which time alone changes the plan.
    pub(crate) wake: Option<Duration>,
    /// Objects of all components. Other objects of the same kinds are deleted.
    pub(crate) parts: HashSet<ObjectKey>,
}

impl Plan {
    /// Adds an item, whose needs are all in the plan already.
    pub(crate) fn push(&mut self, item: Item) -> Dependency {
        self.items.push(item);
        Dependency(
            u32::try_from(self.items.len() - 1)
                .expect("fewer items than machines that a cluster can hold"),
        )
    }

    pub(crate) fn is_done(&self, need: Dependency) -> bool {
        self.items[need.0 as usize].state == ItemState::Done
    }

    pub(crate) fn item(&self, need: Dependency) -> &Item {
        &self.items[need.0 as usize]
    }

    /// References to all items that match.
    pub(crate) fn dependencies(
        &self,
        matches: impl Fn(&Item) -> bool,
    ) -> impl Iterator<Item = Dependency> {
        let all = (0..).map(Dependency).zip(&self.items);
        all.filter(move |it| matches(it.1)).map(|it| it.0)
    }

    /// The same plan without items that are `dropped`, and without those that are blocked by them.
    #[must_use]
    pub(crate) fn without(self, dropped: impl Fn(&Item) -> bool) -> Plan {
        let mut moved: Vec<Option<Dependency>> = Vec::with_capacity(self.items.len());
        let mut plan = Plan {
            items: Vec::with_capacity(self.items.len()),
            ..self
        };
        for item in self.items {
            let needs = item.needs.iter().map(|it| moved[it.0 as usize]);
            let needs: Vec<Option<Dependency>> = needs.collect();
            let is_held = item.state == ItemState::Blocked && needs.contains(&None);
            moved.push(match is_held || dropped(&item) {
                true => None,
                false => Some(plan.push(Item {
                    needs: needs.into_iter().flatten().collect(),
                    ..item
                })),
            });
        }
        plan
    }

    /// Holds back an item that is due.
    pub(crate) fn hold(&mut self, need: Dependency, why: &str) {
        let item = &mut self.items[need.0 as usize];
        if matches!(item.state, ItemState::Due(_)) {
            item.state = ItemState::Waiting(why.to_owned());
        }
    }

    /// Lets an item that is done wait for something else.
    pub(crate) fn delay(&mut self, item: Dependency, why: String) {
        let item = &mut self.items[item.0 as usize];
        if item.state == ItemState::Done {
            item.state = ItemState::Waiting(why);
        }
    }

    pub(crate) fn wake_at(&mut self, at: Duration) {
        self.wake = Some(self.wake.map_or(at, |it| it.min(at)));
    }
}

impl From<String> for ItemKind {
    fn from(id: String) -> ItemKind {
        ItemKind::Other(id.into())
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
