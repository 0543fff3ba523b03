//! GPUs and other devices of the hosts.

use crate::model::{Devices, FindingKind};
use crate::validate::report::{FieldCursor, FindingSink};
use std::collections::HashSet;

/// Checks what KubeVirt's webhook and the scheduler would refuse when the first machine is created.
pub(super) fn check(devices: &Devices, at: &FieldCursor, report: &mut FindingSink) {
    let mut names = HashSet::new();
    let lists = [
        ("gpus", &devices.gpus),
        ("hostDevices", &devices.host_devices),
    ];
    for (key, list) in lists {
        let at = &at.key(key);
        for (i, device) in list.iter().enumerate() {
            let at = &at.index(i);
            if !device.name.is_empty() && !names.insert(device.name.as_str()) {
                report.error(
                    &at.key("name"),
                    FindingKind::Invalid,
                    "worker-config/device-twice",
                    format!("duplicate device {:?}", device.name),
                );
            }
            let resource = device.device_name.as_str();
            if !resource.is_empty() && !is_extended_resource(resource) {
                report
                    .error(
                        &at.key("deviceName"),
                        FindingKind::Invalid,
                        "worker-config/device",
                        format!("{resource:?} is not the name of a device"),
                    )
                    .hint("use a resourceName of permittedHostDevices of the KubeVirt object, for example nvidia.com/TU104GL_Tesla_T4");
            }
        }
    }
}

/// Returns whether Kubernetes accepts the name for a device: a domain other than its own, a slash, and a name.
fn is_extended_resource(resource: &str) -> bool {
    let is_part = |text: &str, other: &str| {
        let is_inner = |it: char| it.is_ascii_alphanumeric() || other.contains(it);
        let ends = [text.chars().next(), text.chars().next_back()];
        text.len() <= 63
            && text.chars().all(is_inner)
            && ends
                .iter()
                .all(|it| it.is_some_and(|it| it.is_ascii_alphanumeric()))
    };
    resource.split_once('/').is_some_and(|(domain, name)| {
        let is_reserved = domain == "kubernetes.io" || domain.ends_with(".kubernetes.io");
        !is_reserved && domain.split('.').all(|it| is_part(it, "-")) && is_part(name, "-_.")
    })
}
