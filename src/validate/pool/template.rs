//! CPU, memory and disks that a pool defines itself.

use crate::model::{FindingKind, MachineTemplate, Quantity, RootDisk, WorkerConfig};
use crate::validate::image_source::{self, ImageSource};
use crate::validate::names;
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::rules::one_of;
use crate::validate::valid_shoot::{MachineSize, VolumeApi};

/// Same limit as in Kubermatic.
const MAX_DISKS: usize = 3;
const CODE: &str = "worker-config/template";
const ACCESS: [&str; 3] = ["ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"];

pub(crate) fn check(config: &WorkerConfig, at: &FieldCursor, report: &mut FindingSink) {
    let none = MachineTemplate::default();
    let template = config.template.as_deref().unwrap_or(&none);
    let at_template = &at.key("template");
    compute(template, at_template, report);
    if config.instancetype.is_some() {
        exclusive_with_instancetype(config, template, at, report);
    }
    if let Some(it) = &template.primary_disk {
        root(it, &at_template.key("primaryDisk"), report);
    }
    let at_disks = &at_template.key("secondaryDisks");
    let disks = &template.secondary_disks;
    if disks.len() > MAX_DISKS {
        let message = format!("must have at most {MAX_DISKS} items (has {})", disks.len());
        report.error(at_disks, FindingKind::Invalid, CODE, message);
    }
    for (i, disk) in disks.iter().enumerate() {
        let at = &at_disks.index(i);
        positive(Some(&disk.size), &at.key("size"), report);
        let class = disk.storage_class_name.as_deref();
        names_object(class, &at.key("storageClassName"), report);
        let access = disk.storage_access_type.as_deref();
        let at = &at.key("storageAccessType");
        one_of(access, &ACCESS, at, CODE, report);
    }
}

fn compute(template: &MachineTemplate, at: &FieldCursor, report: &mut FindingSink) {
    if template.cpus.is_some() && template.vcpus.is_some() {
        report
            .error(
                &at.key("vcpus"),
                FindingKind::Forbidden,
                "worker-config/cpus-twice",
                "cannot be combined with cpus",
            )
            .see(&at.key("cpus"), "set here")
            .hint("cpus sets request and limit; vcpus sets the CPUs that the machine sees");
    }
    positive(template.cpus.as_ref(), &at.key("cpus"), report);
    positive(template.memory.as_ref(), &at.key("memory"), report);
    if template.vcpus.as_ref().is_some_and(|it| it.cores == 0) {
        let at = &at.key("vcpus");
        report.error(
            &at.key("cores"),
            FindingKind::Invalid,
            CODE,
            "must be at least 1",
        );
    }
    let has_cpu = template.cpus.is_some() || template.vcpus.is_some();
    if has_cpu != template.memory.is_some() {
        let (missing, given) = match has_cpu {
            true => ("memory", "cpus or vcpus"),
            false => ("cpus", "memory"),
        };
        let message = format!("is required with {given}");
        report.error(&at.key(missing), FindingKind::Required, CODE, message);
    }
}

/// KubeVirt rejects values that the instancetype defines too.
fn exclusive_with_instancetype(
    config: &WorkerConfig,
    template: &MachineTemplate,
    at: &FieldCursor,
    report: &mut FindingSink,
) {
    let at_template = &at.key("template");
    let given = [
        (at_template.key("cpus"), template.cpus.is_some()),
        (at_template.key("vcpus"), template.vcpus.is_some()),
        (at_template.key("memory"), template.memory.is_some()),
        (at.key("cpu"), config.cpu.is_some()),
        (at.key("memory"), config.memory.is_some()),
        (
            at.key("overcommitGuestOverhead"),
            config.overcommit_guest_overhead,
        ),
    ];
    for (place, is_given) in given {
        if is_given {
            report
                .error(
                    &place,
                    FindingKind::Forbidden,
                    "worker-config/beside-instancetype",
                    "cannot be combined with an instancetype",
                )
                .see(&at.key("instancetype"), "set here");
        }
    }
}

fn root(disk: &RootDisk, at: &FieldCursor, report: &mut FindingSink) {
    positive(disk.size.as_ref(), &at.key("size"), report);
    let class = disk.storage_class_name.as_deref();
    names_object(class, &at.key("storageClassName"), report);
    let words: [(&str, &Option<String>, &[&str]); 4] = [
        ("source", &disk.source, &["http", "registry", "pvc"]),
        ("pullMethod", &disk.pull_method, &["node", "pod"]),
        ("storageAccessType", &disk.storage_access_type, &ACCESS),
        ("storageTarget", &disk.storage_target, &["storage", "pvc"]),
    ];
    for (field, given, allowed) in words {
        one_of(given.as_deref(), allowed, &at.key(field), CODE, report);
    }
    for (field, secret) in [
        ("dataVolumeSecretRef", &disk.data_volume_secret_ref),
        ("extraHeadersSecretRef", &disk.extra_headers_secret_ref),
    ] {
        names_object(secret.as_deref(), &at.key(field), report);
    }
    if disk.extra_headers_secret_ref.is_some() && !disk.extra_headers.is_empty() {
        report
            .error(
                &at.key("extraHeadersSecretRef"),
                FindingKind::Forbidden,
                CODE,
                "cannot be combined with extraHeaders",
            )
            .see(&at.key("extraHeaders"), "set here");
    }
    for (i, header) in disk.extra_headers.iter().enumerate() {
        if !header.contains(':') || header.contains(['\n', '\r']) {
            let at = &at.key("extraHeaders");
            report
                .error(
                    &at.index(i),
                    FindingKind::Invalid,
                    CODE,
                    "not a valid HTTP header",
                )
                .hint("write `Name: value`");
        }
    }
    fitting(disk, at, report);
}

/// Checks the image, and the fields that apply only to some kinds of sources.
fn fitting(disk: &RootDisk, at: &FieldCursor, report: &mut FindingSink) {
    let http = [
        ("extraHeaders", !disk.extra_headers.is_empty()),
        (
            "extraHeadersSecretRef",
            disk.extra_headers_secret_ref.is_some(),
        ),
    ];
    let registry = [("pullMethod", disk.pull_method.is_some())];
    let secret = [("dataVolumeSecretRef", disk.data_volume_secret_ref.is_some())];
    let image = disk.os_image.as_deref().unwrap_or_default();
    let (kind, unread) = match image_source::of_root_disk(disk) {
        None if disk.os_image.is_none() => (
            "an image of the CloudProfile",
            [&http[..], &registry, &secret],
        ),
        None => {
            // An unsupported `source` is reported elsewhere.
            let message = format!("{image:?} is not a valid image for this source");
            report
                .error(&at.key("osImage"), FindingKind::Invalid, CODE, message)
                .hint("use https://…, docker://…, NAME or NAMESPACE/NAME");
            return;
        }
        Some(ImageSource::Http { .. }) => ("an http source", [&[][..], &registry, &[]]),
        Some(ImageSource::Registry { .. }) => ("a registry source", [&http[..], &[], &[]]),
        Some(ImageSource::Claim { .. } | ImageSource::Own(_)) => {
            ("a PersistentVolumeClaim", [&http[..], &registry, &secret])
        }
    };
    for (field, _) in unread.into_iter().flatten().filter(|it| it.1) {
        let message = format!("not supported for {kind}");
        report.error(&at.key(field), FindingKind::Forbidden, CODE, message);
    }
}

/// CDI API for the storageAccessType and storageTarget of a template.
pub(crate) fn claiming(access: Option<&str>, target: Option<&str>) -> VolumeApi {
    match target {
        Some("pvc") => VolumeApi::Pvc {
            access: access.unwrap_or("ReadWriteOnce").to_owned(),
        },
        _ => VolumeApi::Storage {
            access: access.map(str::to_owned),
        },
    }
}

/// CPU and memory that the pool defines itself; the machine type is only a name then.
pub(crate) fn machine_type(name: &str, config: &WorkerConfig) -> Option<MachineSize> {
    let of = |cpu: Quantity, memory: Quantity, is_limited: bool| MachineSize {
        name: name.to_owned(),
        cpu_limit: is_limited.then(|| cpu.clone()),
        memory_limit: is_limited.then(|| memory.clone()),
        cpu,
        memory,
    };
    if config.instancetype.is_some() {
        let nothing = Quantity::parse("0").ok()?;
        return Some(of(nothing.clone(), nothing, false));
    }
    let template = config.template.as_ref()?;
    let memory = template.memory.clone()?;
    match (&template.cpus, &template.vcpus) {
        (Some(cpus), _) => Some(of(cpus.clone(), memory, true)),
        (None, Some(vcpus)) => {
            let cores = Quantity::parse(&vcpus.cores.to_string()).ok()?;
            Some(of(cores, memory, true))
        }
        (None, None) => None,
    }
}

fn positive(quantity: Option<&Quantity>, at: &FieldCursor, report: &mut FindingSink) {
    if let Some(it) = quantity.filter(|it| it.value <= 0.0 && !it.text().is_empty()) {
        report.error(
            at,
            FindingKind::Invalid,
            CODE,
            format!("must be greater than 0 (is {it})"),
        );
    }
}

fn names_object(name: Option<&str>, at: &FieldCursor, report: &mut FindingSink) {
    if let Some(name) = name.filter(|it| !it.is_empty() && !names::is_dns_subdomain(it)) {
        let message = format!("{name:?} is not a valid object name");
        report
            .error(at, FindingKind::Invalid, CODE, message)
            .hint(names::DNS_LABEL);
    }
}
