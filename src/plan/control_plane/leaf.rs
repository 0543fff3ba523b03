//! Subjects and names of the control plane's certificates, and the servers of its kubeconfigs.

use crate::model::Cidr;
use crate::plan::Site;
use crate::plan::item::Leaf;
use crate::plan::names::control_plane;
use crate::validate::ValidShoot;
use crate::validate::control_plane::{API_PORT, Address};
use std::net::IpAddr;

/// Addresses of the API server, as far as they are known.
#[derive(Debug, Clone, Copy)]
pub(in crate::plan) struct Reach<'a> {
    pub(in crate::plan) cluster_ip: &'a str,
    /// From outside the provider cluster.
    pub(in crate::plan) external: Option<&'a Address>,
    /// From machines.
    pub(in crate::plan) node_address: Option<&'a Address>,
}

/// A certificate, the suffix of its Secret's name, and the end of the title "Issue certificate of …".
pub(super) struct Named {
    pub(super) part: &'static str,
    pub(super) of: &'static str,
    /// None while its names are not known.
    pub(super) leaf: Option<Leaf>,
}

pub(super) use crate::plan::names::part::CA;
pub(super) const ETCD_CA: &str = "etcd-ca";
pub(super) const FRONT_PROXY_CA: &str = "front-proxy-ca";

/// Cluster domain of Services, in the provider cluster and in the shoot.
const DOMAIN: &str = "cluster.local";

/// Maximum number of etcd members. Names of members that do not exist do no harm in a certificate.
const MEMBERS: usize = 3;

pub(super) fn all(shoot: &ValidShoot, site: &Site, reach: Option<&Reach>) -> Vec<Named> {
    let mut all = etcd(site);
    all.extend([
        named(
            "front-proxy-client",
            "kube-apiserver for extension API servers",
            client(site, FRONT_PROXY_CA, "front-proxy-client"),
        ),
        named(
            "kube-apiserver-kubelet-client",
            "kube-apiserver for kubelets",
            client(site, CA, "kube-apiserver-kubelet-client"),
        ),
        Named {
            part: "kube-apiserver",
            of: "kube-apiserver",
            leaf: reach.map(|reach| Leaf {
                names: api_server(shoot, site, reach),
                server: true,
                client: false,
                ..client(site, CA, "kube-apiserver")
            }),
        },
    ]);
    let inside = reach.map(|it| it.cluster_ip);
    for (part, server) in [
        ("kube-controller-manager", inside),
        ("kube-scheduler", inside),
        ("cloud-controller-manager", inside),
        ("csi-controller", inside),
        ("konnectivity-server", inside),
    ] {
        let leaf = server.map(|host| Leaf {
            kubeconfig: Some(url(host)),
            ..client(site, CA, &format!("system:{part}"))
        });
        all.push(Named {
            part,
            of: part,
            leaf,
        });
    }
    all
}

fn etcd(site: &Site) -> Vec<Named> {
    let members = members(site);
    let clients = [loopback(), service(site, "etcd-client"), members.clone()].concat();
    // Members are clients of each other, and each member's gRPC gateway is a client of the member itself.
    let server = |part, names| Leaf {
        names,
        server: true,
        ..client(site, ETCD_CA, part)
    };
    vec![
        named("etcd-server", "etcd", server("etcd-server", clients)),
        named("etcd-peer", "etcd peers", server("etcd-peer", members)),
        // If the certificate contained names, etcd would compare them with the client's address.
        named(
            "kube-apiserver-etcd-client",
            "kube-apiserver for etcd",
            client(site, ETCD_CA, "kube-apiserver-etcd-client"),
        ),
    ]
}

fn named(part: &'static str, of: &'static str, leaf: Leaf) -> Named {
    Named {
        part,
        of,
        leaf: Some(leaf),
    }
}

fn client(site: &Site, root: &str, common_name: &str) -> Leaf {
    Leaf {
        root: control_plane(site.id, root).into(),
        common_name: common_name.to_owned(),
        organization: None,
        names: Vec::new(),
        server: false,
        client: true,
        kubeconfig: None,
    }
}

fn api_server(shoot: &ValidShoot, site: &Site, reach: &Reach) -> Vec<String> {
    let inside = ["kubernetes", "kubernetes.default", "kubernetes.default.svc"];
    let mut names = loopback();
    names.extend(inside.map(str::to_owned));
    names.push(format!("kubernetes.default.svc.{DOMAIN}"));
    let services = Cidr::parse(&shoot.networking.services).ok();
    names.extend(services.map(|it| it.address(1).to_string()));
    names.extend(service(site, "kube-apiserver"));
    names.push(reach.cluster_ip.to_owned());
    for address in [reach.external, reach.node_address].into_iter().flatten() {
        names.push(address.host.clone());
    }
    canonical(names)
}

fn loopback() -> Vec<String> {
    ["127.0.0.1", "::1", "localhost"].map(str::to_owned).into()
}

/// DNS names of a Service in the provider cluster.
fn service(site: &Site, part: &str) -> Vec<String> {
    let (name, namespace) = (control_plane(site.id, part), site.namespace);
    vec![
        name.clone(),
        format!("{name}.{namespace}"),
        format!("{name}.{namespace}.svc"),
        format!("{name}.{namespace}.svc.{DOMAIN}"),
    ]
}

/// No wildcard, because etcd would then look up the DNS name of each address.
fn members(site: &Site) -> Vec<String> {
    let etcd = control_plane(site.id, "etcd");
    let peers = control_plane(site.id, "etcd-peers");
    let name = |it: usize| format!("{etcd}-{it}.{peers}.{}.svc", site.namespace);
    (0..MEMBERS)
        .flat_map(|it| [name(it), format!("{}.{DOMAIN}", name(it))])
        .collect()
}

/// Normalizes names to the form in which they are read back from a certificate, without duplicates.
fn canonical(names: Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        let name = match name.parse::<IpAddr>() {
            // The placeholder for an unknown address.
            Ok(address) if address.is_unspecified() => continue,
            Ok(address) => address.to_string(),
            Err(_) => name.to_lowercase(),
        };
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

fn url(host: &str) -> String {
    let host = host.to_owned();
    Address {
        host,
        port: API_PORT,
    }
    .url()
}
