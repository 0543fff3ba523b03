//! Machines: from the VM by its instance, its pod and its volumes, and from a VM that runs to the node that it should be.

use super::cause_chain::{Advice, Chain, Link};
use super::index::{Around, Classes, condition, message, plain, when};
use super::pod;
use crate::cluster::json::seconds;
use crate::cluster::json::{items, text};
use crate::cluster::observe::parse::deletion::Going;
use crate::cluster::observe::parse::types::Vm;
use serde_json::Value;
use std::sync::Arc;

const VM: &str = "VirtualMachine";
const VMI: &str = "VirtualMachineInstance";
/// Words of KubeVirt for a machine that is on its way, or there.
const ON_ITS_WAY: [&str; 6] = [
    "",
    "Running",
    "Starting",
    "Provisioning",
    "WaitingForVolumeBinding",
    "Migrating",
];

/// What is known of a machine that is waited for.
#[derive(Debug, Default)]
pub(crate) struct Stuck {
    /// KubeVirt's word for its VM.
    status: Arc<str>,
    /// What its VM says of itself.
    complaint: Option<Arc<str>>,
    /// Seconds since 1970.
    born: i64,
    pub(crate) runs: bool,
    going: Option<Going>,
    /// Its node has joined, and can tell of itself.
    has_node: bool,
    /// What keeps it from having a certificate.
    held: Option<Chain>,
}

impl Stuck {
    pub(crate) fn of(vm: &Vm) -> Stuck {
        Stuck {
            status: vm.status.clone(),
            complaint: vm.complaint.clone(),
            born: i64::try_from(vm.born).unwrap_or(i64::MAX),
            runs: vm.ready,
            going: vm.going.clone(),
            ..Stuck::default()
        }
    }

    /// With how far it got on its way into the shoot.
    pub(crate) fn joining(self, has_node: bool, held: Option<Chain>) -> Stuck {
        Stuck {
            has_node,
            held,
            ..self
        }
    }

    fn link(&self, name: &str) -> Link {
        let state = match self.going {
            Some(_) => "Deleting",
            None => &self.status,
        };
        Link::new(VM, name, state)
    }
}

/// How much a volume says of why its machine does not run.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Says {
    Cause,
    /// Less than the machine's pod does.
    Progress,
    /// It waits for that pod.
    Nothing,
}

impl Says {
    /// CDI's words for a volume that is not filled before somebody uses it.
    const WAITING: [&str; 2] = ["WaitForFirstConsumer", "PendingPopulation"];

    fn of(chain: &Chain) -> Says {
        let is_deep = chain.links.len() > 1 || chain.advice.is_some();
        let mut links = chain.links.iter();
        match is_deep {
            true => Says::Cause,
            false if links.any(|it| Says::WAITING.contains(&&*it.state)) => Says::Nothing,
            false => Says::Progress,
        }
    }
}

impl Around {
    /// Why a machine does not run, does not join, or does not go.
    pub(crate) fn machine(&self, name: &str, stuck: &Stuck, classes: &Classes) -> Option<Chain> {
        let own = || stuck.link(name);
        let under = |it: Chain| match &*own().state {
            "" | "Running" => it,
            _ => it.under(own()),
        };
        let instance = self.instances.get(name);
        if let Some(chain) = instance.and_then(|it| self.going(name, stuck, it)) {
            return Some(under(chain));
        }
        if let Some(going) = &stuck.going {
            return Some(kept(own(), going));
        }
        let volumes = self.volumes_of.get(name).into_iter().flatten();
        let of_volume = volumes
            .filter_map(|it| self.image(it, classes))
            .min_by_key(Says::of);
        let [deep, shallow, waiting] = [Says::Cause, Says::Progress, Says::Nothing]
            .map(|says| of_volume.clone().filter(|it| Says::of(it) == says));
        let of_pod = || {
            let pods = self.pods_of(VMI, name);
            pods.iter().find_map(pod::trouble)
        };
        let of_instance = || match instance {
            Some(instance) => self.of_instance(name, instance, stuck),
            None if stuck.runs => Some(Chain::of(Link::new(VMI, name, ""), "not found")),
            None => None,
        };
        let complaint = || Some(Chain::said(own(), plain(stuck.complaint.as_deref()?)));
        let phase = instance.map_or("", |it| text(&it["status"]["phase"]));
        let warned = |link: Link| Some(Chain::said(link.clone(), self.warned(&link, stuck)?));
        deep.or_else(of_pod)
            .or(shallow)
            .or_else(of_instance)
            .or(waiting)
            .map(under)
            .or_else(complaint)
            .or_else(|| stuck.held.clone())
            .or_else(|| warned(Link::new(VMI, name, phase)).map(under))
            .or_else(|| warned(own()))
            .or_else(|| (!ON_ITS_WAY.contains(&&*stuck.status)).then(|| Chain::of(own(), "")))
    }

    /// What an instance that stays says of itself.
    fn of_instance(&self, name: &str, instance: &Value, stuck: &Stuck) -> Option<Chain> {
        let phase = text(&instance["status"]["phase"]);
        let own = Link::new(VMI, name, phase);
        if let Some(words) = condition(instance, "Synchronized") {
            // The condition keeps what was said first, and warnings tell what keeps it now.
            let warning = self.warning(VMI, name);
            let is_about_that = warning.is_some_and(|it| it["reason"] == "FailedCreate");
            let newer = self.warned(&own, stuck).filter(|_| is_about_that);
            return Some(Chain::said(own, newer.unwrap_or(words)));
        }
        let conditions = items(&instance["status"]["conditions"]);
        let paused = |it: &&Value| it["type"] == "Paused" && it["status"] == "True";
        if let Some(paused) = conditions.iter().find(paused) {
            return Some(Chain::of(own, plain(text(&paused["message"]))));
        }
        let ended = matches!(phase, "Failed" | "Succeeded" | "Unknown");
        ended.then(|| Chain::said(own, condition(instance, "Ready").unwrap_or_default()))
    }

    /// Warnings outlive what they are about: another machine of that name, or trouble before there was a node.
    fn warned(&self, link: &Link, stuck: &Stuck) -> Option<String> {
        let warning = self.warning(&link.kind, &link.name)?;
        let is_old = seconds(&when(warning).into()) < Some(stuck.born);
        message(warning).filter(|_| !stuck.has_node && !is_old)
    }

    /// A machine goes once its instance is gone, and that once its pod is.
    fn going(&self, name: &str, stuck: &Stuck, instance: &Value) -> Option<Chain> {
        let Some(going) = Going::of(instance) else {
            let own = || Link::new(VMI, name, text(&instance["status"]["phase"]));
            let waits = || Chain::of(own(), "it is not deleted yet");
            return stuck.going.is_some().then(waits);
        };
        let own = Link::new(VMI, name, "Deleting");
        let is_over = |it: &&Value| matches!(text(&it["status"]["phase"]), "Succeeded" | "Failed");
        let mut pods = self.pods_of(VMI, name).iter().filter(|it| !is_over(it));
        let pod = pods.find_map(|it| Some((it, Going::of(it)?)));
        Some(match pod {
            Some((pod, going)) => kept(pod::link(pod), &going).under(own),
            None => kept(own, &going),
        })
    }
}

/// Of what KubeVirt takes off by itself nobody need be told to take it off.
fn kept(own: Link, going: &Going) -> Chain {
    let chain = Chain::of(own, going.to_string());
    match going.is_kept() {
        true => chain.advised(Advice::Finalizer),
        false => chain,
    }
}

/// What keeps a machine that runs from having a certificate, by what it asked the shoot for.
///
/// `user` is as whom it asks, `token` the Secret that lets it.
pub(crate) fn joining(
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
