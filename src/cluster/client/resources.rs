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

/// Defines a constant for each resource, and [`Resource::of`] from the kinds of kvshoot that are objects of it.
macro_rules! resources {
    ($($group:literal $version:literal {
        $($(#[$doc:meta])* $name:ident = $kind:literal, $plural:literal $(of $($object:ident)|+)?;)*
    })*) => {
        $($($(#[$doc])* pub(crate) const $name: Resource = resource($group, $version, $kind, $plural);)*)*

        impl Resource {
            pub(crate) fn of(kind: ObjectKind) -> &'static Resource {
                match kind {
                    $($($($(ObjectKind::$object)|+ => &$name,)?)*)*
                }
            }
        }
    };
}

resources! {
    "" "v1" {
        /// Includes the inventories of components, which are not objects themselves.
        CONFIG_MAP = "ConfigMap", "configmaps" of ConfigMap | Record | Component;
        SECRET = "Secret", "secrets" of Secret | UserData | BootstrapToken;
        SERVICE = "Service", "services" of Service | ShootLoadBalancer | ProviderLoadBalancer;
        SERVICE_ACCOUNT = "ServiceAccount", "serviceaccounts" of ServiceAccount;
        POD = "Pod", "pods" of Pod;
        POD_LOG = "Pod", "pods/log";
        PORT_FORWARD = "Pod", "pods/portforward";
        EXEC = "Pod", "pods/exec";
        CLAIM = "PersistentVolumeClaim", "persistentvolumeclaims" of PersistentVolumeClaim;
        VOLUME = "PersistentVolume", "persistentvolumes" of PersistentVolume;
        NODE = "Node", "nodes" of Node;
        NAMESPACE = "Namespace", "namespaces";
        EVENT = "Event", "events";
        QUOTA = "ResourceQuota", "resourcequotas";
        LIMIT_RANGE = "LimitRange", "limitranges";
        ENDPOINTS = "Endpoints", "endpoints" of Endpoints;
    }
    "admissionregistration.k8s.io" "v1" {
        VALIDATING_WEBHOOK = "ValidatingWebhookConfiguration", "validatingwebhookconfigurations" of ValidatingWebhook;
        MUTATING_WEBHOOK = "MutatingWebhookConfiguration", "mutatingwebhookconfigurations" of MutatingWebhook;
    }
    "apiregistration.k8s.io" "v1" {
        API_SERVICE = "APIService", "apiservices" of ApiService;
    }
    "apiextensions.k8s.io" "v1" {
        CUSTOM_RESOURCE_DEFINITION = "CustomResourceDefinition", "customresourcedefinitions";
    }
    "apps" "v1" {
        STATEFUL_SET = "StatefulSet", "statefulsets" of StatefulSet;
        DEPLOYMENT = "Deployment", "deployments" of Deployment;
        DAEMON_SET = "DaemonSet", "daemonsets" of DaemonSet;
    }
    "authorization.k8s.io" "v1" {
        RULES_REVIEW = "SelfSubjectRulesReview", "selfsubjectrulesreviews";
        /// Asks for the permissions of another subject.
        ACCESS_REVIEW = "SubjectAccessReview", "subjectaccessreviews";
    }
    "autoscaling" "v2" {
        POD_AUTOSCALER = "HorizontalPodAutoscaler", "horizontalpodautoscalers";
    }
    "batch" "v1" {
        JOB = "Job", "jobs";
    }
    "certificates.k8s.io" "v1" {
        SIGNING_REQUEST = "CertificateSigningRequest", "certificatesigningrequests" of SigningRequest;
    }
    "coordination.k8s.io" "v1" {
        LEASE = "Lease", "leases";
    }
    "discovery.k8s.io" "v1" {
        ENDPOINT_SLICE = "EndpointSlice", "endpointslices" of EndpointSlice;
    }
    "metrics.k8s.io" "v1beta1" {
        NODE_METRICS = "NodeMetrics", "nodes";
    }
    "networking.k8s.io" "v1" {
        NETWORK_POLICY = "NetworkPolicy", "networkpolicies" of NetworkPolicy;
        INGRESS_CLASS = "IngressClass", "ingressclasses" of IngressClass;
    }
    "policy" "v1" {
        DISRUPTION_BUDGET = "PodDisruptionBudget", "poddisruptionbudgets" of PodDisruptionBudget;
    }
    "rbac.authorization.k8s.io" "v1" {
        ROLE = "Role", "roles" of Role;
        ROLE_BINDING = "RoleBinding", "rolebindings" of RoleBinding;
        CLUSTER_ROLE = "ClusterRole", "clusterroles" of ClusterRole;
        CLUSTER_ROLE_BINDING = "ClusterRoleBinding", "clusterrolebindings" of ClusterRoleBinding;
    }
    "storage.k8s.io" "v1" {
        STORAGE_CLASS = "StorageClass", "storageclasses" of StorageClass | ShootStorageClass;
        CSI_DRIVER = "CSIDriver", "csidrivers" of CsiDriver;
        VOLUME_ATTACHMENT = "VolumeAttachment", "volumeattachments";
    }
    "scheduling.k8s.io" "v1" {
        PRIORITY_CLASS = "PriorityClass", "priorityclasses";
    }
    "snapshot.storage.k8s.io" "v1" {
        VOLUME_SNAPSHOT = "VolumeSnapshot", "volumesnapshots" of VolumeSnapshot;
    }
    "k8s.cni.cncf.io" "v1" {
        NETWORK = "NetworkAttachmentDefinition", "network-attachment-definitions" of NetworkAttachmentDefinition;
    }
    "kubevirt.io" "v1" {
        VIRTUAL_MACHINE = "VirtualMachine", "virtualmachines" of Machine;
        VIRTUAL_MACHINE_INSTANCE = "VirtualMachineInstance", "virtualmachineinstances" of VirtualMachineInstance;
        MIGRATION = "VirtualMachineInstanceMigration", "virtualmachineinstancemigrations";
        /// The installation, which has the version.
        KUBEVIRT = "KubeVirt", "kubevirts";
    }
    // Requests about machines.
    "subresources.kubevirt.io" "v1" {
        INSTANCE_SUBRESOURCE = "VirtualMachineInstance", "virtualmachineinstances";
        ADD_VOLUME = "VirtualMachine", "virtualmachines/addvolume";
        REMOVE_VOLUME = "VirtualMachine", "virtualmachines/removevolume";
        ADD_VOLUME_INSTANCE = "VirtualMachineInstance", "virtualmachineinstances/addvolume";
        REMOVE_VOLUME_INSTANCE = "VirtualMachineInstance", "virtualmachineinstances/removevolume";
        CANCEL_EVACUATION = "VirtualMachineInstance", "virtualmachineinstances/evacuate/cancel";
    }
    // Served by KubeVirt 1.0 and later.
    "instancetype.kubevirt.io" "v1beta1" {
        INSTANCETYPE = "VirtualMachineInstancetype", "virtualmachineinstancetypes" of Instancetype;
        CLUSTER_INSTANCETYPE = "VirtualMachineClusterInstancetype", "virtualmachineclusterinstancetypes";
        PREFERENCE = "VirtualMachinePreference", "virtualmachinepreferences" of Preference;
        CLUSTER_PREFERENCE = "VirtualMachineClusterPreference", "virtualmachineclusterpreferences";
    }
    "cilium.io" "v2" {
        /// Served by Cilium only.
        CILIUM_ENDPOINT = "CiliumEndpoint", "ciliumendpoints";
    }
    "security.openshift.io" "v1" {
        /// Served by OpenShift only.
        SECURITY_CONTEXT_CONSTRAINTS = "SecurityContextConstraints", "securitycontextconstraints";
    }
    "cdi.kubevirt.io" "v1beta1" {
        DATA_VOLUME = "DataVolume", "datavolumes" of ImageVolume | ProviderDataVolume;
        /// Permission to clone a volume.
        DATA_VOLUME_SOURCE = "DataVolume", "datavolumes/source";
        STORAGE_PROFILE = "StorageProfile", "storageprofiles";
        /// The installation, which has the version.
        CDI = "CDI", "cdis";
        CDI_CONFIG = "CDIConfig", "cdiconfigs";
    }
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
pub(crate) const SHOOT_KINDS: [ObjectKind; 20] = [
    ObjectKind::Node,
    ObjectKind::SigningRequest,
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
    ObjectKind::Endpoints,
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
        ObjectKind::Node | ObjectKind::SigningRequest => String::new(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_names_of_their_resources() {
        let objects = ObjectKind::ALL
            .iter()
            .filter(|it| **it != ObjectKind::Component);
        for kind in objects {
            assert_eq!(kind.to_string(), Resource::of(*kind).kind, "{kind:?}");
        }
    }
}
