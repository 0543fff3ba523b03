//! Whom the certificates of a control plane name, and where its kubeconfigs lead to.

use crate::model::Cidr;
use crate::state::action::Leaf;
use crate::state::names::control_plane;
use crate::state::site::Site;
use crate::validate::ValidShoot;
use crate::validate::control_plane::{API_PORT, Address};
use std::net::IpAddr;

/// By what the API server is reached, as far as that is known by now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reach<'a> {
    pub(crate) cluster_ip: &'a str,
    /// From outside of the provider cluster.
    pub(crate) external: Option<&'a Address>,
    /// From machines.
    pub(crate) node_address: Option<&'a Address>,
}

/// A leaf, the last part of its Secret's name, and the end of "Issue the certificate of …".
pub(crate) struct Named {
    pub(crate) part: &'static str,
    pub(crate) of: &'static str,
    /// None while what it has to say is not known.
    pub(crate) leaf: Option<Leaf>,
}

pub(crate) use crate::state::names::part::CA;
pub(crate) const ETCD_CA: &str = "etcd-ca";
pub(crate) const FRONT_PROXY_CA: &str = "front-proxy-ca";
/// What DNS names of Services end in, in the provider cluster and in the shoot.
const DOMAIN: &str = "cluster.local";
/// So many members has an etcd at most; one that is not there does no harm in a certificate.
const MEMBERS: usize = 3;

pub(crate) fn all(shoot: &ValidShoot, site: &Site, reach: Option<&Reach>) -> Vec<Named> {
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
    // Members are clients of each other, and the gateway of each is one of its own.
    let server = |part, names| Leaf {
        names,
        server: true,
        ..client(site, ETCD_CA, part)
    };
    vec![
        named("etcd-server", "etcd", server("etcd-server", clients)),
        named(
            "etcd-peer",
            "etcd for its members",
            server("etcd-peer", members),
        ),
        // With a name in it etcd would compare that with the address that it comes from.
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

/// What a Service of the provider cluster is called.
fn service(site: &Site, part: &str) -> Vec<String> {
    let (name, namespace) = (control_plane(site.id, part), site.namespace);
    vec![
        name.clone(),
        format!("{name}.{namespace}"),
        format!("{name}.{namespace}.svc"),
        format!("{name}.{namespace}.svc.{DOMAIN}"),
    ]
}

/// No wildcard: etcd would ask the DNS for the name of each address.
fn members(site: &Site) -> Vec<String> {
    let etcd = control_plane(site.id, "etcd");
    let peers = control_plane(site.id, "etcd-peers");
    let name = |it: usize| format!("{etcd}-{it}.{peers}.{}.svc", site.namespace);
    (0..MEMBERS)
        .flat_map(|it| [name(it), format!("{}.{DOMAIN}", name(it))])
        .collect()
}

/// As they are read back from a certificate, each once.
fn canonical(names: Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        let name = match name.parse::<IpAddr>() {
            // Stands for one that is not known yet.
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
