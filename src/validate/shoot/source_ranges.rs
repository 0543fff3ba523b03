//! Ranges of addresses from which the API server is reachable, of `controlPlaneConfig` or Gardener's extension `acl`.

use crate::model::{Cidr, Extension, FindingKind, Shoot};
use crate::validate::context::Input;
use crate::validate::report::{FieldCursor, FindingSink};
use serde::Deserialize;

const ACL: &str = "acl";
const RULE: &str = "control-plane/source-ranges";

/// `providerConfig` of the extension `acl`.
#[derive(Deserialize)]
struct AclConfig {
    rule: AclRule,
}

#[derive(Deserialize)]
struct AclRule {
    action: String,
    cidrs: Vec<String>,
}

/// The ranges; empty if the API server is reachable from everywhere.
pub(super) fn check(input: &Input, spec: &FieldCursor, report: &mut FindingSink) -> Vec<String> {
    let shoot = input.shoot;
    let extensions = &spec.key("extensions");
    let acl = acl(&shoot.spec.extensions, extensions, report);
    let provider = &spec.key("provider");
    let config = &provider.key("controlPlaneConfig");
    let at_exposure = &config.key("exposure");
    let given = shoot.spec.provider.control_plane_config.as_ref();
    let exposure = given.and_then(|it| it.exposure.as_ref());
    let own = exposure.map(|it| it.load_balancer_source_ranges.as_slice());
    let own = own.unwrap_or_default();
    let at_own = &at_exposure.key("loadBalancerSourceRanges");
    let (ranges, at) = match (own, acl) {
        ([], None) => return Vec::new(),
        ([], Some((index, ranges))) => (ranges, &extensions.index(index)),
        (own, None) => (own.to_vec(), at_own),
        (_, Some(_)) => {
            let message = "cannot be set in addition to the extension acl";
            report.error(at_own, FindingKind::Forbidden, RULE, message);
            return Vec::new();
        }
    };
    // Another value is reported for the type.
    if exposure.is_some_and(|it| ["NodePort", "None"].contains(&it.type_.as_str())) {
        let message = "limits a load balancer, but the API server is exposed without one";
        let hint = "set exposure.type to LoadBalancer, or limit the access by other means";
        report
            .error(at, FindingKind::Forbidden, RULE, message)
            .hint(hint);
    }
    if uses_load_balancer(shoot) {
        let message = "machines reach the API server by its load balancer: without their addresses, they do not join";
        let hint = "the ranges must include the addresses that packets of machines have at the load balancer";
        report
            .warning(at, FindingKind::Invalid, RULE, message)
            .hint(hint);
    }
    ranges
        .iter()
        .enumerate()
        .filter_map(|(index, text)| match Cidr::parse(text) {
            Ok(range) => Some(range.canonical().to_string()),
            Err(message) => {
                let at = match own {
                    [] => at,
                    _ => &at.index(index),
                };
                let finding = report.error(at, FindingKind::Invalid, RULE, message);
                if let Ok(address) = text.parse::<std::net::IpAddr>() {
                    let length = if address.is_ipv4() { 32 } else { 128 };
                    finding.hint(format!("write {address}/{length}"));
                }
                None
            }
        })
        .collect()
}

/// Index and ranges of the extension `acl`. The others have no effect.
fn acl(
    extensions: &[Extension],
    at: &FieldCursor,
    report: &mut FindingSink,
) -> Option<(usize, Vec<String>)> {
    let mut found = None;
    for (index, extension) in extensions.iter().enumerate() {
        let at = &at.index(index);
        if extension.type_ != ACL {
            let message = "no effect: kvshoot runs no Gardener extensions";
            report.warning(
                &at.key("type"),
                FindingKind::NotSupported,
                "shoot/extension",
                message,
            );
        } else if extension.disabled != Some(true) {
            found = ranges_of(extension, at, report).map(|ranges| (index, ranges));
        }
    }
    found
}

fn ranges_of(
    extension: &Extension,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> Option<Vec<String>> {
    let config = extension.provider_config.clone().unwrap_or_default();
    let config = serde_json::from_value::<AclConfig>(config);
    let message = match config {
        Ok(AclConfig { rule }) if rule.cidrs.is_empty() => "rule.cidrs is empty".to_owned(),
        Ok(AclConfig { rule }) if rule.action != "ALLOW" => {
            format!("unsupported value {:?} of rule.action", rule.action)
        }
        Ok(AclConfig { rule }) => return Some(rule.cidrs),
        Err(error) => format!("invalid configuration of acl: {error}"),
    };
    let hint = "write for example {rule: {action: ALLOW, type: remote_ip, cidrs: [192.0.2.0/24]}}";
    let at = &at.key("providerConfig");
    report
        .error(at, FindingKind::Invalid, RULE, message)
        .hint(hint);
    None
}

/// True if machines do not use the ClusterIP of the API server: they are not in the pod network of the provider.
fn uses_load_balancer(shoot: &Shoot) -> bool {
    let provider = &shoot.spec.provider;
    let has_address = provider
        .control_plane_config
        .as_ref()
        .is_some_and(|it| it.node_address.is_some());
    let networks = provider
        .infrastructure_config
        .as_ref()
        .and_then(|it| it.networks.as_ref());
    let replaces_pod_network =
        networks.is_some_and(|it| it.tenant_networks.iter().any(|network| network.default));
    replaces_pod_network && !has_address
}
