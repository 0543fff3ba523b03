//! Disks of the machines, by the names of their volumes.

use std::collections::HashSet;

use crate::model::{Disk, FindingKind, ROOT_DISK, WorkerConfig};
use crate::validate::pool::context::PoolContext;
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::rules::{one_of, some_of};

pub(super) fn check(
    config: &WorkerConfig,
    pool: &PoolContext,
    at: &FieldCursor,
    report: &mut FindingSink,
) {
    let Some(devices) = &config.devices else {
        return;
    };
    let at = &at.key("devices");
    let at = &at.key("disks");
    let volumes: HashSet<&str> = pool
        .worker
        .data_volumes
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    let mut known = HashSet::with_capacity(devices.disks.len());
    for (i, disk) in devices.disks.iter().enumerate() {
        let at = &at.index(i);
        let name = disk.name.as_str();
        if pool.worker.kubelet_data_volume_name.as_deref() == Some(name) {
            serial(disk, &at.key("serial"), report);
        }
        hardware(disk, at, report);
        if disk.boot_order.is_some() {
            report
                .error(
                    &at.key("bootOrder"),
                    FindingKind::Forbidden,
                    "worker-config/boot-order",
                    "cannot be set",
                )
                .hint("machines always boot from root-disk");
        }
        if name.is_empty() {
            continue;
        }
        if !known.insert(name) {
            report.error(
                &at.key("name"),
                FindingKind::Invalid,
                "worker-config/disk-twice",
                format!("duplicate disk {name:?}"),
            );
        } else if name != ROOT_DISK && !volumes.contains(name) {
            let available = [ROOT_DISK]
                .into_iter()
                .chain(pool.worker.data_volumes.iter().map(|it| it.name.as_str()));
            report
                .error(
                    &at.key("name"),
                    FindingKind::Invalid,
                    "worker-config/no-volume",
                    format!("volume {name:?} not found"),
                )
                .hint(format!("available: {}", some_of(available)));
        }
    }
}

/// Checks the serial number by which a machine finds the disk of its kubelet. It becomes part of a shell script, and
/// virtio disks show 20 characters of it.
fn serial(disk: &Disk, at: &FieldCursor, report: &mut FindingSink) {
    const MOST: usize = 20;
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
    let given = disk.serial.as_deref();
    let is_valid = |it: &str| !it.is_empty() && it.len() <= MOST && it.chars().all(is_plain);
    if let Some(given) = given.filter(|it| !is_valid(it)) {
        let message = format!("{given:?} is not a valid serial number of the kubelet's disk");
        let code = "worker-config/serial";
        report
            .error(at, FindingKind::Invalid, code, message)
            .hint(format!(
                "use at most {MOST} letters, digits, hyphens, dots and underscores"
            ));
    }
}

/// Checks what KubeVirt's webhook would refuse when the first machine is created.
fn hardware(disk: &Disk, at: &FieldCursor, report: &mut FindingSink) {
    const BUSES: [&str; 4] = ["virtio", "sata", "scsi", "usb"];
    const BUS: &str = "worker-config/bus";
    let given = disk.disk.as_ref().and_then(|it| it.bus.as_deref());
    let at_disk = &at.key("disk");
    one_of(given, &BUSES, &at_disk.key("bus"), BUS, report);
    let given = disk.lun.as_ref().and_then(|it| it.bus.as_deref());
    let at_lun = &at.key("lun");
    one_of(given, &["sata", "scsi"], &at_lun.key("bus"), BUS, report);
    let given = disk.cdrom.as_ref().and_then(|it| it.bus.as_deref());
    let at_cdrom = &at.key("cdrom");
    one_of(given, &["sata", "scsi"], &at_cdrom.key("bus"), BUS, report);
    let words: [(&str, Option<&str>, &[&str]); 3] = [
        (
            "cache",
            disk.cache.as_deref(),
            &["none", "writethrough", "writeback"],
        ),
        ("io", disk.io.as_deref(), &["native", "threads"]),
        (
            "errorPolicy",
            disk.error_policy.as_deref(),
            &["stop", "ignore", "report", "enospace"],
        ),
    ];
    for (name, given, supported) in words {
        one_of(
            given,
            supported,
            &at.key(name),
            "worker-config/disk",
            report,
        );
    }
    let targets = [
        disk.disk.is_some(),
        disk.lun.is_some(),
        disk.cdrom.is_some(),
    ];
    if targets.into_iter().filter(|it| *it).count() > 1 {
        let message = "only one of disk, lun and cdrom can be set";
        report.error(at, FindingKind::Forbidden, "worker-config/disk", message);
    }
}
