//! The resources that kvshoot reads or writes, and their addresses.

use crate::plan::item::Kind;
use crate::plan::names::role;
use std::fmt;

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
pub(crate) const CLAIM: Resource = core("PersistentVolumeClaim", "persistentvolumeclaims");
pub(crate) const EVENT: Resource = core("Event", "events");
pub(crate) const NODE: Resource = core("Node", "nodes");
pub(crate) const NAMESPACE: Resource = core("Namespace", "namespaces");
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

const fn core(kind: &'static str, plural: &'static str) -> Resource {
    resource("", "v1", kind, plural)
}

const fn resource(
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
            Kind::Image => &DATA_VOLUME,
            Kind::UserData => &SECRET,
            Kind::Machine => &VIRTUAL_MACHINE,
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
    pub(super) fn path(&self, namespace: Option<&str>) -> String {
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

/// The component label of a kind's objects.
pub(super) fn component(kind: Kind) -> &'static str {
    match kind {
        Kind::Record => role::RECORD,
        Kind::Network => role::NETWORK,
        Kind::Image => role::IMAGE,
        Kind::UserData => role::USER_DATA,
        Kind::Machine => role::MACHINE,
    }
}

/// The kind of an object that is to be made, by its `kind` field.
pub(super) fn kind_of(text: &str) -> Option<Kind> {
    [
        Kind::Record,
        Kind::Network,
        Kind::Image,
        Kind::UserData,
        Kind::Machine,
    ]
    .into_iter()
    .find(|it| Resource::of(*it).kind == text)
}
