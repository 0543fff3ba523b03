//! The control plane: availability, exposure, images and backups.

mod backup;

pub(crate) use backup::ScheduledBackups;

use std::collections::BTreeMap;
use std::fmt;

use super::source_ranges;
use crate::model::{self, FindingKind, Quantity};
use crate::validate::context::Input;
use crate::validate::names::is_dns_subdomain;
use crate::validate::releases;
use crate::validate::report::{FieldCursor, FindingSink};

/// Settings of the control plane from Shoot and CloudProfile, with all defaults.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ControlPlaneSpec {
    pub(crate) tolerance: Tolerance,
    pub(crate) exposure: ApiServerExposure,
    /// Configured address of the API server for machines.
    pub(crate) node_address: Option<Address>,
    /// StorageClass of etcd; `None` for the provider's default.
    pub(crate) etcd_class: Option<String>,
    pub(crate) etcd_size: Quantity,
    /// Registry that replaces all public ones.
    pub(crate) registry: Option<String>,
    pub(crate) pull_secrets: Vec<String>,
    /// PriorityClass of all pods; `None` for the provider's default.
    pub(crate) priority_class: Option<String>,
    /// Images that replace the defaults, by component.
    pub(crate) images: BTreeMap<String, String>,
    pub(crate) cloud_controller_gates: BTreeMap<String, bool>,
    /// Regular backups; `None` for none.
    pub(crate) backups: Option<ScheduledBackups>,
}

/// Failures that the control plane tolerates.
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
        /// Ranges of addresses from which it is reachable, in CIDR notation; empty for all.
        source_ranges: Vec<String>,
    },
    NodePort {
        address: String,
        port: Option<u16>,
    },
    /// Reachable only through the provider's API server.
    None,
}

/// Address of a server: host name or IP address, and port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Address {
    /// URL for Kubernetes clients.
    pub(crate) fn url(&self) -> String {
        format!("https://{self}")
    }
}

impl fmt::Display for Address {
    /// Formats as HOST:PORT, with an IPv6 address in brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// Port of the API server, internal and external, unless a NodePort is used.
pub(crate) const API_PORT: u16 = 6443;

const CLOUD_CONTROLLER_IMAGE: &str = "kubevirt-cloud-controller-manager";

/// Size of the volume of each etcd member when the manifest sets none.
pub(crate) const ETCD_SIZE: &str = "10Gi";

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
    let source_ranges = source_ranges::check(input, spec, report);
    let exposure = match given.and_then(|it| it.exposure.as_ref()) {
        Some(it) => exposure(it, source_ranges, &at.key("exposure"), report),
        None => Some(ApiServerExposure::LoadBalancer {
            annotations: BTreeMap::new(),
            source_ranges,
        }),
    };
    let node_address = given.and_then(|it| it.node_address.as_deref());
    let node_address = node_address.map(|it| address(it, &at.key("nodeAddress"), report));
    let etcd = given.and_then(|it| it.etcd.clone()).unwrap_or_default();
    check_etcd(&etcd, &at.key("etcd"), report);
    let backups = given.and_then(|it| it.backup.as_ref());
    let backups = backups.map(|it| backup::check(it, &at.key("backup"), report));
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
        priority_class: given
            .and_then(|it| it.priority_class_name.as_ref())
            .map(|it| priority_class(it, &at.key("priorityClassName"), report)),
        images: input.profile.spec.provider_config.component_images.clone(),
        backups: match backups {
            Some(given) => Some(given?),
            None => None,
        },
        cloud_controller_gates: given
            .and_then(|it| it.cloud_controller_manager.as_ref())
            .map(|it| cloud_controller_gates(input, it, at, report))
            .unwrap_or_default(),
    })
}

/// Checks the volumes of etcd; the existence of their class is checked in the provider cluster.
fn check_etcd(etcd: &model::EtcdConfig, at: &FieldCursor, report: &mut FindingSink) {
    /// Room for the log, the database and its defragmentation.
    const LEAST: f64 = 1_073_741_824.0;
    if let Some(size) = etcd.size.as_ref().filter(|it| it.value < LEAST) {
        let message = format!("must be at least 1Gi (is {size})");
        let at = &at.key("size");
        report.error(at, FindingKind::Invalid, "control-plane/etcd", message);
    }
    let class = etcd.storage_class.as_deref();
    if let Some(class) = class.filter(|it| !it.is_empty() && !is_dns_subdomain(it)) {
        let message = format!("{class:?} is not a valid StorageClass name");
        report
            .error(
                &at.key("storageClass"),
                FindingKind::Invalid,
                "control-plane/etcd",
                message,
            )
            .hint("run `kubectl get storageclasses` to list the names");
    }
}

/// Its existence is checked in the provider cluster.
fn priority_class(name: &str, at: &FieldCursor, report: &mut FindingSink) -> String {
    if !is_dns_subdomain(name) {
        let message = format!("{name:?} is not a valid name of a PriorityClass");
        report
            .error(
                at,
                FindingKind::Invalid,
                "control-plane/priority-class",
                message,
            )
            .hint("`kubectl get priorityclasses` lists those of the provider cluster");
    }
    name.to_owned()
}

/// An image of the profile's own may know other gates.
fn cloud_controller_gates(
    input: &Input,
    given: &model::CloudControllerManager,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> BTreeMap<String, bool> {
    let images = &input.profile.spec.provider_config.component_images;
    if images.contains_key(CLOUD_CONTROLLER_IMAGE) {
        return given.feature_gates.clone();
    }
    let at = &at.key("cloudControllerManager");
    releases::cloud_controller_gates(&given.feature_gates, &at.key("featureGates"), report)
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
            let message = format!("unsupported value {other:?}");
            report
                .error(
                    &at.key("type"),
                    FindingKind::NotSupported,
                    "control-plane/tolerance",
                    message,
                )
                .hint("supported values: none, node, zone");
            None
        }
    }
}

fn exposure(
    given: &model::Exposure,
    source_ranges: Vec<String>,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> Option<ApiServerExposure> {
    match given.type_.as_str() {
        "LoadBalancer" => Some(ApiServerExposure::LoadBalancer {
            annotations: given.annotations.clone(),
            source_ranges,
        }),
        "NodePort" => {
            let Some(address) = given.address.clone() else {
                report
                    .error(
                        &at.key("address"),
                        FindingKind::Required,
                        "control-plane/node-port",
                        "is required",
                    )
                    .hint("set the address of a provider node, or one that reaches all of them");
                return None;
            };
            if !is_host(&address) {
                let message = format!("{address:?} is not a valid host name or IP address");
                report.error(
                    &at.key("address"),
                    FindingKind::Invalid,
                    "control-plane/node-port",
                    message,
                );
                return None;
            }
            let port = given.node_port.map(u16::try_from).transpose();
            let Ok(port) = port else {
                report.error(
                    &at.key("nodePort"),
                    FindingKind::Invalid,
                    "control-plane/node-port",
                    "not a valid port",
                );
                return None;
            };
            Some(ApiServerExposure::NodePort { address, port })
        }
        "None" => Some(ApiServerExposure::None),
        "" => None,
        other => {
            let message = format!("unsupported value {other:?}");
            report
                .error(
                    &at.key("type"),
                    FindingKind::NotSupported,
                    "control-plane/exposure",
                    message,
                )
                .hint("supported values: LoadBalancer, NodePort, None");
            None
        }
    }
}

/// Returns true for an IP address or the name of a host.
fn is_host(text: &str) -> bool {
    text.parse::<std::net::IpAddr>().is_ok() || is_dns_subdomain(&text.to_ascii_lowercase())
}

/// Parses `host` or `host:port`; an IPv6 address with a port is in brackets.
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
    if !address
        .as_ref()
        .is_some_and(|it| it.port > 0 && is_host(&it.host))
    {
        report
            .error(
                at,
                FindingKind::Invalid,
                "control-plane/node-address",
                format!("{text:?} is not a valid address"),
            )
            .hint("write HOST or HOST:PORT");
        return None;
    }
    address
}
