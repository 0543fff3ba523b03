//! The health of a shoot, for status and wait.

use crate::app::error::{CommandError, failed};
use crate::cluster::{ApiClient, FactsScope, RecordSnapshot};
use crate::load::last_applied;
use crate::state::conditions::{self, Condition, HealthInput};
use crate::state::facts::Facts;

/// Returns the conditions of a shoot.
pub(crate) async fn conditions(
    provider: &ApiClient,
    record: &RecordSnapshot,
) -> Result<Vec<Condition>, CommandError> {
    let seen = observe(provider, record).await?;
    Ok(conditions::conditions(&seen))
}

/// Reads what the conditions depend on from the provider cluster, and from the shoot if it is reachable.
pub(crate) async fn observe(
    provider: &ApiClient,
    record: &RecordSnapshot,
) -> Result<HealthInput, CommandError> {
    let facts = provider.list_facts(record, FactsScope::HEALTH);
    let facts = facts.await.map_err(failed)?;
    Ok(input(&facts, record))
}

/// The facts, judged by the manifest in the record.
pub(super) fn input(facts: &Facts, record: &RecordSnapshot) -> HealthInput {
    let shoot = last_applied(&record.data).map(|it| it.0);
    let workers = shoot.iter().flat_map(|it| &it.spec.provider.workers);
    let minimum = workers.map(|it| usize::try_from(it.minimum).unwrap_or_default());
    let network = shoot.as_ref().map(|it| &it.spec.networking.type_);
    let has_network = network.is_none_or(|it| it != "none");
    HealthInput::of(facts, minimum.sum(), has_network)
}
