//! The WorkerConfig of a pool.

use std::collections::HashSet;
use std::net::IpAddr;

use super::cloud_config::{self, CloudConfigError};
use super::context::{PoolContext, ValidationContext};
use super::{placement, template};
use crate::model::{
    Cpu, CpuFeature, CpuFeatureObject, Disk, FindingKind, Memory, ROOT_DISK, WorkerConfig,
};
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::rules::some_of;

const DNS_POLICIES: [&str; 4] = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

/// Returns the configuration in normalized form: features as objects, and one spelling of networkInterfaceMultiqueue.
pub(crate) fn check(
    context: &ValidationContext,
    pool: &PoolContext,
    report: &mut FindingSink,
) -> Option<WorkerConfig> {
    let Some(given) = &pool.worker.provider_config else {
        return Some(WorkerConfig::default());
    };
    let at = &pool.at.key("providerConfig");
    dns(given, at, report);
    disks(given, pool, at, report);
    if let Some(it) = &given.cpu {
        cpu(it, &at.key("cpu"), report);
    }
    if let Some(it) = &given.memory {
        memory(it, &at.key("memory"), report);
    }
    boot(given, at, report);
    placement::check(given, at, report);
    let region = &context.input.shoot.spec.region;
    placement::check_zones(given, pool.worker, region, at, report);
    template::check(given, at, report);
    Some(in_one_form(given))
}

fn nameservers(config: &WorkerConfig, at: &FieldCursor, report: &mut FindingSink) {
    let given = config.dns_config.iter().flat_map(|it| &it.nameservers);
    let at = &at.key("nameservers");
    for (i, given) in given.enumerate() {
        if given.parse::<IpAddr>().is_err() {
            let message = format!("{given:?} is not a valid IP address");
            report
                .error(
                    &at.index(i),
                    FindingKind::Invalid,
                    "worker-config/nameserver",
                    message,
                )
                .hint("for example 192.0.2.53 or 2001:db8::53");
        }
    }
}

/// Checks SSH keys and user data.
fn boot(config: &WorkerConfig, at: &FieldCursor, report: &mut FindingSink) {
    for (index, key) in config.ssh_public_keys.iter().enumerate() {
        if !cloud_config::is_public_key(key.trim()) {
            let keys = at.key("sshPublicKeys");
            report
                .error(
                    &keys.index(index),
                    FindingKind::Invalid,
                    "worker-config/ssh-key",
                    "not a valid SSH public key".to_owned(),
                )
                .hint(
                    "use a line of an authorized_keys file, for example `ssh-ed25519 AAAA… me`"
                        .to_owned(),
                );
        }
    }
    if let Some(user_data) = &config.user_data {
        self::user_data(user_data, &at.key("userData"), report);
    }
}

/// Checks user data, which every machine of the pool gets.
fn user_data(text: &str, at: &FieldCursor, report: &mut FindingSink) {
    let error = match cloud_config::parse(text) {
        Ok(config) => {
            if let Some(secret) = cloud_config::secret(&config) {
                let message = format!(
                    "userData has {secret}, and everyone who reads Secrets of the provider namespace, or is root on a machine, reads it"
                );
                report
                    .warning(at, FindingKind::Forbidden, "worker-config/secret", message)
                    .hint("use SSH keys, or let the machine fetch its secrets");
            }
            return;
        }
        Err(error) => error,
    };
    let hint = match error {
        CloudConfigError::Head => {
            "only a cloud-config can be merged; start it with `#cloud-config`"
        }
        _ => "`cloud-init schema --config-file FILE` finds errors in a cloud-config",
    };
    let message = error.to_string();
    report
        .error(at, FindingKind::Invalid, "worker-config/user-data", message)
        .hint(hint);
}

fn in_one_form(given: &WorkerConfig) -> WorkerConfig {
    let mut config = given.clone();
    if let Some(devices) = &mut config.devices {
        devices.network_interface_multiqueue |= devices.network_interface_multi_queue;
        devices.network_interface_multi_queue = false;
    }
    for feature in config.cpu.iter_mut().flat_map(|it| &mut it.features) {
        if let CpuFeature::Name(name) = feature {
            *feature = CpuFeature::Object(CpuFeatureObject {
                name: std::mem::take(name),
                policy: Some("require".to_owned()),
            });
        }
    }
    config
}

fn dns(config: &WorkerConfig, at: &FieldCursor, report: &mut FindingSink) {
    nameservers(config, &at.key("dnsConfig"), report);
    let Some(policy) = config.dns_policy.as_deref() else {
        return;
    };
    if !DNS_POLICIES.contains(&policy) {
        report
            .error(
                &at.key("dnsPolicy"),
                FindingKind::Invalid,
                "worker-config/dns-policy",
                format!("unsupported DNS policy {policy:?}"),
            )
            .hint(format!("supported values: {}", DNS_POLICIES.join(", ")));
    }
    if policy != "None" {
        return;
    }
    let at_config = &at.key("dnsConfig");
    match &config.dns_config {
        None => {
            report
                .error(
                    at_config,
                    FindingKind::Required,
                    "worker-config/dns-config",
                    "is required with dnsPolicy None",
                )
                .hint("set at least one nameserver");
        }
        Some(it) if it.nameservers.is_empty() => {
            let message = "is required with dnsPolicy None";
            report.error(
                &at_config.key("nameservers"),
                FindingKind::Required,
                "worker-config/nameservers",
                message,
            );
        }
        Some(_) => {}
    }
}

fn disks(config: &WorkerConfig, pool: &PoolContext, at: &FieldCursor, report: &mut FindingSink) {
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
    let most = pool.worker.data_volumes.len() + 1;
    if devices.disks.len() > most {
        let message = format!(
            "must have at most {most} items, one for each volume (has {})",
            devices.disks.len()
        );
        report.error(
            at,
            FindingKind::Invalid,
            "worker-config/too-many-disks",
            message,
        );
    }
    let mut known = HashSet::with_capacity(devices.disks.len());
    for (i, disk) in devices.disks.iter().enumerate() {
        let at = &at.index(i);
        let name = disk.name.as_str();
        if pool.worker.kubelet_data_volume_name.as_deref() == Some(name) {
            serial(disk, &at.key("serial"), report);
        }
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

fn cpu(cpu: &Cpu, at: &FieldCursor, report: &mut FindingSink) {
    const POLICIES: [&str; 5] = ["force", "require", "optional", "disable", "forbid"];
    for (i, feature) in cpu.features.iter().enumerate() {
        let at = &at.key("features");
        let at = &at.index(i);
        match feature {
            CpuFeature::Name(name) if name.is_empty() => {
                report.error(
                    at,
                    FindingKind::Required,
                    "worker-config/cpu-feature",
                    "name is required",
                );
            }
            CpuFeature::Object(CpuFeatureObject {
                policy: Some(policy),
                ..
            }) if !policy.is_empty() && !POLICIES.contains(&policy.as_str()) => {
                report
                    .error(
                        &at.key("policy"),
                        FindingKind::NotSupported,
                        "worker-config/cpu-policy",
                        format!("unsupported value {policy:?}"),
                    )
                    .hint(format!("supported values: {}", POLICIES.join(", ")));
            }
            _ => {}
        }
    }
    if cpu.isolate_emulator_thread == Some(true) && cpu.dedicated_cpu_placement != Some(true) {
        report
            .error(
                &at.key("isolateEmulatorThread"),
                FindingKind::Invalid,
                "worker-config/emulator-thread",
                "requires dedicatedCpuPlacement",
            )
            .hint("set dedicatedCpuPlacement: true");
    }
}

fn memory(memory: &Memory, at: &FieldCursor, report: &mut FindingSink) {
    if let Some(guest) = memory
        .guest
        .as_ref()
        .filter(|it| it.value <= 0.0 && !it.text().is_empty())
    {
        let message = format!("must be greater than 0 (is {guest})");
        report.error(
            &at.key("guest"),
            FindingKind::Invalid,
            "worker-config/guest-memory",
            message,
        );
    }
    let Some(pages) = &memory.hugepages else {
        return;
    };
    let size = pages.page_size.as_deref().unwrap_or_default();
    let at = &at.key("hugepages");
    let at = &at.key("pageSize");
    if size.is_empty() {
        report
            .error(
                at,
                FindingKind::Required,
                "worker-config/hugepages",
                "is required",
            )
            .hint("use 2Mi or 1Gi");
    } else if crate::model::Quantity::parse(size).is_err() {
        let message = format!("{size:?} is not a valid quantity");
        report
            .error(at, FindingKind::Invalid, "worker-config/hugepages", message)
            .hint("use 2Mi or 1Gi");
    }
}
