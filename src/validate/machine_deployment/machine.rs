//! `virtualMachine`: CPU, memory, disks and network of each machine.

use super::values::ValueResolver;
use crate::model::{
    Devices, FindingKind, Flavor, KubevirtMatcher, MachineLocation, MachineTemplate, Matcher,
    PrimaryDisk, Quantity, RootDisk, SecondaryDisk, SecondaryDiskTemplate, Template, VirtualCpus,
    VirtualMachine, WorkerConfig,
};
use crate::validate::report::FieldCursor;

/// Built-in preset of Kubermatic; others become the instancetype of that name.
const STANDARD: (&str, &str, &str) = ("kubermatic-standard", "2", "8Gi");

const EXTERNAL: &str = "External";

pub(super) fn add(
    config: &mut WorkerConfig,
    vm: &VirtualMachine,
    at: &FieldCursor,
    values: &mut ValueResolver,
) {
    config.instancetype = matched("instancetype", vm.instancetype.as_ref(), at, values);
    config.preference = matched("preference", vm.preference.as_ref(), at, values);
    let none = Template::default();
    let given = vm.template.as_ref().unwrap_or(&none);
    let at_template = &at.key("template");
    values.field_map.put("providerConfig.template", at_template);
    for to in ["machine.type", "machine.image", "volume"] {
        values.field_map.put(to, at_template);
    }
    let (mut template, before) = (MachineTemplate::default(), values.counters());
    compute(config, &mut template, given, at_template, values);
    if let Some(flavor) = &vm.flavor {
        preset(config, &mut template, flavor, &at.key("flavor"), values);
    }
    if config.instancetype.is_none() && values.counters() == before {
        sized(&template, at_template, values);
    }
    let none = PrimaryDisk::default();
    let disk = given.primary_disk.as_ref().unwrap_or(&none);
    template.primary_disk = Some(root(disk, &at_template.key("primaryDisk"), values));
    let at_disks = &at_template.key("secondaryDisks");
    let to = "providerConfig.template.secondaryDisks";
    values.field_map.put(to, at_disks);
    for (i, disk) in given.secondary_disks.iter().enumerate() {
        template
            .secondary_disks
            .push(secondary_disk(i, disk, &at_disks.index(i), values));
    }
    config.template = Some(Box::new(template));
    network(config, vm, at, values);
    let eviction = vm.eviction_strategy.clone().filter(|it| !it.is_empty());
    config.eviction_strategy = Some(eviction.unwrap_or_else(|| EXTERNAL.to_owned()));
    let to = "providerConfig.evictionStrategy";
    values.field_map.put(to, &at.key("evictionStrategy"));
}

/// Requires CPU and memory, which have no defaults in Kubermatic.
fn sized(template: &MachineTemplate, at: &FieldCursor, values: &mut ValueResolver) {
    let has_cpu = template.cpus.is_some() || template.vcpus.is_some();
    let fields = [("cpus", has_cpu), ("memory", template.memory.is_some())];
    for (field, _) in fields.iter().filter(|it| !it.1) {
        let (kind, code) = (FindingKind::Required, "machine-deployment/size");
        let finding = values
            .report
            .error(&at.key(field), kind, code, "is required");
        finding.hint("set cpus or vcpus, and memory, or an instancetype");
    }
}

fn matched(
    field: &'static str,
    matcher: Option<&Matcher>,
    at: &FieldCursor,
    values: &mut ValueResolver,
) -> Option<KubevirtMatcher> {
    let matcher = matcher?;
    let at = &at.key(field);
    for name in ["name", "kind"] {
        let to = format!("providerConfig.{field}.{name}");
        values.field_map.put(&to, &at.key(name));
    }
    if field == "instancetype" {
        values.field_map.put("machine.type", &at.key("name"));
    }
    Some(KubevirtMatcher {
        name: matcher.name.clone(),
        kind: matcher.kind.clone().filter(|it| !it.is_empty()),
    })
}

/// CPU and memory, unless an instancetype defines them.
fn compute(
    config: &WorkerConfig,
    template: &mut MachineTemplate,
    given: &Template,
    at: &FieldCursor,
    values: &mut ValueResolver,
) {
    let (at_cpus, at_memory) = (&at.key("cpus"), &at.key("memory"));
    let at_vcpus = &at.key("vcpus");
    let cores = given
        .vcpus
        .as_ref()
        .and_then(|it| it.cores)
        .filter(|it| *it != 0);
    if config.instancetype.is_some() {
        for (at, is_given) in [
            (at_cpus, given.cpus.is_some()),
            (at_vcpus, cores.is_some()),
            (at_memory, given.memory.is_some()),
        ] {
            if is_given {
                values.ignored(at, "the instancetype defines it");
            }
        }
        return;
    }
    let to = "providerConfig.template.cpus";
    template.cpus = values.quantity(to, given.cpus.as_ref(), at_cpus);
    let to = "providerConfig.template.memory";
    template.memory = values.quantity(to, given.memory.as_ref(), at_memory);
    let to = "providerConfig.template.vcpus";
    values.field_map.put(to, &at_vcpus.key("cores"));
    template.vcpus = cores.map(|cores| VirtualCpus { cores });
}

/// Presets were removed from KubeVirt: they are replaced by the instancetype of the same name.
fn preset(
    config: &mut WorkerConfig,
    template: &mut MachineTemplate,
    flavor: &Flavor,
    at: &FieldCursor,
    values: &mut ValueResolver,
) {
    let at = &at.key("name");
    let has_own = template.cpus.is_some() || template.vcpus.is_some() || template.memory.is_some();
    let is_defined = config.instancetype.is_some() || has_own;
    let to = "providerConfig.instancetype";
    if is_defined {
        if flavor.name.is_some() {
            values.ignored(at, "CPU and memory are set elsewhere");
        }
        return;
    }
    let Some(name) = values.text(to, flavor.name.as_ref(), at) else {
        return;
    };
    let (standard, cpus, memory) = STANDARD;
    if name == standard {
        template.cpus = Quantity::parse(cpus).ok();
        template.memory = Quantity::parse(memory).ok();
    } else {
        values.field_map.put("machine.type", at);
        config.instancetype = Some(KubevirtMatcher { name, kind: None });
    }
}

fn root(disk: &PrimaryDisk, at: &FieldCursor, values: &mut ValueResolver) -> RootDisk {
    let to = |field: &str| format!("providerConfig.template.primaryDisk.{field}");
    // Missing fields of the pool's disk and image are reported here.
    values.field_map.put("volume", at);
    values.field_map.put("machine.image", &at.key("osImage"));
    let headers = &at.key("extraHeaders");
    values.field_map.put(&to("extraHeaders"), headers);
    let (at_size, before) = (&at.key("size"), values.counters());
    let size = values.quantity(&to("size"), disk.size.as_ref(), at_size);
    if size.is_none() && values.counters() == before {
        required(at_size, values);
    }
    let (at_class, before) = (&at.key("storageClassName"), values.counters());
    let class = disk.storage_class_name.as_ref();
    let class = values.text(&to("storageClassName"), class, at_class);
    if class.is_none() && values.counters() == before {
        required(at_class, values);
    }
    let mut text = |field: &'static str, var: &Option<_>| {
        values.text(&to(field), var.as_ref(), &at.key(field))
    };
    let mut root = RootDisk {
        os_image: text("osImage", &disk.os_image),
        source: text("source", &disk.source),
        pull_method: text("pullMethod", &disk.pull_method),
        data_volume_secret_ref: text("dataVolumeSecretRef", &disk.data_volume_secret_ref),
        extra_headers: disk.extra_headers.clone(),
        extra_headers_secret_ref: text("extraHeadersSecretRef", &disk.extra_headers_secret_ref),
        size,
        storage_class_name: class,
        storage_access_type: text("storageAccessType", &disk.storage_access_type),
        storage_target: text("storageTarget", &disk.storage_target),
    };
    if root.pull_method.is_some() && !is_of_registry(&root) {
        values.ignored(&at.key("pullMethod"), "the image is not from a registry");
        root.pull_method = None;
    }
    root
}

/// Same logic as in Kubermatic; an image that is not known yet may be from a registry.
fn is_of_registry(root: &RootDisk) -> bool {
    const SCHEMES: [&str; 3] = ["docker://", "oci-archive://", "oci://"];
    match (root.source.as_deref(), root.os_image.as_deref()) {
        (Some(source), _) => source == "registry",
        (None, Some(image)) => SCHEMES.iter().any(|it| image.starts_with(it)),
        (None, None) => true,
    }
}

/// Reports a field that a volume type would otherwise define.
fn required(at: &FieldCursor, values: &mut ValueResolver) {
    let (kind, code) = (FindingKind::Required, "machine-deployment/disk");
    values.report.error(at, kind, code, "is required");
}

fn secondary_disk(
    index: usize,
    disk: &SecondaryDisk,
    at: &FieldCursor,
    values: &mut ValueResolver,
) -> SecondaryDiskTemplate {
    let to = |field: &str| format!("providerConfig.template.secondaryDisks.{index}.{field}");
    let class = disk.storage_class_name.as_ref();
    let class = values.text(&to("storageClassName"), class, &at.key("storageClassName"));
    let access = disk.storage_access_type.as_ref();
    let access = values.text(
        &to("storageAccessType"),
        access,
        &at.key("storageAccessType"),
    );
    let (at_size, before) = (&at.key("size"), values.counters());
    let size = values.quantity(&to("size"), disk.size.as_ref(), at_size);
    if size.is_none() && values.counters() == before {
        required(at_size, values);
    }
    SecondaryDiskTemplate {
        size: size.unwrap_or_default(),
        storage_class_name: class,
        storage_access_type: access,
    }
}

fn network(
    config: &mut WorkerConfig,
    vm: &VirtualMachine,
    at: &FieldCursor,
    values: &mut ValueResolver,
) {
    let to = "providerConfig.dnsPolicy";
    config.dns_policy = values.text(to, vm.dns_policy.as_ref(), &at.key("dnsPolicy"));
    config.dns_config = vm.dns_config.clone();
    values
        .field_map
        .put("providerConfig.dnsConfig", &at.key("dnsConfig"));
    let at_queue = &at.key("enableNetworkMultiQueue");
    let queues = values.truth(vm.enable_network_multi_queue.as_ref(), at_queue);
    if queues != Some(false) {
        config.devices = Some(Devices {
            disks: Vec::new(),
            rng: None,
            block_multi_queue: false,
            network_interface_multiqueue: true,
            network_interface_multi_queue: false,
            gpus: Vec::new(),
            host_devices: Vec::new(),
        });
    }
    let at_network = &at.key("providerNetwork");
    let (at_vpc, vpc) = (&at_network.key("vpc"), vm.provider_network.as_ref());
    let subnet = vpc.and_then(|it| it.vpc.as_ref()?.subnet.as_ref()?.name.clone());
    config.subnet = subnet.filter(|it| !it.is_empty());
    let at_subnet = &at_vpc.key("subnet");
    values
        .field_map
        .put("providerConfig.subnet", &at_subnet.key("name"));
    config.location = vm.location.as_ref().and_then(|location| {
        let given = |value: &Option<String>| value.clone().filter(|it| !it.is_empty());
        let (region, zone) = (given(&location.region), given(&location.zone));
        let is_given = region.is_some() || zone.is_some();
        is_given.then_some(MachineLocation { region, zone })
    });
    // Machines are placed in the zone of their location.
    let is_placed = config.location.as_ref().is_some_and(|it| it.zone.is_some());
    if is_placed {
        values
            .field_map
            .put("zones", &at.key("location").key("zone"));
    }
    for field in ["region", "zone"] {
        let to = format!("providerConfig.location.{field}");
        values.field_map.put(&to, &at.key("location").key(field));
    }
}
