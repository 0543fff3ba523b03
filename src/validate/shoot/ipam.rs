//! The addresses that the CNI configuration of a tenant network assigns.

use std::fmt;
use std::net::IpAddr;

use serde_json::Value;

use crate::model::Cidr;

/// The addresses of a subnet that a plugin assigns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AssignedRange {
    /// Every machine of the network has a route to all of it.
    pub(crate) subnet: Cidr,
    first: IpAddr,
    last: IpAddr,
}

impl AssignedRange {
    /// Returns true if all assigned addresses are in this range. Both ends decide, since a CIDR range has no gaps.
    pub(crate) fn is_within(self, range: Cidr) -> bool {
        let has = |it: IpAddr| {
            let length = if it.is_ipv6() { 128 } else { 32 };
            Cidr::parse(&format!("{it}/{length}")).is_ok_and(|it| range.contains(it))
        };
        has(self.first) && has(self.last)
    }

    /// An end that is absent or not an address is that of the subnet.
    fn new(subnet: Cidr, first: Option<&str>, last: Option<&str>) -> AssignedRange {
        let subnet = subnet.canonical();
        let address = |text: Option<&str>| {
            let address: IpAddr = text?.parse().ok()?;
            (address.is_ipv6() == subnet.is_ipv6()).then_some(address)
        };
        AssignedRange {
            subnet,
            first: address(first).unwrap_or_else(|| subnet.address(0)),
            last: address(last).unwrap_or_else(|| last_of(subnet)),
        }
    }
}

impl fmt::Display for AssignedRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            subnet,
            first,
            last,
        } = self;
        if (*first, *last) == (subnet.address(0), last_of(*subnet)) {
            write!(f, "{subnet}")
        } else if first == last {
            write!(f, "{first}")
        } else {
            write!(f, "{first}-{last}")
        }
    }
}

fn last_of(subnet: Cidr) -> IpAddr {
    let length = u32::from(subnet.length);
    match subnet.address(0) {
        IpAddr::V4(it) => {
            let hosts = u32::MAX.checked_shr(length).unwrap_or(0);
            IpAddr::V4((u32::from(it) | hosts).into())
        }
        IpAddr::V6(it) => {
            let hosts = u128::MAX.checked_shr(length).unwrap_or(0);
            IpAddr::V6((u128::from(it) | hosts).into())
        }
    }
}

/// Addresses that the plugins of a CNI configuration assign; none for a configuration that cannot be read.
///
/// The plugins are host-local (`subnet`, `ranges`), whereabouts (`range`, `ipRanges`) and static (`addresses`).
pub(crate) fn assigned_ranges(text: &str) -> Vec<AssignedRange> {
    let config: Value = serde_json::from_str(text).unwrap_or_default();
    let plugins = config["plugins"].as_array().map_or(&[][..], Vec::as_slice);
    let all = plugins.iter().chain([&config]);
    all.flat_map(|plugin| of_plugin(&plugin["ipam"])).collect()
}

/// Subnets and ranges of a CNI configuration that are no ranges of addresses.
pub(super) fn broken_ranges(text: &str) -> Vec<String> {
    let config: Value = serde_json::from_str(text).unwrap_or_default();
    let plugins = config["plugins"].as_array().map_or(&[][..], Vec::as_slice);
    let all = plugins.iter().chain([&config]).map(|it| &it["ipam"]);
    let lists = ["ranges", "ipRanges"];
    let nested = |ipam: &Value| {
        let sets = lists
            .into_iter()
            .filter_map(|it| ipam[it].as_array().cloned());
        let items = sets.flatten().flat_map(|it| match it {
            Value::Array(items) => items,
            other => vec![other],
        });
        items.chain([ipam.clone()]).collect::<Vec<_>>()
    };
    let texts = all.flat_map(nested).flat_map(|it| {
        let fields = ["subnet", "range"].into_iter();
        fields
            .filter_map(move |name| it[name].as_str().map(str::to_owned))
            .collect::<Vec<_>>()
    });
    let is_broken = |it: &String| {
        let range = it.split_once('-').map_or(it.as_str(), |(_, rest)| rest);
        Cidr::parse(range).is_err()
    };
    texts.filter(is_broken).collect()
}

fn of_plugin(ipam: &Value) -> Vec<AssignedRange> {
    let list = |field: &str| ipam[field].as_array().map_or(&[][..], Vec::as_slice).iter();
    let sets = list("ranges").filter_map(Value::as_array).flatten();
    let host_local = [ipam].into_iter().chain(sets).filter_map(host_local);
    let whereabouts = [ipam].into_iter().chain(list("ipRanges"));
    let whereabouts = whereabouts.filter_map(whereabouts_range);
    let fixed = list("addresses").filter_map(fixed_address);
    host_local.chain(whereabouts).chain(fixed).collect()
}

fn host_local(range: &Value) -> Option<AssignedRange> {
    let subnet = Cidr::parse(range["subnet"].as_str()?).ok()?;
    let (first, last) = (range["rangeStart"].as_str(), range["rangeEnd"].as_str());
    Some(AssignedRange::new(subnet, first, last))
}

/// whereabouts also reads FIRST-LAST/LENGTH, which wins over the fields of the ends.
fn whereabouts_range(range: &Value) -> Option<AssignedRange> {
    let text = range["range"].as_str()?;
    let (first, last) = (range["range_start"].as_str(), range["range_end"].as_str());
    let Some((first, rest)) = text.split_once('-') else {
        return Some(AssignedRange::new(Cidr::parse(text).ok()?, first, last));
    };
    let last = rest.split_once('/').map(|it| it.0);
    Some(AssignedRange::new(
        Cidr::parse(rest).ok()?,
        Some(first),
        last,
    ))
}

fn fixed_address(entry: &Value) -> Option<AssignedRange> {
    let text = entry["address"].as_str()?;
    let address = text.split_once('/').map(|it| it.0);
    Some(AssignedRange::new(
        Cidr::parse(text).ok()?,
        address,
        address,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(ipam: &str) -> Vec<AssignedRange> {
        let text = format!(r#"{{"plugins": [{{"type": "bridge", "ipam": {ipam}}}]}}"#);
        assigned_ranges(&text)
    }

    #[test]
    fn addresses_of_all_address_managers_are_found() {
        for (ipam, expected) in [
            (
                r#"{"subnet": "10.1.0.0/16"}"#,
                &["10.1.0.0/16 of 10.1.0.0/16"][..],
            ),
            (
                r#"{"subnet": "10.1.0.0/24", "rangeStart": "10.1.0.128"}"#,
                &["10.1.0.128-10.1.0.255 of 10.1.0.0/24"],
            ),
            (
                r#"{"ranges": [[{"subnet": "10.1.0.0/24", "rangeEnd": "10.1.0.9"}], [{"subnet": "fd00::/64"}]]}"#,
                &["10.1.0.0-10.1.0.9 of 10.1.0.0/24", "fd00::/64 of fd00::/64"],
            ),
            (
                r#"{"range": "10.1.2.3-10.1.2.9/24"}"#,
                &["10.1.2.3-10.1.2.9 of 10.1.2.0/24"],
            ),
            (
                r#"{"range": "10.1.2.3/24", "range_start": "10.1.2.5", "range_end": "10.1.2.6"}"#,
                &["10.1.2.5-10.1.2.6 of 10.1.2.0/24"],
            ),
            (
                r#"{"ipRanges": [{"range": "10.1.0.0/24"}]}"#,
                &["10.1.0.0/24 of 10.1.0.0/24"],
            ),
            (
                r#"{"addresses": [{"address": "10.1.2.3/24"}]}"#,
                &["10.1.2.3 of 10.1.2.0/24"],
            ),
            (r#"{"type": "dhcp"}"#, &[]),
            (r#"{"subnet": 1, "ranges": ["a"]}"#, &[]),
            (
                r#"{"subnet": "0.0.0.0/0", "rangeStart": "a", "rangeEnd": "::1"}"#,
                &["0.0.0.0/0 of 0.0.0.0/0"],
            ),
        ] {
            let found = found(ipam).into_iter();
            let found: Vec<_> = found.map(|it| format!("{it} of {}", it.subnet)).collect();
            assert_eq!(found, expected, "{ipam}");
        }
        assert_eq!(assigned_ranges("{").len(), 0);
    }

    #[test]
    fn a_range_needs_to_contain_only_the_addresses_that_are_assigned() {
        let range = found(r#"{"range": "192.168.1.17-192.168.1.30/24"}"#)[0];
        for (nodes, expected) in [
            ("192.168.1.16/28", true),
            ("192.168.0.0/16", true),
            ("192.168.1.16/29", false),
            ("192.168.2.0/24", false),
            ("fd00::/8", false),
        ] {
            let nodes = Cidr::parse(nodes).expect("a range");
            assert_eq!(range.is_within(nodes), expected, "{nodes}");
        }
    }
}
