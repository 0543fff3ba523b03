//! Injected faults: a ConfigMap that the simulator watches, and quotas.

use crate::sandbox::error::{SandboxError, io};
use crate::sandbox::manager::Sandbox;
use crate::sandbox::manifests::NAMESPACE;
use crate::sandbox::progress::Step;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const LABEL: &str = "sandbox.kvshoot.io/fault";
const CONFIG: &str = "faults";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Imports fail, because the image URL returns 404.
    Import404,
    /// Imports stop at 12%.
    ImportStuck,
    /// Nodes of a zone are full; `default` means nodes without a zone.
    NoRoom { zone: String },
    /// Machines with this name prefix fail whenever they start; `*` means all.
    VmCrash { prefix: String },
    /// Control plane pods with this name prefix crash whenever they start; `*` means all.
    PodCrash { prefix: String },
    /// A fault of running machines with this name prefix; `*` means all.
    Guest { what: GuestFault, prefix: String },
    /// A ResourceQuota in a namespace.
    Quota {
        namespace: String,
        hard: BTreeMap<String, String>,
    },
}

/// A fault of a running machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GuestFault {
    /// It does not boot.
    Boot,
    /// It cannot reach the API server.
    Network,
    /// Its clock is years behind.
    Clock,
    /// Its node stops reporting.
    Silent,
    /// Its kubelet serves with a self-signed certificate.
    Certificate,
    /// Its migration to another host fails.
    MigrationFails,
    /// Its migration to another host never ends.
    MigrationStuck,
}

impl GuestFault {
    const ALL: [Self; 7] = [
        Self::Boot,
        Self::Network,
        Self::Clock,
        Self::Silent,
        Self::Certificate,
        Self::MigrationFails,
        Self::MigrationStuck,
    ];

    /// Its name in the simulator and on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Boot => "guest-boot",
            Self::Network => "guest-network",
            Self::Clock => "guest-clock",
            Self::Silent => "node-silent",
            Self::Certificate => "kubelet-certificate",
            Self::MigrationFails => "migration-fail",
            Self::MigrationStuck => "migration-stuck",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.name() == name)
    }
}

impl Sandbox {
    /// Injects a fault.
    ///
    /// `progress` is called if another process works on the sandbox: without the lock, one of two faults could be lost.
    pub(crate) fn fail(
        &self,
        fault: &Fault,
        progress: &mut dyn FnMut(Step),
    ) -> Result<(), SandboxError> {
        let kubectl = self.kubectl()?;
        let _lock = self.lock(progress)?;
        if let Fault::Quota { namespace, hard } = fault {
            return kubectl.apply(&[json!({
                "apiVersion": "v1", "kind": "ResourceQuota",
                "metadata": {"name": "kvshoot-sandbox-fault", "namespace": namespace, "labels": {LABEL: "quota"}},
                "spec": {"hard": hard},
            })]);
        }
        let mut config = self.config()?;
        let (key, name) = match fault {
            Fault::Import404 => ("import-404", "*"),
            Fault::ImportStuck => ("import-stuck", "*"),
            Fault::NoRoom { zone } => ("no-room", zone.as_str()),
            Fault::VmCrash { prefix } => ("vm-crash", prefix.as_str()),
            Fault::PodCrash { prefix } => ("pod-crash", prefix.as_str()),
            Fault::Guest { what, prefix } => (what.name(), prefix.as_str()),
            Fault::Quota { .. } => return Ok(()),
        };
        let names = config.entry(key.to_owned()).or_default();
        if !names.split(',').any(|known| known == name) {
            if !names.is_empty() {
                names.push(',');
            }
            names.push_str(name);
        }
        kubectl.apply(&[configmap(&config)])
    }

    /// Clears the faults with a name, as given to [`Sandbox::fail`].
    ///
    /// # Errors
    ///
    /// [`SandboxError::NoSuchFault`] if there are none.
    pub(crate) fn clear_faults_of(
        &self,
        name: &str,
        progress: &mut dyn FnMut(Step),
    ) -> Result<(), SandboxError> {
        let kubectl = self.kubectl()?;
        let _lock = self.lock(progress)?;
        let active = self.config()?;
        let other = |names: &String| {
            let others = names.split(',').filter(|known| *known != name);
            others.collect::<Vec<&str>>().join(",")
        };
        let remaining: BTreeMap<String, String> = active
            .iter()
            .map(|(key, names)| (key.clone(), other(names)))
            .filter(|(_, names)| !names.is_empty())
            .collect();
        if remaining == active {
            return Err(SandboxError::NoSuchFault(name.to_owned()));
        }
        kubectl.apply(&[configmap(&remaining)])
    }

    /// Clears all faults.
    pub(crate) fn clear_faults(&self, progress: &mut dyn FnMut(Step)) -> Result<(), SandboxError> {
        let kubectl = self.kubectl()?;
        let _lock = self.lock(progress)?;
        kubectl.apply(&[configmap(&BTreeMap::new())])?;
        let selector = format!("--selector={LABEL}");
        let quotas = kubectl.run(&["get", "resourcequota", "-A", &selector, "-o=json"])?;
        for quota in items(&quotas)? {
            let name = quota["metadata"]["name"].as_str().unwrap_or_default();
            let namespace = quota["metadata"]["namespace"].as_str().unwrap_or_default();
            let namespace = format!("--namespace={namespace}");
            kubectl.run(&["delete", "resourcequota", name, &namespace])?;
        }
        Ok(())
    }

    /// Returns the active faults.
    pub(crate) fn faults(&self) -> Result<Vec<Fault>, SandboxError> {
        let mut faults = Vec::new();
        for (key, names) in self.config()? {
            for name in names.split(',').map(str::to_owned) {
                match key.as_str() {
                    "import-404" => faults.push(Fault::Import404),
                    "import-stuck" => faults.push(Fault::ImportStuck),
                    "no-room" => faults.push(Fault::NoRoom { zone: name }),
                    "vm-crash" => faults.push(Fault::VmCrash { prefix: name }),
                    "pod-crash" => faults.push(Fault::PodCrash { prefix: name }),
                    other => faults.extend(
                        GuestFault::named(other).map(|what| Fault::Guest { what, prefix: name }),
                    ),
                }
            }
        }
        let selector = format!("--selector={LABEL}");
        let quotas = self
            .kubectl()?
            .run(&["get", "resourcequota", "-A", &selector, "-o=json"])?;
        for quota in items(&quotas)? {
            let namespace = quota["metadata"]["namespace"].as_str().unwrap_or_default();
            faults.push(Fault::Quota {
                namespace: namespace.to_owned(),
                hard: texts(&quota["spec"]["hard"]),
            });
        }
        Ok(faults)
    }

    fn config(&self) -> Result<BTreeMap<String, String>, SandboxError> {
        let namespace = format!("--namespace={NAMESPACE}");
        let args = [
            "get",
            "configmap",
            CONFIG,
            &namespace,
            "--ignore-not-found",
            "-o=json",
        ];
        let text = self.kubectl()?.run(&args)?;
        if text.trim().is_empty() {
            return Ok(BTreeMap::new());
        }
        Ok(texts(&parse(&text)?["data"]))
    }
}

fn configmap(data: &BTreeMap<String, String>) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": CONFIG, "namespace": NAMESPACE},
        "data": data,
    })
}

fn items(text: &str) -> Result<Vec<Value>, SandboxError> {
    Ok(parse(text)?["items"]
        .as_array()
        .cloned()
        .unwrap_or_default())
}

fn parse(text: &str) -> Result<Value, SandboxError> {
    serde_json::from_str(text)
        .map_err(|error| io("read kubectl's answer")(std::io::Error::other(error)))
}

fn texts(object: &Value) -> BTreeMap<String, String> {
    let entries = object.as_object().into_iter().flatten();
    entries
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect()
}
