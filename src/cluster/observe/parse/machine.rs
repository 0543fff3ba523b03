//! Parsing of machines and their instances.

use super::deletion::Deletion;
use super::image::bytes;
use super::types::{MigrationFailure, ParsedInstance, ParsedMachine};
use crate::cluster::objects::kubevirt::virtual_machine::{
    PartialVirtualMachine, VirtualMachineSpec,
};
use crate::cluster::objects::kubevirt::virtual_machine_instance::PartialVirtualMachineInstance;
use crate::cluster::objects::metadata::{PartialObjectMeta, seconds};
use crate::state::desired::machine_content::{MachineContent, MachineRoots};
use crate::state::facts::{Evacuation, MachineRestart, MachineSleep};
use crate::state::hash::Hash;
use crate::state::key::ObjectKind;
use crate::state::names::{self, MachineName};
use std::sync::Arc;

pub(super) fn machine_name(metadata: &PartialObjectMeta) -> Option<MachineName<'_>> {
    let id = metadata.label(names::PART_OF).unwrap_or_default();
    MachineName::parse(id, &metadata.name)
}

pub(super) fn parse_machine(vm: &PartialVirtualMachine) -> ParsedMachine {
    let metadata = &vm.metadata;
    let label = |key: &str| metadata.label(key).unwrap_or_default();
    let annotation = |key: &str| metadata.annotation(key).unwrap_or_default();
    let zone: usize = label(names::ZONE_INDEX).parse().unwrap_or(1);
    let name = machine_name(metadata);
    let content = name.as_ref().and_then(|it| content(metadata, it));
    let status = vm.status.printable_status.as_str();
    ParsedMachine {
        pool: name
            .as_ref()
            .map_or(label(names::POOL), |it| it.pool)
            .into(),
        zone: name.map_or(zone.saturating_sub(1), |it| it.zone),
        zone_name: annotation(names::ZONE).into(),
        ordinal: names::ordinal(&metadata.name).unwrap_or_default(),
        created: metadata
            .created()
            .and_then(|it| u64::try_from(it).ok())
            .unwrap_or_default(),
        ready: vm.is_ready(),
        broken: status == "CrashLoopBackOff",
        drain_requested: metadata.annotation(names::LEAVING).is_some(),
        sleep: match (vm.is_halted(), metadata.annotation(names::HALTING)) {
            (true, _) => MachineSleep::Halted,
            (false, Some(_)) => MachineSleep::Entering,
            (false, None) => MachineSleep::Awake,
        },
        halted_at: metadata.annotation(names::HALTING).and_then(seconds),
        content,
        restart: restart(metadata),
        replace: metadata.annotation(names::REPLACE).map(Into::into),
        migration_failure: migration_failure(metadata),
        image: vm.image().map(Into::into),
        networks: vm.networks().map(Into::into).collect(),
        types: instancetypes(&vm.spec),
        metadata: annotation(names::POOL_METADATA).into(),
        status: status.into(),
        failure_message: vm.failure_message().map(Into::into),
        deletion: Deletion::of(metadata),
    }
}

/// Returns None for a machine whose hash does not match its name: its configuration is unknown.
fn content(metadata: &PartialObjectMeta, name: &MachineName<'_>) -> Option<MachineContent> {
    let hash = |key: &str| metadata.annotation(key).and_then(Hash::parse);
    let written = hash(names::SPEC_HASH)?;
    if name.hash(Some(written)) != written {
        return None;
    }
    let disks = metadata.annotation(names::DISK_SIZES)?.split(',');
    Some(MachineContent {
        size: hash(names::SIZE_HASH)?,
        disks: disks.map(|it| it.parse().ok()).collect::<Option<_>>()?,
        fixed: hash(names::FIXED_HASH)?,
        roots: roots(metadata),
    })
}

/// Returns None for a machine that takes no new CAs in place.
fn roots(metadata: &PartialObjectMeta) -> Option<MachineRoots> {
    Some(MachineRoots {
        trusted: metadata.annotation(names::CERTIFICATE_AUTHORITIES)?.into(),
        base: Hash::parse(metadata.annotation(names::BASE_HASH)?)?,
    })
}

/// The restart that repair has decided.
fn restart(metadata: &PartialObjectMeta) -> Option<MachineRestart> {
    Some(MachineRestart {
        at: seconds(metadata.annotation(names::RESTARTED_AT)?)?,
        of: metadata.annotation(names::RESTART_OF)?.into(),
    })
}

/// The eviction that a migration has failed for.
fn migration_failure(metadata: &PartialObjectMeta) -> Option<MigrationFailure> {
    Some(MigrationFailure {
        eviction: metadata.annotation(names::FAILED_EVICTION)?.into(),
        reason: metadata.annotation(names::MIGRATION_FAILED)?.into(),
    })
}

/// Instancetype and preference in the namespace.
fn instancetypes(spec: &VirtualMachineSpec) -> Arc<[Arc<str>]> {
    let matchers = [
        (&spec.instancetype, ObjectKind::Instancetype),
        (&spec.preference, ObjectKind::Preference),
    ];
    let own = matchers.into_iter().filter_map(|(matcher, kind)| {
        let (matcher, kind) = (matcher.as_ref()?, kind.to_string());
        (matcher.kind == kind).then(|| format!("{kind} {}", matcher.name).into())
    });
    own.collect()
}

/// The way in which a machine leaves a host that is being drained, and from when, in seconds since 1970.
///
/// Machines whose eviction strategy is External are migrated or replaced at once. KubeVirt migrates others by itself, and they
/// are replaced if it cannot.
pub(crate) fn evacuation(instance: &PartialVirtualMachineInstance) -> Option<(Evacuation, i64)> {
    instance.evacuated_host()?;
    match (instance.is_evacuated_by_others(), instance.is_migratable()) {
        (true, true) => Some((Evacuation::Migration, 0)),
        (true, false) => Some((Evacuation::Replacement, 0)),
        (false, _) => {
            let begun = instance.eviction_requested()?;
            let end = begun.saturating_add(migration_limit(instance));
            Some((Evacuation::Replacement, end))
        }
    }
}

/// Seconds after which a machine that could not be migrated is replaced.
///
/// KubeVirt gives up a migration after 150 s for each GiB of memory (`completionTimeoutPerGiB`), and begins again. It has the
/// time for three, and at least a quarter of an hour.
pub(crate) fn migration_limit(instance: &PartialVirtualMachineInstance) -> i64 {
    const SECONDS_PER_GIB: u64 = 150;
    let memory = instance.memory().and_then(bytes).unwrap_or_default();
    let limit = (3 * SECONDS_PER_GIB * memory.div_ceil(1 << 30)).max(15 * 60);
    i64::try_from(limit).unwrap_or(i64::MAX)
}

pub(super) fn parse_instance(instance: &PartialVirtualMachineInstance) -> ParsedInstance {
    let owner = instance.metadata.owner_uid();
    ParsedInstance {
        owner: owner.unwrap_or_default().into(),
        evacuation: evacuation(instance),
        eviction: instance.eviction().map(Into::into),
        host: instance.status.node_name.as_deref().map(Into::into),
        addresses: instance.addresses().map(Into::into).collect(),
        node_addresses: instance.node_addresses().collect(),
        is_migrating: instance.is_migrating(),
        uid: instance.metadata.uid.as_str().into(),
        is_running: instance.status.phase == "Running" && !instance.metadata.is_deleting(),
    }
}
