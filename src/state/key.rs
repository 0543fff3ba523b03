//! What an object is called: cluster, kind and name.

use std::fmt;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ClusterSide {
    Provider,
    /// The cluster that is made.
    Shoot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ObjectKind {
    /// The ConfigMap that stands for the shoot.
    Record,
    /// A tenant network's NetworkAttachmentDefinition.
    NetworkAttachmentDefinition,
    /// A golden volume's DataVolume.
    ImageVolume,
    /// The shoot's own VirtualMachineInstancetype.
    Instancetype,
    /// The shoot's own VirtualMachinePreference.
    Preference,
    /// A machine's Secret.
    UserData,
    /// A VirtualMachine, with its user data.
    Machine,
    /// Several objects that come up together; no object itself.
    Component,
    /// A machine's VirtualMachineInstance.
    VirtualMachineInstance,
    /// A machine's bootstrap token, a Secret of the shoot.
    BootstrapToken,
    /// A node of the shoot.
    Node,
    /// Of the shoot, for as long as it is deleted: a Service of type LoadBalancer.
    ShootLoadBalancer,
    /// A PersistentVolumeClaim.
    PersistentVolumeClaim,
    /// A PersistentVolume.
    PersistentVolume,
    /// A StorageClass that new volumes could be made by.
    ShootStorageClass,
    Pod,
    ValidatingWebhook,
    MutatingWebhook,
    /// What a Balancer is in the provider: a Service.
    ProviderLoadBalancer,
    /// What a Volume is in the provider: a DataVolume.
    ProviderDataVolume,
    /// A VolumeSnapshot that the shoot's driver made in the provider.
    VolumeSnapshot,
    /// The rest are whatever the API calls so.
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

/// One object on one side: what tells actions apart.
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

    /// What has a namespace is called `namespace/name`.
    pub(crate) fn shoot(kind: ObjectKind, name: impl Into<Arc<str>>) -> ObjectKey {
        ObjectKey {
            side: ClusterSide::Shoot,
            kind,
            name: name.into(),
        }
    }
}

impl ObjectKind {
    /// What users of a shoot and its controllers make, which does not carry our labels.
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

    /// Kinds of objects that components are made of.
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

    /// Of an object of a component, by its `kind` field.
    pub(crate) fn generic(text: &str) -> Option<ObjectKind> {
        ObjectKind::GENERIC
            .into_iter()
            .find(|it| it.to_string() == text)
    }
}

impl fmt::Display for ObjectKind {
    /// As kubectl names the kind of the object.
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
