//! The VirtualMachine of a machine (KubeVirt's `kubevirt.io/v1`, as Gardener's KubeVirt provider makes it).

use super::placement;
use crate::model::{CpuFeature, Disk, WorkerConfig};
use crate::render::image_volume;
use crate::render::machine::spec::Machine;
use crate::render::metadata::{labels, metadata};
use crate::state::desired::{Attachment, pool_metadata, volumes};
use crate::state::json::{given, set};
use crate::state::names::{self, role};
use crate::validate::Volume;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Seconds that a guest gets to shut down: longer than its kubelet takes to end pods.
const GRACE: u32 = 90;

pub(crate) fn object(machine: &Machine) -> Value {
    let worker = &machine.pool.worker;
    let mut template = json!({ "labels": template_labels(machine) });
    let notes = template_annotations(worker);
    set(
        &mut template,
        "annotations",
        (!notes.is_empty()).then_some(Value::Object(notes)),
    );
    let mut spec = json!({
        "runStrategy": "Always",
        "dataVolumeTemplates": data_volumes(machine),
        "template": { "metadata": template, "spec": guest(machine) },
    });
    set(&mut spec, "instancetype", machine.instancetype.clone());
    set(&mut spec, "preference", machine.preference.clone());
    json!({
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": vm_metadata(machine),
        "spec": spec,
    })
}

/// For what is between KubeVirt and the network of the pods.
fn template_annotations(worker: &WorkerConfig) -> Map<String, Value> {
    let mut notes = Map::new();
    if worker.eviction_strategy.as_deref() == Some("LiveMigrate") {
        // With a bridge it is refused otherwise: whether the address comes along is the network's to see.
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

fn vm_metadata(machine: &Machine) -> Value {
    let mut metadata = metadata(&machine.site, role::MACHINE, machine.name, machine.hash);
    let pool = machine.pool;
    let mut all = not_ours(&pool.labels);
    all.extend(own_labels(machine));
    metadata["labels"] = Value::Object(all);
    let mut notes = not_ours(&pool.annotations);
    notes.insert(names::SPEC_HASH.into(), json!(machine.hash.to_string()));
    notes.insert(names::ZONE.into(), json!(pool.zones[machine.zone]));
    notes.insert(names::POOL_METADATA.into(), json!(pool_metadata(pool)));
    metadata["annotations"] = Value::Object(notes);
    metadata
}

/// A mark of ours in a manifest would change what a machine is taken for.
fn not_ours(given: &BTreeMap<String, String>) -> Map<String, Value> {
    given
        .iter()
        .filter(|it| !names::is_ours(it.0))
        .map(|(key, value)| (key.clone(), json!(value)))
        .collect()
}

fn own_labels(machine: &Machine) -> Map<String, Value> {
    let mut labels = labels(&machine.site, role::MACHINE);
    labels.insert(names::POOL.into(), json!(machine.pool.name));
    labels.insert(
        names::ZONE_INDEX.into(),
        json!((machine.zone + 1).to_string()),
    );
    labels.insert(names::KUBEVIRT_VM.into(), json!(machine.name));
    labels
}

/// They reach the VMI and its pod, where load balancers look for them.
fn template_labels(machine: &Machine) -> Map<String, Value> {
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

fn data_volumes(machine: &Machine) -> Vec<Value> {
    let root = match machine.golden {
        Some(golden) => {
            json!({ "pvc": { "namespace": machine.site.namespace, "name": &*golden.name } })
        }
        None => volumes::source(&machine.pool.image.source, machine.site.namespace),
    };
    let data = machine.pool.data.iter().enumerate();
    let data = data.map(|(i, it)| {
        data_volume(
            machine,
            &names::data_volume(machine.name, i),
            &it.volume,
            json!({ "blank": {} }),
        )
    });
    [data_volume(machine, machine.name, &machine.pool.root, root)]
        .into_iter()
        .chain(data)
        .collect()
}

fn data_volume(machine: &Machine, name: &str, volume: &Volume, source: Value) -> Value {
    let mut labels = labels(&machine.site, role::MACHINE_VOLUME);
    labels.insert(names::KUBEVIRT_VM.into(), json!(machine.name));
    json!({
        "metadata": { "name": name, "labels": labels },
        "spec": image_volume::data_volume(source, volume),
    })
}

fn guest(machine: &Machine) -> Value {
    let worker = &machine.pool.worker;
    let mut guest = json!({
        "domain": domain(machine),
        "affinity": placement::affinity(machine),
        "topologySpreadConstraints": placement::spread(machine),
        "terminationGracePeriodSeconds": GRACE,
        "networks": networks(machine),
        "volumes": volumes(machine),
    });
    set(
        &mut guest,
        "evictionStrategy",
        worker.eviction_strategy.as_ref().map(given),
    );
    set(
        &mut guest,
        "dnsPolicy",
        worker.dns_policy.as_ref().map(given),
    );
    set(
        &mut guest,
        "dnsConfig",
        worker.dns_config.as_ref().map(given),
    );
    guest
}

fn domain(machine: &Machine) -> Value {
    let (worker, kind) = (&machine.pool.worker, &machine.pool.machine_type);
    if worker.instancetype.is_some() {
        return json!({ "devices": devices(machine) });
    }
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
        // How many of them are reserved is KubeVirt's to say.
        for list in ["requests", "limits"] {
            resources[list].as_object_mut().map(|it| it.remove("cpu"));
        }
    }
    if worker.overcommit_guest_overhead {
        resources["overcommitGuestOverhead"] = json!(true);
    }
    let mut domain = json!({ "resources": resources, "devices": devices(machine) });
    set(
        &mut domain,
        "cpu",
        worker.cpu.as_ref().map(|it| cpu(given(it), &it.features)),
    );
    if let Some(vcpus) = vcpus {
        domain["cpu"]["cores"] = json!(vcpus.cores);
    }
    set(&mut domain, "memory", worker.memory.as_ref().map(given));
    domain
}

/// A feature given by name alone is one that the host must have.
fn cpu(mut cpu: Value, features: &[CpuFeature]) -> Value {
    let feature = |it: &CpuFeature| match it {
        CpuFeature::Name(name) => json!({ "name": name, "policy": "require" }),
        CpuFeature::Object(object) => given(object),
    };
    if !features.is_empty() {
        cpu["features"] = features.iter().map(feature).collect();
    }
    cpu
}

fn devices(machine: &Machine) -> Value {
    let given_devices = machine.pool.worker.devices.as_ref();
    let mut devices = json!({ "disks": disks(machine), "interfaces": interfaces(machine) });
    if let Some(it) = given_devices {
        set(&mut devices, "rng", it.rng.as_ref().map(|_| json!({})));
        set(
            &mut devices,
            "blockMultiQueue",
            it.block_multi_queue.then_some(Value::Bool(true)),
        );
        let multiqueue = it.network_interface_multiqueue || it.network_interface_multi_queue;
        set(
            &mut devices,
            "networkInterfaceMultiqueue",
            multiqueue.then_some(Value::Bool(true)),
        );
    }
    devices
}

/// Their order is that of vda, vdb… in the guest: root, cloud-init, data volumes.
fn disks(machine: &Machine) -> Vec<Value> {
    let given_disks = machine
        .pool
        .worker
        .devices
        .as_ref()
        .map_or(&[][..], |it| &it.disks);
    let find = |name: &str| given_disks.iter().find(|it| it.name == name);
    let data = machine
        .pool
        .data
        .iter()
        .enumerate()
        .map(|(i, it)| disk(find(&it.name), &names::data_disk(i)));
    [
        disk(find("root-disk"), "root-disk"),
        disk(None, "cloudinitdisk"),
    ]
    .into_iter()
    .chain(data)
    .collect()
}

/// A disk that was given replaces the usual one, under the name of its volume.
fn disk(configured: Option<&Disk>, name: &str) -> Value {
    let mut disk = configured.map_or_else(|| json!({ "disk": { "bus": "virtio" } }), given);
    disk["name"] = json!(name);
    disk
}

fn volumes(machine: &Machine) -> Vec<Value> {
    let mut cloud_init = json!({ "secretRef": { "name": machine.name } });
    if !machine.attachments.is_empty() {
        cloud_init["networkData"] = json!(NETWORK_DATA);
    }
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

/// Every interface asks for an address: images know of one only.
const NETWORK_DATA: &str =
    "version: 2\nethernets:\n  all:\n    match:\n      name: e*\n    dhcp4: true\n";

fn interfaces(machine: &Machine) -> Vec<Value> {
    network_names(machine)
        .map(|(name, _)| json!({ "name": name, "bridge": {} }))
        .collect()
}

fn networks(machine: &Machine) -> Vec<Value> {
    let network = |(name, attachment): (String, Option<&Attachment>)| match attachment {
        None => json!({ "name": name, "pod": {} }),
        Some(it) if it.default => {
            json!({ "name": name, "multus": { "networkName": &*it.reference, "default": true } })
        }
        Some(it) => json!({ "name": name, "multus": { "networkName": &*it.reference } }),
    };
    network_names(machine).map(network).collect()
}

/// The first is always called `default`, be it the pod network or a tenant's: the cloud controller manager
/// takes a node's address from the interface of that name.
fn network_names<'a>(
    machine: &Machine<'a>,
) -> impl Iterator<Item = (String, Option<&'a Attachment>)> {
    let first = machine.attachments.iter().find(|it| it.default);
    let others = machine.attachments.iter().filter(|it| !it.default);
    let others = others
        .enumerate()
        .map(|(i, it)| (format!("net{}", i + 1), Some(it)));
    [("default".to_owned(), first)].into_iter().chain(others)
}
