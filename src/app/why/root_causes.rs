//! The root causes that `kvshoot why` prints, for shoots that exist and for shoots that are being deleted.

use super::advice::AdviceContext;
use super::missing::{self, LastRun};
use super::root_cause::RootCause;
use crate::app::context::Context;
use crate::app::error::{CommandError, failed};
use crate::app::provider::external_objects::external_objects;
use crate::cluster::{
    Advice, ApiClient, Cause, CauseChain, Observer, OrphanedVolume, ProviderContext,
    RecordSnapshot, StaleAttachment, is_foreign_finalizer,
};
use crate::load::recorded_shoot;
use crate::plan;
use crate::state::facts::{Facts, ShootApi};
use crate::state::names;
use crate::state::observed::Observed;
use crate::ui::{count, format_duration};
use crate::validate::ValidShoot;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Time to wait for the objects inside the shoot.
const INSIDE_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns everything that keeps a shoot from being healthy. Works with and without a run in progress, and changes
/// nothing.
pub(crate) async fn root_causes(
    provider: &ApiClient,
    record: &RecordSnapshot,
    context: &Context,
) -> Result<Vec<RootCause>, CommandError> {
    if record.leaving {
        return deletion_causes(provider, &record.name, context).await;
    }
    let shoot = complete_shoot(provider, record).await;
    let external = shoot.as_ref().map(|it| external_objects(it, provider));
    let external = external.unwrap_or_default();
    let observer = Observer::start(provider, &record.name, Instant::now(), external);
    let observer = observer.await.map_err(failed)?;
    let facts = observer.complete_facts(INSIDE_TIMEOUT).await;
    let shoot = shoot.as_ref();
    observed_causes(&observer, &facts, provider, record, shoot, context).await
}

/// The shoot in the record. Without it, or its user data, there is nothing that could be missing.
async fn complete_shoot(provider: &ApiClient, record: &RecordSnapshot) -> Option<ValidShoot> {
    match provider.complete_record(record.clone()).await {
        Ok(record) => recorded_shoot(&record.name, &record.data, crate::clock::now()),
        Err(error) => {
            tracing::warn!(%error, "cannot read the manifest");
            None
        }
    }
}

/// Returns the root causes in an observation of a shoot that is not being deleted. `shoot` is the shoot in the record.
async fn observed_causes(
    observer: &Observer,
    facts: &Arc<Facts>,
    provider: &ApiClient,
    record: &RecordSnapshot,
    shoot: Option<&ValidShoot>,
    context: &Context,
) -> Result<Vec<RootCause>, CommandError> {
    let mut chains = observer.diagnose(facts).await.map_err(failed)?;
    if let Some(shoot) = shoot {
        let observed = Observed {
            facts: facts.clone(),
            ahead: true,
            ..Observed::default()
        };
        let plan = plan::plan(shoot, &observed);
        let (name, is_explained) = (names::display_name(&record.name), !chains.is_empty());
        let last = LastRun::of(record);
        let missing = missing::chains(facts, &plan, &last, &name, is_explained);
        chains.extend(missing);
    }
    let shoot = observer.shoot_client();
    if let Some(shoot) = shoot.filter(|_| facts.shoot_api == ShootApi::Reachable) {
        chains.extend(attachment_causes(provider, &shoot).await);
        chains.extend(orphan_causes(provider, &shoot, &record.name).await);
    }
    with_hints(chains, provider, &record.name, context).await
}

/// Volumes that cannot be used, because they are attached to a node that is gone.
async fn attachment_causes(provider: &ApiClient, shoot: &ApiClient) -> Vec<CauseChain> {
    let stale = match provider
        .stale_attachments(shoot, StaleAttachment::AFTER)
        .await
    {
        Ok(stale) => stale,
        // Everything else is known.
        Err(error) => {
            tracing::warn!(%error, "cannot read attachments of volumes");
            return Vec::new();
        }
    };
    let chain = |it: &StaleAttachment| {
        let cause = Cause::new("VolumeAttachment", it.name.as_str(), "Deleting");
        let (volume, node, age) = (&it.volume, &it.node, format_duration(it.age));
        let message = format!(
            "volume {volume} has been detaching from node {node}, which is gone, for {age}"
        );
        match &it.in_use {
            Some(why) => CauseChain::new(cause, format!("{message}; {why}")),
            None => CauseChain::new(cause, message).with_advice(Advice::Repair),
        }
    };
    stale.iter().map(chain).collect()
}

/// Volumes that cannot be used elsewhere, because they are still plugged into a machine that does not need them.
async fn orphan_causes(provider: &ApiClient, shoot: &ApiClient, id: &str) -> Vec<CauseChain> {
    let orphaned = match provider.orphaned_volumes(shoot, id).await {
        Ok(orphaned) => orphaned,
        // Everything else is known.
        Err(error) => {
            tracing::warn!(%error, "cannot read volumes of machines");
            return Vec::new();
        }
    };
    let chain = |it: &OrphanedVolume| {
        let cause = Cause::new("VirtualMachineInstance", it.machine.as_str(), "");
        let message = format!(
            "volume {} is plugged in, although neither the machine nor its node has it",
            it.volume
        );
        CauseChain::new(cause, message).with_advice(Advice::Restart)
    };
    orphaned.iter().map(chain).collect()
}

/// Returns the root causes at the end of a run, from its own observation. None without a record.
pub(crate) async fn root_causes_of_run(
    observer: &Observer,
    provider: &ApiClient,
    id: &str,
    context: &Context,
) -> Result<Option<Vec<RootCause>>, CommandError> {
    let Some(record) = provider.record(id).await.map_err(failed)? else {
        return Ok(None);
    };
    let shoot = complete_shoot(provider, &record).await;
    let facts = observer.facts().borrow().clone();
    let shoot = shoot.as_ref();
    let found = observed_causes(observer, &facts, provider, &record, shoot, context).await?;
    Ok(Some(found))
}

/// Returns what blocks the deletion of a shoot: machines by what they wait for, other objects by their finalizers. Works
/// without a record, too.
pub(crate) async fn deletion_causes(
    provider: &ApiClient,
    id: &str,
    context: &Context,
) -> Result<Vec<RootCause>, CommandError> {
    let beside = ProviderContext {
        is_deletion: true,
        ..ProviderContext::default()
    };
    let observer = Observer::start(provider, id, Instant::now(), beside);
    let observer = observer.await.map_err(failed)?;
    let facts = observer.facts().borrow().clone();
    let mut chains = observer.diagnose(&facts).await.map_err(failed)?;
    chains.retain(|chain| {
        let first = chain.causes.first();
        first.is_some_and(|link| &*link.kind == "Machine")
    });
    let remaining = provider
        .remaining_objects(id)
        .await
        .map_err(failed)?
        .objects;
    let remaining: Vec<_> = remaining.iter().filter(|it| it.kind != "Lease").collect();
    // These were reported as machines.
    let is_machine = |kind: &str| ["VirtualMachine", "VirtualMachineInstance"].contains(&kind);
    for object in remaining.iter().filter(|it| !is_machine(it.kind)) {
        if !object.finalizers.iter().any(|it| is_foreign_finalizer(it)) {
            continue;
        }
        let link = Cause::new(object.kind, object.name.as_str(), "");
        let message = format!("blocked by finalizer {}", object.finalizers.join(", "));
        chains.push(CauseChain::new(link, message).with_advice(Advice::Finalizer));
    }
    let shoot = Cause::new("Shoot", names::display_name(id), "being deleted");
    let message = format!("{} remaining", count(remaining.len(), "object"));
    chains.insert(
        0,
        CauseChain::new(shoot, message).with_advice(Advice::Delete),
    );
    with_hints(chains, provider, id, context).await
}

/// Asked only if a machine runs without a node. What cannot be found out is left out.
async fn network_problem(chains: &[CauseChain], provider: &ApiClient) -> Option<String> {
    let is_silent = |it: &CauseChain| matches!(it.advice, Some(Advice::Console | Advice::Network));
    if !chains.iter().any(is_silent) {
        return None;
    }
    provider.cilium_translation().await.ok()??.problem()
}

async fn with_hints(
    chains: Vec<CauseChain>,
    provider: &ApiClient,
    id: &str,
    context: &Context,
) -> Result<Vec<RootCause>, CommandError> {
    let advice = AdviceContext {
        provider,
        context,
        name: names::display_name(id),
        writer: provider.current_holder(id).await.ok().flatten(),
        network_problem: network_problem(&chains, provider).await,
    };
    let root_cause = |chain: CauseChain| RootCause {
        hint: advice.hint(&chain),
        chain,
    };
    Ok(chains.into_iter().map(root_cause).collect())
}
