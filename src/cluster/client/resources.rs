//! Resources that kvshoot reads or writes, and their paths.

use crate::state::key::{ClusterSide, ObjectKey, ObjectKind};
use crate::state::names::{CAPI_CLUSTER, COMPONENT, CSI_CLUSTER, role, selector};
use serde_json::Value;
use std::fmt;

/// A kind of object on the provider's or the shoot's side.
pub(crate) type ResourceScope = (ClusterSide, ObjectKind);

/// A resource as served by the API.
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
    instancetype("VirtualMachineInstancetype", "virtualmachineinstancetypes");
pub(crate) const CLUSTER_INSTANCETYPE: Resource = instancetype(
    "VirtualMachineClusterInstancetype",
    "virtualmachineclusterinstancetypes",
);
pub(crate) const PREFERENCE: Resource =
    instancetype("VirtualMachinePreference", "virtualmachinepreferences");
pub(crate) const CLUSTER_PREFERENCE: Resource = instancetype(
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
/// Permission to clone a volume.
pub(crate) const DATA_VOLUME_SOURCE: Resource = resource(
    "cdi.kubevirt.io",
    "v1beta1",
    "DataVolume",
    "datavolumes/source",
);
/// Installation objects, which have the versions.
pub(crate) const KUBEVIRT: Resource = resource("kubevirt.io", "v1", "KubeVirt", "kubevirts");
pub(crate) const CDI: Resource = resource("cdi.kubevirt.io", "v1beta1", "CDI", "cdis");
pub(crate) const CDI_CONFIG: Resource =
    resource("cdi.kubevirt.io", "v1beta1", "CDIConfig", "cdiconfigs");
pub(crate) const PORT_FORWARD: Resource = core("Pod", "pods/portforward");
pub(crate) const ADD_VOLUME: Resource =
    volume_subresource("VirtualMachine", "virtualmachines/addvolume");
pub(crate) const REMOVE_VOLUME: Resource =
    volume_subresource("VirtualMachine", "virtualmachines/removevolume");
pub(crate) const ADD_VOLUME_INSTANCE: Resource = volume_subresource(
    "VirtualMachineInstance",
    "virtualmachineinstances/addvolume",
);
pub(crate) const REMOVE_VOLUME_INSTANCE: Resource = volume_subresource(
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
/// Asks for the permissions of another subject.
pub(crate) const ACCESS_REVIEW: Resource = resource(
    "authorization.k8s.io",
    "v1",
    "SubjectAccessReview",
    "subjectaccessreviews",
);

const fn rbac(kind: &'static str, plural: &'static str) -> Resource {
    resource("rbac.authorization.k8s.io", "v1", kind, plural)
}

/// Subresource of machines that attaches or detaches volumes.
const fn volume_subresource(kind: &'static str, plural: &'static str) -> Resource {
    resource("subresources.kubevirt.io", "v1", kind, plural)
}

pub(crate) const fn core(kind: &'static str, plural: &'static str) -> Resource {
    resource("", "v1", kind, plural)
}

/// Served by KubeVirt 1.0 and later.
const fn instancetype(kind: &'static str, plural: &'static str) -> Resource {
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
    pub(crate) fn of(kind: ObjectKind) -> &'static Resource {
        match kind {
            ObjectKind::Record => &CONFIG_MAP,
            ObjectKind::NetworkAttachmentDefinition => &NETWORK,
            ObjectKind::ImageVolume | ObjectKind::ProviderDataVolume => &DATA_VOLUME,
            ObjectKind::VolumeSnapshot => &VOLUME_SNAPSHOT,
            ObjectKind::Instancetype => &INSTANCETYPE,
            ObjectKind::Preference => &PREFERENCE,
            ObjectKind::UserData | ObjectKind::BootstrapToken | ObjectKind::Secret => &SECRET,
            ObjectKind::Machine => &VIRTUAL_MACHINE,
            ObjectKind::VirtualMachineInstance => &VIRTUAL_MACHINE_INSTANCE,
            ObjectKind::Node => &NODE,
            ObjectKind::Service
            | ObjectKind::ShootLoadBalancer
            | ObjectKind::ProviderLoadBalancer => &SERVICE,
            ObjectKind::PersistentVolumeClaim => &CLAIM,
            ObjectKind::PersistentVolume => &VOLUME,
            ObjectKind::Pod => &POD,
            ObjectKind::ValidatingWebhook => &VALIDATING_WEBHOOK,
            ObjectKind::MutatingWebhook => &MUTATING_WEBHOOK,
            // A component is not an object; its inventory is a ConfigMap.
            ObjectKind::ConfigMap | ObjectKind::Component => &CONFIG_MAP,
            ObjectKind::ServiceAccount => &SERVICE_ACCOUNT,
            ObjectKind::Role => &ROLE,
            ObjectKind::RoleBinding => &ROLE_BINDING,
            ObjectKind::ClusterRole => &CLUSTER_ROLE,
            ObjectKind::ClusterRoleBinding => &CLUSTER_ROLE_BINDING,
            ObjectKind::StatefulSet => &STATEFUL_SET,
            ObjectKind::Deployment => &DEPLOYMENT,
            ObjectKind::DaemonSet => &DAEMON_SET,
            ObjectKind::PodDisruptionBudget => &DISRUPTION_BUDGET,
            ObjectKind::NetworkPolicy => &NETWORK_POLICY,
            ObjectKind::EndpointSlice => &ENDPOINT_SLICE,
            ObjectKind::StorageClass | ObjectKind::ShootStorageClass => &STORAGE_CLASS,
            ObjectKind::CsiDriver => &CSI_DRIVER,
            ObjectKind::IngressClass => &INGRESS_CLASS,
            ObjectKind::ApiService => &API_SERVICE,
        }
    }

    /// Value of `apiVersion`.
    pub(crate) fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// Path of the collection, in one namespace or in the whole cluster.
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
    /// As in a Role: `virtualmachines.kubevirt.io`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.plural)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        Ok(())
    }
}

/// Kinds of a control plane in the provider namespace.
pub(crate) const CONTROL_PLANE_KINDS: [ObjectKind; 10] = [
    ObjectKind::Secret,
    ObjectKind::ConfigMap,
    ObjectKind::Service,
    ObjectKind::ServiceAccount,
    ObjectKind::Role,
    ObjectKind::RoleBinding,
    ObjectKind::StatefulSet,
    ObjectKind::Deployment,
    ObjectKind::PodDisruptionBudget,
    ObjectKind::NetworkPolicy,
];

/// Kinds that a shoot may own for its machines; a tenant of the provider may lack the permission.
pub(crate) const INSTANCETYPE_KINDS: [ObjectKind; 2] =
    [ObjectKind::Instancetype, ObjectKind::Preference];

/// Kinds that are watched in a shoot.
pub(crate) const SHOOT_KINDS: [ObjectKind; 18] = [
    ObjectKind::Node,
    ObjectKind::BootstrapToken,
    ObjectKind::Secret,
    ObjectKind::ConfigMap,
    ObjectKind::Service,
    ObjectKind::ServiceAccount,
    ObjectKind::Role,
    ObjectKind::RoleBinding,
    ObjectKind::ClusterRole,
    ObjectKind::ClusterRoleBinding,
    ObjectKind::Deployment,
    ObjectKind::DaemonSet,
    ObjectKind::PodDisruptionBudget,
    ObjectKind::NetworkPolicy,
    ObjectKind::EndpointSlice,
    ObjectKind::StorageClass,
    ObjectKind::CsiDriver,
    ObjectKind::ApiService,
];

/// Kinds that are watched in a shoot during deletion: those with objects in the provider, and those that may block it.
pub(crate) const DELETION_SHOOT_KINDS: [ObjectKind; 8] = [
    ObjectKind::Node,
    ObjectKind::ValidatingWebhook,
    ObjectKind::MutatingWebhook,
    ObjectKind::ShootStorageClass,
    ObjectKind::ShootLoadBalancer,
    ObjectKind::PersistentVolumeClaim,
    ObjectKind::PersistentVolume,
    ObjectKind::Pod,
];

/// Kinds that are watched in the provider during deletion, besides snapshots where these are served.
pub(crate) const DELETION_PROVIDER_KINDS: [ObjectKind; 2] = [
    ObjectKind::ProviderLoadBalancer,
    ObjectKind::ProviderDataVolume,
];

/// Label selector for the objects of a shoot; empty for all objects.
pub(crate) fn ownership_selector(kind: ObjectKind, id: &str) -> String {
    match kind {
        ObjectKind::ProviderLoadBalancer => format!("{CAPI_CLUSTER}={id}"),
        ObjectKind::ProviderDataVolume | ObjectKind::VolumeSnapshot => {
            format!("{CSI_CLUSTER}={id}")
        }
        ObjectKind::Node => String::new(),
        _ if kind.is_user_resource() => String::new(),
        _ => selector(id),
    }
}

/// Label selector that separates kinds of the same resource; empty for all objects.
pub(crate) fn role_selector(side: ClusterSide, kind: ObjectKind) -> String {
    match (side, kind) {
        (_, ObjectKind::Record) => format!("{COMPONENT}={}", role::RECORD),
        (_, ObjectKind::NetworkAttachmentDefinition) => format!("{COMPONENT}={}", role::NETWORK),
        // Includes disks of machines: a machine is not created while a disk of an earlier one of its name exists.
        (_, ObjectKind::ImageVolume) => {
            format!("{COMPONENT} in ({},{})", role::IMAGE, role::MACHINE_VOLUME)
        }
        (_, ObjectKind::UserData) => format!("{COMPONENT}={}", role::USER_DATA),
        (_, ObjectKind::Machine | ObjectKind::VirtualMachineInstance) => {
            format!("{COMPONENT}={}", role::MACHINE)
        }
        (_, ObjectKind::BootstrapToken) => format!("{COMPONENT}={}", role::TOKEN),
        (ClusterSide::Provider, ObjectKind::Secret) => format!("{COMPONENT}!={}", role::USER_DATA),
        (ClusterSide::Shoot, ObjectKind::Secret) => format!("{COMPONENT}!={}", role::TOKEN),
        (ClusterSide::Provider, ObjectKind::ConfigMap) => format!("{COMPONENT}!={}", role::RECORD),
        _ => String::new(),
    }
}

/// Scope of an object that is created for an action on `key`.
pub(crate) fn scope_of(key: &ObjectKey, object: &Value) -> Option<ResourceScope> {
    let kind = object["kind"].as_str().unwrap_or_default();
    let is_token = object["metadata"]["labels"][COMPONENT] == role::TOKEN;
    match key.kind {
        // Includes the user data and the bootstrap token in it.
        ObjectKind::Machine if is_token => Some((ClusterSide::Shoot, ObjectKind::BootstrapToken)),
        ObjectKind::Machine if kind == "Secret" => {
            Some((ClusterSide::Provider, ObjectKind::UserData))
        }
        ObjectKind::Component => Some((key.side, ObjectKind::generic(kind)?)),
        _ => Some((key.side, key.kind)),
    }
}
