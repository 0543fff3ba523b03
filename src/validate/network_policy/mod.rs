//! NetworkPolicies: whether there are those that kvshoot knows, and those that people write themselves.

mod rule;
mod selector;

use std::collections::HashMap;
use std::net::IpAddr;

use super::context::Input;
use super::names;
use super::report::{FieldCursor, FindingSink};
use super::rules::one_of;
use super::shoot::control_plane::ControlPlaneSpec;
use crate::model::{
    CloudProfile, CustomNetworkPolicy, DocumentKind, FindingKind, NetworkPolicySpec,
};

/// Of a shoot, beside those of its control plane.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct NetworkPolicies {
    /// Whether machines and importers are kept off private addresses.
    pub(crate) default: bool,
    /// Those of the CloudProfile, then those of the Shoot.
    pub(crate) custom: Vec<CustomNetworkPolicy>,
}

/// What kvshoot's own are called after the technical ID.
pub(crate) const OURS: [&str; 8] = [
    "allow-kubevirt-importer",
    "cloud-controller-manager",
    "cluster-isolation",
    "csi-controller",
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
];

/// The longest name that an object may have.
const MOST_NAME: usize = 253;

const NAME: &str =
    "write small letters, digits, - and ., with a letter or digit at both ends of each part";
const TYPES: [&str; 2] = ["Ingress", "Egress"];

const OF_PROFILE: &str = "app.kubernetes.io/component: machine";

/// Those of a profile by themselves.
pub(crate) fn check_profile(profile: &CloudProfile, at: &FieldCursor, report: &mut FindingSink) {
    let policies = &profile.spec.provider_config.custom_network_policies;
    let at = &at.key("customNetworkPolicies");
    check_all(policies, OF_PROFILE, at, report);
}

/// Those of a Shoot, by themselves and beside those of its profile.
pub(crate) fn check(
    input: &Input,
    id: &str,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> NetworkPolicies {
    let profile = &input.profile.spec.provider_config;
    let config = input.shoot.spec.provider.infrastructure_config.as_ref();
    let own = config.map_or(&[][..], |it| &it.custom_network_policies);
    let at = &at.key("customNetworkPolicies");
    let machines = format!("app.kubernetes.io/part-of: {id}, {OF_PROFILE}");
    check_all(own, &machines, at, report);

    let root = &FieldCursor::root(DocumentKind::CloudProfile);
    let at_profile = &root.key("spec");
    let at_profile = &at_profile.key("providerConfig");
    let at_profile = &at_profile.key("customNetworkPolicies");
    lengths(&profile.custom_network_policies, id, at_profile, report);
    lengths(own, id, at, report);
    for (i, policy) in own.iter().enumerate() {
        let mut others = profile.custom_network_policies.iter();
        let first = others.position(|it| it.name == policy.name && !it.name.is_empty());
        if let Some(first) = first {
            let message = format!("the profile has a policy {} already", policy.name);
            report
                .error(
                    &at.index(i).key("name"),
                    FindingKind::Duplicate,
                    "network-policy/duplicate",
                    message,
                )
                .see(&at_profile.index(first).key("name"), "the profile's");
        }
    }
    let given = config.and_then(|it| it.enable_default_network_policies);
    let default = given.or(profile.enable_default_network_policies);
    let all = profile.custom_network_policies.iter().chain(own);
    NetworkPolicies {
        default: default.unwrap_or_default(),
        custom: all.cloned().collect(),
    }
}

/// A name may stand for a private address, which only a policy for that opens.
pub(crate) fn check_address(
    policies: &NetworkPolicies,
    control_plane: &ControlPlaneSpec,
    at: &FieldCursor,
    report: &mut FindingSink,
) {
    let given = control_plane.node_address.as_ref();
    let named = given.filter(|it| it.host.parse::<IpAddr>().is_err());
    if let Some(address) = named.filter(|_| policies.default) {
        let message = format!(
            "{} may be out of the machines' reach: network policies open addresses and no names",
            address.host
        );
        report
            .warning(
                at,
                FindingKind::Invalid,
                "network-policy/host-name",
                message,
            )
            .hint("write an address, or open what it stands for in customNetworkPolicies");
    }
}

/// `machines` are the labels of what is probably meant.
fn check_all(
    policies: &[CustomNetworkPolicy],
    machines: &str,
    at: &FieldCursor,
    report: &mut FindingSink,
) {
    let mut known = HashMap::new();
    for (i, policy) in policies.iter().enumerate() {
        let at_one = &at.index(i);
        let at_name = &at_one.key("name");
        let given = policy.name.as_str();
        name(given, at_name, report);
        if let Some(first) = known.insert(given, i).filter(|_| !given.is_empty()) {
            let message = format!("there is a policy {given} already");
            report
                .error(
                    at_name,
                    FindingKind::Duplicate,
                    "network-policy/duplicate",
                    message,
                )
                .see(&at.index(first).key("name"), "the first one");
        }
        spec(&policy.spec, machines, &at_one.key("spec"), report);
    }
}

fn name(name: &str, at: &FieldCursor, report: &mut FindingSink) {
    if OURS.contains(&name) {
        let message = format!("{name} is what a policy of kvshoot's own is called");
        report
            .error(
                at,
                FindingKind::Forbidden,
                "network-policy/reserved",
                message,
            )
            .hint("take another name; what policies allow adds up");
    } else if !name.is_empty() && name.len() <= MOST_NAME && !names::is_dns_subdomain(name) {
        let message = format!("{name:?} is no name of an object");
        report
            .error(at, FindingKind::Invalid, "network-policy/name", message)
            .hint(NAME);
    }
}

fn lengths(policies: &[CustomNetworkPolicy], id: &str, at: &FieldCursor, report: &mut FindingSink) {
    for (i, policy) in policies.iter().enumerate() {
        let whole = id.len() + 1 + policy.name.len();
        if whole > MOST_NAME {
            let message = format!(
                "makes a name of {whole} characters with {id} before it, more than {MOST_NAME}"
            );
            report.error(
                &at.index(i).key("name"),
                FindingKind::TooLong,
                "network-policy/name-too-long",
                message,
            );
        }
    }
}

fn spec(spec: &NetworkPolicySpec, machines: &str, at: &FieldCursor, report: &mut FindingSink) {
    let at_pods = &at.key("podSelector");
    match spec.pod_selector.as_ref().filter(|it| !it.is_empty()) {
        Some(pods) => selector::check(pods, at_pods, report),
        None => {
            let message = "is for every pod of the namespace, of the control plane and of other clusters as well";
            report
                .warning(
                    at_pods,
                    FindingKind::Invalid,
                    "network-policy/every-pod",
                    message,
                )
                .hint(format!(
                    "for machines alone write matchLabels: {{{machines}}}"
                ));
        }
    }
    types(spec, at, report);
    let (at_ingress, at_egress) = (&at.key("ingress"), &at.key("egress"));
    for (i, rule) in spec.ingress.iter().enumerate() {
        let at = &at_ingress.index(i);
        rule::peers(&rule.from, &at.key("from"), report);
        rule::ports(&rule.ports, &at.key("ports"), report);
    }
    for (i, rule) in spec.egress.iter().enumerate() {
        let at = &at_egress.index(i);
        rule::peers(&rule.to, &at.key("to"), report);
        rule::ports(&rule.ports, &at.key("ports"), report);
    }
}

fn types(spec: &NetworkPolicySpec, at: &FieldCursor, report: &mut FindingSink) {
    let at_types = &at.key("policyTypes");
    let code = "network-policy/types";
    let mut known = HashMap::new();
    for (i, given) in spec.policy_types.iter().enumerate() {
        let here = &at_types.index(i);
        one_of(Some(given), &TYPES, here, code, report);
        if let Some(first) = known.insert(given.as_str(), i) {
            let message = format!("{given} is there already");
            report
                .error(here, FindingKind::Duplicate, code, message)
                .see(&at_types.index(first), "the first one")
                .hint("one of each at most: Ingress, Egress");
        }
    }
    let has_rules = [!spec.ingress.is_empty(), !spec.egress.is_empty()];
    for ((type_, field), has_rules) in TYPES.iter().zip(["ingress", "egress"]).zip(has_rules) {
        if has_rules && !known.is_empty() && !known.contains_key(type_) {
            let message = format!("has no effect: policyTypes lacks {type_}");
            report
                .warning(
                    &at.key(field),
                    FindingKind::Invalid,
                    "network-policy/unused",
                    message,
                )
                .see(at_types, "without it");
        }
    }
    let ingress_by_default = known.is_empty() && spec.ingress.is_empty() && !spec.egress.is_empty();
    if ingress_by_default {
        report
            .warning(
                at_types,
                FindingKind::Invalid,
                "network-policy/types-absent",
                "are absent, so that nobody may connect to the pods either",
            )
            .hint("write policyTypes: [Egress] when only egress is meant, else [Ingress, Egress]");
    }
}
