//! Identity of an object: cluster, kind and name.

use std::fmt;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ClusterSide {
    Provider,
    /// The shoot itself.
    Shoot,
}

/// Defines [`ObjectKind`] from tables of its variants and the kinds that kubectl shows.
macro_rules! object_kinds {
    (
        kvshoot { $($(#[$own_doc:meta])* $own:ident = $own_kind:literal,)* }
        users { $($(#[$user_doc:meta])* $user:ident = $user_kind:literal,)* }
        components { $($part:ident = $part_kind:literal,)* }
    ) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) enum ObjectKind {
            $($(#[$own_doc])* $own,)*
            $($(#[$user_doc])* $user,)*
            $($part,)*
        }

        impl ObjectKind {
            #[cfg(test)]
            pub(crate) const ALL: &[ObjectKind] = &[
                $(ObjectKind::$own,)* $(ObjectKind::$user,)* $(ObjectKind::$part,)*
            ];

            /// Kinds of the objects in components.
            pub(crate) const GENERIC: &[ObjectKind] = &[$(ObjectKind::$part,)*];

            /// Returns true for objects created by users of a shoot and its controllers, without kvshoot's labels.
            pub(crate) fn is_user_resource(self) -> bool {
                matches!(self, $(ObjectKind::$user)|*)
            }
        }

        impl fmt::Display for ObjectKind {
            /// The kind as kubectl shows it.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(ObjectKind::$own => $own_kind,)*
                    $(ObjectKind::$user => $user_kind,)*
                    $(ObjectKind::$part => $part_kind,)*
                })
            }
        }
    };
}

object_kinds! {
    kvshoot {
        /// The ConfigMap that represents the shoot.
        Record = "ConfigMap",
        /// A tenant network's NetworkAttachmentDefinition.
        NetworkAttachmentDefinition = "NetworkAttachmentDefinition",
        /// A golden volume's DataVolume.
        ImageVolume = "DataVolume",
        /// The shoot's own VirtualMachineInstancetype.
        Instancetype = "VirtualMachineInstancetype",
        /// The shoot's own VirtualMachinePreference.
        Preference = "VirtualMachinePreference",
        /// A machine's Secret with user data.
        UserData = "Secret",
        /// A VirtualMachine, with its user data.
        Machine = "VirtualMachine",
        /// A group of objects that start together; not an object itself.
        Component = "component",
        /// A machine's VirtualMachineInstance.
        VirtualMachineInstance = "VirtualMachineInstance",
        /// A machine's bootstrap token, a Secret of the shoot.
        BootstrapToken = "Secret",
        /// A node of the shoot.
        Node = "Node",
        /// A kubelet's request for a certificate, in the shoot.
        SigningRequest = "CertificateSigningRequest",
    }
    // Observed only during deletion.
    users {
        /// A Service of type LoadBalancer in the shoot.
        ShootLoadBalancer = "Service",
        /// A PersistentVolumeClaim.
        PersistentVolumeClaim = "PersistentVolumeClaim",
        /// A PersistentVolume.
        PersistentVolume = "PersistentVolume",
        /// A StorageClass of the shoot, which could create new volumes.
        ShootStorageClass = "StorageClass",
        Pod = "Pod",
        ValidatingWebhook = "ValidatingWebhookConfiguration",
        MutatingWebhook = "MutatingWebhookConfiguration",
        /// The Service in the provider cluster behind a load balancer of the shoot.
        ProviderLoadBalancer = "Service",
        /// The DataVolume in the provider cluster behind a PersistentVolume of the shoot.
        ProviderDataVolume = "DataVolume",
        /// A VolumeSnapshot that the shoot's CSI driver created in the provider cluster.
        VolumeSnapshot = "VolumeSnapshot",
    }
    // These have the names of the API.
    components {
        Service = "Service",
        Secret = "Secret",
        ConfigMap = "ConfigMap",
        ServiceAccount = "ServiceAccount",
        Role = "Role",
        RoleBinding = "RoleBinding",
        ClusterRole = "ClusterRole",
        ClusterRoleBinding = "ClusterRoleBinding",
        StatefulSet = "StatefulSet",
        Deployment = "Deployment",
        DaemonSet = "DaemonSet",
        PodDisruptionBudget = "PodDisruptionBudget",
        NetworkPolicy = "NetworkPolicy",
        EndpointSlice = "EndpointSlice",
        Endpoints = "Endpoints",
        StorageClass = "StorageClass",
        CsiDriver = "CSIDriver",
        IngressClass = "IngressClass",
        ApiService = "APIService",
    }
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

impl ObjectKey {
    /// The object in the words of titles: `machine a-0`.
    pub(crate) fn in_words(&self) -> String {
        let what = match self.kind {
            ObjectKind::Record => "record",
            ObjectKind::NetworkAttachmentDefinition => "network",
            ObjectKind::ImageVolume => "image",
            ObjectKind::Instancetype => "instancetype",
            ObjectKind::Preference => "preference",
            ObjectKind::UserData => "user data of machine",
            ObjectKind::Machine => "machine",
            ObjectKind::Node => "node",
            ObjectKind::BootstrapToken => "bootstrap token",
            ObjectKind::ShootLoadBalancer => "load balancer",
            ObjectKind::ProviderLoadBalancer => "leftover load balancer",
            ObjectKind::ProviderDataVolume => "leftover volume",
            ObjectKind::VolumeSnapshot => "leftover snapshot",
            _ => return self.to_string(),
        };
        format!("{what} {}", self.name)
    }
}

impl ObjectKind {
    /// Kind of a component's object, from its `kind` field.
    pub(crate) fn generic(text: &str) -> Option<ObjectKind> {
        let mut kinds = ObjectKind::GENERIC.iter().copied();
        kinds.find(|it| it.to_string() == text)
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}
