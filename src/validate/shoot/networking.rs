//! `spec.networking`: the address ranges of nodes, pods and services.

use super::ipam;
use crate::model::{Cidr, DocumentKind, FindingKind, Shoot, TenantNetwork};
use crate::validate::context::Input;
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::valid_shoot::NetworkRanges;

pub(crate) const DEFAULT_PODS: &str = "100.96.0.0/11";
pub(crate) const DEFAULT_SERVICES: &str = "100.64.0.0/13";

pub(crate) fn check(
    input: &Input,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> Option<NetworkRanges> {
    let networking = &input.shoot.spec.networking;
    let nodes = range(&networking.nodes, &at.key("nodes"), report);
    let text = |given: &Option<String>, default: &str| given.clone().unwrap_or(default.to_owned());
    let pods_text = text(&networking.pods, DEFAULT_PODS);
    let services_text = text(&networking.services, DEFAULT_SERVICES);
    let pods = range(&pods_text, &at.key("pods"), report);
    let services = range(&services_text, &at.key("services"), report);

    disjoint(("services", services), ("pods", pods), at, report);
    disjoint(("pods", pods), ("nodes", nodes), at, report);
    disjoint(("services", services), ("nodes", nodes), at, report);
    if let Some(pods) = pods {
        capacity(input, pods, at, report);
    }
    // The first addresses are used by the API server and DNS.
    if let Some(services) = services.filter(|it| it.length > 28) {
        let message = format!("range {services} is too small");
        report
            .error(
                &at.key("services"),
                FindingKind::Invalid,
                "networking/services-too-small",
                message,
            )
            .hint("use a prefix length of at most 28");
    }
    tenant_networks(
        input,
        [("pods", pods), ("services", services)],
        nodes,
        at,
        report,
    );
    if nodes.is_none() || pods.is_none() || services.is_none() {
        return None;
    }
    Some(NetworkRanges {
        type_: networking.type_.clone(),
        nodes: networking.nodes.clone(),
        pods: pods_text,
        services: services_text,
        node_mask: node_mask(input.shoot),
    })
}

fn range(text: &str, at: &FieldCursor, report: &mut FindingSink) -> Option<Cidr> {
    if text.is_empty() {
        return None;
    }
    let cidr = match Cidr::parse(text) {
        Ok(cidr) => cidr,
        Err(message) => {
            report.error(at, FindingKind::Invalid, "networking/range", message);
            return None;
        }
    };
    if cidr != cidr.canonical() {
        let message = format!("{text} has host bits set");
        report
            .error(at, FindingKind::Invalid, "networking/host-bits", message)
            .hint(format!("write {}", cidr.canonical()));
        return None;
    }
    if cidr.is_ipv6() {
        let message = "IPv6 ranges are not supported";
        report.error(at, FindingKind::NotSupported, "networking/ipv6", message);
        return None;
    }
    if let Some((special, use_)) = special(cidr) {
        let message = format!("{text} overlaps with {special}, {use_}");
        report.error(at, FindingKind::Invalid, "networking/special", message);
        return None;
    }
    Some(cidr)
}

/// A range that no host can have addresses of, and its use; from IANA's registry of special-purpose addresses.
fn special(cidr: Cidr) -> Option<(&'static str, &'static str)> {
    const SPECIAL: [(&str, &str); 5] = [
        ("0.0.0.0/8", "addresses without a network"),
        ("127.0.0.0/8", "loopback addresses"),
        ("169.254.0.0/16", "link-local addresses"),
        ("224.0.0.0/4", "multicast addresses"),
        ("240.0.0.0/4", "reserved addresses"),
    ];
    let is_met = |range: &str| Cidr::parse(range).is_ok_and(|it| it.overlaps(cidr));
    SPECIAL.into_iter().find(|it| is_met(it.0))
}

/// Reports an overlap for the first range, as Gardener does.
fn disjoint(
    (name, one): (&str, Option<Cidr>),
    (other_name, other): (&str, Option<Cidr>),
    at: &FieldCursor,
    report: &mut FindingSink,
) {
    if let (Some(one), Some(other)) = (one, other)
        && one.overlaps(other)
    {
        let message = format!("{one} overlaps with {other_name} range {other}");
        report
            .error(
                &at.key(name),
                FindingKind::Invalid,
                "networking/overlap",
                message,
            )
            .see(&at.key(other_name), format!("{other_name} range {other}"));
    }
}

/// Checks the ranges against the addresses that tenant networks assign to the machines. What was applied before is not
/// judged again.
fn tenant_networks(
    input: &Input,
    inside: [(&str, Option<Cidr>); 2],
    nodes: Option<Cidr>,
    at: &FieldCursor,
    report: &mut FindingSink,
) {
    let spec = &FieldCursor::root(DocumentKind::Shoot);
    let spec = &spec.key("spec");
    let provider = &spec.key("provider");
    let config = &provider.key("infrastructureConfig");
    let networks = &config.key("networks");
    let list = &networks.key("tenantNetworks");
    let is_same = |it: &&Shoot| it.spec.networking == input.shoot.spec.networking;
    let before = input.previous.filter(is_same).map_or(&[][..], networks_of);
    for (i, network) in networks_of(input.shoot).iter().enumerate() {
        if before
            .iter()
            .any(|it| it.config == network.config && it.default == network.default)
        {
            continue;
        }
        let at_config = &list.index(i);
        let at_config = &at_config.key("config");
        for range in ipam::broken_ranges(&network.config) {
            let message = format!("{range:?} is not a valid CIDR range, such as 10.0.0.0/16");
            report.error(at_config, FindingKind::Invalid, "cni/range", message);
        }
        for assigned in ipam::assigned_ranges(&network.config) {
            let subnet = assigned.subnet;
            let mut refuse = |name: &str, message: String, hint: &str| {
                report
                    .error(
                        &at.key(name),
                        FindingKind::Invalid,
                        "networking/tenant-network",
                        message,
                    )
                    .see(at_config, format!("assigns addresses of {assigned}"))
                    .hint(hint);
            };
            for (name, range) in inside {
                if let Some(range) = range.filter(|it| it.overlaps(subnet)) {
                    let message = format!(
                        "{range} overlaps with {subnet} of tenant network {:?}",
                        network.name
                    );
                    refuse(
                        name,
                        message,
                        "machines would not reach each other; choose another range",
                    );
                }
            }
            if let Some(nodes) = nodes.filter(|it| network.default && !assigned.is_within(*it)) {
                let message = format!(
                    "{nodes} does not contain {assigned}, from which tenant network {:?} assigns the addresses of the nodes",
                    network.name
                );
                refuse("nodes", message, &format!("write {subnet}"));
            }
        }
    }
}

fn networks_of(shoot: &Shoot) -> &[TenantNetwork] {
    let config = shoot.spec.provider.infrastructure_config.as_ref();
    let networks = config.and_then(|it| it.networks.as_ref());
    networks.map_or(&[][..], |it| &it.tenant_networks)
}

/// Checks that the pod range has room for all nodes.
fn capacity(input: &Input, pods: Cidr, at: &FieldCursor, report: &mut FindingSink) {
    let mask = node_mask(input.shoot);
    let ranges = mask
        .checked_sub(pods.length)
        .map_or(0, |bits| 1_u64 << bits);
    let workers = &input.shoot.spec.provider.workers;
    let sum = |count: fn(&crate::model::Worker) -> i32| -> u64 {
        workers
            .iter()
            .map(|pool| u64::try_from(count(pool)).unwrap_or(0))
            .sum()
    };
    let (least, most) = (sum(|pool| pool.minimum), sum(|pool| pool.maximum));
    let at = &at.key("pods");
    let message = |nodes| format!("{pods} has room for {ranges} nodes, but the pools have {nodes}");
    let hint = format!("each node uses a /{mask}; use a larger range");
    if least > ranges {
        report
            .error(
                at,
                FindingKind::Invalid,
                "networking/pods-too-small",
                message(least),
            )
            .hint(hint);
    } else if most > ranges {
        report
            .warning(
                at,
                FindingKind::Invalid,
                "networking/pods-too-small",
                message(most),
            )
            .hint(hint);
    }
}

/// Prefix length of the pod range of each node.
pub(crate) fn node_mask(shoot: &Shoot) -> u8 {
    let given = shoot.spec.kubernetes.kube_controller_manager.as_ref();
    given
        .and_then(|it| it.node_cidr_mask_size)
        .and_then(|mask| u8::try_from(mask).ok())
        .filter(|mask| (16..=28).contains(mask))
        .unwrap_or_else(|| default_mask(super::kubernetes::most_pods(shoot)))
}

/// Prefix length with twice as many addresses as pods, so that addresses are not reused immediately.
fn default_mask(most_pods: i32) -> u8 {
    let addresses = u64::try_from(most_pods).unwrap_or(0).max(1) * 2;
    let bits = addresses.next_power_of_two().trailing_zeros();
    32 - u8::try_from(bits).unwrap_or(16).min(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_has_twice_as_many_addresses_as_pods() {
        for (pods, mask) in [(110, 24), (128, 24), (129, 23), (0, 31), (i32::MAX, 16)] {
            assert_eq!(default_mask(pods), mask, "{pods}");
        }
    }
}
