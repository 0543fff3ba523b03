//! The only door to API servers: observations are returned as facts, actions are sent as requests.

mod annotations;
mod blocking_webhooks;
mod client;
pub(crate) mod conformance;
mod diagnose;
pub(crate) mod doctor;
mod evacuation;
mod event;
mod event_stream;
mod execute;
mod inventory;
mod json;
mod list_facts;
mod lock;
mod machine_detail;
mod objects;
mod observe;
mod observer;
mod records;
mod remaining;
mod restore;
mod root_secrets;
mod support_bundle;
mod upgrade;

pub(crate) use client::certificate_authority::ClientCertificate;
pub(crate) use client::connect::{KubeconfigFiles, KubeconfigOverrides, KubeconfigSource};
pub(crate) use client::download::{FileStream, download};
pub(crate) use client::error::{Error, RequestInfo, Retryability};
pub(crate) use client::kubeconfig::{kubeconfig, kubeconfig_with_file};
pub(crate) use client::logs::{LogTail, node::NodeLog};
pub(crate) use client::transport::in_flight::{InFlight, oldest_request};
pub(crate) use client::{endpoint::Endpoint, etcd_snapshot::EtcdSnapshot, tunnel::Tunnel};
pub(crate) use diagnose::cause_chain::{Advice, Cause, CauseChain};
pub(crate) use doctor::check_result::{CheckResult, CheckStatus, ShootRequirements};
pub(crate) use doctor::permissions::{
    Permission, UsedFeatures, manifest as rbac, rules_for_placement, rules_to_apply,
    rules_to_back_up, rules_to_delete, rules_to_evacuate, rules_to_migrate,
};
pub(crate) use doctor::{pod_security::VmAdmission, version::ProviderVersions};
pub(crate) use execute::{attachments::StaleAttachment, executor::Executor};
pub(crate) use inventory::{InstancetypeSize, ProviderInventory};
pub(crate) use lock::{acquire::LeaseHolder, current_run::CurrentRun};
pub(crate) use lock::{fence::Fence, keeper::CurrentKeeper, lease::Lease};
pub(crate) use observe::parse::deletion::is_foreign_finalizer;
pub(crate) use observe::{shared_watches::SharedWatches, static_facts::ProviderContext};
pub(crate) use records::{NamespaceScope, RecordSnapshot};
pub(crate) use restore::{CleanedObjects, UnmatchedObjects, snapshot_number};
pub(crate) use support_bundle::collect::{BundleCollector, CollectedPart};
pub(crate) use support_bundle::redact::Redactor;
pub(crate) use {blocking_webhooks::webhook_refusal, client::api_client::ApiClient};
pub(crate) use {diagnose::orphaned_volumes::OrphanedVolume, observe::health::HealthMemory};
pub(crate) use {event::KubernetesEvent, event_stream::EventStream, observer::Observer};
pub(crate) use {list_facts::FactsScope, machine_detail::MachineDetail};
pub(crate) use {remaining::RemainingObjects, root_secrets::SecretCopy};

#[cfg(test)]
mod fake_tests;
#[cfg(test)]
pub(crate) mod testing;
