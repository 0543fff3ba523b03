//! Egress rules. A rule with an empty list of peers would allow everything, so an empty list produces no rule.

use crate::render::control_plane::context::ControlPlaneFacts;
use crate::state::names::PART_OF;
use crate::validate::{ImageSource, ValidShoot};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

/// Private ranges, the range shared by carriers and customers, and link-local, where clouds serve credentials.
const PRIVATE: [&str; 5] = [
    "10.0.0.0/8",
    "100.64.0.0/10",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.168.0.0/16",
];
const PRIVATE_V6: [&str; 2] = ["fc00::/7", "fe80::/10"];

const DNS: u16 = 53;
/// DNS ports of the pods behind the Service: the default, OpenShift's and Gardener's.
const DNS_OF_PODS: [u16; 3] = [DNS, 5353, 8053];
/// Ports of a URL without a port.
const WEB: [u16; 2] = [80, 443];

/// Machines and control plane of one shoot.
pub(crate) fn own_pods(id: &str) -> Value {
    json!({ "to": [{ "podSelector": { "matchLabels": { PART_OF: id } } }] })
}

/// All addresses outside the private ranges.
pub(crate) fn world() -> Value {
    json!({ "to": [
        { "ipBlock": { "cidr": "0.0.0.0/0", "except": PRIVATE } },
        { "ipBlock": { "cidr": "::/0", "except": PRIVATE_V6 } },
    ] })
}

/// The address that machines use. None if it is unknown or a name; then only its pods are reachable.
pub(crate) fn api_server(known: &ControlPlaneFacts) -> Option<Value> {
    let address = &known.node_address;
    let ip = address.host.parse().ok().filter(is_given)?;
    let ports = [address.port, known.konnectivity_port];
    let ports: BTreeSet<u16> = ports.into_iter().filter(|it| *it != 0).collect();
    (!ports.is_empty()).then(|| json!({ "to": [block(ip)], "ports": over(&["TCP"], ports) }))
}

/// The nameservers of all pools.
pub(crate) fn nameservers(shoot: &ValidShoot) -> Option<Value> {
    let configs = shoot
        .pools
        .iter()
        .filter_map(|it| it.worker.dns_config.as_ref());
    let named = configs.flat_map(|it| &it.nameservers);
    let addresses: BTreeSet<IpAddr> = named.filter_map(|it| it.parse().ok()).collect();
    let to: Vec<Value> = addresses.into_iter().map(block).collect();
    (!to.is_empty()).then(|| json!({ "to": to, "ports": over(&["TCP", "UDP"], [DNS]) }))
}

/// The provider's DNS pods: most networks apply policies after a Service's address has been translated to a pod's.
pub(crate) fn dns_pods() -> Value {
    let usual = json!({ "matchExpressions": [
        { "key": "k8s-app", "operator": "In", "values": ["coredns", "kube-dns"] },
    ] });
    let of_openshift =
        json!({ "matchLabels": { "dns.operator.openshift.io/daemonset-dns": "default" } });
    let to: Value = [usual, of_openshift]
        .into_iter()
        .map(|it| json!({ "namespaceSelector": {}, "podSelector": it }))
        .collect();
    json!({ "to": to, "ports": over(&["TCP", "UDP"], DNS_OF_PODS) })
}

/// A DNS cache on each host (NodeLocal DNSCache), or the cloud's own resolver, which are not pods.
pub(crate) fn dns_of_host() -> Value {
    json!({
        "to": [{ "ipBlock": { "cidr": "169.254.0.0/16" } }],
        "ports": over(&["TCP", "UDP"], [DNS]),
    })
}

/// The provider's image repository, by Kubermatic's labels.
pub(crate) fn image_repositories() -> Value {
    json!({ "to": [
        { "namespaceSelector": {}, "podSelector": { "matchLabels": { "app": "image-repo" } } },
    ] })
}

/// Mirrors for binaries and container images, and the HTTP proxy, as far as they are given by IP address.
pub(crate) fn mirrors(shoot: &ValidShoot) -> Vec<Value> {
    let config = &shoot.profile.spec.provider_config;
    let mirror = config.downloads.as_ref().and_then(|it| it.mirror.as_ref());
    let proxies = config.proxy.iter().flat_map(|it| [&it.http, &it.https]);
    let control_plane = &shoot.control_plane;
    let images = control_plane
        .registry
        .iter()
        .chain(control_plane.images.values());
    servers(mirror.into_iter().chain(proxies.flatten()).chain(images))
}

/// Servers that importers download from, as far as they are given by IP address.
pub(crate) fn images(shoot: &ValidShoot) -> Vec<Value> {
    let pools = shoot.pools.iter().map(|it| &it.image.source);
    let disks = shoot.disks.iter().map(|it| &it.source);
    servers(pools.chain(disks).filter_map(|source| match source {
        ImageSource::Http { url, .. } | ImageSource::Registry { url, .. } => Some(url),
        ImageSource::Claim { .. } | ImageSource::Own(_) => None,
    }))
}

/// One rule for each set of ports.
fn servers<'a>(urls: impl Iterator<Item = &'a String>) -> Vec<Value> {
    let mut by_ports: BTreeMap<Vec<u16>, BTreeSet<IpAddr>> = BTreeMap::new();
    for (ip, port) in urls.filter_map(|it| server(it)) {
        let ports = port.map_or_else(|| WEB.to_vec(), |it| vec![it]);
        by_ports.entry(ports).or_default().insert(ip);
    }
    let rule = |(ports, addresses): (Vec<u16>, BTreeSet<IpAddr>)| {
        let to: Value = addresses.into_iter().map(block).collect();
        json!({ "to": to, "ports": over(&["TCP"], ports) })
    };
    by_ports.into_iter().map(rule).collect()
}

/// Returns address and port of a URL or an image reference; None if its host is a name.
fn server(url: &str) -> Option<(IpAddr, Option<u16>)> {
    let rest = url.split_once("://").map_or(url, |it| it.1);
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    if let Ok(it) = host.parse::<SocketAddr>() {
        return Some((it.ip(), Some(it.port())));
    }
    let host = host
        .strip_prefix('[')
        .and_then(|it| it.strip_suffix(']'))
        .unwrap_or(host);
    host.parse().ok().map(|it| (it, None))
}

fn is_given(ip: &IpAddr) -> bool {
    !ip.is_unspecified()
}

/// A single address as a CIDR.
fn block(ip: IpAddr) -> Value {
    let ip = ip.to_canonical();
    let length = if ip.is_ipv6() { 128 } else { 32 };
    json!({ "ipBlock": { "cidr": format!("{ip}/{length}") } })
}

fn over(protocols: &[&str], ports: impl IntoIterator<Item = u16>) -> Value {
    let of = |port: u16| {
        let all = protocols.iter();
        all.map(move |it| json!({ "port": port, "protocol": it }))
    };
    ports.into_iter().flat_map(of).collect()
}
