//! Causes of machines: from the VM through its instance, pod and volumes, and from a running VM to its node.

use super::cause_chain::{Advice, Cause, CauseChain};
use super::cause_index::{
    CauseIndex, StorageClasses, event_message, failed_condition, single_line,
};
use super::guest::guest_advice;
use super::pod;
use crate::cluster::objects::condition::PartialCondition;
use crate::cluster::objects::kubevirt::virtual_machine_instance::PartialVirtualMachineInstance;
use crate::cluster::objects::metadata::seconds;
use crate::cluster::objects::signing_request::{PartialSigningRequest, SigningCondition};
use crate::cluster::observe::parse::deletion::Deletion;
use crate::cluster::observe::parse::types::ParsedMachine;
use crate::state::facts::certificate_judgment::Verdict;
use std::sync::Arc;

const VM: &str = "VirtualMachine";
const VMI: &str = "VirtualMachineInstance";
/// KubeVirt's statuses of machines that are starting or running.
const TRANSIENT_STATUSES: [&str; 6] = [
    "",
    "Running",
    "Starting",
    "Provisioning",
    "WaitingForVolumeBinding",
    "Migrating",
];

/// A machine that is being waited for.
#[derive(Debug, Default)]
pub(crate) struct PendingMachine {
    /// Printable status of the VM.
    status: Arc<str>,
    /// Failure message of the VM.
    complaint: Option<Arc<str>>,
    /// Seconds since 1970.
    created: i64,
    pub(crate) runs: bool,
    deletion: Option<Deletion>,
    /// Its node has joined and reports its own status.
    has_node: bool,
    /// Reason for a missing kubelet certificate.
    join_blocker: Option<CauseChain>,
}

impl PendingMachine {
    pub(crate) fn of(vm: &ParsedMachine) -> PendingMachine {
        PendingMachine {
            status: vm.status.clone(),
            complaint: vm.failure_message.clone(),
            created: i64::try_from(vm.created).unwrap_or(i64::MAX),
            runs: vm.ready,
            deletion: vm.deletion.clone(),
            ..PendingMachine::default()
        }
    }

    /// Adds the progress of joining the shoot.
    pub(crate) fn joining(self, has_node: bool, held: Option<CauseChain>) -> PendingMachine {
        PendingMachine {
            has_node,
            join_blocker: held,
            ..self
        }
    }

    fn cause(&self, name: &str) -> Cause {
        let state = match self.deletion {
            Some(_) => "Deleting",
            None => &self.status,
        };
        Cause::new(VM, name, state)
    }
}

/// How well a volume explains that its machine does not run.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum VolumeRelevance {
    Cause,
    /// Explains less than the machine's pod.
    Progress,
    /// Waits for that pod itself.
    Nothing,
}

impl VolumeRelevance {
    /// CDI's phases of a volume that is filled only once it is used.
    const WAITING: [&str; 2] = ["WaitForFirstConsumer", "PendingPopulation"];

    fn of(chain: &CauseChain) -> VolumeRelevance {
        let is_deep = chain.causes.len() > 1 || chain.advice.is_some();
        let mut links = chain.causes.iter();
        match is_deep {
            true => VolumeRelevance::Cause,
            false if links.any(|it| VolumeRelevance::WAITING.contains(&&*it.state)) => {
                VolumeRelevance::Nothing
            }
            false => VolumeRelevance::Progress,
        }
    }
}

impl CauseIndex {
    /// Why a machine does not run, does not join, or is not deleted.
    pub(crate) fn machine_chain(
        &self,
        name: &str,
        pending: &PendingMachine,
        classes: &StorageClasses,
    ) -> Option<CauseChain> {
        let own = || pending.cause(name);
        let under = |it: CauseChain| match &*own().state {
            "" | "Running" => it,
            _ => it.under(own()),
        };
        let instance = self.instances.get(name);
        if let Some(chain) = instance.and_then(|it| self.deletion_chain(name, pending, it)) {
            return Some(under(chain));
        }
        if let Some(deletion) = &pending.deletion {
            return Some(held_by_finalizers(own(), deletion));
        }
        let volumes = self.volumes_of.get(name).into_iter().flatten();
        let of_volume = volumes
            .filter_map(|it| self.data_volume_chain(it, classes))
            .min_by_key(VolumeRelevance::of);
        let [deep, shallow, waiting] = [
            VolumeRelevance::Cause,
            VolumeRelevance::Progress,
            VolumeRelevance::Nothing,
        ]
        .map(|says| {
            of_volume
                .clone()
                .filter(|it| VolumeRelevance::of(it) == says)
        });
        let of_pod = || {
            let pods = self.pods_of(VMI, name);
            pods.iter().find_map(pod::pod_chain)
        };
        let of_instance = || match instance {
            Some(instance) => self.instance_chain(name, instance, pending),
            None if pending.runs => Some(CauseChain::new(Cause::new(VMI, name, ""), "not found")),
            None => None,
        };
        let complaint = || {
            Some(CauseChain::reported(
                own(),
                single_line(pending.complaint.as_deref()?),
            ))
        };
        let phase = instance.map_or("", |it| it.status.phase.as_str());
        let warned = |link: Cause| {
            let warning = self.recent_warning(&link, pending)?;
            let advice = guest_advice(&warning);
            let chain = CauseChain::reported(link, warning);
            Some(CauseChain {
                advice: chain.advice.or(advice),
                ..chain
            })
        };
        deep.or_else(of_pod)
            .or(shallow)
            .or_else(of_instance)
            .or(waiting)
            .map(under)
            .or_else(complaint)
            .or_else(|| pending.join_blocker.clone())
            .or_else(|| warned(Cause::new(VMI, name, phase)).map(under))
            .or_else(|| warned(own()))
            .or_else(|| {
                (!TRANSIENT_STATUSES.contains(&&*pending.status))
                    .then(|| CauseChain::new(own(), ""))
            })
    }

    /// Cause of an instance that is not being deleted.
    fn instance_chain(
        &self,
        name: &str,
        instance: &PartialVirtualMachineInstance,
        pending: &PendingMachine,
    ) -> Option<CauseChain> {
        let phase = instance.status.phase.as_str();
        let conditions = &instance.status.conditions;
        let own = Cause::new(VMI, name, phase);
        if let Some(words) = failed_condition(conditions, "Synchronized") {
            // The condition keeps the first message; warnings have the current one.
            let warning = self.warning(VMI, name);
            let is_about_that = warning.is_some_and(|it| it.reason == "FailedCreate");
            let newer = self.recent_warning(&own, pending).filter(|_| is_about_that);
            return Some(CauseChain::reported(own, newer.unwrap_or(words)));
        }
        let paused = PartialCondition::find(conditions, "Paused");
        if let Some(paused) = paused.filter(|it| it.is_true()) {
            return Some(CauseChain::new(own, single_line(&paused.message)));
        }
        let ended = matches!(phase, "Failed" | "Succeeded" | "Unknown");
        ended.then(|| {
            CauseChain::reported(
                own,
                failed_condition(conditions, "Ready").unwrap_or_default(),
            )
        })
    }

    /// Warnings outlive their object: they may be of an earlier machine of that name, or from before there was a node.
    fn recent_warning(&self, link: &Cause, pending: &PendingMachine) -> Option<String> {
        let warning = self.warning(&link.kind, &link.name)?;
        let is_old = seconds(warning.timestamp()) < Some(pending.created);
        event_message(warning).filter(|_| !pending.has_node && !is_old)
    }

    /// A machine is deleted after its instance, and that after its pod.
    fn deletion_chain(
        &self,
        name: &str,
        pending: &PendingMachine,
        instance: &PartialVirtualMachineInstance,
    ) -> Option<CauseChain> {
        let Some(deletion) = Deletion::of(&instance.metadata) else {
            let own = || Cause::new(VMI, name, instance.status.phase.as_str());
            let waits = || CauseChain::new(own(), "not deleted yet");
            return pending.deletion.is_some().then(waits);
        };
        let own = Cause::new(VMI, name, "Deleting");
        let pods = self.pods_of(VMI, name).iter();
        let mut pods = pods.filter(|it| !it.is_over());
        let pod = pods.find_map(|it| Some((it, Deletion::of(&it.metadata)?)));
        Some(match pod {
            Some((pod, deletion)) => held_by_finalizers(pod::pod_cause(pod), &deletion).under(own),
            None => held_by_finalizers(own, &deletion),
        })
    }
}

/// Finalizers that KubeVirt removes itself need no advice.
fn held_by_finalizers(own: Cause, deletion: &Deletion) -> CauseChain {
    let chain = CauseChain::new(own, deletion.to_string());
    match deletion.is_blocked() {
        true => chain.with_advice(Advice::Finalizer),
        false => chain,
    }
}

/// A request that is not decided, with what it waits for.
pub(crate) fn pending_request(name: &str, verdict: Option<&Verdict>) -> CauseChain {
    let cause = Cause::new("CertificateSigningRequest", name, "Pending");
    match verdict {
        // Of a machine that is not observed.
        None => CauseChain::new(cause, "not approved yet").with_advice(Advice::Approve),
        Some(Verdict::Approve) => {
            CauseChain::new(cause, "not approved yet").with_advice(Advice::Apply)
        }
        Some(Verdict::Deny(why) | Verdict::Wait(why)) => CauseChain::new(cause, why.as_str()),
    }
}

/// Why a running machine has no kubelet certificate, by its signing request.
///
/// `user` is the user of the request, `token` the Secret of the bootstrap token, and `verdict` judges a request by name.
pub(crate) fn joining(
    requests: &[PartialSigningRequest],
    user: &str,
    token: &str,
    has_token: bool,
    verdict: impl Fn(&str) -> Option<Verdict>,
) -> Option<CauseChain> {
    let own = requests.iter().filter(|it| it.spec.username == user);
    let newest = own.max_by_key(|it| &it.metadata.creation_timestamp);
    let Some(request) = newest else {
        let missing = || CauseChain::new(Cause::new("Secret", token, ""), "not found");
        return (!has_token).then(|| missing().with_advice(Advice::Apply));
    };
    let request_chain = |state: &str, words: &str| {
        let name = request.metadata.name.as_str();
        CauseChain::new(Cause::new("CertificateSigningRequest", name, state), words)
    };
    let mut conditions = request.status.conditions.iter();
    let refused = |it: &&SigningCondition| it.kind == "Denied" || it.kind == "Failed";
    if let Some(refused) = conditions.clone().find(refused) {
        let words = single_line(&refused.message);
        return Some(request_chain(&refused.kind, &words));
    }
    let is_approved = conditions.any(|it| it.kind == "Approved");
    let is_issued = request.status.certificate.is_some();
    match (is_approved, is_issued) {
        (false, _) => {
            let verdict = verdict(&request.metadata.name);
            Some(pending_request(&request.metadata.name, verdict.as_ref()))
        }
        (true, false) => Some(request_chain("Approved", "not signed yet")),
        (true, true) => None,
    }
}
