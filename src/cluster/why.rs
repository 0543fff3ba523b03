//! Looks for causes while something is not ready, and never when all is well.

use super::Provider;
use super::cause::Around;
use super::error::Error;
use super::kinds;
use super::observe::{Shared, if_allowed};
use super::request::{Place, Select};
use crate::plan::item::{Key, Kind};
use crate::plan::names;
use crate::plan::observed::{Fact, Facts, Look};
use futures::future::join5;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// What is not ready for less than this needs no reason; and the least time between two looks.
const PATIENCE: Duration = Duration::from_secs(5);
/// Looking takes at most one part in so many of the time, so that a large shoot is not all looking.
const SHARE: u32 = 10;

pub(super) async fn look_for_causes(provider: Provider, shared: Arc<Shared>, id: String) {
    loop {
        sleep(PATIENCE).await;
        let facts = shared.newest();
        let stuck = stuck(&facts, shared.now());
        if stuck.is_empty() {
            continue;
        }
        let begun = Instant::now();
        match around(&provider, &id).await {
            Ok(around) => {
                let causes = stuck.into_iter().filter_map(|key| {
                    let cause = match key.kind {
                        Kind::Machine => {
                            let complaint = shared.read(|it| it.complaint(&key.name));
                            around.machine(&key.name, complaint.as_deref(), &facts.classes)
                        }
                        _ => around.image(&key.name, &facts.classes),
                    };
                    Some((key, Arc::from(cause?)))
                });
                shared.tell_causes(causes.collect::<HashMap<_, _>>());
            }
            Err(error) => tracing::debug!(%error, "cannot look for causes"),
        }
        sleep((begun.elapsed() * SHARE).saturating_sub(PATIENCE)).await;
    }
}

fn stuck(facts: &Facts, now: Duration) -> Vec<Key> {
    let machines = facts.machines.values().flatten().filter(|(_, it)| {
        let is_waiting = matches!(it.look, Look::Coming | Look::NotReady | Look::Broken);
        is_waiting && now.saturating_sub(it.since) > PATIENCE
    });
    let machines = machines.map(|(name, _)| Key::provider(Kind::Machine, name.clone()));
    let images = facts.objects.iter().filter(|(_, it)| match &it.fact {
        Fact::Image(import) => !import.done,
        _ => false,
    });
    machines.chain(images.map(|(key, _)| key.clone())).collect()
}

async fn around(provider: &Provider, id: &str) -> Result<Around, Error> {
    let namespace = Some(&**provider.namespace());
    let labels = names::selector(id);
    let ours = Select {
        labels: Some(&labels),
        fields: None,
    };
    // A machine whose pod runs waits for its guest: no pod says anything about that.
    let pending = Select {
        fields: Some("status.phase!=Running"),
        ..ours
    };
    // Importer pods do not get the labels of their volume.
    let importers = Select {
        labels: Some("app=containerized-data-importer"),
        fields: None,
    };
    let warnings = Select {
        labels: None,
        fields: Some("type=Warning"),
    };
    let list = async |resource, select| -> Result<Vec<Value>, Error> {
        let listed = provider.list_where(Place::all(resource, namespace), select);
        if_allowed(listed.await.map(|it| it.items))
    };
    let (volumes, pods, more_pods, claims, events) = join5(
        list(&kinds::DATA_VOLUME, ours),
        list(&kinds::POD, pending),
        list(&kinds::POD, importers),
        list(&kinds::CLAIM, ours),
        list(&kinds::EVENT, warnings),
    )
    .await;
    let mut pods = pods?;
    pods.extend(more_pods?);
    Ok(Around::new(volumes?, pods, claims?, events?))
}
