//! Faults on request: a ConfigMap that the simulator follows, and quotas.

use super::Sandbox;
use super::error::{SandboxError, io};
use super::objects::NAMESPACE;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const LABEL: &str = "sandbox.kvshoot.io/fault";
const CONFIG: &str = "faults";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Images are not found at their address.
    Import404,
    /// Imports stay at 12 %.
    ImportStuck,
    /// The hosts of a zone are full; `default` means those in no zone.
    NoRoom { zone: String },
    /// Machines whose name begins so fail whenever they start; `*` means all.
    VmCrash { prefix: String },
    /// Pods of control planes whose name begins so crash whenever they start; `*` means all.
    PodCrash { prefix: String },
    /// What goes wrong inside machines whose name begins so; `*` means all.
    Guest { what: Guest, prefix: String },
    /// A quota stands in a namespace.
    Quota {
        namespace: String,
        hard: BTreeMap<String, String>,
    },
}

/// What can go wrong inside a machine that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guest {
    /// It does not boot.
    Boot,
    /// It cannot reach the API server.
    Network,
    /// Its clock is years behind.
    Clock,
    /// It was a node, and is heard of no more.
    Silent,
}

impl Guest {
    const ALL: [Self; 4] = [Self::Boot, Self::Network, Self::Clock, Self::Silent];

    /// As the simulator and the command line call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Boot => "guest-boot",
            Self::Network => "guest-network",
            Self::Clock => "guest-clock",
            Self::Silent => "node-silent",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

impl Sandbox {
    /// Adds a fault to those there are.
    pub(crate) fn fail(&self, fault: &Fault) -> Result<(), SandboxError> {
        let kubectl = self.kubectl()?;
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

    /// Takes all faults back.
    pub(crate) fn heal(&self) -> Result<(), SandboxError> {
        let kubectl = self.kubectl()?;
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

    /// The faults there are.
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
                        Guest::named(other).map(|what| Fault::Guest { what, prefix: name }),
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
