//! The CPU architecture of a pool's machines.

use crate::model::{ARCHITECTURES, DocumentKind, FindingKind, MachineImageVersion};
use crate::validate::pool::context::{PoolContext, ValidationContext};
use crate::validate::report::{FieldCursor, FindingSink};

/// Architecture of machine types and images that name none, as in Gardener.
pub(crate) const DEFAULT: &str = "amd64";

/// The architecture of a pool: its own, or that of its machine type. None if neither names one: KubeVirt then takes that
/// of the provider cluster.
pub(crate) fn check(
    context: &ValidationContext,
    pool: &PoolContext,
    report: &mut FindingSink,
) -> Option<String> {
    let machine = &pool.worker.machine;
    let entry = context.index.machine_types.get(machine.type_.as_str());
    let of_type = entry.and_then(|(_, it)| it.architecture.as_deref());
    let Some(own) = machine.architecture.as_deref().filter(|it| !it.is_empty()) else {
        return of_type.map(str::to_owned);
    };
    let at = &pool.at.key("machine");
    let at = &at.key("architecture");
    if !ARCHITECTURES.contains(&own) {
        unsupported(own, "machine/architecture", at, report);
        return None;
    }
    if let Some((i, found)) = entry.filter(|_| of_type.unwrap_or(DEFAULT) != own) {
        let profile = FieldCursor::root(DocumentKind::CloudProfile);
        let spec = &profile.key("spec");
        let types = &spec.key("machineTypes");
        let message = format!(
            "must be {}, the architecture of machine type {:?} (is {own})",
            of_type.unwrap_or(DEFAULT),
            found.name
        );
        report
            .error(
                at,
                FindingKind::Invalid,
                "machine/architecture-of-type",
                message,
            )
            .see(&types.index(*i), "defined here");
    }
    Some(own.to_owned())
}

/// Returns true if an image version runs on machines of an architecture; both are for amd64 if they name none.
pub(crate) fn has_image(version: &MachineImageVersion, wanted: Option<&str>) -> bool {
    let named = &version.architectures;
    match (wanted, named.is_empty()) {
        // The provider cluster decides for both.
        (None, true) => true,
        (Some(wanted), true) => wanted == DEFAULT,
        (wanted, false) => named.iter().any(|it| it == wanted.unwrap_or(DEFAULT)),
    }
}

/// Reports an architecture that KubeVirt does not run.
pub(crate) fn unsupported(
    given: &str,
    code: &'static str,
    at: &FieldCursor,
    report: &mut FindingSink,
) {
    let message = format!("unsupported value {given:?}");
    report
        .error(at, FindingKind::NotSupported, code, message)
        .hint(format!("supported values: {}", ARCHITECTURES.join(", ")));
}
