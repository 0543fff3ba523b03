//! The kinds of objects that a bundle has, of either side.

use super::super::kinds::{self, Resource, resource};

/// Of the provider's namespace: those of the shoot.
pub(super) const OF_SHOOT: [&Resource; 24] = [
    &kinds::VIRTUAL_MACHINE,
    &kinds::VIRTUAL_MACHINE_INSTANCE,
    &MIGRATION,
    &kinds::INSTANCETYPE,
    &kinds::PREFERENCE,
    &kinds::DATA_VOLUME,
    &IMPORT_SOURCE,
    &CLONE_SOURCE,
    &kinds::CLAIM,
    &kinds::VOLUME_SNAPSHOT,
    &kinds::POD,
    &kinds::STATEFUL_SET,
    &kinds::DEPLOYMENT,
    &REPLICA_SET,
    &kinds::SERVICE,
    &kinds::ENDPOINT_SLICE,
    &kinds::NETWORK_POLICY,
    &kinds::DISRUPTION_BUDGET,
    &kinds::NETWORK,
    &kinds::CONFIG_MAP,
    &kinds::SERVICE_ACCOUNT,
    &kinds::ROLE,
    &kinds::ROLE_BINDING,
    &kinds::LEASE,
];

/// Of the provider's namespace: all of them, for they bear on every shoot.
pub(super) const OF_NAMESPACE: [&Resource; 2] = [&kinds::QUOTA, &kinds::LIMIT_RANGE];

/// Of the whole provider.
pub(super) const OF_PROVIDER: [&Resource; 7] = [
    &kinds::STORAGE_CLASS,
    &SNAPSHOT_CLASS,
    &STORAGE_PROFILE,
    &kinds::VOLUME,
    &kinds::NODE,
    &kinds::KUBEVIRT,
    &kinds::CDI,
];

/// Of all namespaces of the shoot, and of none.
pub(super) const INSIDE: [&Resource; 33] = [
    &kinds::NODE,
    &kinds::NAMESPACE,
    &kinds::POD,
    &kinds::DEPLOYMENT,
    &REPLICA_SET,
    &kinds::STATEFUL_SET,
    &kinds::DAEMON_SET,
    &JOB,
    &CRON_JOB,
    &kinds::SERVICE,
    &kinds::ENDPOINT_SLICE,
    &INGRESS,
    &kinds::NETWORK_POLICY,
    &kinds::DISRUPTION_BUDGET,
    &kinds::CONFIG_MAP,
    &kinds::SERVICE_ACCOUNT,
    &kinds::CLAIM,
    &kinds::VOLUME,
    &kinds::STORAGE_CLASS,
    &kinds::VOLUME_ATTACHMENT,
    &kinds::CSI_DRIVER,
    &CSI_NODE,
    &kinds::LEASE,
    &CSR,
    &kinds::API_SERVICE,
    &kinds::CLUSTER_ROLE,
    &kinds::CLUSTER_ROLE_BINDING,
    &kinds::ROLE,
    &kinds::ROLE_BINDING,
    &kinds::VALIDATING_WEBHOOK,
    &kinds::MUTATING_WEBHOOK,
    &kinds::QUOTA,
    &kinds::LIMIT_RANGE,
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
const MIGRATION: Resource = resource(
    "kubevirt.io",
    "v1",
    "VirtualMachineInstanceMigration",
    "virtualmachineinstancemigrations",
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
