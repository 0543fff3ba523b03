//! The machine type of a pool.

use crate::model::{DocumentKind, FindingKind};
use crate::validate::pool::context::{PoolContext, ValidationContext};
use crate::validate::pool::template;
use crate::validate::profile::index::ProfileIndex;
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::rules::{not_found, not_usable};
use crate::validate::valid_shoot::MachineSize;

/// Resolves the machine type; an unchanged type may come from the profile of the last run.
pub(in crate::validate::pool) fn check(
    context: &ValidationContext,
    pool: &PoolContext,
    report: &mut FindingSink,
) -> Option<MachineSize> {
    let name = pool.worker.machine.type_.as_str();
    let at = &pool.at.key("machine");
    let at = &at.key("type");
    let own = pool.worker.provider_config.as_deref();
    if let Some(own) = own.and_then(|it| template::machine_type(name, it)) {
        return Some(own);
    }
    if pool.before.is_some_and(|it| it.machine.type_ == name) {
        let known = [Some(&context.index), context.previous_index.as_ref()];
        let mut known = known.into_iter().flatten();
        if let Some(found) = known.find_map(|index| resolve(index, name)) {
            return Some(found);
        }
    }
    let index = &context.index;
    let entry = index.machine_types.get(name);
    if let Some((i, _)) = entry.filter(|(_, it)| it.usable == Some(false)) {
        let profile = FieldCursor::root(DocumentKind::CloudProfile);
        let spec = profile.key("spec");
        let list = spec.key("machineTypes");
        let code = "machine/type-not-usable";
        not_usable(at, code, "machine type", name, &list.index(*i), report);
        return None;
    }
    let Some((i, found)) = entry else {
        let usable = index
            .profile
            .spec
            .machine_types
            .iter()
            .filter(|it| it.usable != Some(false));
        not_found(
            at,
            "machine/type-not-offered",
            "machine type",
            name,
            &index.title(),
            usable.map(|it| it.name.as_str()),
            report,
        );
        return None;
    };
    if let Some(zone) = pool.zone_without(&index.without_machine_type, name) {
        let message = format!("machine type {name:?} is not available in zone {zone:?}");
        report.error(
            at,
            FindingKind::NotSupported,
            "machine/type-not-in-zone",
            message,
        );
        return None;
    }
    let config = pool.worker.provider_config.as_deref();
    let devices = config.and_then(|it| it.devices.as_ref());
    let attached = devices.map_or(0, |it| it.gpus.len());
    // An instancetype may attach them.
    let is_open = config.is_none_or(|it| it.instancetype.is_none());
    if let Some(gpu) = found
        .gpu
        .as_ref()
        .filter(|gpu| is_open && gpu.value > attached as f64)
    {
        let profile = FieldCursor::root(DocumentKind::CloudProfile);
        let message =
            format!("machine type {name:?} has {gpu} GPU, but the pool attaches {attached}");
        report
            .warning(
                at,
                FindingKind::NotSupported,
                "machine/gpu-ignored",
                message,
            )
            .hint(
                "list them in providerConfig.devices.gpus, with the names of your provider cluster",
            )
            .see(
                &profile.key("spec").key("machineTypes").index(*i).key("gpu"),
                "defined here",
            );
    }
    resolve(index, name)
}

fn resolve(index: &ProfileIndex, name: &str) -> Option<MachineSize> {
    let (_, found) = index.machine_types.get(name)?;
    let limits = index.limits.get(name);
    Some(MachineSize {
        name: name.to_owned(),
        cpu: found.cpu.clone(),
        memory: found.memory.clone(),
        cpu_limit: limits.and_then(|it| it.cpu.clone()),
        memory_limit: limits.and_then(|it| it.memory.clone()),
    })
}
