//! The control plane: how available it is, how it is reached, and where its images come from.

use std::collections::BTreeMap;
use std::fmt;

use crate::model::{self, FindingKind, Quantity};
use crate::validate::context::Input;
use crate::validate::report::{FieldCursor, FindingSink};

// Other modules use the short name until they are renamed.
pub(crate) use ApiServerExposure as Exposure;

/// What the manifest and the profile say of the control plane, with all defaults.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ControlPlaneSpec {
    pub(crate) tolerance: Tolerance,
    pub(crate) exposure: ApiServerExposure,
    /// By which machines reach the API server, where that is given.
    pub(crate) node_address: Option<Address>,
    /// Storage class of etcd; None for the provider's default one.
    pub(crate) etcd_class: Option<String>,
    pub(crate) etcd_size: Quantity,
    /// Stands in for every public registry.
    pub(crate) registry: Option<String>,
    pub(crate) pull_secrets: Vec<String>,
    /// Images by component, in place of those that kvshoot knows.
    pub(crate) images: BTreeMap<String, String>,
    pub(crate) cloud_controller_gates: BTreeMap<String, bool>,
}

/// What may fail without an end of the control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tolerance {
    None,
    Node,
    Zone,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ApiServerExposure {
    LoadBalancer {
        annotations: BTreeMap<String, String>,
    },
    NodePort {
        address: String,
        port: Option<u16>,
    },
    /// Through the API server of the provider only.
    None,
}

/// Of a server: a host name or an address, and a port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Address {
    /// As clients of Kubernetes are told of a server.
    pub(crate) fn url(&self) -> String {
        format!("https://{self}")
    }
}

impl fmt::Display for Address {
    /// As endpoints have it: an IPv6 address stands in brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// Of the API server, inside and outside, unless a NodePort says otherwise.
pub(crate) const API_PORT: u16 = 6443;

const ETCD_SIZE: &str = "10Gi";

pub(crate) fn check(
    input: &Input,
    spec: &FieldCursor,
    report: &mut FindingSink,
) -> Option<ControlPlaneSpec> {
    let shoot = &input.shoot.spec;
    let given = shoot.provider.control_plane_config.as_ref();
    let provider = &spec.key("provider");
    let at = &provider.key("controlPlaneConfig");
    let tolerance = tolerance(
        shoot.control_plane.as_ref(),
        &spec.key("controlPlane"),
        report,
    );
    let exposure = match given.and_then(|it| it.exposure.as_ref()) {
        Some(it) => exposure(it, &at.key("exposure"), report),
        None => Some(ApiServerExposure::LoadBalancer {
            annotations: BTreeMap::new(),
        }),
    };
    let node_address = given.and_then(|it| it.node_address.as_deref());
    let node_address = node_address.map(|it| address(it, &at.key("nodeAddress"), report));
    let etcd = given.and_then(|it| it.etcd.clone()).unwrap_or_default();
    Some(ControlPlaneSpec {
        tolerance: tolerance?,
        exposure: exposure?,
        node_address: match node_address {
            Some(given) => Some(given?),
            None => None,
        },
        etcd_class: etcd.storage_class,
        etcd_size: etcd
            .size
            .unwrap_or_else(|| Quantity::parse(ETCD_SIZE).expect("it is a quantity")),
        registry: given.and_then(|it| it.image_registry.clone()),
        pull_secrets: given
            .map(|it| it.image_pull_secrets.clone())
            .unwrap_or_default(),
        images: input.profile.spec.provider_config.component_images.clone(),
        cloud_controller_gates: given
            .and_then(|it| it.cloud_controller_manager.as_ref())
            .map(|it| it.feature_gates.clone())
            .unwrap_or_default(),
    })
}

fn tolerance(
    given: Option<&model::ControlPlane>,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> Option<Tolerance> {
    let given = given.and_then(|it| it.high_availability.as_ref());
    match given.map_or("none", |it| it.failure_tolerance.type_.as_str()) {
        "none" => Some(Tolerance::None),
        "node" => Some(Tolerance::Node),
        "zone" => Some(Tolerance::Zone),
        "" => None,
        other => {
            let at = &at.key("highAvailability");
            let at = &at.key("failureTolerance");
            let message = format!("{other:?} is not supported");
            report
                .error(
                    &at.key("type"),
                    FindingKind::NotSupported,
                    "control-plane/tolerance",
                    message,
                )
                .hint("one of none, node, zone");
            None
        }
    }
}

fn exposure(
    given: &model::Exposure,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> Option<ApiServerExposure> {
    match given.type_.as_str() {
        "LoadBalancer" => Some(ApiServerExposure::LoadBalancer {
            annotations: given.annotations.clone(),
        }),
        "NodePort" => {
            let Some(address) = given.address.clone() else {
                report
                    .error(&at.key("address"), FindingKind::Required, "control-plane/node-port", "is required")
                    .hint("name an address of a node of the provider cluster, or one that leads to all of them");
                return None;
            };
            let port = given.node_port.map(u16::try_from).transpose();
            let Ok(port) = port else {
                report.error(
                    &at.key("nodePort"),
                    FindingKind::Invalid,
                    "control-plane/node-port",
                    "is no port",
                );
                return None;
            };
            Some(ApiServerExposure::NodePort { address, port })
        }
        "None" => Some(ApiServerExposure::None),
        "" => None,
        other => {
            let message = format!("{other:?} is not supported");
            report
                .error(
                    &at.key("type"),
                    FindingKind::NotSupported,
                    "control-plane/exposure",
                    message,
                )
                .hint("one of LoadBalancer, NodePort, None");
            None
        }
    }
}

/// `host` or `host:port`; an IPv6 address with a port stands in brackets.
fn address(text: &str, at: &FieldCursor, report: &mut FindingSink) -> Option<Address> {
    let address = match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
            port.parse().ok().map(|port| (host, port))
        }
        _ => Some((text, API_PORT)),
    };
    let address = address.map(|(host, port)| Address {
        host: host.trim_matches(['[', ']']).to_owned(),
        port,
    });
    if address.as_ref().is_none_or(|it| it.host.is_empty()) {
        report
            .error(
                at,
                FindingKind::Invalid,
                "control-plane/node-address",
                format!("{text:?} is no address"),
            )
            .hint("write a host, or host:port");
        return None;
    }
    address
}
