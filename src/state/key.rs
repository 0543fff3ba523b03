//! What an object is called: cluster, kind and name.

use std::fmt;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Side {
    Provider,
    /// The cluster that is made.
    Shoot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// The ConfigMap that stands for the shoot.
    Record,
    /// A tenant network's NetworkAttachmentDefinition.
    Network,
    /// A golden volume's DataVolume.
    Image,
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
    Instance,
    /// A machine's bootstrap token, a Secret of the shoot.
    Token,
    /// A node of the shoot.
    Node,
    /// Of the shoot, for as long as it is deleted: a Service of type LoadBalancer.
    Balancer,
    /// A PersistentVolumeClaim.
    Claim,
    /// A PersistentVolume.
    Volume,
    /// A StorageClass that new volumes could be made by.
    VolumeClass,
    Pod,
    ValidatingWebhook,
    MutatingWebhook,
    /// What a Balancer is in the provider: a Service.
    Mirror,
    /// What a Volume is in the provider: a DataVolume.
    Disk,
    /// A VolumeSnapshot that the shoot's driver made in the provider.
    Snapshot,
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
    DisruptionBudget,
    NetworkPolicy,
    EndpointSlice,
    StorageClass,
    CsiDriver,
    IngressClass,
    ApiService,
}

/// One object on one side: what tells actions apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) side: Side,
    pub(crate) kind: Kind,
    pub(crate) name: Arc<str>,
}

impl Key {
    pub(crate) fn provider(kind: Kind, name: impl Into<Arc<str>>) -> Key {
        Key {
            side: Side::Provider,
            kind,
            name: name.into(),
        }
    }

    /// What has a namespace is called `namespace/name`.
    pub(crate) fn shoot(kind: Kind, name: impl Into<Arc<str>>) -> Key {
        Key {
            side: Side::Shoot,
            kind,
            name: name.into(),
        }
    }
}

impl Kind {
    /// What users of a shoot and its controllers make, which does not carry our labels.
    pub(crate) fn is_of_guest(self) -> bool {
        use Kind::{
            Balancer, Claim, Disk, Mirror, MutatingWebhook, Pod, Snapshot, ValidatingWebhook,
            Volume, VolumeClass,
        };
        matches!(
            self,
            Balancer
                | Claim
                | Volume
                | VolumeClass
                | Pod
                | ValidatingWebhook
                | MutatingWebhook
                | Mirror
                | Disk
                | Snapshot
        )
    }

    /// Kinds of objects that components are made of.
    pub(crate) const GENERIC: [Kind; 18] = [
        Kind::Service,
        Kind::Secret,
        Kind::ConfigMap,
        Kind::ServiceAccount,
        Kind::Role,
        Kind::RoleBinding,
        Kind::ClusterRole,
        Kind::ClusterRoleBinding,
        Kind::StatefulSet,
        Kind::Deployment,
        Kind::DaemonSet,
        Kind::DisruptionBudget,
        Kind::NetworkPolicy,
        Kind::EndpointSlice,
        Kind::StorageClass,
        Kind::CsiDriver,
        Kind::IngressClass,
        Kind::ApiService,
    ];

    /// Of an object of a component, by its `kind` field.
    pub(crate) fn generic(text: &str) -> Option<Kind> {
        Kind::GENERIC.into_iter().find(|it| it.to_string() == text)
    }
}

impl fmt::Display for Kind {
    /// As kubectl names the kind of the object.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Record => "ConfigMap",
            Kind::Network => "NetworkAttachmentDefinition",
            Kind::Image => "DataVolume",
            Kind::Instancetype => "VirtualMachineInstancetype",
            Kind::Preference => "VirtualMachinePreference",
            Kind::UserData | Kind::Token | Kind::Secret => "Secret",
            Kind::Machine => "VirtualMachine",
            Kind::Instance => "VirtualMachineInstance",
            Kind::Component => "component",
            Kind::Node => "Node",
            Kind::Balancer | Kind::Mirror => "Service",
            Kind::Claim => "PersistentVolumeClaim",
            Kind::Volume => "PersistentVolume",
            Kind::VolumeClass => "StorageClass",
            Kind::Pod => "Pod",
            Kind::ValidatingWebhook => "ValidatingWebhookConfiguration",
            Kind::MutatingWebhook => "MutatingWebhookConfiguration",
            Kind::Disk => "DataVolume",
            Kind::Snapshot => "VolumeSnapshot",
            Kind::Service => "Service",
            Kind::ConfigMap => "ConfigMap",
            Kind::ServiceAccount => "ServiceAccount",
            Kind::Role => "Role",
            Kind::RoleBinding => "RoleBinding",
            Kind::ClusterRole => "ClusterRole",
            Kind::ClusterRoleBinding => "ClusterRoleBinding",
            Kind::StatefulSet => "StatefulSet",
            Kind::Deployment => "Deployment",
            Kind::DaemonSet => "DaemonSet",
            Kind::DisruptionBudget => "PodDisruptionBudget",
            Kind::NetworkPolicy => "NetworkPolicy",
            Kind::EndpointSlice => "EndpointSlice",
            Kind::StorageClass => "StorageClass",
            Kind::CsiDriver => "CSIDriver",
            Kind::IngressClass => "IngressClass",
            Kind::ApiService => "APIService",
        })
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}
