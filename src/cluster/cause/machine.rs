//! Machines: from the VM by its instance, its pod and its volumes, and from a VM that runs to the node that it should be.

use super::{
    Advice, Around, Chain, Classes, Link, condition, going, items, message, plain, pod, text, when,
};
use crate::cluster::chain::is_foreign;
use crate::cluster::project::{complaint, is_leaving, is_ready, seconds};
use serde_json::Value;

/// Words of KubeVirt for a machine that is on its way, or there.
const ON_ITS_WAY: [&str; 6] = [
    "",
    "Running",
    "Starting",
    "Provisioning",
    "WaitingForVolumeBinding",
    "Migrating",
];

/// How far a machine that runs is on its way into the shoot.
#[derive(Debug, Default)]
pub(in super::super) struct Joining {
    pub(in super::super) has_node: bool,
    /// What keeps it from having a certificate.
    pub(in super::super) held: Option<Chain>,
}

impl Around {
    /// Why a machine does not run, does not join, or does not go.
    pub(in super::super) fn machine(
        &self,
        name: &str,
        joining: &Joining,
        classes: &Classes,
    ) -> Option<Chain> {
        let vm = self.machines.get(name).unwrap_or(&Value::Null);
        let instance = self.instances.get(name).unwrap_or(&Value::Null);
        let state = match is_leaving(vm) {
            true => "Deleting",
            false => text(&vm["status"]["printableStatus"]),
        };
        let own = Link::new("VirtualMachine", name, state);
        let under = |it: Chain| match state {
            "" | "Running" => it,
            _ => it.under(own.clone()),
        };
        if is_leaving(vm) || is_leaving(instance) {
            return Some(
                self.leaving(name, instance)
                    .map_or_else(|| kept(Chain::of(own.clone(), going(vm)), vm), under),
            );
        }
        let mut volumes = self.volumes_of.get(name).into_iter().flatten();
        let of_volume = volumes.find_map(|it| self.image(it, classes));
        // A volume that waits for its first consumer says less than that does.
        let is_deep = |it: &Chain| it.links.len() > 1 || it.advice.is_some();
        let (deep, shallow) = match of_volume {
            Some(it) if is_deep(&it) => (Some(it), None),
            other => (None, other),
        };
        let of_pod = || {
            let pods = self.pods_of("VirtualMachineInstance", name);
            pods.iter().find_map(pod::trouble)
        };
        let complaint = || Some(Chain::said(own.clone(), plain(&complaint(&vm["status"])?)));
        deep.or_else(of_pod)
            .or(shallow)
            .or_else(|| of_instance(name, vm, instance))
            .map(under)
            .or_else(complaint)
            .or_else(|| joining.held.clone())
            .or_else(|| {
                self.warned("VirtualMachineInstance", name, vm, joining)
                    .map(under)
            })
            .or_else(|| self.warned("VirtualMachine", name, vm, joining))
            .or_else(|| (!ON_ITS_WAY.contains(&state)).then(|| Chain::of(own.clone(), "")))
    }

    /// Warnings outlive what they are about: another machine of that name, or trouble before there was a node.
    fn warned(&self, kind: &str, name: &str, vm: &Value, joining: &Joining) -> Option<Chain> {
        let warning = self.warning(kind, name).filter(|_| !joining.has_node)?;
        let born = seconds(&vm["metadata"]["creationTimestamp"]);
        let time = seconds(&when(warning).into());
        if born.zip(time).is_some_and(|(born, time)| time < born) {
            return None;
        }
        let object = match kind {
            "VirtualMachine" => vm["status"]["printableStatus"].clone(),
            _ => self.instances.get(name).unwrap_or(&Value::Null)["status"]["phase"].clone(),
        };
        Some(Chain::said(
            Link::new(kind, name, text(&object)),
            message(warning)?,
        ))
    }

    /// A machine goes once its instance is gone, and that once its pod is.
    fn leaving(&self, name: &str, instance: &Value) -> Option<Chain> {
        if instance.is_null() {
            return None;
        }
        let state = match is_leaving(instance) {
            true => "Deleting",
            false => text(&instance["status"]["phase"]),
        };
        let own = Link::new("VirtualMachineInstance", name, state);
        let is_over = |it: &&Value| matches!(text(&it["status"]["phase"]), "Succeeded" | "Failed");
        let pods = self.pods_of("VirtualMachineInstance", name).iter();
        let pod = pods.filter(|it| !is_over(it)).find(|it| is_leaving(it));
        Some(match pod {
            Some(pod) => kept(Chain::of(pod::link(pod), going(pod)), pod).under(own),
            None => kept(Chain::of(own, going(instance)), instance),
        })
    }
}

fn kept(chain: Chain, object: &Value) -> Chain {
    let finalizers = items(&object["metadata"]["finalizers"]);
    match finalizers.iter().map(text).any(is_foreign) {
        true => chain.advised(Advice::Finalizer),
        false => chain,
    }
}

/// What an instance that stays says of itself.
fn of_instance(name: &str, vm: &Value, instance: &Value) -> Option<Chain> {
    const KIND: &str = "VirtualMachineInstance";
    if instance.is_null() {
        let message = "it has no VirtualMachineInstance";
        let own = || {
            Link::new(
                "VirtualMachine",
                name,
                text(&vm["status"]["printableStatus"]),
            )
        };
        return is_ready(vm).then(|| Chain::of(own(), message));
    }
    let phase = text(&instance["status"]["phase"]);
    let own = Link::new(KIND, name, phase);
    if let Some(words) = condition(instance, "Synchronized") {
        return Some(Chain::said(own, words));
    }
    let conditions = items(&instance["status"]["conditions"]);
    let paused = |it: &&Value| it["type"] == "Paused" && it["status"] == "True";
    if let Some(paused) = conditions.iter().find(paused) {
        return Some(Chain::of(own, plain(text(&paused["message"]))));
    }
    let ended = matches!(phase, "Failed" | "Succeeded" | "Unknown");
    ended.then(|| Chain::said(own, condition(instance, "Ready").unwrap_or_default()))
}

/// What keeps a machine that runs from having a certificate, by what it asked the shoot for.
///
/// `user` is as whom it asks, `token` the Secret that lets it.
pub(in super::super) fn joining(
    requests: &[Value],
    user: &str,
    token: &str,
    has_token: bool,
) -> Option<Chain> {
    let own = requests.iter().filter(|it| it["spec"]["username"] == user);
    let newest = own.max_by_key(|it| text(&it["metadata"]["creationTimestamp"]));
    let Some(request) = newest else {
        let missing = || Chain::of(Link::new("Secret", token, ""), "not found");
        return (!has_token).then(|| missing().advised(Advice::Apply));
    };
    let told = |state: &str, words: &str| {
        let name = text(&request["metadata"]["name"]);
        Chain::of(Link::new("CertificateSigningRequest", name, state), words)
    };
    let conditions = items(&request["status"]["conditions"]);
    let refused = |it: &&Value| it["type"] == "Denied" || it["type"] == "Failed";
    if let Some(refused) = conditions.iter().find(refused) {
        let words = plain(text(&refused["message"]));
        return Some(told(text(&refused["type"]), &words));
    }
    let is_approved = conditions.iter().any(|it| it["type"] == "Approved");
    let is_issued = request["status"]["certificate"].is_string();
    match (is_approved, is_issued) {
        (false, _) => Some(told("Pending", "nobody has approved it").advised(Advice::Approve)),
        (true, false) => Some(told("Approved", "it is not signed yet")),
        (true, true) => None,
    }
}
