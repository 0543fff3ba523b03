//! Changes of a control plane that has data, and that machines know by its address.

use crate::model::{ControlPlaneConfig, Exposure, FindingKind, Quantity, Shoot};
use crate::validate::control_plane::ETCD_SIZE;
use crate::validate::report::{FieldCursor, FindingSink};

/// The issuer of service account tokens when the manifest sets none.
const DEFAULT_ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

pub(super) fn check(before: &Shoot, now: &Shoot, spec: &FieldCursor, report: &mut FindingSink) {
    failure_tolerance(before, now, spec, report);
    let provider = &spec.key("provider");
    let at = &provider.key("controlPlaneConfig");
    etcd(before, now, &at.key("etcd"), report);
    exposure(before, now, &at.key("exposure"), report);
    issuer(before, now, spec, report);
}

/// Members of etcd join and leave one after the other. Their volumes stay in their zones, however.
fn failure_tolerance(before: &Shoot, now: &Shoot, at: &FieldCursor, report: &mut FindingSink) {
    let (was, is) = (tolerance_of(before), tolerance_of(now));
    if was == is || [was, is].contains(&"none") {
        return;
    }
    let at = &at.key("controlPlane");
    let at = &at.key("highAvailability");
    let at = &at.key("failureTolerance");
    report
        .error(
            &at.key("type"),
            FindingKind::Forbidden,
            "update/failure-tolerance",
            format!(
                "cannot be changed from {was} to {is}: the volumes of etcd stay in their zones"
            ),
        )
        .hint(format!(
            "set it to {was}, or remove it first, which leaves one member of etcd"
        ));
}

fn tolerance_of(shoot: &Shoot) -> &str {
    let given = shoot.spec.control_plane.as_ref();
    let given = given.and_then(|it| it.high_availability.as_ref());
    given.map_or("none", |it| it.failure_tolerance.type_.as_str())
}

fn config(shoot: &Shoot) -> Option<&ControlPlaneConfig> {
    shoot.spec.provider.control_plane_config.as_ref()
}

/// Volumes are expanded; anything else needs new ones.
fn etcd(before: &Shoot, now: &Shoot, at: &FieldCursor, report: &mut FindingSink) {
    let etcd = |shoot| config(shoot).and_then(|it| it.etcd.clone());
    let (was, is) = (
        etcd(before).unwrap_or_default(),
        etcd(now).unwrap_or_default(),
    );
    let mut refuse = |key, was: &str, is: &str, hint: String| {
        let message = format!(
            "cannot be changed from {was} to {is}: the volumes of etcd grow, and are not replaced"
        );
        report
            .error(
                &at.key(key),
                FindingKind::Forbidden,
                "update/etcd-volume",
                message,
            )
            .hint(hint);
    };
    let size = |given: Option<Quantity>| {
        given.unwrap_or_else(|| Quantity::parse(ETCD_SIZE).expect("it is a quantity"))
    };
    let (old_size, new_size) = (size(was.size), size(is.size));
    if old_size.value > new_size.value {
        let hint = format!("set it to {old_size}, or create a new shoot");
        refuse("size", old_size.text(), new_size.text(), hint);
    }
    if was.storage_class != is.storage_class {
        let class = |given: &Option<String>| match given {
            Some(name) => format!("{name:?}"),
            None => "the default of the provider".to_owned(),
        };
        let hint = match &was.storage_class {
            Some(name) => format!("set it to {name:?}, or create a new shoot"),
            None => "remove it, or create a new shoot".to_owned(),
        };
        let (was, is) = (class(&was.storage_class), class(&is.storage_class));
        refuse("storageClass", &was, &is, hint);
    }
}

/// Existing machines keep the address of the API server that they joined with. Another exposure ends it.
fn exposure(before: &Shoot, now: &Shoot, at: &FieldCursor, report: &mut FindingSink) {
    let exposure = |shoot| {
        let exposure = config(shoot).and_then(|it| it.exposure.clone());
        Exposure {
            // The address of the load balancer stays.
            load_balancer_source_ranges: Vec::new(),
            ..exposure.unwrap_or_else(load_balancer)
        }
    };
    let (was, is) = (exposure(before), exposure(now));
    let given = |shoot| config(shoot).and_then(|it| it.node_address.clone());
    let (address, balancer) = (given(before), load_balancer().type_);
    // Only the provider knows whether it is the address of the load balancer: see plan::control_plane::addresses.
    if was.type_ == balancer && is.type_ != balancer && address.is_some() && address != given(now) {
        report
            .error(
                at,
                FindingKind::Forbidden,
                "update/exposure",
                "cannot be changed together with nodeAddress: the machines may use its address until they are replaced",
            )
            .hint("first apply the other nodeAddress, then the other exposure");
        return;
    }
    if was == is || !machines_use(&was, before) {
        return;
    }
    report
        .error(
            at,
            FindingKind::Forbidden,
            "update/exposure",
            "cannot be changed: the machines reach the API server at its external address",
        )
        .hint("first apply a nodeAddress that reaches it before and after the change, which replaces the machines");
}

fn load_balancer() -> Exposure {
    Exposure {
        type_: "LoadBalancer".to_owned(),
        address: None,
        node_port: None,
        annotations: Default::default(),
        load_balancer_source_ranges: Vec::new(),
    }
}

/// Returns true if the address of machines for the API server depends on its exposure: in the pod network it is a
/// ClusterIP.
fn machines_use(exposure: &Exposure, shoot: &Shoot) -> bool {
    if let Some(given) = config(shoot).and_then(|it| it.node_address.as_deref()) {
        let address = exposure.address.as_deref();
        return address.is_some_and(|it| given == it || given.starts_with(&format!("{it}:")));
    }
    let infrastructure = shoot.spec.provider.infrastructure_config.as_ref();
    let networks = infrastructure.and_then(|it| it.networks.as_ref());
    exposure.type_ != "None"
        && networks.is_some_and(|it| it.tenant_networks.iter().any(|network| network.default))
}

/// Tokens of service accounts live on for a while.
fn issuer(before: &Shoot, now: &Shoot, spec: &FieldCursor, report: &mut FindingSink) {
    let settings = |shoot: &'_ Shoot| {
        let server = shoot.spec.kubernetes.kube_api_server.as_ref();
        server.and_then(|it| it.service_account_config.clone())
    };
    let issuer = |shoot| {
        let given = settings(shoot).and_then(|it| it.issuer);
        given.unwrap_or_else(|| DEFAULT_ISSUER.to_owned())
    };
    let (was, is) = (issuer(before), issuer(now));
    let is_accepted =
        |it: &String| settings(now).is_some_and(|settings| settings.accepted_issuers.contains(it));
    if was == is || is_accepted(&was) {
        return;
    }
    let at = &spec.key("kubernetes");
    let at = &at.key("kubeAPIServer");
    let at = &at.key("serviceAccountConfig");
    report
        .error(
            &at.key("issuer"),
            FindingKind::Forbidden,
            "update/issuer",
            format!("cannot replace {was:?}, whose tokens are in use"),
        )
        .hint(format!("add {was:?} to acceptedIssuers"));
}
