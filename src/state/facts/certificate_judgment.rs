//! The rule by which a kubelet gets the certificate that it asks for. Pure.
//!
//! A client certificate makes its holder a node, which may read the Secrets of its pods; a serving certificate makes its
//! holder the kubelet that the API server opens exec and log streams to. So each is approved for one machine only, by
//! what the provider cluster reports of that machine.

use super::{
    Facts, KubeletRequest, KubeletSigner, MachinePhase, ObservedMachine, ObservedSigningRequest,
    RequestedCertificate, SigningDecision,
};
use crate::state::facts::ObjectStatus;
use crate::state::key::{ClusterSide, ObjectKey, ObjectKind};
use crate::state::names;
use std::net::IpAddr;
use std::sync::Arc;

/// Prefix of the user names of nodes, and common name of their certificates.
const NODE_USER: &str = "system:node:";
const TOKEN_USER: &str = "system:bootstrap:";
const NODES: &str = "system:nodes";
/// Lifetime of certificates that the controller manager signs, in seconds.
pub(crate) const MAX_LIFETIME: i64 = 30 * 24 * 60 * 60;
/// The API server accepts no shorter one.
const MIN_LIFETIME: i64 = 10 * 60;

/// Judgment of a pending request. Reasons are clauses that can stand alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Approve,
    /// It will never be right.
    Deny(String),
    /// It is right once something else has happened, or what the provider cluster reports may be late.
    Wait(String),
}

/// Judges a pending request. Returns the machine that it is about, and the verdict; None for requests of others than
/// machines, which are left to the users of the shoot, and for renewals of client certificates, which the controller
/// manager approves.
pub(crate) fn judge(
    name: &str,
    request: &KubeletRequest,
    facts: &Facts,
) -> Option<(Arc<str>, Verdict)> {
    if request.decision != SigningDecision::Pending {
        return None;
    }
    let (machine_name, machine) = applicant(request, facts)?;
    let judged = match request.signer {
        KubeletSigner::Client => judge_client(name, request, facts, machine_name, machine),
        KubeletSigner::Serving => judge_serving(request, facts, machine_name, machine),
    };
    Some((machine_name.clone(), judged.unwrap_or_else(|it| it)))
}

/// Pending requests of machines, each with its machine and the verdict.
pub(crate) fn judged(
    facts: &Facts,
) -> impl Iterator<Item = (&Arc<str>, &ObservedSigningRequest, Arc<str>, Verdict)> {
    facts
        .signing_requests
        .iter()
        .filter_map(|(name, observed)| {
            let (machine, verdict) = judge(name, &observed.request, facts)?;
            Some((name, observed, machine, verdict))
        })
}

/// Returns whether a request can be approved or denied now.
pub(crate) fn is_any_due(facts: &Facts) -> bool {
    judged(facts).any(|it| !matches!(it.3, Verdict::Wait(_)))
}

/// Returns whether the kubelet of a node has a serving certificate for an address that its machine has now, by what is
/// observed. Approved requests are deleted an hour after their approval, so false means nothing for older nodes. `created`
/// is the creation of the node: a former one of this name had another certificate. A machine that was restarted has
/// another address than before, for which its kubelet requests another certificate.
pub(crate) fn is_served(
    name: &str,
    machine: &ObservedMachine,
    created: i64,
    facts: &Facts,
) -> bool {
    let addresses = &machine.placement.node_addresses;
    let has_address = |request: &KubeletRequest| {
        let content = request.content.as_ref();
        let is_current =
            |it: &RequestedCertificate| it.addresses.iter().any(|it| addresses.contains(it));
        addresses.is_empty() || content.is_ok_and(is_current)
    };
    facts.signing_requests.values().any(|it| {
        let request = &it.request;
        request.signer == KubeletSigner::Serving
            && request.created >= created
            && request.decision == SigningDecision::Approved
            && request.username.strip_prefix(NODE_USER) == Some(name)
            && has_address(request)
    })
}

/// The machine whose token or certificate the request was made with.
fn applicant<'a>(
    request: &KubeletRequest,
    facts: &'a Facts,
) -> Option<(&'a Arc<str>, &'a ObservedMachine)> {
    let mut machines = facts.machines.values().flatten();
    match request.signer {
        KubeletSigner::Client => {
            let id = request.username.strip_prefix(TOKEN_USER)?;
            machines.find(|it| names::token_id(it.0) == id)
        }
        KubeletSigner::Serving => {
            let node = request.username.strip_prefix(NODE_USER)?;
            machines.find(|it| **it.0 == *node)
        }
    }
}

/// A rule that is not met ends the judgment.
type Judged = Result<Verdict, Verdict>;

fn deny(reason: impl Into<String>) -> Verdict {
    Verdict::Deny(reason.into())
}

fn require(is_met: bool, otherwise: impl FnOnce() -> Verdict) -> Result<(), Verdict> {
    match is_met {
        true => Ok(()),
        false => Err(otherwise()),
    }
}

/// Rules of both certificates.
fn content<'a>(
    request: &'a KubeletRequest,
    machine: &str,
    purpose: &str,
) -> Result<&'a RequestedCertificate, Verdict> {
    let content = request.content.as_ref().map_err(|it| deny(&**it))?;
    let name = &content.common_name;
    require(name.strip_prefix(NODE_USER) == Some(machine), || {
        deny(format!(
            "the credentials are those of machine {machine}, the request is for {name:?}"
        ))
    })?;
    let organizations: Vec<&str> = content.organizations.iter().map(|it| &**it).collect();
    require(organizations == [NODES], || {
        deny(format!(
            "the organization must be {NODES:?}, not {organizations:?}"
        ))
    })?;
    let needed = ["digital signature", purpose];
    let may_have = |it: &str| needed.contains(&it) || it == "key encipherment";
    let has = |it: &&str| request.usages.contains(*it);
    require(
        needed.iter().all(has) && request.usages.iter().all(|it| may_have(it)),
        || {
            deny(format!(
                "the usages must be \"digital signature\" and {purpose:?}, with or without \"key encipherment\""
            ))
        },
    )?;
    let lifetime = request.expiration.unwrap_or(MAX_LIFETIME);
    require((MIN_LIFETIME..=MAX_LIFETIME).contains(&lifetime), || {
        deny(format!(
            "the lifetime must be {MIN_LIFETIME} to {MAX_LIFETIME} seconds, not {lifetime}"
        ))
    })?;
    Ok(content)
}

fn judge_client(
    name: &str,
    request: &KubeletRequest,
    facts: &Facts,
    machine_name: &Arc<str>,
    machine: &ObservedMachine,
) -> Judged {
    let wanted = content(request, machine_name, "client auth")?;
    require(
        wanted.dns_names.is_empty() && wanted.addresses.is_empty(),
        || deny("a client certificate has no alternative names"),
    )?;
    require(!facts.nodes.contains_key(machine_name), || {
        deny(format!("node {machine_name} has joined already"))
    })?;
    let others = || {
        let all = facts.signing_requests.iter();
        all.filter(|(other, it)| {
            ***other != *name
                && it.request.signer == KubeletSigner::Client
                && it.request.username == request.username
        })
    };
    let key_of = |it: &KubeletRequest| it.content.as_ref().ok().map(|it| it.key.clone());
    let since = token_created(machine_name, facts).ok_or_else(|| {
        Verdict::Wait(format!(
            "bootstrap token of machine {machine_name} not found"
        ))
    })?;
    let used = others().find(|(_, it)| {
        it.request.decision == SigningDecision::Approved
            // A former machine of this name had another token.
            && it.request.created >= since
            && key_of(&it.request).as_ref() != Some(&wanted.key)
    });
    require(used.is_none(), || {
        let by = used.map(|it| it.0.to_string()).unwrap_or_default();
        deny(format!(
            "the bootstrap token was used already, by request {by} with another key"
        ))
    })?;
    // A kubelet that starts again has another key; its former request is of no use to it.
    let newer = others().find(|(other, it)| {
        it.request.decision == SigningDecision::Pending
            && key_of(&it.request).as_ref() != Some(&wanted.key)
            && (it.request.created, &***other) > (request.created, name)
    });
    require(newer.is_none(), || {
        let by = newer.map(|it| it.0.to_string()).unwrap_or_default();
        deny(format!("request {by} of the same bootstrap token is newer"))
    })?;
    require(machine.phase != MachinePhase::Deleting, || {
        deny(format!("machine {machine_name} is being deleted"))
    })?;
    runs(machine_name, machine)?;
    Ok(Verdict::Approve)
}

/// Creation of the machine's bootstrap token by the clock of the shoot's API server; None if it does not exist.
fn token_created(machine: &str, facts: &Facts) -> Option<i64> {
    let id = names::token_id(machine);
    let token = format!("kube-system/bootstrap-token-{id}");
    let token = ObjectKey::shoot(ObjectKind::BootstrapToken, token);
    match &facts.objects.get(&token)?.status {
        ObjectStatus::Token(created) => Some(*created),
        _ => None,
    }
}

fn judge_serving(
    request: &KubeletRequest,
    facts: &Facts,
    machine_name: &Arc<str>,
    machine: &ObservedMachine,
) -> Judged {
    let wanted = content(request, machine_name, "server auth")?;
    let foreign = wanted.dns_names.iter().find(|it| *it != machine_name);
    require(foreign.is_none(), || {
        let name = foreign.map(|it| it.to_string()).unwrap_or_default();
        deny(format!(
            "{name:?} is not the name of machine {machine_name}"
        ))
    })?;
    require(!wanted.addresses.is_empty(), || {
        deny("the request has no IP address")
    })?;
    for address in &wanted.addresses {
        require(is_unicast(*address), || {
            deny(format!("{address} is not the address of a machine"))
        })?;
        if let Some(owner) = owner(*address, machine_name, facts) {
            let own = machine.placement.node_addresses.contains(address);
            let reason = format!("{address} is the address of {owner}");
            // The provider may give an address to another machine before both reports are up to date.
            return Err(match own {
                true => Verdict::Wait(reason),
                false => Verdict::Deny(reason),
            });
        }
    }
    runs(machine_name, machine)?;
    require(!machine.placement.is_migrating, || {
        Verdict::Wait(format!("machine {machine_name} is being migrated"))
    })?;
    let own = &machine.placement.node_addresses;
    require(!own.is_empty(), || {
        Verdict::Wait(format!(
            "the provider cluster reports no address of machine {machine_name}"
        ))
    })?;
    let unknown = wanted.addresses.iter().find(|it| !own.contains(it));
    require(unknown.is_none(), || {
        let address = unknown.map(ToString::to_string).unwrap_or_default();
        Verdict::Wait(format!(
            "{address} is not an address that the provider cluster reports of machine {machine_name}"
        ))
    })?;
    Ok(Verdict::Approve)
}

fn runs(name: &str, machine: &ObservedMachine) -> Result<(), Verdict> {
    require(
        machine.runs && machine.phase != MachinePhase::Deleting,
        || Verdict::Wait(format!("the VM of machine {name} is not running")),
    )
}

/// Returns false for addresses that mean something else than one machine. Link-local addresses of IPv6 may be those of a
/// machine, since guest agents report them.
fn is_unicast(address: IpAddr) -> bool {
    let is_special = match address {
        // Metadata services have link-local addresses.
        IpAddr::V4(it) => it.is_link_local() || it.is_broadcast(),
        IpAddr::V6(_) => false,
    };
    !(is_special || address.is_loopback() || address.is_unspecified() || address.is_multicast())
}

/// Another machine, or a Service of the control plane, that has the address. Clients of the API server would take a
/// certificate for its address for that of the API server, which has the same CA.
fn owner(address: IpAddr, machine: &str, facts: &Facts) -> Option<String> {
    let mut machines = facts.machines.values().flatten();
    let other = machines
        .find(|(name, it)| ***name != *machine && it.placement.node_addresses.contains(&address));
    if let Some((name, _)) = other {
        return Some(format!("machine {name}"));
    }
    let mut objects = facts.objects.iter();
    let service = objects.find(|(key, it)| match &it.status {
        ObjectStatus::Service(service) if key.side == ClusterSide::Provider => {
            let addresses = service.cluster_ip.iter().chain(&service.ingress);
            let mut addresses = addresses.filter_map(|it| it.parse::<IpAddr>().ok());
            addresses.any(|it| it.to_canonical() == address)
        }
        _ => false,
    });
    service.map(|(key, _)| key.to_string())
}

#[cfg(test)]
#[path = "certificate_judgment_tests.rs"]
mod tests;
