//! StorageClasses of the provider that a shoot offers besides the volume types of its profile.

use crate::state::facts::{OfferedStorageClass, StorageClass};
use crate::validate::ValidShoot;
use std::collections::BTreeMap;
use std::sync::Arc;

/// By name. The profile comes before the provider's label. At most one is the default.
pub(crate) fn offered<'a>(
    shoot: &'a ValidShoot,
    classes: &'a BTreeMap<Arc<str>, StorageClass>,
) -> BTreeMap<&'a str, OfferedStorageClass> {
    let marked = classes.iter();
    let marked = marked.filter_map(|(name, it)| Some((&**name, it.offered.clone()?)));
    let mut all: BTreeMap<&str, OfferedStorageClass> = marked.collect();
    let listed = &shoot.profile.spec.provider_config.storage_classes;
    if listed.iter().any(|it| it.is_default_class) {
        all.values_mut().for_each(|it| it.is_default = false);
    }
    for class in listed {
        let text = |given: &Option<String>, usual: &str| given.as_deref().unwrap_or(usual).into();
        let offer = OfferedStorageClass {
            is_default: class.is_default_class,
            binding_mode: text(&class.volume_binding_mode, "Immediate"),
            reclaim_policy: text(&class.reclaim_policy, "Delete"),
            expandable: class.allow_volume_expansion != Some(false),
        };
        all.insert(&class.name, offer);
    }
    let mut defaults = all.values_mut().filter(|it| it.is_default);
    defaults.next();
    defaults.for_each(|it| it.is_default = false);
    all
}
