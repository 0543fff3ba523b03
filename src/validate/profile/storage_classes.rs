//! StorageClasses and VolumeSnapshotClasses of the provider that clusters get.

use crate::model::{CloudProfileConfig, FindingKind, InfraStorageClass, InfraVolumeSnapshotClass};
use crate::validate::names;
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::rules::{one_of, unique};

/// `at` is the `providerConfig`.
pub(crate) fn check(config: &CloudProfileConfig, at: &FieldCursor, report: &mut FindingSink) {
    storage(&config.storage_classes, &at.key("storageClasses"), report);
    let classes = &config.volume_snapshot_classes;
    snapshots(classes, &at.key("volumeSnapshotClasses"), report);
}

const POLICIES: [&str; 2] = ["Delete", "Retain"];

fn storage(classes: &[InfraStorageClass], at: &FieldCursor, report: &mut FindingSink) {
    let code = "profile/storage-class";
    for (i, class) in classes.iter().enumerate() {
        let at = &at.index(i);
        let mode = class.volume_binding_mode.as_deref();
        let modes = ["Immediate", "WaitForFirstConsumer"];
        one_of(mode, &modes, &at.key("volumeBindingMode"), code, report);
        let policy = class.reclaim_policy.as_deref();
        one_of(policy, &POLICIES, &at.key("reclaimPolicy"), code, report);
    }
    let all = classes
        .iter()
        .map(|it| (it.name.as_str(), it.is_default_class));
    named(&all.collect::<Vec<_>>(), at, code, report);
}

fn snapshots(classes: &[InfraVolumeSnapshotClass], at: &FieldCursor, report: &mut FindingSink) {
    let code = "profile/snapshot-class";
    for (i, class) in classes.iter().enumerate() {
        let at = at.index(i);
        let policy = class.deletion_policy.as_deref();
        one_of(policy, &POLICIES, &at.key("deletionPolicy"), code, report);
    }
    let all = classes
        .iter()
        .map(|it| (it.name.as_str(), it.is_default_class));
    named(&all.collect::<Vec<_>>(), at, code, report);
}

/// Names must be unique and valid, and at most one class is the default.
fn named(classes: &[(&str, bool)], at: &FieldCursor, code: &'static str, report: &mut FindingSink) {
    unique(classes.iter().map(|it| it.0), at, "name", report);
    for (i, (name, _)) in classes.iter().enumerate() {
        if !name.is_empty() && !names::is_dns_subdomain(name) {
            let message = format!("{name:?} is not a valid object name");
            report
                .error(
                    &at.index(i).key("name"),
                    FindingKind::Invalid,
                    code,
                    message,
                )
                .hint(names::DNS_LABEL);
        }
    }
    let mut defaults = classes.iter().enumerate().filter(|it| it.1.1);
    if let (Some((first, _)), Some((second, _))) = (defaults.next(), defaults.next()) {
        report
            .error(
                &at.index(second).key("isDefaultClass"),
                FindingKind::Duplicate,
                code,
                "only one class can be the default",
            )
            .see(&at.index(first).key("isDefaultClass"), "first defined here");
    }
}
