//! What machines are made from and others keep: looked for, and never changed.

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
    pub(crate) fn missing(&self, namespace: &str) -> String {
        match self.family {
            Family::Cloning => format!(
                "machines may not clone {}: in its namespace, ServiceAccount default of {namespace} has no right to create datavolumes/source of cdi.kubevirt.io",
                self.name
            ),
            Family::Shared => format!(
                "machines cannot migrate: the StorageProfile of class {} has no ReadWriteMany",
                self.name
            ),
            _ => format!("there is no {self} in the provider cluster"),
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
pub(crate) fn named(pool: &Pool, family: Family) -> Option<Relied> {
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
