//! Loading: documents, CloudProfiles, referenced values and records in, judged Shoots out.
//!
//! Nothing here reads files or asks an API server. [`needs()`] lists what the caller has to fetch before [`judge()`] can
//! give a complete answer, and [`LoadContext`] carries what was fetched.

mod context;
mod credentials;
mod judge;
mod kubeconfig;
mod machine_deployments;
mod needs;
mod networks;
mod problem;
mod record;
mod report;
#[cfg(test)]
mod tests;
mod unaffected;

pub(crate) use context::{BindingLookup, FetchedValues, LastApplied, LoadContext, ProfileFile};
pub(crate) use credentials::{
    ProviderCredentials, SecretLocation, misses_binding, provider_credentials,
};
pub(crate) use judge::{Loaded, judge};
pub(crate) use machine_deployments::ConvertedPool;
pub(crate) use needs::{Needs, needs};
pub(crate) use record::{last_applied, recorded_outline, recorded_shoot};
pub(crate) use unaffected::names_of_others;
