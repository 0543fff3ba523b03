//! Why something is not ready: the deepest object in the chain that has something to say. Pure.
//!
//! A machine waits for its volumes, a volume for its importer pod and its claim, a claim for its class; and then the
//! machine's own pod waits for the scheduler. A workload waits for its pods. What is deepest is told, in the words that
//! stand on it.

use super::project::{arc, is_leaving, items, serves, text};
use crate::plan::observed::StorageClass;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Bytes of a message that is more than a sentence or two.
const LONG: usize = 200;

/// What stands around machines, images and workloads, by what it belongs to.
#[derive(Debug, Default)]
pub(super) struct Around {
    volumes: HashMap<Arc<str>, Value>,
    /// Names of DataVolumes by that of their VM.
    volumes_of: HashMap<Arc<str>, Vec<Arc<str>>>,
    claims: HashMap<Arc<str>, Value>,
    /// By kind and name of the owner.
    pods: HashMap<(Arc<str>, Arc<str>), Vec<Value>>,
    /// The newest warning, by kind and name of what it is about.
    warnings: HashMap<(Arc<str>, Arc<str>), Value>,
}

/// What is known of a machine that is waited for.
#[derive(Debug, Default)]
pub(super) struct Stuck {
    /// What its VM says of itself.
    pub(super) complaint: Option<Arc<str>>,
    /// Seconds since 1970.
    pub(super) born: i64,
    /// Its node has joined, and can tell of itself.
    pub(super) has_node: bool,
}

impl Around {
    /// `events` are warnings of the whole namespace.
    pub(super) fn new(
        volumes: Vec<Value>,
        pods: Vec<Value>,
        claims: Vec<Value>,
        events: Vec<Value>,
    ) -> Around {
        let mut around = Around::default();
        for volume in volumes {
            let name = arc(&volume["metadata"]["name"]);
            for (kind, owner) in owners(&volume) {
                if &*kind == "VirtualMachine" {
                    let of = around.volumes_of.entry(owner).or_default();
                    of.push(name.clone());
                }
            }
            around.volumes.insert(name, volume);
        }
        for pod in pods {
            for owner in owners(&pod) {
                around.pods.entry(owner).or_default().push(pod.clone());
            }
        }
        for claim in claims {
            let name = arc(&claim["metadata"]["name"]);
            around.claims.insert(name, claim);
        }
        for event in events {
            let about = &event["involvedObject"];
            let about = (arc(&about["kind"]), arc(&about["name"]));
            let newest = around.warnings.entry(about).or_default();
            if newest.is_null() || when(newest) <= when(&event) {
                *newest = event;
            }
        }
        around
    }

    /// Why a machine does not run, or does not join.
    pub(super) fn machine(
        &self,
        name: &str,
        machine: &Stuck,
        classes: &BTreeMap<Arc<str>, StorageClass>,
    ) -> Option<String> {
        let volumes = self.volumes_of.get(name).into_iter().flatten();
        let of_volume = || volumes.clone().find_map(|it| self.image(it, classes));
        let of_pod = || {
            let pods = self.pods_of("VirtualMachineInstance", name);
            pods.iter().find_map(|it| pod("virt-launcher pod", it))
        };
        // Warnings outlive what they are about: another machine of that name, or trouble before there was a node.
        let of_warning = |kind: &str| {
            let is_old = |it: &Value| seconds(when(it)) < Some(machine.born);
            let warning = self.warnings.get(&(kind.into(), name.into()))?;
            let message = (!machine.has_node && !is_old(warning)).then(|| message(warning))??;
            Some(format!("{kind} {name}: {message}"))
        };
        let complaint = machine.complaint.as_ref();
        of_volume()
            .or_else(of_pod)
            .or_else(|| complaint.map(|it| format!("VirtualMachine {name}: {}", plain(it))))
            .or_else(|| of_warning("VirtualMachineInstance"))
            .or_else(|| of_warning("VirtualMachine"))
    }

    /// Why the pods of a workload are not what they should be, or not there.
    pub(super) fn workload(&self, kind: &str, name: &str) -> Option<String> {
        let is_its = |(owner, other): &(Arc<str>, Arc<str>)| {
            let of_set = other.rsplit_once('-').map(|it| it.0);
            (&**owner, &**other) == (kind, name)
                || kind == "Deployment" && &**owner == "ReplicaSet" && of_set == Some(name)
        };
        let pods = self.pods.iter().filter(|it| is_its(it.0));
        let mut pods: Vec<&Value> = pods.flat_map(|it| it.1).collect();
        pods.retain(|it| !is_leaving(it) && !serves(it));
        pods.sort_by_key(|it| text(&it["metadata"]["name"]));
        let of_pod = || pods.iter().find_map(|it| pod("pod", it));
        let of_pod_s_warning = || {
            pods.iter().find_map(|it| {
                let name = text(&it["metadata"]["name"]);
                Some(format!("pod {name}: {}", self.warning("Pod", name)?))
            })
        };
        // What keeps pods from being made stands on who makes them.
        let of_maker = || {
            let about = self.warnings.iter().filter(|it| is_its(it.0));
            about.filter_map(|it| message(it.1)).min()
        };
        of_pod().or_else(of_pod_s_warning).or_else(of_maker)
    }

    /// Why a DataVolume has not got its content.
    pub(super) fn image(
        &self,
        name: &str,
        classes: &BTreeMap<Arc<str>, StorageClass>,
    ) -> Option<String> {
        let volume = self.volumes.get(name)?;
        let phase = text(&volume["status"]["phase"]);
        if phase == "Succeeded" {
            return None;
        }
        let claim = text(&volume["status"]["claimName"]);
        let claim = if claim.is_empty() { name } else { claim };
        let of_pod = || {
            let message = self.worker_pod(claim)?;
            Some(format!("DataVolume {name} {phase} <- {message}"))
        };
        let of_itself = || {
            let message = condition(volume, "Running")
                .or_else(|| condition(volume, "Bound"))
                .or_else(|| self.warning("DataVolume", name))?;
            Some(format!("DataVolume {name} {phase}: {message}"))
        };
        let of_class = || {
            let class = text(&volume["spec"]["storage"]["storageClassName"]);
            is_unknown(class, classes)
                .then(|| format!("DataVolume {name}: storageclass \"{class}\" not found"))
        };
        // A pod that waits for its claim says less than the claim does.
        self.claim(claim, classes)
            .or_else(of_class)
            .or_else(of_pod)
            .or_else(of_itself)
    }

    fn claim(&self, name: &str, classes: &BTreeMap<Arc<str>, StorageClass>) -> Option<String> {
        let claim = self.claims.get(name)?;
        let phase = text(&claim["status"]["phase"]);
        if phase == "Bound" {
            return None;
        }
        let class = text(&claim["spec"]["storageClassName"]);
        let message = match is_unknown(class, classes) {
            true => format!("storageclass \"{class}\" not found"),
            false => self.warning("PersistentVolumeClaim", name)?,
        };
        Some(format!("PVC {name} {phase}: {message}"))
    }

    /// Importers and cloners belong to the claim, or to the one that CDI fills in its stead.
    fn worker_pod(&self, claim: &str) -> Option<String> {
        let uid = self
            .claims
            .get(claim)
            .map(|it| text(&it["metadata"]["uid"]));
        let stand_in = uid.map(|it| format!("prime-{it}"));
        let owners = [Some(claim.to_owned()), stand_in];
        owners.into_iter().flatten().find_map(|owner| {
            let pods = self.pods_of("PersistentVolumeClaim", &owner);
            pods.iter().find_map(|it| pod("importer pod", it))
        })
    }

    fn pods_of(&self, kind: &str, name: &str) -> &[Value] {
        let owner = (kind.into(), name.into());
        self.pods.get(&owner).map_or(&[], Vec::as_slice)
    }

    fn warning(&self, kind: &str, name: &str) -> Option<String> {
        let about = (kind.into(), name.into());
        message(self.warnings.get(&about)?)
    }
}

fn message(event: &Value) -> Option<String> {
    let message = plain(text(&event["message"]));
    (!message.is_empty()).then_some(message)
}

/// None is known where classes may not be read.
fn is_unknown(class: &str, classes: &BTreeMap<Arc<str>, StorageClass>) -> bool {
    !class.is_empty() && !classes.is_empty() && !classes.contains_key(class)
}

/// What a pod that does not run says: the scheduler's words, then those of its containers.
fn pod(title: &str, pod: &Value) -> Option<String> {
    if is_leaving(pod) {
        return None;
    }
    let name = text(&pod["metadata"]["name"]);
    let phase = text(&pod["status"]["phase"]);
    let unscheduled = condition(pod, "PodScheduled");
    let status = &pod["status"];
    let containers = items(&status["initContainerStatuses"])
        .iter()
        .chain(items(&status["containerStatuses"]));
    let message = unscheduled.or_else(|| {
        containers
            .filter(|it| it["ready"] != true)
            .find_map(container)
    })?;
    Some(format!("{title} {name} {phase}: {message}"))
}

/// How it ended before tells more than that it waits to be started again.
fn container(status: &Value) -> Option<String> {
    let ended = |it: &Value| {
        let failed = it["exitCode"].as_i64().is_some_and(|it| it != 0);
        let message = ending(text(&it["message"]));
        (failed && !message.is_empty()).then_some(message)
    };
    let waits = &status["state"]["waiting"];
    let waiting = || match (text(&waits["reason"]), text(&waits["message"])) {
        ("" | "ContainerCreating" | "PodInitializing", "") => None,
        (reason, "") => Some(reason.to_owned()),
        (_, message) => Some(plain(message)),
    };
    ended(&status["state"]["terminated"])
        .or_else(|| ended(&status["lastState"]["terminated"]))
        .or_else(waiting)
}

/// The message of a condition that does not hold.
fn condition(object: &Value, name: &str) -> Option<String> {
    let condition = items(&object["status"]["conditions"])
        .iter()
        .find(|it| it["type"] == name && it["status"] == "False")?;
    let message = plain(text(&condition["message"]));
    (!message.is_empty()).then_some(message)
}

fn owners(object: &Value) -> Vec<(Arc<str>, Arc<str>)> {
    items(&object["metadata"]["ownerReferences"])
        .iter()
        .map(|it| (arc(&it["kind"]), arc(&it["name"])))
        .collect()
}

/// Timestamps of one format sort as text.
fn when(event: &Value) -> &str {
    [
        &event["lastTimestamp"],
        &event["metadata"]["creationTimestamp"],
    ]
    .into_iter()
    .find_map(Value::as_str)
    .unwrap_or_default()
}

/// A message may be the end of a whole log: what a program said last is why it ended.
fn ending(message: &str) -> String {
    let whole = plain(message);
    match message.trim().lines().next_back() {
        Some(last) if whole.len() > LONG => plain(last),
        _ => whole,
    }
}

fn seconds(time: &str) -> Option<i64> {
    let time: jiff::Timestamp = time.parse().ok()?;
    Some(time.as_second())
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
#[path = "cause_tests.rs"]
mod tests;
