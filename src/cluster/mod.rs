//! The one door to API servers: observations come in as facts, actions go out as requests.

mod annotations;
mod client;
mod diagnose;
mod doctor;
mod evacuation;
mod event;
mod event_stream;
mod execute;
mod json;
mod lock;
mod observe;
mod observer;
mod queries;
mod remaining;
mod snapshot;
mod support_bundle;

pub(crate) use client::api_client::Provider;
pub(crate) use client::certificate_authority::ClientCertificate;
pub(crate) use client::connect::{Kubeconfigs, Overrides, Source};
pub(crate) use client::download::download;
pub(crate) use client::endpoint::Way;
pub(crate) use client::error::{Error, Verdict, What};
pub(crate) use client::kubeconfig::kubeconfig;
pub(crate) use client::tunnel::Tunnel;
pub(crate) use diagnose::cause_chain::{Advice, Chain, Link};
pub(crate) use doctor::finding::{Finding, Grade, Uses};
pub(crate) use doctor::permissions::{
    Right, manifest as rbac, rules_to_apply, rules_to_choose, rules_to_delete,
};
pub(crate) use event::EventSeen;
pub(crate) use event_stream::Said;
pub(crate) use execute::executor::Performer;
pub(crate) use lock::acquire::Holder;
pub(crate) use lock::fence::Fence;
pub(crate) use lock::lease::Lease;
pub(crate) use observe::parse::deletion::is_foreign;
pub(crate) use observer::{Beside, Observer};
pub(crate) use queries::{ImageSeen, MachineSeen, RecordSeen, Where};
pub(crate) use remaining::Leftovers;
pub(crate) use snapshot::{NodeSeen, ShootSeen};
pub(crate) use support_bundle::collect::{Evidence, Found};
pub(crate) use support_bundle::redact::Redactor;

#[cfg(test)]
mod fake_tests;
