//! The root causes that `kvshoot why` prints, for shoots that exist and for shoots that are being deleted.

use super::advice::AdviceContext;
use super::missing;
use super::root_cause::RootCause;
use crate::app::apply::external_objects;
use crate::app::context::Context;
use crate::app::error::{CommandError, failed};
use crate::cluster::{Advice, Beside, Chain, Link, Observer, Provider, RecordSeen, is_foreign};
use crate::load::recorded_shoot;
use crate::plan;
use crate::state::names;
use crate::state::observed::Observed;
use crate::ui::count;
use jiff::Timestamp;
use std::time::Duration;
use tokio::time::Instant;

/// Time to wait for the objects inside the shoot.
const INSIDE_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns everything that keeps a shoot from being healthy. Works with and without a run in progress, and changes
/// nothing.
pub(crate) async fn root_causes(
    provider: &Provider,
    record: &RecordSeen,
    context: &Context,
) -> Result<Vec<RootCause>, CommandError> {
    if record.leaving {
        return deletion_causes(provider, &record.name, context).await;
    }
    let shoot = recorded_shoot(&record.name, &record.data, Timestamp::now());
    let external = shoot.as_ref().map(|it| external_objects(it, provider));
    let external = external.unwrap_or_default();
    let observer = Observer::start(provider, &record.name, Instant::now(), external);
    let observer = observer.await.map_err(failed)?;
    let facts = observer.whole(INSIDE_TIMEOUT).await;
    let mut chains = observer.troubles(&facts).await.map_err(failed)?;
    if let Some(shoot) = &shoot {
        let observed = Observed {
            facts: facts.clone(),
            ahead: true,
            ..Observed::default()
        };
        let plan = plan::plan(shoot, &observed);
        let (name, is_explained) = (names::called(&record.name), !chains.is_empty());
        let errors = missing::last_errors(record);
        let missing = missing::chains(&facts, &plan, &errors, &name, is_explained);
        chains.extend(missing);
    }
    with_hints(chains, provider, &record.name, context).await
}

/// Returns what blocks the deletion of a shoot: machines by what they wait for, other objects by their finalizers. Works
/// without a record, too.
pub(crate) async fn deletion_causes(
    provider: &Provider,
    id: &str,
    context: &Context,
) -> Result<Vec<RootCause>, CommandError> {
    let beside = Beside {
        is_leaving: true,
        ..Beside::default()
    };
    let observer = Observer::start(provider, id, Instant::now(), beside);
    let observer = observer.await.map_err(failed)?;
    let facts = observer.facts().borrow().clone();
    let mut chains = observer.troubles(&facts).await.map_err(failed)?;
    chains.retain(|chain| {
        let first = chain.links.first();
        first.is_some_and(|link| &*link.kind == "Machine")
    });
    let remaining = provider.leftovers(id).await.map_err(failed)?.objects;
    let remaining: Vec<_> = remaining.iter().filter(|it| it.kind != "Lease").collect();
    // These were reported as machines.
    let is_machine = |kind: &str| ["VirtualMachine", "VirtualMachineInstance"].contains(&kind);
    for object in remaining.iter().filter(|it| !is_machine(it.kind)) {
        if !object.finalizers.iter().any(|it| is_foreign(it)) {
            continue;
        }
        let link = Link::new(object.kind, object.name.as_str(), "");
        let message = format!("blocked by finalizer {}", object.finalizers.join(", "));
        chains.push(Chain::of(link, message).advised(Advice::Finalizer));
    }
    let shoot = Link::new("Shoot", names::called(id), "being deleted");
    let message = format!("{} remaining", count(remaining.len(), "object"));
    chains.insert(0, Chain::of(shoot, message).advised(Advice::Delete));
    with_hints(chains, provider, id, context).await
}

async fn with_hints(
    chains: Vec<Chain>,
    provider: &Provider,
    id: &str,
    context: &Context,
) -> Result<Vec<RootCause>, CommandError> {
    let advice = AdviceContext {
        provider,
        context,
        name: names::called(id),
        writer: provider.writer(id).await.ok().flatten(),
    };
    let root_cause = |chain: Chain| RootCause {
        hint: advice.hint(&chain),
        chain,
    };
    Ok(chains.into_iter().map(root_cause).collect())
}
