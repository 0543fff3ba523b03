//! The provider configurations in Gardener's objects, the parts of KubeVirt's API that they embed, and what machines
//! download.

mod backup;
mod machine_downloads;
mod machine_template;
mod network_policy;
mod provider_config;
mod worker_config;

pub(crate) use backup::*;
pub(crate) use machine_downloads::*;
pub(crate) use machine_template::*;
pub(crate) use network_policy::*;
pub(crate) use provider_config::*;
pub(crate) use worker_config::*;
