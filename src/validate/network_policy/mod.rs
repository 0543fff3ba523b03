//! NetworkPolicies: the default ones and custom ones.

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

/// NetworkPolicies of a shoot, in addition to those of its control plane.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct NetworkPolicies {
    /// True if private addresses are blocked for machines and importers.
    pub(crate) default: bool,
    /// Custom policies of the CloudProfile, followed by those of the Shoot.
    pub(crate) custom: Vec<CustomNetworkPolicy>,
}

/// Name suffixes of kvshoot's policies, after the technical ID.
pub(crate) const OURS: [&str; 9] = [
    "allow-kubevirt-importer",
    "cloud-controller-manager",
    "cluster-autoscaler",
    "cluster-isolation",
    "csi-controller",
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
];

/// Maximum length of an object name.
const MAX_NAME: usize = 253;

const NAME: &str =
    "use lower-case letters, digits, - and ., with a letter or digit at both ends of each part";
const TYPES: [&str; 2] = ["Ingress", "Egress"];

const OF_PROFILE: &str = "app.kubernetes.io/component: machine";

/// Checks the policies of a CloudProfile.
pub(crate) fn check_profile(profile: &CloudProfile, at: &FieldCursor, report: &mut FindingSink) {
    let policies = &profile.spec.provider_config.custom_network_policies;
    let at = &at.key("customNetworkPolicies");
    check_all(policies, OF_PROFILE, at, report);
}

/// Checks the policies of a Shoot, by themselves and together with those of its CloudProfile.
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
            let message = format!(
                "duplicate policy {:?}: already defined in the CloudProfile",
                policy.name
            );
            report
                .error(
                    &at.index(i).key("name"),
                    FindingKind::Duplicate,
                    "network-policy/duplicate",
                    message,
                )
                .see(&at_profile.index(first).key("name"), "first defined here");
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

/// Warns about a host name, which may resolve to a blocked private address.
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
            "machines may be unable to reach {:?}: network policies allow addresses, not host names",
            address.host
        );
        report
            .warning(
                at,
                FindingKind::Invalid,
                "network-policy/host-name",
                message,
            )
            .hint("use an IP address, or allow its addresses in customNetworkPolicies");
    }
}

/// `machines` are the labels of machines, for a hint.
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
            let message = format!("duplicate policy {given:?}");
            report
                .error(
                    at_name,
                    FindingKind::Duplicate,
                    "network-policy/duplicate",
                    message,
                )
                .see(&at.index(first).key("name"), "first defined here");
        }
        spec(&policy.spec, machines, &at_one.key("spec"), report);
    }
}

fn name(name: &str, at: &FieldCursor, report: &mut FindingSink) {
    if OURS.contains(&name) {
        let message = format!("policy name {name:?} is reserved");
        report
            .error(
                at,
                FindingKind::Forbidden,
                "network-policy/reserved",
                message,
            )
            .hint("use another name; policies are additive");
    } else if !name.is_empty() && name.len() <= MAX_NAME && !names::is_dns_subdomain(name) {
        let message = format!("{name:?} is not a valid object name");
        report
            .error(at, FindingKind::Invalid, "network-policy/name", message)
            .hint(NAME);
    }
}

fn lengths(policies: &[CustomNetworkPolicy], id: &str, at: &FieldCursor, report: &mut FindingSink) {
    for (i, policy) in policies.iter().enumerate() {
        let length = id.len() + 1 + policy.name.len();
        if length > MAX_NAME {
            let message = format!(
                "object name, prefixed with {id}-, must be at most {MAX_NAME} characters (is {length})"
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
            let message =
                "selects every pod in the namespace, including control planes and other clusters";
            report
                .warning(
                    at_pods,
                    FindingKind::Invalid,
                    "network-policy/every-pod",
                    message,
                )
                .hint(format!(
                    "to select machines only, use matchLabels: {{{machines}}}"
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
            let message = format!("duplicate policy type {given:?}");
            report
                .error(here, FindingKind::Duplicate, code, message)
                .see(&at_types.index(first), "first defined here")
                .hint("list each policy type at most once");
        }
    }
    let has_rules = [!spec.ingress.is_empty(), !spec.egress.is_empty()];
    for ((type_, field), has_rules) in TYPES.iter().zip(["ingress", "egress"]).zip(has_rules) {
        if has_rules && !known.is_empty() && !known.contains_key(type_) {
            let message = format!("has no effect: policyTypes does not include {type_}");
            report
                .warning(
                    &at.key(field),
                    FindingKind::Invalid,
                    "network-policy/unused",
                    message,
                )
                .see(at_types, "not included here");
        }
    }
    let ingress_by_default = known.is_empty() && spec.ingress.is_empty() && !spec.egress.is_empty();
    if ingress_by_default {
        report
            .warning(
                at_types,
                FindingKind::Invalid,
                "network-policy/types-absent",
                "not set: ingress to the pods is denied as well",
            )
            .hint("set policyTypes: [Egress] to restrict only egress, else [Ingress, Egress]");
    }
}
