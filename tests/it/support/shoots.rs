//! Manifests to edit, applies of them, and the objects of a namespace.

use super::kvshoot::{Kvshoot, Output};
use super::provider::{self, Provider, Resource};
use kube::api::DynamicObject;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Kinds of all objects of a shoot in its namespace, and of those that controllers create for them; without the Lease.
const KINDS: [Resource; 14] = [
    provider::CONFIG_MAP,
    provider::NETWORK,
    provider::DATA_VOLUME,
    provider::INSTANCETYPE,
    provider::PREFERENCE,
    provider::SECRET,
    provider::VM,
    provider::VMI,
    provider::CLAIM,
    provider::POD,
    provider::SERVICE,
    provider::DEPLOYMENT,
    provider::STATEFUL_SET,
    provider::NETWORK_POLICY,
];

/// Files in `examples/`, without their extension.
pub(crate) const EXAMPLES: [&str; 13] = [
    "autoscaling",
    "cpu-memory",
    "default-region",
    "import-per-machine",
    "machine-deployment",
    "machine-templates",
    "minimal",
    "network-policies",
    "networks",
    "standard-types",
    "three-zones",
    "two-pools",
    "volumes-and-devices",
];

/// Resource of a quota on the number of VMs.
const VM_COUNT: &str = "count/virtualmachines.kubevirt.io";

/// Timeout that is longer than any step of a test, even on a busy computer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// A Shoot and its CloudProfile, to edit.
#[derive(Clone)]
pub(crate) struct Manifest {
    pub(crate) shoot: Value,
    pub(crate) profile: Value,
    /// Further documents.
    pub(crate) rest: Vec<Value>,
}

impl Manifest {
    pub(crate) fn example(name: &str) -> Manifest {
        let text = std::fs::read_to_string(format!("examples/{name}.yaml")).unwrap();
        let documents = serde_yaml::Deserializer::from_str(&text);
        let mut documents = documents.map(|it| Value::deserialize(it).unwrap());
        Manifest {
            shoot: documents.next().unwrap(),
            profile: documents.next().unwrap(),
            rest: documents.collect(),
        }
    }

    /// Three machines in three zones.
    pub(crate) fn named(name: &str) -> Manifest {
        Manifest::example("three-zones").with(|it| it.shoot["metadata"]["name"] = name.into())
    }

    /// One machine in one zone.
    pub(crate) fn small(name: &str) -> Manifest {
        let zone = serde_json::json!(["zone-a"]);
        Manifest::named(name)
            .with_size(1)
            .pool(|it| it["zones"] = zone)
    }

    /// The same with a pool whose machines are updated in place.
    pub(crate) fn in_place(name: &str) -> Manifest {
        Manifest::small(name).pool(|it| {
            it["updateStrategy"] = "AutoInPlaceUpdate".into();
            it.as_object_mut().unwrap().remove("maxSurge");
            it.as_object_mut().unwrap().remove("maxUnavailable");
        })
    }

    pub(crate) fn with(mut self, edit: impl FnOnce(&mut Manifest)) -> Manifest {
        edit(&mut self);
        self
    }

    /// Sets the ControlPlaneConfig to these fields.
    pub(crate) fn control_plane(self, mut fields: Value) -> Manifest {
        fields["apiVersion"] = "kubevirt.provider.extensions.gardener.cloud/v1alpha1".into();
        fields["kind"] = "ControlPlaneConfig".into();
        self.with(|it| it.shoot["spec"]["provider"]["controlPlaneConfig"] = fields)
    }

    /// Edits the first pool.
    pub(crate) fn pool(self, edit: impl FnOnce(&mut Value)) -> Manifest {
        self.with(|it| edit(&mut it.shoot["spec"]["provider"]["workers"][0]))
    }

    /// Sets minimum and maximum of the first pool.
    pub(crate) fn with_size(self, size: u32) -> Manifest {
        self.pool(|it| {
            it["minimum"] = size.into();
            it["maximum"] = size.into();
        })
    }

    pub(crate) fn name(&self) -> &str {
        self.shoot["metadata"]["name"].as_str().unwrap()
    }

    pub(crate) fn id(&self) -> String {
        format!("shoot--local--{}", self.name())
    }

    pub(crate) fn text(&self) -> String {
        let documents = [&self.shoot, &self.profile].into_iter().chain(&self.rest);
        let documents = documents.map(|it| serde_yaml::to_string(it).unwrap());
        documents.collect::<Vec<_>>().join("---\n")
    }
}

impl Provider {
    pub(crate) fn apply(&self, manifest: &Manifest) -> Output {
        self.kvshoot_with(manifest).run("apply -f shoot.yaml")
    }

    /// Returns the program with the manifest as `shoot.yaml` in its home directory.
    pub(crate) fn kvshoot_with(&self, manifest: &Manifest) -> Kvshoot {
        self.kvshoot().file("shoot.yaml", &manifest.text())
    }

    /// Applies a manifest and asserts the result `verb`: created, configured or unchanged.
    pub(crate) fn assert_applied(&self, manifest: &Manifest, verb: &str) {
        let output = self.apply(manifest);
        let wanted = format!("shoot.core.gardener.cloud/{} {verb}\n", manifest.name());
        assert_eq!(
            (output.code, output.out.as_str()),
            (0, wanted.as_str()),
            "{output}"
        );
    }

    /// Interrupts an apply as soon as the shoot has a record, before it has a control plane.
    pub(crate) fn begin(&self, manifest: &Manifest) {
        let kvshoot = self.kvshoot_with(manifest);
        let apply = kvshoot.start("apply -f shoot.yaml");
        self.wait_for("the record", |it| {
            it.get(provider::CONFIG_MAP, &manifest.id()).is_some()
        });
        apply.interrupt();
        let output = apply.wait();
        assert_eq!(output.code, 130, "{output}");
    }

    /// Applies a manifest again and asserts that nothing is written.
    pub(crate) fn assert_unchanged(&self, manifest: &Manifest) {
        let before = self.settled_contents();
        self.assert_applied(manifest, "unchanged");
        let after = self.contents();
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let changed = names
            .into_iter()
            .filter(|it| before.get(*it) != after.get(*it));
        let changed: Vec<_> = changed
            .map(|it| (it, before.get(it), after.get(it)))
            .collect();
        assert!(changed.is_empty(), "{changed:#?}");
    }

    pub(crate) fn assert_deleted(&self, name: &str) {
        let output = self.kvshoot().run(&format!("delete {name} --yes"));
        let wanted = format!("shoot.core.gardener.cloud/{name} deleted\n");
        assert_eq!(
            (output.code, output.out.as_str()),
            (0, wanted.as_str()),
            "{output}"
        );
    }

    /// Numbers of machines by pool and index of the zone.
    pub(crate) fn machines(&self) -> BTreeMap<(String, String), usize> {
        let mut machines = BTreeMap::new();
        for vm in self.list(provider::VM) {
            let labels = vm.metadata.labels.unwrap_or_default();
            let label = |key: &str| labels.get(key).cloned().unwrap_or_default();
            let key = (label("kvshoot.io/pool"), label("kvshoot.io/zone-index"));
            *machines.entry(key).or_default() += 1;
        }
        machines
    }

    /// Numbers of machines of a pool, by zone.
    pub(crate) fn zones(&self, pool: &str) -> Vec<usize> {
        let machines = self.machines().into_iter();
        machines
            .filter(|it| it.0.0 == pool)
            .map(|it| it.1)
            .collect()
    }

    /// UID and name of each machine.
    pub(crate) fn uids(&self) -> BTreeMap<String, String> {
        let machines = self.list(provider::VM).into_iter();
        machines
            .map(|it| (it.metadata.uid.unwrap(), it.metadata.name.unwrap()))
            .collect()
    }

    /// UIDs of all objects of a kind, by name.
    pub(crate) fn uids_of(&self, kind: Resource) -> BTreeMap<String, String> {
        let all = self.list(kind).into_iter();
        all.map(|it| (it.metadata.name.unwrap(), it.metadata.uid.unwrap()))
            .collect()
    }

    /// Lists the objects of a kind, without those that Kubernetes creates in every namespace.
    fn objects(&self, kind: Resource) -> Vec<DynamicObject> {
        let mut objects = self.list(kind);
        objects.retain(|it| it.metadata.name.as_deref() != Some("kube-root-ca.crt"));
        objects
    }

    /// All objects without their status, as JSON, except those that are being deleted. Controllers report the state of
    /// pods and machines at any time, for example when a probe fails on a busy computer.
    pub(crate) fn contents(&self) -> BTreeMap<String, String> {
        let mut contents = BTreeMap::new();
        for kind in KINDS {
            let objects = self.objects(kind).into_iter();
            for mut object in objects.filter(|it| it.metadata.deletion_timestamp.is_none()) {
                object.metadata.resource_version = None;
                let fields = object.metadata.managed_fields.iter_mut();
                fields.for_each(|it| it.retain(|it| it.subresource.as_deref() != Some("status")));
                object.data["status"].take();
                let name = object.metadata.name.clone().unwrap();
                let text = serde_json::to_string(&object).unwrap();
                contents.insert(format!("{} {name}", kind.2), text);
            }
        }
        contents
    }

    /// Waits until no controller writes for a second, and returns the contents of all objects. The end of a pod is
    /// another write: the status of its workload counts it.
    pub(crate) fn settled_contents(&self) -> BTreeMap<String, String> {
        let end = Instant::now() + PATIENCE;
        let mut before = self.contents();
        let mut since = Instant::now();
        while since.elapsed() < Duration::from_millis(1000) {
            assert!(Instant::now() < end, "controllers keep writing");
            std::thread::sleep(Duration::from_millis(500));
            let now = self.contents();
            if now != before || self.has_terminating_pod() || self.has_outdated_status() {
                (before, since) = (now, Instant::now());
            }
        }
        before
    }

    fn has_terminating_pod(&self) -> bool {
        let mut pods = self.list(provider::POD).into_iter();
        pods.any(|it| it.metadata.deletion_timestamp.is_some())
    }

    /// A busy controller reports the end of a rollout, and of an old pod, late.
    fn has_outdated_status(&self) -> bool {
        let is_outdated = |deployment: &Value| {
            let status = &deployment["status"];
            let wanted = deployment["spec"]["replicas"].as_u64().unwrap_or(1);
            let count = |field: &str| status[field].as_u64().unwrap_or_default();
            let is_complete = |condition: &Value| condition["reason"] == "NewReplicaSetAvailable";
            let mut conditions = status["conditions"].as_array().into_iter().flatten();
            let is_ready = count("readyReplicas") == wanted;
            status["observedGeneration"] != deployment["metadata"]["generation"]
                || count("terminatingReplicas") != 0
                || is_ready && count("availableReplicas") != wanted
                || is_ready && count("replicas") != wanted
                || is_ready && wanted > 0 && !conditions.any(is_complete)
        };
        let deployments = self.list(provider::DEPLOYMENT);
        let mut deployments = deployments
            .into_iter()
            .map(|it| serde_json::to_value(it).unwrap());
        deployments.any(|it| is_outdated(&it))
    }

    /// All objects, without the fields that change with each write.
    pub(crate) fn dump(&self) -> BTreeMap<String, Value> {
        let mut dump = BTreeMap::new();
        for kind in KINDS.into_iter().chain([provider::LEASE]) {
            for object in self.objects(kind) {
                let mut object = serde_json::to_value(object).unwrap();
                let metadata = object["metadata"].as_object_mut().unwrap();
                metadata.remove("managedFields");
                metadata.remove("resourceVersion");
                let name = metadata["name"].as_str().unwrap().to_owned();
                dump.insert(format!("{} {name}", kind.2), object);
            }
        }
        dump
    }

    /// Creates a quota on the number of VMs, and waits until they are counted: the API server counts a new object only then,
    /// and the controller counts what it missed after minutes.
    pub(crate) fn create_vm_quota(&self, name: &str, limit: u32) {
        let quota = serde_json::json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": name },
            "spec": { "hard": { VM_COUNT: limit.to_string() } },
        });
        self.create(provider::QUOTA, quota);
        self.wait_for("the quota to be counted", |it| it.counted_vms(name) == "0");
    }

    /// Number of VMs that count for a quota; null until they are counted.
    pub(crate) fn counted_vms(&self, quota: &str) -> Value {
        let quota = self.get(provider::QUOTA, quota).unwrap();
        quota.data["status"]["used"][VM_COUNT].clone()
    }

    /// Creates a stopped VM of another owner, which counts for quotas.
    pub(crate) fn create_other_vm(&self, name: &str) {
        let vm = serde_json::json!({
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": { "name": name },
            "spec": { "runStrategy": "Halted", "template": { "spec": { "domain": { "devices": {} } } } },
        });
        self.create(provider::VM, vm);
        self.wait_for("the VM to be stopped", |it| {
            let vm = it.get(provider::VM, name);
            vm.is_some_and(|it| it.data["status"]["printableStatus"] == "Stopped")
        });
    }

    pub(crate) fn wait_for(&self, what: &str, mut holds: impl FnMut(&Provider) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !holds(self) {
            assert!(
                Instant::now() < end,
                "timed out waiting for {what}; {:#}",
                self.pods()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// What is reported about each pod.
    fn pods(&self) -> Value {
        let pods = self.list(provider::POD).into_iter();
        let pods = pods.map(|it| (it.metadata.name.unwrap(), it.data["status"].clone()));
        pods.collect::<serde_json::Map<_, _>>().into()
    }
}
