//! A shoot that is on its way out, and what holds it.

use super::super::CommandError;
use super::super::provider::failed;
use super::super::running::counted;
use super::{Finding, advice};
use crate::cluster::{Advice, Beside, Chain, Link, Observer, Provider, is_foreign};
use crate::state::names;
use tokio::time::Instant;

/// All of it by how much is left, machines by what they wait for, anything else by its finalizers. Without a record
/// too.
pub(in super::super) async fn holding(
    provider: &Provider,
    id: &str,
) -> Result<Vec<Finding>, CommandError> {
    let beside = Beside {
        is_leaving: true,
        ..Beside::default()
    };
    let observer = Observer::start(provider, id, Instant::now(), beside);
    let observer = observer.await.map_err(failed)?;
    let facts = observer.facts().borrow().clone();
    let mut chains = observer.troubles(&facts).await.map_err(failed)?;
    chains.retain(|it| it.links.first().is_some_and(|it| &*it.kind == "Machine"));
    let left = provider.leftovers(id).await.map_err(failed)?.objects;
    let left: Vec<_> = left.iter().filter(|it| it.kind != "Lease").collect();
    // Those of KubeVirt are told with the machines.
    let is_told = |kind: &str| ["VirtualMachine", "VirtualMachineInstance"].contains(&kind);
    for it in left.iter().filter(|it| !is_told(it.kind)) {
        if !it.finalizers.iter().any(|it| is_foreign(it)) {
            continue;
        }
        let link = Link::new(it.kind, it.name.as_str(), "");
        let message = format!("kept by {}", it.finalizers.join(", "));
        chains.push(Chain::of(link, message).advised(Advice::Finalizer));
    }
    let own = Link::new("Shoot", names::display_name(id), "being deleted");
    let message = format!("{} on the way out", counted(left.len(), "object"));
    chains.insert(0, Chain::of(own, message).advised(Advice::Delete));
    let advice = advice::Around {
        provider,
        name: names::display_name(id),
        writer: provider.writer(id).await.ok().flatten(),
    };
    let finding = |chain: Chain| Finding {
        hint: advice.hint(&chain),
        chain,
    };
    Ok(chains.into_iter().map(finding).collect())
}
