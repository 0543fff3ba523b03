//! What machines are made from and others keep: looked for, and never changed.

use super::item::{Class, Failure, Need, Plan, State};
use super::observed::{Facts, Observed};
use super::types::{self, Meant};
use super::{desired, spread};
use crate::validate::{Claiming, Pool, Source, ValidShoot, Volume};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// An object of the provider that a pool names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Relied {
    pub(crate) family: Family,
    /// The one that is meant; that of the namespace, or else that of the cluster, when absent.
    pub(crate) kind: Option<Arc<str>>,
    /// Of a claim its namespace too: `namespace/name`.
    pub(crate) name: Arc<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Family {
    Instancetype,
    Preference,
    /// A volume that machines clone.
    Claim,
    /// The right of the account that clones for machines, to one of another namespace.
    Cloning,
    /// A StorageClass whose volumes several machines may have at once; its kind says that the manifest vouches for it
    /// where the provider knows nothing.
    Shared,
}

impl fmt::Display for Relied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = match self.family {
            Family::Instancetype => "instancetype",
            Family::Preference => "preference",
            Family::Claim => "volume",
            Family::Cloning => "the right to clone volume",
            Family::Shared => "shared volumes of class",
        };
        write!(f, "{family} {}", self.name)
    }
}

impl Relied {
    fn missing(&self, namespace: &str) -> String {
        match self.family {
            Family::Cloning => format!(
                "machines cannot clone volume {}: ServiceAccount {namespace}/default may not create datavolumes/source (cdi.kubevirt.io) in its namespace",
                self.name
            ),
            Family::Shared => format!(
                "machines cannot be live-migrated: the StorageProfile of class {} does not support ReadWriteMany",
                self.name
            ),
            _ => format!("{self} not found in the provider cluster"),
        }
    }
}

/// What was found of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Found {
    Nothing,
    /// An object of this kind that others keep.
    There(Arc<str>),
    /// In the namespace of templates, and says this.
    Template(Arc<Value>),
}

/// All that a shoot's pools name.
pub(crate) fn of(shoot: &ValidShoot, namespace: &str) -> BTreeSet<Relied> {
    let mut all = BTreeSet::new();
    for pool in &shoot.pools {
        all.extend(named(pool, Family::Instancetype));
        all.extend(named(pool, Family::Preference));
        if pool.worker.eviction_strategy.as_deref() == Some("LiveMigrate") {
            let data = pool.data.iter().map(|it| &it.volume);
            all.extend([&pool.root].into_iter().chain(data).map(shared));
        }
        if let Source::Claim {
            namespace: of,
            name,
        } = &pool.image.source
        {
            let of = of.as_deref().unwrap_or(namespace);
            let relied = |family| Relied {
                family,
                kind: None,
                name: format!("{of}/{name}").into(),
            };
            all.insert(relied(Family::Claim));
            all.extend((of != namespace).then(|| relied(Family::Cloning)));
        }
    }
    all
}

/// What is to migrate has its volumes on two hosts for a while.
fn shared(volume: &Volume) -> Relied {
    let vouched = !matches!(volume.claiming, Claiming::Completed { access: None });
    Relied {
        family: Family::Shared,
        kind: vouched.then(|| "ReadWriteMany".into()),
        name: volume.class.as_str().into(),
    }
}

/// The instancetype or the preference of a pool.
pub(super) fn named(pool: &Pool, family: Family) -> Option<Relied> {
    let matched = match family {
        Family::Instancetype => pool.worker.instancetype.as_ref()?,
        Family::Preference => pool.worker.preference.as_ref()?,
        Family::Claim | Family::Cloning | Family::Shared => return None,
    };
    Some(Relied {
        family,
        kind: matched.kind.as_deref().map(Arc::from),
        name: matched.name.as_str().into(),
    })
}

/// What the shoot keeps itself is not looked for here.
pub(super) fn add(plan: &mut Plan, shoot: &ValidShoot, observed: &Observed) -> Vec<Need> {
    let facts = &observed.facts;
    let all = of(shoot, &facts.namespace).into_iter();
    let found: Vec<Need> = all
        .filter_map(|it| {
            let is_missing = match types::meant(shoot, facts, &it) {
                Meant::Ours(_) | Meant::Kept => return None,
                Meant::Nothing => true,
                // What nobody looked for is taken to be there.
                Meant::Theirs(_) => facts.relied.get(&it) == Some(&Found::Nothing),
            };
            let state = match is_missing {
                true => State::Failed(Failure::new(Class::Missing, it.missing(&facts.namespace))),
                false => State::Done,
            };
            let id = format!("relied/{it}").into();
            Some(plan.add(observed, id, format!("Check {it}"), [], state))
        })
        .collect();
    let apart = shoot.pools.iter().filter(|it| is_apart(it));
    let hosts = apart.map(|pool| {
        let state = match hosts_missing(pool, &observed.facts) {
            Some(message) => State::Failed(Failure::new(Class::Missing, message)),
            None => State::Done,
        };
        let title = format!("Check hosts for machines of pool {}", pool.name);
        plan.add(
            observed,
            format!("hosts/{}", pool.name).into(),
            title,
            [],
            state,
        )
    });
    found.into_iter().chain(hosts.collect::<Vec<_>>()).collect()
}

fn is_apart(pool: &Pool) -> bool {
    let affinity = pool.worker.affinity.as_ref();
    let preset = affinity.and_then(|it| it.pod_anti_affinity_preset.as_deref());
    preset == Some("hard")
}

/// The first zone that has too few hosts for a pool that is not there yet. Where nodes may not be read, nothing is known.
fn hosts_missing(pool: &Pool, facts: &Facts) -> Option<String> {
    if facts.hosts.is_empty() || facts.machines.contains_key(pool.name.as_str()) {
        return None;
    }
    let size = desired::size(facts, pool);
    let surge = pool.surge.rounded_up(size);
    let targets = spread::spread(size, pool.zones.len());
    pool.zones.iter().zip(targets).find_map(|(zone, machines)| {
        let hosts = facts.hosts.get(zone.as_str()).map_or(0, |it| it.count);
        // While it rolls, a zone has at most twice what it should have.
        let most = machines + surge.min(machines);
        (hosts < most).then(|| {
            format!(
                "each machine of pool {} needs a separate host: zone {zone} has {hosts}, but up to {most} are needed ({machines}, plus {} during a rolling update)",
                pool.name,
                most - machines
            )
        })
    })
}
