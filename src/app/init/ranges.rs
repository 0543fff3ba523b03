//! Address ranges of a new cluster that do not collide with those of the provider cluster.

use crate::cluster::ProviderInventory;
use crate::model::Cidr;

/// Used if the provider does not publish its pod network.
const NODES: &str = "10.64.0.0/12";
/// The first ones are the defaults of Gardener.
const PODS: [&str; 3] = ["100.96.0.0/11", "10.160.0.0/11", "172.16.0.0/13"];
const SERVICES: [&str; 3] = ["100.64.0.0/13", "10.240.0.0/13", "172.24.0.0/13"];

/// Address ranges of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AddressRanges {
    pub(super) nodes: String,
    pub(super) pods: String,
    pub(super) services: String,
}

/// Chooses the ranges for an existing or guessed range of nodes.
pub(super) fn ranges(nodes: Option<&str>, inventory: &ProviderInventory) -> AddressRanges {
    let known: Vec<Cidr> = inventory
        .pod_ranges
        .iter()
        .filter_map(|it| Cidr::parse(it).ok())
        .filter(|it| !it.is_ipv6())
        .collect();
    let covering = || covering(&known).map(|it| it.to_string());
    let nodes = nodes.map(str::to_owned).or_else(covering);
    let nodes = nodes.unwrap_or_else(|| NODES.to_owned());
    let service = inventory
        .service_address
        .as_ref()
        .and_then(|it| Cidr::parse(&format!("{it}/32")).ok());
    let own = Cidr::parse(&nodes).ok();
    let taken: Vec<Cidr> = known.into_iter().chain(service).chain(own).collect();
    AddressRanges {
        nodes,
        pods: free(&PODS, &taken),
        services: free(&SERVICES, &taken),
    }
}

/// The first candidate that overlaps with no range; the first one if all do.
fn free(candidates: &[&str; 3], taken: &[Cidr]) -> String {
    let is_free = |candidate: &&&str| {
        let range = Cidr::parse(candidate);
        range.is_ok_and(|range| !taken.iter().any(|other| other.overlaps(range)))
    };
    (*candidates.iter().find(is_free).unwrap_or(&candidates[0])).to_owned()
}

/// The smallest range of at least 2^16 addresses that contains all ranges, unless they have little in common.
fn covering(ranges: &[Cidr]) -> Option<Cidr> {
    let first = ranges.first()?.address(0);
    (8..=16).rev().find_map(|length| {
        let range = Cidr::parse(&format!("{first}/{length}")).ok()?.canonical();
        let contains = |it: &Cidr| it.length >= length && it.overlaps(range);
        ranges.iter().all(contains).then_some(range)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pods: &[&str], service: Option<&str>) -> AddressRanges {
        let inventory = ProviderInventory {
            pod_ranges: pods.iter().map(ToString::to_string).collect(),
            service_address: service.map(str::to_owned),
            ..ProviderInventory::default()
        };
        ranges(None, &inventory)
    }

    #[test]
    fn nodes_have_addresses_of_the_pod_network() {
        let found = of(&["10.244.0.0/24", "10.244.7.0/24"], Some("10.96.0.1"));
        assert_eq!(found.nodes, "10.244.0.0/16");
        assert_eq!(
            (found.pods.as_str(), found.services.as_str()),
            (PODS[0], SERVICES[0])
        );
        assert_eq!(
            of(&["10.1.0.0/24", "10.2.0.0/24"], None).nodes,
            "10.0.0.0/14"
        );
        assert_eq!(of(&["10.0.0.0/9"], None).nodes, "10.0.0.0/9");
    }

    #[test]
    fn unknown_and_unrelated_pod_ranges_have_a_default() {
        for pods in [
            &[][..],
            &["10.1.0.0/24", "192.168.0.0/24"],
            &["fd00::/64"],
            &["x"],
        ] {
            assert_eq!(of(pods, None).nodes, NODES);
        }
    }

    #[test]
    fn ranges_of_a_provider_that_is_a_shoot_itself_are_not_used_again() {
        let found = of(&["100.96.0.0/24", "100.96.1.0/24"], Some("100.64.0.1"));
        assert_eq!(found.nodes, "100.96.0.0/16");
        assert_eq!(
            (found.pods.as_str(), found.services.as_str()),
            (PODS[1], SERVICES[1])
        );
    }
}
