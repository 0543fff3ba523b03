//! The resources that kvshoot reads or writes, and their addresses.

use crate::state::key::{Key, Kind, Side};
use crate::state::names::{CAPI_CLUSTER, COMPONENT, CSI_CLUSTER, role, selector};
use serde_json::Value;
use std::fmt;

/// Where objects come from: a kind on a side.
pub(crate) type Source = (Side, Kind);

/// A resource as the API serves it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    /// Empty for the core group.
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
}

pub(crate) const CONFIG_MAP: Resource = core("ConfigMap", "configmaps");
pub(crate) const SECRET: Resource = core("Secret", "secrets");
pub(crate) const SERVICE: Resource = core("Service", "services");
pub(crate) const POD: Resource = core("Pod", "pods");
pub(crate) const POD_LOG: Resource = core("Pod", "pods/log");
pub(crate) const QUOTA: Resource = core("ResourceQuota", "resourcequotas");
pub(crate) const LIMIT_RANGE: Resource = core("LimitRange", "limitranges");
pub(crate) const CLAIM: Resource = core("PersistentVolumeClaim", "persistentvolumeclaims");
pub(crate) const VOLUME: Resource = core("PersistentVolume", "persistentvolumes");
pub(crate) const EVENT: Resource = core("Event", "events");
pub(crate) const NODE: Resource = core("Node", "nodes");
pub(crate) const STORAGE_PROFILE: Resource = resource(
    "cdi.kubevirt.io",
    "v1beta1",
    "StorageProfile",
    "storageprofiles",
);
pub(crate) const INSTANCETYPE: Resource =
    types("VirtualMachineInstancetype", "virtualmachineinstancetypes");
pub(crate) const CLUSTER_INSTANCETYPE: Resource = types(
    "VirtualMachineClusterInstancetype",
    "virtualmachineclusterinstancetypes",
);
pub(crate) const PREFERENCE: Resource =
    types("VirtualMachinePreference", "virtualmachinepreferences");
pub(crate) const CLUSTER_PREFERENCE: Resource = types(
    "VirtualMachineClusterPreference",
    "virtualmachineclusterpreferences",
);
pub(crate) const NAMESPACE: Resource = core("Namespace", "namespaces");
pub(crate) const SERVICE_ACCOUNT: Resource = core("ServiceAccount", "serviceaccounts");
pub(crate) const ROLE: Resource = rbac("Role", "roles");
pub(crate) const ROLE_BINDING: Resource = rbac("RoleBinding", "rolebindings");
pub(crate) const CLUSTER_ROLE: Resource = rbac("ClusterRole", "clusterroles");
pub(crate) const CLUSTER_ROLE_BINDING: Resource = rbac("ClusterRoleBinding", "clusterrolebindings");
pub(crate) const STATEFUL_SET: Resource = resource("apps", "v1", "StatefulSet", "statefulsets");
pub(crate) const DEPLOYMENT: Resource = resource("apps", "v1", "Deployment", "deployments");
pub(crate) const DAEMON_SET: Resource = resource("apps", "v1", "DaemonSet", "daemonsets");
pub(crate) const DISRUPTION_BUDGET: Resource = resource(
    "policy",
    "v1",
    "PodDisruptionBudget",
    "poddisruptionbudgets",
);
pub(crate) const NETWORK_POLICY: Resource = resource(
    "networking.k8s.io",
    "v1",
    "NetworkPolicy",
    "networkpolicies",
);
pub(crate) const ENDPOINT_SLICE: Resource =
    resource("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices");
pub(crate) const VOLUME_ATTACHMENT: Resource = resource(
    "storage.k8s.io",
    "v1",
    "VolumeAttachment",
    "volumeattachments",
);
pub(crate) const CSI_DRIVER: Resource = resource("storage.k8s.io", "v1", "CSIDriver", "csidrivers");
pub(crate) const INGRESS_CLASS: Resource =
    resource("networking.k8s.io", "v1", "IngressClass", "ingressclasses");
pub(crate) const API_SERVICE: Resource =
    resource("apiregistration.k8s.io", "v1", "APIService", "apiservices");
pub(crate) const VALIDATING_WEBHOOK: Resource = resource(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
);
pub(crate) const MUTATING_WEBHOOK: Resource = resource(
    "admissionregistration.k8s.io",
    "v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
);
pub(crate) const SIGNING_REQUEST: Resource = resource(
    "certificates.k8s.io",
    "v1",
    "CertificateSigningRequest",
    "certificatesigningrequests",
);
pub(crate) const LEASE: Resource = resource("coordination.k8s.io", "v1", "Lease", "leases");
pub(crate) const STORAGE_CLASS: Resource =
    resource("storage.k8s.io", "v1", "StorageClass", "storageclasses");
pub(crate) const VIRTUAL_MACHINE: Resource =
    resource("kubevirt.io", "v1", "VirtualMachine", "virtualmachines");
pub(crate) const VIRTUAL_MACHINE_INSTANCE: Resource = resource(
    "kubevirt.io",
    "v1",
    "VirtualMachineInstance",
    "virtualmachineinstances",
);
pub(crate) const DATA_VOLUME: Resource =
    resource("cdi.kubevirt.io", "v1beta1", "DataVolume", "datavolumes");
/// Who may clone a volume.
pub(crate) const DATA_VOLUME_SOURCE: Resource = resource(
    "cdi.kubevirt.io",
    "v1beta1",
    "DataVolume",
    "datavolumes/source",
);
/// Installations, with their versions.
pub(crate) const KUBEVIRT: Resource = resource("kubevirt.io", "v1", "KubeVirt", "kubevirts");
pub(crate) const CDI: Resource = resource("cdi.kubevirt.io", "v1beta1", "CDI", "cdis");
pub(crate) const CDI_CONFIG: Resource =
    resource("cdi.kubevirt.io", "v1beta1", "CDIConfig", "cdiconfigs");
pub(crate) const PORT_FORWARD: Resource = core("Pod", "pods/portforward");
pub(crate) const ADD_VOLUME: Resource = volumes("VirtualMachine", "virtualmachines/addvolume");
pub(crate) const REMOVE_VOLUME: Resource =
    volumes("VirtualMachine", "virtualmachines/removevolume");
pub(crate) const ADD_VOLUME_INSTANCE: Resource = volumes(
    "VirtualMachineInstance",
    "virtualmachineinstances/addvolume",
);
pub(crate) const REMOVE_VOLUME_INSTANCE: Resource = volumes(
    "VirtualMachineInstance",
    "virtualmachineinstances/removevolume",
);
pub(crate) const VOLUME_SNAPSHOT: Resource = resource(
    "snapshot.storage.k8s.io",
    "v1",
    "VolumeSnapshot",
    "volumesnapshots",
);
pub(crate) const NETWORK: Resource = resource(
    "k8s.cni.cncf.io",
    "v1",
    "NetworkAttachmentDefinition",
    "network-attachment-definitions",
);
pub(crate) const RULES_REVIEW: Resource = resource(
    "authorization.k8s.io",
    "v1",
    "SelfSubjectRulesReview",
    "selfsubjectrulesreviews",
);
/// What somebody else may do.
pub(crate) const ACCESS_REVIEW: Resource = resource(
    "authorization.k8s.io",
    "v1",
    "SubjectAccessReview",
    "subjectaccessreviews",
);

const fn rbac(kind: &'static str, plural: &'static str) -> Resource {
    resource("rbac.authorization.k8s.io", "v1", kind, plural)
}

/// Of machines, to attach and detach volumes.
const fn volumes(kind: &'static str, plural: &'static str) -> Resource {
    resource("subresources.kubevirt.io", "v1", kind, plural)
}

pub(crate) const fn core(kind: &'static str, plural: &'static str) -> Resource {
    resource("", "v1", kind, plural)
}

/// As KubeVirt 1.0 and later serve them; earlier versions are no longer there.
const fn types(kind: &'static str, plural: &'static str) -> Resource {
    resource("instancetype.kubevirt.io", "v1beta1", kind, plural)
}

pub(crate) const fn resource(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
) -> Resource {
    Resource {
        group,
        version,
        kind,
        plural,
    }
}

impl Resource {
    pub(crate) fn of(kind: Kind) -> &'static Resource {
        match kind {
            Kind::Record => &CONFIG_MAP,
            Kind::Network => &NETWORK,
            Kind::Image | Kind::Disk => &DATA_VOLUME,
            Kind::Snapshot => &VOLUME_SNAPSHOT,
            Kind::Instancetype => &INSTANCETYPE,
            Kind::Preference => &PREFERENCE,
            Kind::UserData | Kind::Token | Kind::Secret => &SECRET,
            Kind::Machine => &VIRTUAL_MACHINE,
            Kind::Instance => &VIRTUAL_MACHINE_INSTANCE,
            Kind::Node => &NODE,
            Kind::Service | Kind::Balancer | Kind::Mirror => &SERVICE,
            Kind::Claim => &CLAIM,
            Kind::Volume => &VOLUME,
            Kind::Pod => &POD,
            Kind::ValidatingWebhook => &VALIDATING_WEBHOOK,
            Kind::MutatingWebhook => &MUTATING_WEBHOOK,
            // A component is no object; its record would be such a one.
            Kind::ConfigMap | Kind::Component => &CONFIG_MAP,
            Kind::ServiceAccount => &SERVICE_ACCOUNT,
            Kind::Role => &ROLE,
            Kind::RoleBinding => &ROLE_BINDING,
            Kind::ClusterRole => &CLUSTER_ROLE,
            Kind::ClusterRoleBinding => &CLUSTER_ROLE_BINDING,
            Kind::StatefulSet => &STATEFUL_SET,
            Kind::Deployment => &DEPLOYMENT,
            Kind::DaemonSet => &DAEMON_SET,
            Kind::DisruptionBudget => &DISRUPTION_BUDGET,
            Kind::NetworkPolicy => &NETWORK_POLICY,
            Kind::EndpointSlice => &ENDPOINT_SLICE,
            Kind::StorageClass | Kind::VolumeClass => &STORAGE_CLASS,
            Kind::CsiDriver => &CSI_DRIVER,
            Kind::IngressClass => &INGRESS_CLASS,
            Kind::ApiService => &API_SERVICE,
        }
    }

    /// As it stands in `apiVersion`.
    pub(crate) fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// Of the list of all, in one namespace or in the whole cluster.
    pub(crate) fn path(&self, namespace: Option<&str>) -> String {
        let root = match self.group {
            "" => "/api/v1".to_owned(),
            group => format!("/apis/{group}/{}", self.version),
        };
        match namespace {
            Some(namespace) => format!("{root}/namespaces/{namespace}/{}", self.plural),
            None => format!("{root}/{}", self.plural),
        }
    }
}

impl fmt::Display for Resource {
    /// As it stands in a Role: `virtualmachines.kubevirt.io`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.plural)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        Ok(())
    }
}

/// What the control plane consists of in the provider namespace.
pub(crate) const CONTROL_PLANE: [Kind; 10] = [
    Kind::Secret,
    Kind::ConfigMap,
    Kind::Service,
    Kind::ServiceAccount,
    Kind::Role,
    Kind::RoleBinding,
    Kind::StatefulSet,
    Kind::Deployment,
    Kind::DisruptionBudget,
    Kind::NetworkPolicy,
];

/// What a shoot may keep for its machines, and a tenant of the provider need not be allowed.
pub(crate) const TYPES: [Kind; 2] = [Kind::Instancetype, Kind::Preference];

/// What is looked at in a shoot.
pub(crate) const INSIDE: [Kind; 18] = [
    Kind::Node,
    Kind::Token,
    Kind::Secret,
    Kind::ConfigMap,
    Kind::Service,
    Kind::ServiceAccount,
    Kind::Role,
    Kind::RoleBinding,
    Kind::ClusterRole,
    Kind::ClusterRoleBinding,
    Kind::Deployment,
    Kind::DaemonSet,
    Kind::DisruptionBudget,
    Kind::NetworkPolicy,
    Kind::EndpointSlice,
    Kind::StorageClass,
    Kind::CsiDriver,
    Kind::ApiService,
];

/// What is looked at in a shoot that goes: what holds something in the provider, and who could be in the way.
pub(crate) const LEAVING_INSIDE: [Kind; 8] = [
    Kind::Node,
    Kind::ValidatingWebhook,
    Kind::MutatingWebhook,
    Kind::VolumeClass,
    Kind::Balancer,
    Kind::Claim,
    Kind::Volume,
    Kind::Pod,
];

/// The same in the provider, beside snapshots where these are served.
pub(crate) const LEAVING_OUTSIDE: [Kind; 2] = [Kind::Mirror, Kind::Disk];

/// By which label the objects of a kind belong to a shoot; empty for all of them.
pub(crate) fn belonging(kind: Kind, id: &str) -> String {
    match kind {
        Kind::Mirror => format!("{CAPI_CLUSTER}={id}"),
        Kind::Disk | Kind::Snapshot => format!("{CSI_CLUSTER}={id}"),
        Kind::Node => String::new(),
        _ if kind.is_of_guest() => String::new(),
        _ => selector(id),
    }
}

/// What tells the objects of a kind from those of another kind of the same resource, as a label selector; empty for all.
pub(crate) fn among(side: Side, kind: Kind) -> String {
    match (side, kind) {
        (_, Kind::Record) => format!("{COMPONENT}={}", role::RECORD),
        (_, Kind::Network) => format!("{COMPONENT}={}", role::NETWORK),
        // Disks of machines as well: none is made while an earlier one of its name has still a disk.
        (_, Kind::Image) => format!("{COMPONENT} in ({},{})", role::IMAGE, role::MACHINE_VOLUME),
        (_, Kind::UserData) => format!("{COMPONENT}={}", role::USER_DATA),
        (_, Kind::Machine | Kind::Instance) => format!("{COMPONENT}={}", role::MACHINE),
        (_, Kind::Token) => format!("{COMPONENT}={}", role::TOKEN),
        (Side::Provider, Kind::Secret) => format!("{COMPONENT}!={}", role::USER_DATA),
        (Side::Shoot, Kind::Secret) => format!("{COMPONENT}!={}", role::TOKEN),
        (Side::Provider, Kind::ConfigMap) => format!("{COMPONENT}!={}", role::RECORD),
        _ => String::new(),
    }
}

/// Of an object that is to be made for an action on `key`.
pub(crate) fn source_of(key: &Key, object: &Value) -> Option<Source> {
    let kind = object["kind"].as_str().unwrap_or_default();
    let is_token = object["metadata"]["labels"][COMPONENT] == role::TOKEN;
    match key.kind {
        // With its user data, and the token in that.
        Kind::Machine if is_token => Some((Side::Shoot, Kind::Token)),
        Kind::Machine if kind == "Secret" => Some((Side::Provider, Kind::UserData)),
        Kind::Component => Some((key.side, Kind::generic(kind)?)),
        _ => Some((key.side, key.kind)),
    }
}
