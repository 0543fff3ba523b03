//! Identity of an object: cluster, kind and name.

use std::fmt;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ClusterSide {
    Provider,
    /// The shoot itself.
    Shoot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ObjectKind {
    /// The ConfigMap that represents the shoot.
    Record,
    /// A tenant network's NetworkAttachmentDefinition.
    NetworkAttachmentDefinition,
    /// A golden volume's DataVolume.
    ImageVolume,
    /// The shoot's own VirtualMachineInstancetype.
    Instancetype,
    /// The shoot's own VirtualMachinePreference.
    Preference,
    /// A machine's Secret with user data.
    UserData,
    /// A VirtualMachine, with its user data.
    Machine,
    /// A group of objects that start together; not an object itself.
    Component,
    /// A machine's VirtualMachineInstance.
    VirtualMachineInstance,
    /// A machine's bootstrap token, a Secret of the shoot.
    BootstrapToken,
    /// A node of the shoot.
    Node,
    /// A Service of type LoadBalancer in the shoot. Observed only during deletion, as the following kinds.
    ShootLoadBalancer,
    /// A PersistentVolumeClaim.
    PersistentVolumeClaim,
    /// A PersistentVolume.
    PersistentVolume,
    /// A StorageClass of the shoot, which could create new volumes.
    ShootStorageClass,
    Pod,
    ValidatingWebhook,
    MutatingWebhook,
    /// The Service in the provider cluster behind a load balancer of the shoot.
    ProviderLoadBalancer,
    /// The DataVolume in the provider cluster behind a PersistentVolume of the shoot.
    ProviderDataVolume,
    /// A VolumeSnapshot that the shoot's CSI driver created in the provider cluster.
    VolumeSnapshot,
    /// The remaining kinds have the names of the API.
    Service,
    Secret,
    ConfigMap,
    ServiceAccount,
    Role,
    RoleBinding,
    ClusterRole,
    ClusterRoleBinding,
    StatefulSet,
    Deployment,
    DaemonSet,
    PodDisruptionBudget,
    NetworkPolicy,
    EndpointSlice,
    StorageClass,
    CsiDriver,
    IngressClass,
    ApiService,
}

/// One object in one cluster. At most one action per key runs at a time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectKey {
    pub(crate) side: ClusterSide,
    pub(crate) kind: ObjectKind,
    pub(crate) name: Arc<str>,
}

impl ObjectKey {
    pub(crate) fn provider(kind: ObjectKind, name: impl Into<Arc<str>>) -> ObjectKey {
        ObjectKey {
            side: ClusterSide::Provider,
            kind,
            name: name.into(),
        }
    }

    /// Namespaced objects have the name `namespace/name`.
    pub(crate) fn shoot(kind: ObjectKind, name: impl Into<Arc<str>>) -> ObjectKey {
        ObjectKey {
            side: ClusterSide::Shoot,
            kind,
            name: name.into(),
        }
    }
}

impl ObjectKind {
    /// Returns true for objects created by users of a shoot and its controllers, without kvshoot's labels.
    pub(crate) fn is_user_resource(self) -> bool {
        use ObjectKind::{
            MutatingWebhook, PersistentVolume, PersistentVolumeClaim, Pod, ProviderDataVolume,
            ProviderLoadBalancer, ShootLoadBalancer, ShootStorageClass, ValidatingWebhook,
            VolumeSnapshot,
        };
        matches!(
            self,
            ShootLoadBalancer
                | PersistentVolumeClaim
                | PersistentVolume
                | ShootStorageClass
                | Pod
                | ValidatingWebhook
                | MutatingWebhook
                | ProviderLoadBalancer
                | ProviderDataVolume
                | VolumeSnapshot
        )
    }

    /// Kinds of the objects in components.
    pub(crate) const GENERIC: [ObjectKind; 18] = [
        ObjectKind::Service,
        ObjectKind::Secret,
        ObjectKind::ConfigMap,
        ObjectKind::ServiceAccount,
        ObjectKind::Role,
        ObjectKind::RoleBinding,
        ObjectKind::ClusterRole,
        ObjectKind::ClusterRoleBinding,
        ObjectKind::StatefulSet,
        ObjectKind::Deployment,
        ObjectKind::DaemonSet,
        ObjectKind::PodDisruptionBudget,
        ObjectKind::NetworkPolicy,
        ObjectKind::EndpointSlice,
        ObjectKind::StorageClass,
        ObjectKind::CsiDriver,
        ObjectKind::IngressClass,
        ObjectKind::ApiService,
    ];

    /// Kind of a component's object, from its `kind` field.
    pub(crate) fn generic(text: &str) -> Option<ObjectKind> {
        ObjectKind::GENERIC
            .into_iter()
            .find(|it| it.to_string() == text)
    }
}

impl fmt::Display for ObjectKind {
    /// The kind as kubectl shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ObjectKind::Record => "ConfigMap",
            ObjectKind::NetworkAttachmentDefinition => "NetworkAttachmentDefinition",
            ObjectKind::ImageVolume => "DataVolume",
            ObjectKind::Instancetype => "VirtualMachineInstancetype",
            ObjectKind::Preference => "VirtualMachinePreference",
            ObjectKind::UserData | ObjectKind::BootstrapToken | ObjectKind::Secret => "Secret",
            ObjectKind::Machine => "VirtualMachine",
            ObjectKind::VirtualMachineInstance => "VirtualMachineInstance",
            ObjectKind::Component => "component",
            ObjectKind::Node => "Node",
            ObjectKind::ShootLoadBalancer | ObjectKind::ProviderLoadBalancer => "Service",
            ObjectKind::PersistentVolumeClaim => "PersistentVolumeClaim",
            ObjectKind::PersistentVolume => "PersistentVolume",
            ObjectKind::ShootStorageClass => "StorageClass",
            ObjectKind::Pod => "Pod",
            ObjectKind::ValidatingWebhook => "ValidatingWebhookConfiguration",
            ObjectKind::MutatingWebhook => "MutatingWebhookConfiguration",
            ObjectKind::ProviderDataVolume => "DataVolume",
            ObjectKind::VolumeSnapshot => "VolumeSnapshot",
            ObjectKind::Service => "Service",
            ObjectKind::ConfigMap => "ConfigMap",
            ObjectKind::ServiceAccount => "ServiceAccount",
            ObjectKind::Role => "Role",
            ObjectKind::RoleBinding => "RoleBinding",
            ObjectKind::ClusterRole => "ClusterRole",
            ObjectKind::ClusterRoleBinding => "ClusterRoleBinding",
            ObjectKind::StatefulSet => "StatefulSet",
            ObjectKind::Deployment => "Deployment",
            ObjectKind::DaemonSet => "DaemonSet",
            ObjectKind::PodDisruptionBudget => "PodDisruptionBudget",
            ObjectKind::NetworkPolicy => "NetworkPolicy",
            ObjectKind::EndpointSlice => "EndpointSlice",
            ObjectKind::StorageClass => "StorageClass",
            ObjectKind::CsiDriver => "CSIDriver",
            ObjectKind::IngressClass => "IngressClass",
            ObjectKind::ApiService => "APIService",
        })
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}
