//! Subjects and names of the control plane's certificates, and the servers of its kubeconfigs.

use crate::model::Cidr;
use crate::render::control_plane::cluster_autoscaler;
use crate::state::action::LeafCertificate;
use crate::state::names::control_plane;
use crate::state::record::rotation::KeyGeneration;
use crate::state::site::Site;
use crate::validate::ValidShoot;
use crate::validate::control_plane::{API_PORT, Address};
use std::net::IpAddr;

/// Addresses of the API server, as far as they are known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ApiServerAddresses<'a> {
    pub(crate) cluster_ip: &'a str,
    /// From outside the provider cluster.
    pub(crate) external: Option<&'a Address>,
    /// From machines.
    pub(crate) node_address: Option<&'a Address>,
}

/// A certificate, the suffix of its Secret's name, and the end of the title "Issue certificate of …".
pub(crate) struct CertificateSubject {
    pub(crate) part: &'static str,
    pub(crate) of: &'static str,
    /// None while its names are not known.
    pub(crate) leaf: Option<LeafCertificate>,
}

pub(crate) use crate::state::names::part::CA;
pub(crate) const ETCD_CA: &str = "etcd-ca";
pub(crate) const FRONT_PROXY_CA: &str = "front-proxy-ca";
pub(crate) const KUBELET_CLIENT: &str = "kube-apiserver-kubelet-client";
/// It serves agents, and asks the API server to review their tokens.
pub(crate) const KONNECTIVITY_SERVER: &str = "konnectivity-server";

/// Cluster domain of Services, in the provider cluster and in the shoot.
const DOMAIN: &str = "cluster.local";

/// Maximum number of etcd members. Names of members that do not exist do no harm in a certificate.
const MEMBERS: usize = 3;

pub(crate) fn all(
    shoot: &ValidShoot,
    site: &Site,
    reach: Option<&ApiServerAddresses>,
) -> Vec<CertificateSubject> {
    let mut all = etcd(site);
    all.extend([
        named(
            "front-proxy-client",
            "kube-apiserver for extension API servers",
            client(site, FRONT_PROXY_CA, "front-proxy-client"),
        ),
        named(
            KUBELET_CLIENT,
            "kube-apiserver for kubelets",
            client(site, CA, KUBELET_CLIENT),
        ),
        CertificateSubject {
            part: "kube-apiserver",
            of: "kube-apiserver",
            leaf: reach.map(|reach| LeafCertificate {
                names: api_server(shoot, site, reach),
                server: true,
                client: false,
                ..client(site, CA, "kube-apiserver")
            }),
        },
    ]);
    let inside = reach.map(|it| it.cluster_ip);
    let autoscaler =
        cluster_autoscaler::is_wanted(shoot).then_some((cluster_autoscaler::NAME, inside));
    let controllers = [
        ("kube-controller-manager", inside),
        ("kube-scheduler", inside),
        ("cloud-controller-manager", inside),
        ("csi-controller", inside),
    ];
    for (part, server) in controllers.into_iter().chain(autoscaler) {
        let leaf = server.map(|host| LeafCertificate {
            kubeconfig: Some(url(host)),
            ..client(site, CA, &format!("system:{part}"))
        });
        all.push(CertificateSubject {
            part,
            of: part,
            leaf,
        });
    }
    all.push(CertificateSubject {
        part: KONNECTIVITY_SERVER,
        of: KONNECTIVITY_SERVER,
        leaf: reach.map(|reach| LeafCertificate {
            // Agents verify it by the address that they dial.
            names: konnectivity_server(reach),
            server: true,
            kubeconfig: Some(url(reach.cluster_ip)),
            ..client(site, CA, "system:konnectivity-server")
        }),
    });
    all
}

fn konnectivity_server(reach: &ApiServerAddresses) -> Vec<String> {
    let hosts = reach.node_address.map(|it| it.host.clone());
    canonical(
        [reach.cluster_ip.to_owned()]
            .into_iter()
            .chain(hosts)
            .collect(),
    )
}

fn etcd(site: &Site) -> Vec<CertificateSubject> {
    let members = members(site);
    let clients = [loopback(), service(site, "etcd-client"), members.clone()].concat();
    // Members are clients of each other, and each member's gRPC gateway is a client of the member itself.
    let server = |part, names| LeafCertificate {
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

fn named(part: &'static str, of: &'static str, leaf: LeafCertificate) -> CertificateSubject {
    CertificateSubject {
        part,
        of,
        leaf: Some(leaf),
    }
}

fn client(site: &Site, root: &str, common_name: &str) -> LeafCertificate {
    LeafCertificate {
        root: control_plane(site.id, root).into(),
        common_name: common_name.to_owned(),
        organization: None,
        names: Vec::new(),
        server: false,
        client: true,
        kubeconfig: None,
        trust: KeyGeneration::default(),
        is_of_previous: false,
    }
}

fn api_server(shoot: &ValidShoot, site: &Site, reach: &ApiServerAddresses) -> Vec<String> {
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
