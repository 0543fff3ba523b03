//! Kinds of objects in a bundle.

use crate::cluster::client::resources::{self, Resource, resource};

/// Provider namespace: objects of the shoot.
pub(crate) const SHOOT_OBJECTS: [&Resource; 24] = [
    &resources::VIRTUAL_MACHINE,
    &resources::VIRTUAL_MACHINE_INSTANCE,
    &resources::MIGRATION,
    &resources::INSTANCETYPE,
    &resources::PREFERENCE,
    &resources::DATA_VOLUME,
    &IMPORT_SOURCE,
    &CLONE_SOURCE,
    &resources::CLAIM,
    &resources::VOLUME_SNAPSHOT,
    &resources::POD,
    &resources::STATEFUL_SET,
    &resources::DEPLOYMENT,
    &REPLICA_SET,
    &resources::SERVICE,
    &resources::ENDPOINT_SLICE,
    &resources::NETWORK_POLICY,
    &resources::DISRUPTION_BUDGET,
    &resources::NETWORK,
    &resources::CONFIG_MAP,
    &resources::SERVICE_ACCOUNT,
    &resources::ROLE,
    &resources::ROLE_BINDING,
    &resources::LEASE,
];

/// Provider namespace: all objects, since they affect every shoot.
pub(crate) const NAMESPACE_OBJECTS: [&Resource; 2] = [&resources::QUOTA, &resources::LIMIT_RANGE];

/// Provider cluster.
pub(crate) const PROVIDER_OBJECTS: [&Resource; 7] = [
    &resources::STORAGE_CLASS,
    &SNAPSHOT_CLASS,
    &STORAGE_PROFILE,
    &resources::VOLUME,
    &resources::NODE,
    &resources::KUBEVIRT,
    &resources::CDI,
];

/// Shoot: all namespaces and cluster-scoped objects.
pub(crate) const SHOOT_API_OBJECTS: [&Resource; 33] = [
    &resources::NODE,
    &resources::NAMESPACE,
    &resources::POD,
    &resources::DEPLOYMENT,
    &REPLICA_SET,
    &resources::STATEFUL_SET,
    &resources::DAEMON_SET,
    &JOB,
    &CRON_JOB,
    &resources::SERVICE,
    &resources::ENDPOINT_SLICE,
    &INGRESS,
    &resources::NETWORK_POLICY,
    &resources::DISRUPTION_BUDGET,
    &resources::CONFIG_MAP,
    &resources::SERVICE_ACCOUNT,
    &resources::CLAIM,
    &resources::VOLUME,
    &resources::STORAGE_CLASS,
    &resources::VOLUME_ATTACHMENT,
    &resources::CSI_DRIVER,
    &CSI_NODE,
    &resources::LEASE,
    &CSR,
    &resources::API_SERVICE,
    &resources::CLUSTER_ROLE,
    &resources::CLUSTER_ROLE_BINDING,
    &resources::ROLE,
    &resources::ROLE_BINDING,
    &resources::VALIDATING_WEBHOOK,
    &resources::MUTATING_WEBHOOK,
    &resources::QUOTA,
    &resources::LIMIT_RANGE,
];

const REPLICA_SET: Resource = resource("apps", "v1", "ReplicaSet", "replicasets");
const JOB: Resource = resource("batch", "v1", "Job", "jobs");
const CRON_JOB: Resource = resource("batch", "v1", "CronJob", "cronjobs");
const INGRESS: Resource = resource("networking.k8s.io", "v1", "Ingress", "ingresses");
const CSI_NODE: Resource = resource("storage.k8s.io", "v1", "CSINode", "csinodes");
const CSR: Resource = resource(
    "certificates.k8s.io",
    "v1",
    "CertificateSigningRequest",
    "certificatesigningrequests",
);
const IMPORT_SOURCE: Resource = resource(
    "cdi.kubevirt.io",
    "v1beta1",
    "VolumeImportSource",
    "volumeimportsources",
);
const CLONE_SOURCE: Resource = resource(
    "cdi.kubevirt.io",
    "v1beta1",
    "VolumeCloneSource",
    "volumeclonesources",
);
const STORAGE_PROFILE: Resource = resource(
    "cdi.kubevirt.io",
    "v1beta1",
    "StorageProfile",
    "storageprofiles",
);
const SNAPSHOT_CLASS: Resource = resource(
    "snapshot.storage.k8s.io",
    "v1",
    "VolumeSnapshotClass",
    "volumesnapshotclasses",
);
