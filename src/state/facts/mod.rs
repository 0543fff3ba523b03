//! Observed facts: what the provider cluster and the shoot hold, as far as plans depend on it.

mod machine;
mod node;
mod object;
mod provider;
mod record;
mod secret;
mod shoot;
mod volume;
mod workload;

pub(crate) use machine::{Look, Machine};
pub(crate) use node::Node;
pub(crate) use object::{Fact, Object};
pub(crate) use provider::{Bounds, ClassOffer, Hosts, Limit, Quota, StorageClass, amounts};
pub(crate) use record::Record;
pub(crate) use secret::{Certificate, Secret};
pub(crate) use shoot::{Guests, Inside};
pub(crate) use volume::Import;
pub(crate) use workload::{Rollout, Service};

use super::names;
use crate::state::action::{Content, Wanted};
use crate::state::failure::Failure;
use crate::state::key::{Key, Kind, Side};
use crate::state::prerequisite::{Found, Relied};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// What the provider cluster holds of one shoot: projections, taken when an object arrives.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Facts {
    /// Where the shoot's objects are.
    pub(crate) namespace: Arc<str>,
    pub(crate) record: Option<Record>,
    /// Everything with our labels but the record and the machines.
    pub(crate) objects: HashMap<Key, Object>,
    /// By pool, in order of name.
    pub(crate) machines: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Machine>>,
    /// Names of machines that are gone and of which a disk is still there, on its way out.
    pub(crate) disks: BTreeSet<Arc<str>>,
    /// Configurations of shared networks, by `namespace/name`; None when there is no such network.
    pub(crate) shared: BTreeMap<Arc<str>, Option<Arc<str>>>,
    /// What the shoot's pools name, and what was found of it. Empty where nobody looked.
    pub(crate) relied: BTreeMap<Relied, Found>,
    /// Kinds of which nothing can be seen, and why: they may be left out of a Role.
    pub(crate) unseen: BTreeMap<Kind, Failure>,
    /// StorageClasses by name; empty when they may not be read.
    pub(crate) classes: BTreeMap<Arc<str>, StorageClass>,
    /// By zone of the provider; empty when nodes may not be read.
    pub(crate) hosts: BTreeMap<Arc<str>, Hosts>,
    pub(crate) bounds: Bounds,
    /// Objects with this shoot's labels, but of another record: of an earlier shoot of the same name, and on
    /// their way out.
    pub(crate) foreign: BTreeMap<Key, Object>,
    /// Seconds since 1970 by the server's clock, when the run began.
    pub(crate) time: i64,
    pub(crate) inside: Inside,
    /// Of the shoot, by name.
    pub(crate) nodes: BTreeMap<Arc<str>, Node>,
    pub(crate) guests: Guests,
}

impl Facts {
    /// Whether something is not there that is wanted: that it differs is another matter.
    pub(crate) fn lack(&self, wanted: &Wanted) -> bool {
        let side = wanted.key.side;
        let is_there = |object: &Value| key_of(side, object).is_none_or(|it| self.has(&it));
        match &wanted.content {
            Content::Objects(objects) => !objects.iter().all(is_there),
            Content::Bundle(bundle) => !is_there(&bundle.inventory),
            _ => !self.has(&wanted.key),
        }
    }

    fn has(&self, key: &Key) -> bool {
        let is_machine = |name: &str| self.machines.values().any(|it| it.contains_key(name));
        match key.kind {
            Kind::Record => self.record.is_some(),
            Kind::Machine => is_machine(&key.name),
            Kind::Node => self.nodes.contains_key(&key.name),
            _ => self.objects.contains_key(key),
        }
    }

    /// ClusterIP of the Service of a shoot's API server, if that is there.
    pub(crate) fn cluster_ip(&self, id: &str) -> Option<Arc<str>> {
        let name = names::control_plane(id, names::part::API_SERVER);
        match &self.objects.get(&Key::provider(Kind::Service, name))?.fact {
            Fact::Service(it) => it.cluster_ip.clone(),
            _ => None,
        }
    }
}

/// As it is called in facts; None of a kind that is not looked at.
fn key_of(side: Side, object: &Value) -> Option<Key> {
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str()?;
    let name = match (side, metadata["namespace"].as_str()) {
        (Side::Shoot, Some(namespace)) => format!("{namespace}/{name}").into(),
        _ => name.into(),
    };
    let kind = Kind::generic(object["kind"].as_str()?)?;
    Some(Key { side, kind, name })
}
