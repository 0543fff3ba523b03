//! Settings of a pool that its machine type must have room for.

use crate::model::{FindingKind, Kubelet};
use crate::validate::pool::context::PoolContext;
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::valid_shoot::MachineSize;

pub(in crate::validate::pool) fn check(
    pool: &PoolContext,
    machine: &MachineSize,
    kubelet: Option<&Kubelet>,
    report: &mut FindingSink,
) {
    let config = pool.worker.provider_config.as_deref();
    guest(pool, machine, report);
    // The type does not have the size of these machines.
    let is_own = config
        .is_some_and(|it| it.template.is_some() || it.instancetype.is_some() || it.cpu.is_some());
    if let Some(it) = kubelet.filter(|_| !is_own) {
        reserved(it, machine, &pool.at.key("machine").key("type"), report);
    }
}

/// Memory that the machine sees is at most what it may use.
fn guest(pool: &PoolContext, machine: &MachineSize, report: &mut FindingSink) {
    let config = pool.worker.provider_config.as_deref();
    let guest = config.and_then(|it| it.memory.as_ref()?.guest.as_ref());
    let limit = machine.memory_limit.as_ref();
    let (Some(guest), Some(limit)) = (guest, limit) else {
        return;
    };
    if guest.value > limit.value {
        let name = &machine.name;
        let message = format!(
            "must be at most {limit}, the memory limit of machine type {name:?} (is {guest})"
        );
        let at = &pool.at.key("providerConfig");
        let at = &at.key("memory");
        report.error(
            &at.key("guest"),
            FindingKind::Invalid,
            "worker-config/guest-memory",
            message,
        );
    }
}

/// A kubelet that reserves more than the machine has does not start.
fn reserved(kubelet: &Kubelet, machine: &MachineSize, at: &FieldCursor, report: &mut FindingSink) {
    for (resource, size) in [("cpu", &machine.cpu), ("memory", &machine.memory)] {
        let both = [&kubelet.kube_reserved, &kubelet.system_reserved];
        let amounts = both.into_iter().flatten().filter_map(|it| it.get(resource));
        let sum: f64 = amounts.map(|it| it.value).sum();
        if sum >= size.value && size.value > 0.0 {
            let name = &machine.name;
            let message = format!(
                "kubeReserved and systemReserved leave nothing of the {size} {resource} of machine type {name:?}"
            );
            report
                .error(at, FindingKind::Invalid, "kubelet/reserved", message)
                .hint("reserve less, or choose a larger machine type");
        }
    }
}
