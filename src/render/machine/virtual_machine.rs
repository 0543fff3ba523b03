//! The VirtualMachine of a machine (`kubevirt.io/v1`), with the fields that Gardener's KubeVirt provider sets.

use super::placement;
use crate::model::{CpuFeature, Disk, HostDevice, WorkerConfig};
use crate::render::image_volume;
use crate::render::machine::spec::MachineContext;
use crate::render::metadata::{labels, metadata};
use crate::state::desired::machine_content::MachineContent;
use crate::state::desired::{NetworkAttachment, pool_metadata, volumes};
use crate::state::json::{set_if_some, to_sparse_json};
use crate::state::names::{self, role};
use crate::validate::{PoolSpec, VolumeSpec};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// KubeVirt leaves the machine to `kvshoot evacuate`, which replaces it.
const EXTERNAL: &str = "External";
/// Seconds until a VM is powered off: longer than its kubelet takes to terminate pods.
const GRACE: u32 = 90;

pub(crate) fn object(machine: &MachineContext) -> Value {
    let worker = &machine.pool.worker;
    let mut template = json!({ "labels": template_labels(machine) });
    let notes = template_annotations(worker);
    set_if_some(
        &mut template,
        "annotations",
        (!notes.is_empty()).then_some(Value::Object(notes)),
    );
    let mut spec = json!({
        "runStrategy": "Always",
        "dataVolumeTemplates": data_volumes(machine),
        "template": { "metadata": template, "spec": guest(machine) },
    });
    set_if_some(&mut spec, "instancetype", machine.instancetype.clone());
    set_if_some(&mut spec, "preference", machine.preference.clone());
    json!({
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": vm_metadata(machine),
        "spec": spec,
    })
}

/// Annotations for the components between KubeVirt and the pod network.
fn template_annotations(worker: &WorkerConfig) -> Map<String, Value> {
    let mut notes = Map::new();
    if worker.eviction_strategy.as_deref() == Some("LiveMigrate") {
        // Otherwise live migration with a bridge is refused. Whether the address migrates too depends on the network.
        for key in [
            "kubevirt.io/allow-pod-bridge-network-live-migration",
            "ovn.kubernetes.io/allow_live_migration",
        ] {
            notes.insert(key.to_owned(), json!("true"));
        }
    }
    if let Some(subnet) = &worker.subnet {
        notes.insert("ovn.kubernetes.io/logical_switch".into(), json!(subnet));
    }
    notes
}

fn vm_metadata(machine: &MachineContext) -> Value {
    let mut metadata = metadata(&machine.site, role::MACHINE, machine.name, machine.hash);
    let pool = machine.pool;
    let mut all = not_ours(&pool.labels);
    all.extend(own_labels(machine));
    metadata["labels"] = Value::Object(all);
    let mut notes = not_ours(&pool.annotations);
    notes.insert(names::SPEC_HASH.into(), json!(machine.hash.to_string()));
    notes.extend(content_annotations(&machine.content));
    notes.insert(names::ZONE.into(), json!(pool.zones[machine.zone]));
    notes.insert(names::POOL_METADATA.into(), json!(pool_metadata(pool)));
    metadata["annotations"] = Value::Object(notes);
    metadata
}

pub(crate) fn content_annotations(content: &MachineContent) -> Map<String, Value> {
    let sizes: Vec<String> = content.disks.iter().map(u64::to_string).collect();
    let mut all = roots_annotations(content);
    all.insert(names::SIZE_HASH.into(), json!(content.size.to_string()));
    all.insert(names::DISK_SIZES.into(), json!(sizes.join(",")));
    all
}

/// Those that change when the machine has taken new CAs in place.
pub(crate) fn roots_annotations(content: &MachineContent) -> Map<String, Value> {
    let mut all = Map::new();
    all.insert(names::FIXED_HASH.into(), json!(content.fixed.to_string()));
    if let Some(roots) = &content.roots {
        all.insert(names::CERTIFICATE_AUTHORITIES.into(), json!(*roots.trusted));
        all.insert(names::BASE_HASH.into(), json!(roots.base.to_string()));
    }
    all
}

/// A merge patch that gives a machine the size of its pool, at its next start. The templates of its disks make no difference
/// while the disks exist.
pub(crate) fn size(machine: &MachineContext) -> Value {
    let pool = machine.pool;
    let mut patch = json!({
        "metadata": { "annotations": content_annotations(&machine.content) },
        "spec": { "dataVolumeTemplates": data_volumes(machine) },
    });
    if pool.worker.instancetype.is_none() {
        let mut resources = resources(pool);
        for list in ["requests", "limits"] {
            for name in ["cpu", "memory"] {
                // Null removes what the former size had.
                let amount = resources[list][name].take();
                resources[list][name] = amount;
            }
        }
        patch["spec"]["template"]["spec"]["domain"]["resources"] = resources;
    }
    patch
}

/// Drops kvshoot's own keys, which would change how a machine is recognized.
fn not_ours(given: &BTreeMap<String, String>) -> Map<String, Value> {
    given
        .iter()
        .filter(|it| !names::is_ours(it.0))
        .map(|(key, value)| (key.clone(), json!(value)))
        .collect()
}

fn own_labels(machine: &MachineContext) -> Map<String, Value> {
    let mut labels = labels(&machine.site, role::MACHINE);
    labels.insert(names::POOL.into(), json!(machine.pool.name));
    labels.insert(
        names::ZONE_INDEX.into(),
        json!((machine.zone + 1).to_string()),
    );
    labels.insert(names::KUBEVIRT_VM.into(), json!(machine.name));
    labels
}

/// Labels of the VMI and its pod, which load balancers select.
fn template_labels(machine: &MachineContext) -> Map<String, Value> {
    let mut labels = own_labels(machine);
    labels.insert(names::CAPI_ROLE.into(), json!("worker"));
    labels.insert(names::CAPI_CLUSTER.into(), json!(machine.site.id));
    if let Some(at) = &machine.pool.worker.location {
        for (key, value) in [
            (names::REGION_LABEL, &at.region),
            (names::ZONE_LABEL, &at.zone),
        ] {
            labels.extend(value.as_ref().map(|it| (key.to_owned(), json!(it))));
        }
    }
    labels
}

fn data_volumes(machine: &MachineContext) -> Vec<Value> {
    let root = match &machine.golden {
        Some(golden) => {
            json!({ "pvc": { "namespace": machine.site.namespace, "name": &*golden.name } })
        }
        None => volumes::source(&machine.pool.image.source, machine.site.namespace),
    };
    let data = machine.pool.data.iter().enumerate().map(|(i, disk)| {
        data_volume(
            machine,
            &names::data_volume(machine.name, i),
            &disk.volume,
            json!({ "blank": {} }),
        )
    });
    [data_volume(machine, machine.name, &machine.pool.root, root)]
        .into_iter()
        .chain(data)
        .collect()
}

fn data_volume(machine: &MachineContext, name: &str, volume: &VolumeSpec, source: Value) -> Value {
    let mut labels = labels(&machine.site, role::MACHINE_VOLUME);
    labels.insert(names::KUBEVIRT_VM.into(), json!(machine.name));
    json!({
        "metadata": { "name": name, "labels": labels },
        "spec": image_volume::data_volume(source, volume),
    })
}

fn guest(machine: &MachineContext) -> Value {
    let worker = &machine.pool.worker;
    let mut guest = json!({
        "domain": domain(machine),
        "affinity": placement::affinity(machine),
        "topologySpreadConstraints": placement::spread(machine),
        "terminationGracePeriodSeconds": GRACE,
        "networks": networks(machine),
        "volumes": volumes(machine),
    });
    // Without one it would be that of the provider cluster: a drain of a host never ends if that is LiveMigrate, because
    // machines with a bridge cannot be migrated.
    let eviction = worker.eviction_strategy.as_deref();
    guest["evictionStrategy"] = json!(eviction.unwrap_or(EXTERNAL));
    set_if_some(
        &mut guest,
        "architecture",
        machine.pool.architecture.as_ref().map(|it| json!(it)),
    );
    set_if_some(
        &mut guest,
        "dnsPolicy",
        worker.dns_policy.as_ref().map(to_sparse_json),
    );
    set_if_some(
        &mut guest,
        "dnsConfig",
        worker.dns_config.as_ref().map(to_sparse_json),
    );
    guest
}

fn domain(machine: &MachineContext) -> Value {
    let worker = &machine.pool.worker;
    if worker.instancetype.is_some() {
        return json!({ "devices": devices(machine) });
    }
    let vcpus = worker.template.as_ref().and_then(|it| it.vcpus.as_ref());
    let resources = resources(machine.pool);
    let mut domain = json!({ "resources": resources, "devices": devices(machine) });
    set_if_some(
        &mut domain,
        "cpu",
        worker
            .cpu
            .as_ref()
            .map(|it| cpu(to_sparse_json(it), &it.features)),
    );
    if let Some(vcpus) = vcpus {
        domain["cpu"]["cores"] = json!(vcpus.cores);
    }
    set_if_some(
        &mut domain,
        "memory",
        worker.memory.as_ref().map(to_sparse_json),
    );
    domain
}

/// Requests and limits of a machine.
fn resources(pool: &PoolSpec) -> Value {
    let (worker, kind) = (&pool.worker, &pool.machine_type);
    let vcpus = worker.template.as_ref().and_then(|it| it.vcpus.as_ref());
    let mut resources =
        json!({ "requests": { "cpu": kind.cpu.to_string(), "memory": kind.memory.to_string() } });
    let limits = [("cpu", &kind.cpu_limit), ("memory", &kind.memory_limit)];
    for (name, limit) in limits
        .into_iter()
        .filter_map(|(name, it)| Some((name, it.as_ref()?)))
    {
        resources["limits"][name] = json!(limit.to_string());
    }
    if vcpus.is_some() {
        // KubeVirt decides how many of them are reserved.
        for list in ["requests", "limits"] {
            resources[list].as_object_mut().map(|it| it.remove("cpu"));
        }
    }
    if worker.overcommit_guest_overhead {
        resources["overcommitGuestOverhead"] = json!(true);
    }
    resources
}

/// A feature given only by name is required.
fn cpu(mut cpu: Value, features: &[CpuFeature]) -> Value {
    let feature = |feature: &CpuFeature| match feature {
        CpuFeature::Name(name) => json!({ "name": name, "policy": "require" }),
        CpuFeature::Object(object) => to_sparse_json(object),
    };
    if !features.is_empty() {
        cpu["features"] = features.iter().map(feature).collect();
    }
    cpu
}

fn devices(machine: &MachineContext) -> Value {
    let given_devices = machine.pool.worker.devices.as_ref();
    let mut devices = json!({ "disks": disks(machine), "interfaces": interfaces(machine) });
    if let Some(it) = given_devices {
        set_if_some(&mut devices, "rng", it.rng.as_ref().map(|_| json!({})));
        set_if_some(
            &mut devices,
            "blockMultiQueue",
            it.block_multi_queue.then_some(Value::Bool(true)),
        );
        let multiqueue = it.network_interface_multiqueue || it.network_interface_multi_queue;
        set_if_some(
            &mut devices,
            "networkInterfaceMultiqueue",
            multiqueue.then_some(Value::Bool(true)),
        );
        set_if_some(&mut devices, "gpus", host_devices(&it.gpus));
        set_if_some(&mut devices, "hostDevices", host_devices(&it.host_devices));
    }
    devices
}

/// Returns None without devices.
fn host_devices(given: &[HostDevice]) -> Option<Value> {
    let device = |it: &HostDevice| json!({ "name": it.name, "deviceName": it.device_name });
    (!given.is_empty()).then(|| given.iter().map(device).collect())
}

/// Their order is that of vda, vdb… in the guest: root, cloud-init, data volumes.
fn disks(machine: &MachineContext) -> Vec<Value> {
    let given_disks = machine
        .pool
        .worker
        .devices
        .as_ref()
        .map_or(&[][..], |it| &it.disks);
    let find = |name: &str| given_disks.iter().find(|it| it.name == name);
    let data = machine.pool.data.iter().enumerate().map(|(i, it)| {
        let mut disk = disk(find(&it.name), &names::data_disk(i));
        if machine.pool.kubelet_volume.as_ref() == Some(&it.name) {
            disk["serial"] = json!(machine.pool.kubelet_serial());
        }
        disk
    });
    [
        disk(find("root-disk"), "root-disk"),
        disk(None, "cloudinitdisk"),
    ]
    .into_iter()
    .chain(data)
    .collect()
}

/// Uses the configured disk, or the default, with the name of its volume.
fn disk(configured: Option<&Disk>, name: &str) -> Value {
    let mut disk =
        configured.map_or_else(|| json!({ "disk": { "bus": "virtio" } }), to_sparse_json);
    disk["name"] = json!(name);
    disk
}

fn volumes(machine: &MachineContext) -> Vec<Value> {
    let mut cloud_init = json!({ "secretRef": { "name": machine.name } });
    set_if_some(&mut cloud_init, "networkData", network_data(machine));
    let data = (0..machine.pool.data.len())
        .map(|i| json!({ "name": names::data_disk(i), "dataVolume": { "name": names::data_volume(machine.name, i) } }));
    [
        json!({ "name": "root-disk", "dataVolume": { "name": machine.name } }),
        json!({ "name": "cloudinitdisk", "cloudInitNoCloud": cloud_init }),
    ]
    .into_iter()
    .chain(data)
    .collect()
}

/// Enables DHCP on every interface, because images configure only the first one. None if the image's own configuration
/// will do.
fn network_data(machine: &MachineContext) -> Option<Value> {
    if machine.mtu.is_none() && machine.attachments.is_empty() {
        return None;
    }
    let dhcp = |name: &str, is_optional: bool| {
        let mut interface = json!({ "match": { "name": name }, "dhcp4": true });
        // DHCP announces that of the device in the launcher's pod.
        if let Some(mtu) = machine.mtu {
            interface["dhcp4-overrides"] = json!({ "use-mtu": false });
            interface["mtu"] = json!(mtu);
        }
        if is_optional {
            interface["optional"] = json!(true);
        }
        interface
    };
    let mut others = machine.attachments.iter().filter(|it| !it.default);
    let interfaces = match others.any(|it| it.is_without_addresses) {
        false => json!({ "all": dhcp("e*", false) }),
        // The boot waits two minutes for interfaces that are not optional. The first entry that matches counts, in the
        // order of their keys.
        true => json!({
            "first": dhcp("enp1s0", false),
            "first-old": dhcp("eth0", false),
            "others": dhcp("e*", true),
        }),
    };
    let data = json!({ "version": 2, "ethernets": interfaces });
    let text = serde_yaml::to_string(&data).expect("JSON can be written as YAML");
    Some(json!(text))
}

fn interfaces(machine: &MachineContext) -> Vec<Value> {
    network_names(machine)
        .map(|(name, _)| json!({ "name": name, "bridge": {} }))
        .collect()
}

fn networks(machine: &MachineContext) -> Vec<Value> {
    let network = |(name, attachment): (String, Option<&NetworkAttachment>)| match attachment {
        None => json!({ "name": name, "pod": {} }),
        Some(it) if it.default => {
            json!({ "name": name, "multus": { "networkName": &*it.reference, "default": true } })
        }
        Some(it) => json!({ "name": name, "multus": { "networkName": &*it.reference } }),
    };
    network_names(machine).map(network).collect()
}

/// The first network is always called `default`, whether it is the pod network or a tenant network: the cloud
/// controller manager reads a node's address from the interface with that name.
fn network_names<'a>(
    machine: &'a MachineContext,
) -> impl Iterator<Item = (String, Option<&'a NetworkAttachment>)> {
    let first = machine.attachments.iter().find(|it| it.default);
    let others = machine.attachments.iter().filter(|it| !it.default);
    let others = others
        .enumerate()
        .map(|(i, it)| (format!("net{}", i + 1), Some(it)));
    [("default".to_owned(), first)].into_iter().chain(others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::hash::Hash;
    use crate::state::site::Site;
    use crate::validate::ValidShoot;
    use crate::validate::testing::{SHOOT, valid_for_tests};

    fn spec(mtu: Option<u32>, strategy: Option<&str>) -> Value {
        spec_with(&[], mtu, strategy)
    }

    fn spec_with(
        attachments: &[NetworkAttachment],
        mtu: Option<u32>,
        strategy: Option<&str>,
    ) -> Value {
        let mut shoot = valid_for_tests(SHOOT);
        shoot.pools[0].worker.eviction_strategy = strategy.map(str::to_owned);
        let machine = MachineContext {
            mtu,
            attachments: attachments.to_vec(),
            ..machine(&shoot)
        };
        object(&machine)["spec"]["template"]["spec"].take()
    }

    fn machine(shoot: &ValidShoot) -> MachineContext<'_> {
        MachineContext {
            site: Site {
                id: &shoot.id,
                namespace: "clusters",
                uid: "1",
            },
            region: &shoot.region,
            pool: &shoot.pools[0],
            hash: Hash(1),
            content: MachineContent {
                size: Hash(2),
                disks: [4096].into(),
                fixed: Hash(3),
                roots: None,
            },
            zone: 0,
            name: "m",
            mtu: None,
            attachments: Vec::new(),
            golden: None,
            instancetype: None,
            preference: None,
        }
    }

    #[test]
    fn an_mtu_replaces_the_one_that_dhcp_announces() {
        let data = |mtu| spec(mtu, None)["volumes"][1]["cloudInitNoCloud"]["networkData"].take();
        assert_eq!(data(None), Value::Null);
        let data = data(Some(1400));
        let network: Value = serde_yaml::from_str(data.as_str().expect("a text")).expect("YAML");
        let all = &network["ethernets"]["all"];
        assert_eq!(all["mtu"], 1400);
        assert_eq!(all["dhcp4"], true);
        assert_eq!(all["dhcp4-overrides"], json!({ "use-mtu": false }));
    }

    #[test]
    fn the_boot_waits_only_for_networks_that_give_addresses() {
        let keys = |is_without_addresses: bool| {
            let network = NetworkAttachment {
                reference: "clusters/storage".into(),
                default: false,
                hash: Hash::default(),
                is_without_addresses,
            };
            let data =
                spec_with(&[network], None, None)["volumes"][1]["cloudInitNoCloud"]["networkData"]
                    .take();
            let data: Value = serde_yaml::from_str(data.as_str().expect("a text")).expect("YAML");
            let all = data["ethernets"].as_object().expect("interfaces").clone();
            let interfaces = all
                .into_iter()
                .map(|(key, it)| (key, it["optional"] == true));
            interfaces.collect::<Vec<_>>()
        };
        assert_eq!(keys(false), [("all".to_owned(), false)]);
        let split = [("first", false), ("first-old", false), ("others", true)];
        assert_eq!(keys(true), split.map(|it| (it.0.to_owned(), it.1)));
    }

    /// A merge patch keeps what it does not name.
    #[test]
    fn another_size_replaces_all_requests_and_limits() {
        let resources = |machine_type: &str| {
            let text = SHOOT.replace("type: small", &format!("type: {machine_type}"));
            let shoot = valid_for_tests(&text);
            let patch = size(&machine(&shoot));
            let annotations = &patch["metadata"]["annotations"];
            assert_eq!(annotations[names::SIZE_HASH], Hash(2).to_string());
            assert_eq!(annotations[names::DISK_SIZES], "4096");
            patch["spec"]["template"]["spec"]["domain"]["resources"].clone()
        };
        let small = json!({
            "requests": { "cpu": "1", "memory": "4Gi" },
            "limits": { "cpu": null, "memory": null },
        });
        let large = json!({
            "requests": { "cpu": "4", "memory": "16Gi" },
            "limits": { "cpu": "8", "memory": "32Gi" },
        });
        assert_eq!([resources("small"), resources("large")], [small, large]);
    }

    /// A list in a merge patch replaces the whole list.
    #[test]
    fn another_size_of_disks_has_all_templates_of_a_new_machine() {
        let shoot = valid_for_tests(&SHOOT.replace("size: 20Gi", "size: 30Gi"));
        let machine = machine(&shoot);
        let templates = size(&machine)["spec"]["dataVolumeTemplates"].take();
        assert_eq!(templates, object(&machine)["spec"]["dataVolumeTemplates"]);
        let requests = &templates[0]["spec"]["pvc"]["resources"]["requests"];
        assert_eq!(requests["storage"], "30Gi");
    }

    /// That of the provider cluster may be LiveMigrate, and machines with a bridge cannot be migrated.
    #[test]
    fn the_eviction_strategy_is_never_left_to_the_provider() {
        let strategy = |given| spec(None, given)["evictionStrategy"].take();
        assert_eq!(strategy(None), "External");
        assert_eq!(strategy(Some("LiveMigrate")), "LiveMigrate");
    }
}
