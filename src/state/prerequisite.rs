//! Objects that machines are made from and that others own: read, and never changed.

use crate::validate::{ImageSource, PoolSpec, ValidShoot, VolumeApi, VolumeSpec};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// An object of the provider cluster that a pool references.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Prerequisite {
    pub(crate) prerequisite_kind: PrerequisiteKind,
    /// Kind of the object. When absent, the namespaced kind comes before the cluster-scoped one.
    pub(crate) kind: Option<Arc<str>>,
    /// `namespace/name` for a PersistentVolumeClaim.
    pub(crate) name: Arc<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PrerequisiteKind {
    Instancetype,
    Preference,
    /// A volume that machines clone.
    PersistentVolumeClaim,
    /// Permission to clone a volume of another namespace.
    ClonePermission,
    /// A StorageClass with ReadWriteMany volumes. Its kind is set if the manifest declares that, for providers that do
    /// not know.
    SharedStorageClass,
    /// PriorityClass of the control plane.
    PriorityClass,
}

impl fmt::Display for Prerequisite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = match self.prerequisite_kind {
            PrerequisiteKind::Instancetype => "instancetype",
            PrerequisiteKind::Preference => "preference",
            PrerequisiteKind::PersistentVolumeClaim => "volume",
            PrerequisiteKind::ClonePermission => "the right to clone volume",
            PrerequisiteKind::SharedStorageClass => "shared volumes of class",
            PrerequisiteKind::PriorityClass => "PriorityClass",
        };
        write!(f, "{family} {}", self.name)
    }
}

impl Prerequisite {
    pub(crate) fn missing(&self, namespace: &str) -> String {
        match self.prerequisite_kind {
            PrerequisiteKind::ClonePermission => format!(
                "machines cannot clone volume {}: ServiceAccount {namespace}/default may not create datavolumes/source (cdi.kubevirt.io) in its namespace",
                self.name
            ),
            PrerequisiteKind::SharedStorageClass => format!(
                "machines cannot be live-migrated: the StorageProfile of class {} does not support ReadWriteMany",
                self.name
            ),
            _ => format!("{self} not found in the provider cluster"),
        }
    }
}

/// Result of looking up a prerequisite.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Lookup {
    NotFound,
    /// An object of this kind exists, owned by others.
    Found(Arc<str>),
    /// Found as a template with this spec.
    Template(Arc<Value>),
}

/// All prerequisites of a shoot.
pub(crate) fn of(shoot: &ValidShoot, namespace: &str) -> BTreeSet<Prerequisite> {
    let mut all: BTreeSet<Prerequisite> = priority_class(shoot).into_iter().collect();
    for pool in &shoot.pools {
        all.extend(named(pool, PrerequisiteKind::Instancetype));
        all.extend(named(pool, PrerequisiteKind::Preference));
        if pool.worker.eviction_strategy.as_deref() == Some("LiveMigrate") {
            let data = pool.data.iter().map(|it| &it.volume);
            all.extend([&pool.root].into_iter().chain(data).map(shared));
        }
        if let ImageSource::Claim {
            namespace: of,
            name,
        } = &pool.image.source
        {
            let of = of.as_deref().unwrap_or(namespace);
            let prerequisite = |family| Prerequisite {
                prerequisite_kind: family,
                kind: None,
                name: format!("{of}/{name}").into(),
            };
            all.insert(prerequisite(PrerequisiteKind::PersistentVolumeClaim));
            all.extend((of != namespace).then(|| prerequisite(PrerequisiteKind::ClonePermission)));
        }
    }
    all
}

/// The PriorityClass that the pods of the control plane have.
pub(crate) fn priority_class(shoot: &ValidShoot) -> Option<Prerequisite> {
    let name = shoot.control_plane.priority_class.as_deref()?;
    Some(Prerequisite {
        prerequisite_kind: PrerequisiteKind::PriorityClass,
        kind: None,
        name: name.into(),
    })
}

/// A live migration needs the volume on two hosts at once.
fn shared(volume: &VolumeSpec) -> Prerequisite {
    let vouched = !matches!(volume.api, VolumeApi::Storage { access: None });
    Prerequisite {
        prerequisite_kind: PrerequisiteKind::SharedStorageClass,
        kind: vouched.then(|| "ReadWriteMany".into()),
        name: volume.class.as_str().into(),
    }
}

/// Instancetype or preference of a pool.
pub(crate) fn named(pool: &PoolSpec, family: PrerequisiteKind) -> Option<Prerequisite> {
    let matched = match family {
        PrerequisiteKind::Instancetype => pool.worker.instancetype.as_ref()?,
        PrerequisiteKind::Preference => pool.worker.preference.as_ref()?,
        PrerequisiteKind::PersistentVolumeClaim
        | PrerequisiteKind::ClonePermission
        | PrerequisiteKind::SharedStorageClass
        | PrerequisiteKind::PriorityClass => return None,
    };
    Some(Prerequisite {
        prerequisite_kind: family,
        kind: matched.kind.as_deref().map(Arc::from),
        name: matched.name.as_str().into(),
    })
}
