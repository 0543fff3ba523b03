//! A shoot that is on its way out, and what holds it.

use super::super::CommandError;
use super::super::provider::failed;
use super::super::running::counted;
use super::{Finding, advice};
use crate::cluster::{
    Advice, ApiClient, Cause, CauseChain, Observer, ProviderContext, is_foreign_finalizer,
};
use crate::plan::names;
use tokio::time::Instant;

/// All of it by how much is left, machines by what they wait for, anything else by its finalizers. Without a record
/// too.
pub(in super::super) async fn holding(
    provider: &ApiClient,
    id: &str,
) -> Result<Vec<Finding>, CommandError> {
    let beside = ProviderContext {
        is_deletion: true,
        ..ProviderContext::default()
    };
    let observer = Observer::start(provider, id, Instant::now(), beside);
    let observer = observer.await.map_err(failed)?;
    let facts = observer.facts().borrow().clone();
    let mut chains = observer.diagnose(&facts).await.map_err(failed)?;
    chains.retain(|it| it.causes.first().is_some_and(|it| &*it.kind == "Machine"));
    let left = provider
        .remaining_objects(id)
        .await
        .map_err(failed)?
        .objects;
    let left: Vec<_> = left.iter().filter(|it| it.kind != "Lease").collect();
    // Those of KubeVirt are told with the machines.
    let is_told = |kind: &str| ["VirtualMachine", "VirtualMachineInstance"].contains(&kind);
    for it in left.iter().filter(|it| !is_told(it.kind)) {
        if !it.finalizers.iter().any(|it| is_foreign_finalizer(it)) {
            continue;
        }
        let link = Cause::new(it.kind, it.name.as_str(), "");
        let message = format!("kept by {}", it.finalizers.join(", "));
        chains.push(CauseChain::new(link, message).with_advice(Advice::Finalizer));
    }
    let own = Cause::new("Shoot", names::called(id), "being deleted");
    let message = format!("{} on the way out", counted(left.len(), "object"));
    chains.insert(0, CauseChain::new(own, message).with_advice(Advice::Delete));
    let advice = advice::Around {
        provider,
        name: names::called(id),
        writer: provider.current_holder(id).await.ok().flatten(),
    };
    let finding = |chain: CauseChain| Finding {
        hint: advice.hint(&chain),
        chain,
    };
    Ok(chains.into_iter().map(finding).collect())
}
