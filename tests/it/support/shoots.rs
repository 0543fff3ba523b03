//! What the tests of a shoot's life have in common: manifests to edit, and looks at a whole namespace.

use super::kvshoot::{Kvshoot, Output};
use super::provider::{self, Provider, Resource};
use kube::api::DynamicObject;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Everything that a shoot can have in a namespace, and what controllers make of it; without the Lease.
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

/// Files of `examples/`, without their ending.
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

/// Longer than anything takes here, even on a busy computer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// A Shoot and its CloudProfile, to be edited.
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

    /// Three machines in three zones, under a name of its own.
    pub(crate) fn named(name: &str) -> Manifest {
        Manifest::example("three-zones").with(|it| it.shoot["metadata"]["name"] = name.into())
    }

    /// One machine in one zone, under a name of its own.
    pub(crate) fn small(name: &str) -> Manifest {
        let zone = serde_json::json!(["zone-a"]);
        Manifest::named(name)
            .with_size(1)
            .pool(|it| it["zones"] = zone)
    }

    pub(crate) fn with(mut self, edit: impl FnOnce(&mut Manifest)) -> Manifest {
        edit(&mut self);
        self
    }

    /// As [`Manifest::with`], of the first pool.
    pub(crate) fn pool(self, edit: impl FnOnce(&mut Value)) -> Manifest {
        self.with(|it| edit(&mut it.shoot["spec"]["provider"]["workers"][0]))
    }

    /// With so many machines in the first pool.
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

    /// The program with the manifest in its home.
    pub(crate) fn kvshoot_with(&self, manifest: &Manifest) -> Kvshoot {
        self.kvshoot().file("shoot.yaml", &manifest.text())
    }

    /// Applies, and the answer has to be `verb`: created, configured or unchanged.
    pub(crate) fn assert_applied(&self, manifest: &Manifest, verb: &str) {
        let output = self.apply(manifest);
        let wanted = format!("shoot.core.gardener.cloud/{} {verb}\n", manifest.name());
        assert_eq!(
            (output.code, output.out.as_str()),
            (0, wanted.as_str()),
            "{output}"
        );
    }

    /// Applies what is there already: nothing is written.
    pub(crate) fn assert_unchanged(&self, manifest: &Manifest) {
        let before = self.settled_versions();
        self.assert_applied(manifest, "unchanged");
        assert_eq!(self.versions(), before);
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

    /// Machines by pool and number of the zone: how many there are.
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

    /// How many machines each zone of a pool has, in the order of the zones.
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

    /// All of a kind but what Kubernetes puts into every namespace.
    fn objects(&self, kind: Resource) -> Vec<DynamicObject> {
        let mut objects = self.list(kind);
        objects.retain(|it| it.metadata.name.as_deref() != Some("kube-root-ca.crt"));
        objects
    }

    /// The version of every object.
    pub(crate) fn versions(&self) -> BTreeMap<String, String> {
        let mut versions = BTreeMap::new();
        for kind in KINDS {
            for object in self.objects(kind) {
                let name = object.metadata.name.unwrap();
                let version = object.metadata.resource_version.unwrap();
                versions.insert(format!("{} {name}", kind.2), version);
            }
        }
        versions
    }

    /// The versions once KubeVirt and its friends have nothing more to say.
    pub(crate) fn settled_versions(&self) -> BTreeMap<String, String> {
        let end = Instant::now() + PATIENCE;
        let mut before = self.versions();
        let mut since = Instant::now();
        while since.elapsed() < Duration::from_millis(1000) {
            assert!(Instant::now() < end, "it does not come to rest");
            std::thread::sleep(Duration::from_millis(100));
            let now = self.versions();
            if now != before {
                (before, since) = (now, Instant::now());
            }
        }
        before
    }

    /// Every object, without what changes with each write.
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

    pub(crate) fn wait_for(&self, what: &str, holds: impl Fn(&Provider) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !holds(self) {
            assert!(Instant::now() < end, "timed out waiting for {what}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}
