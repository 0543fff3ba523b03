//! CPU and memory of the machines.

use crate::model::{Cpu, CpuFeature, CpuFeatureObject, FindingKind, Memory, Quantity};
use crate::validate::names::{LABEL_VALUE, is_label_value};
use crate::validate::report::{FieldCursor, FindingSink};

pub(super) fn cpu(cpu: &Cpu, at: &FieldCursor, report: &mut FindingSink) {
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
    let model = cpu.model.as_deref().unwrap_or_default();
    name(model, "CPU model", &at.key("model"), report);
    for (i, feature) in cpu.features.iter().enumerate() {
        let at = &at.key("features");
        let at = &at.index(i);
        match feature {
            CpuFeature::Name(it) => name(it, "CPU feature", at, report),
            CpuFeature::Object(it) => name(&it.name, "CPU feature", &at.key("name"), report),
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

pub(super) fn memory(memory: &Memory, at: &FieldCursor, report: &mut FindingSink) {
    let at_guest = &at.key("guest");
    if let Some(guest) = memory
        .guest
        .as_ref()
        .filter(|it| it.value <= 0.0 && !it.text().is_empty())
    {
        let message = format!("must be greater than 0 (is {guest})");
        report.error(
            at_guest,
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
        return;
    }
    let page = match Quantity::parse(size) {
        Ok(page) if is_page_size(page.value) => page,
        Ok(_) => {
            let message = format!("{size} is not the size of a page");
            report
                .error(at, FindingKind::Invalid, "worker-config/hugepages", message)
                .hint("use 2Mi or 1Gi");
            return;
        }
        Err(_) => {
            let message = format!("{size:?} is not a valid quantity");
            report
                .error(at, FindingKind::Invalid, "worker-config/hugepages", message)
                .hint("use 2Mi or 1Gi");
            return;
        }
    };
    let guest = memory.guest.as_ref().filter(|it| it.value > 0.0);
    if let Some(guest) = guest.filter(|it| it.value % page.value != 0.0) {
        let message = format!("must be a multiple of hugepages.pageSize, {size} (is {guest})");
        let code = "worker-config/guest-memory";
        report.error(at_guest, FindingKind::Invalid, code, message);
    }
}

/// Returns true for a power of two between the smallest and the largest page of all architectures.
fn is_page_size(bytes: f64) -> bool {
    const LEAST: f64 = 65_536.0;
    const MOST: f64 = 17_179_869_184.0;
    (LEAST..=MOST).contains(&bytes) && bytes.log2().fract() == 0.0
}

/// Checks a name that KubeVirt makes a label of, to find hosts that have it.
fn name(text: &str, what: &str, at: &FieldCursor, report: &mut FindingSink) {
    if !is_label_value(text) {
        let message = format!("{text:?} is not a valid name of a {what}");
        report
            .error(at, FindingKind::Invalid, "worker-config/cpu-name", message)
            .hint(LABEL_VALUE);
    }
}
