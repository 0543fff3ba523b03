//! Looks for causes while something is not ready, and never when all is well.

use super::Provider;
use super::cause::Around;
use super::error::Error;
use super::kinds;
use super::observe::{Shared, if_allowed};
use super::request::{Place, Select};
use crate::plan::item::{Key, Kind, Side};
use crate::plan::names::{self, COMPONENT, role::MACHINE};
use crate::plan::observed::{Fact, Facts, Look};
use futures::future::{join4, try_join, try_join3};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// What is not ready for less than this needs no reason; and the least time between two looks.
const PATIENCE: Duration = Duration::from_secs(5);
/// Looking takes at most one part in so many of the time, so that a large shoot is not all looking.
const SHARE: u32 = 10;

const WARNINGS: Select = Select {
    labels: None,
    fields: Some("type=Warning"),
};

pub(super) async fn look_for_causes(provider: Provider, shared: Arc<Shared>, id: String) {
    let mut before = Vec::new();
    loop {
        sleep(PATIENCE).await;
        let facts = shared.newest();
        let mut stuck = stuck(&facts, shared.now());
        // Nobody notes since when workloads are not rolled out.
        let workloads = workloads(&facts);
        stuck.extend(workloads.iter().filter(|it| before.contains(*it)).cloned());
        before = workloads;
        if stuck.is_empty() {
            continue;
        }
        let begun = Instant::now();
        match causes(&provider, &shared, &facts, &id, stuck).await {
            Ok(causes) => shared.tell_causes(causes),
            Err(error) => tracing::debug!(%error, "cannot look for causes"),
        }
        sleep((begun.elapsed() * SHARE).saturating_sub(PATIENCE)).await;
    }
}

async fn causes(
    provider: &Provider,
    shared: &Shared,
    facts: &Facts,
    id: &str,
    stuck: Vec<Key>,
) -> Result<HashMap<Key, Arc<str>>, Error> {
    let outside = around(provider, id).await?;
    let is_inside = |it: &Key| it.side == Side::Shoot;
    let inside = match shared.inside.get().filter(|_| stuck.iter().any(is_inside)) {
        // What the provider says is told even while the shoot says nothing.
        Some(server) => around_pods(server).await.unwrap_or_default(),
        None => Around::default(),
    };
    let causes = stuck.into_iter().filter_map(|key| {
        let cause = match (key.side, key.kind) {
            (_, Kind::Machine) => {
                let machine = shared.read(|it| it.stuck(&key.name));
                outside.machine(&key.name, &machine, &facts.classes)
            }
            (_, Kind::Image) => outside.image(&key.name, &facts.classes),
            (Side::Provider, kind) => outside.workload(&kind.to_string(), &key.name),
            (Side::Shoot, kind) => {
                let name = key.name.strip_prefix("kube-system/")?;
                inside.workload(&kind.to_string(), name)
            }
        };
        Some((key, Arc::from(cause?)))
    });
    Ok(causes.collect())
}

/// What is not rolled out; inside the shoot, that is no news before there are nodes.
fn workloads(facts: &Facts) -> Vec<Key> {
    let has_nodes = !facts.nodes.is_empty();
    let objects = facts.objects.iter();
    let late = objects.filter(|(key, it)| match &it.fact {
        Fact::Rollout(rollout) => {
            rollout.why.is_some() && (has_nodes || key.side == Side::Provider)
        }
        _ => false,
    });
    late.map(|it| it.0.clone()).collect()
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
    // Pods of the control plane that crash count as running.
    let own = format!("{labels},{COMPONENT},{COMPONENT}!={MACHINE}");
    let of_workloads = Select {
        labels: Some(&own),
        fields: None,
    };
    // Importer pods do not get the labels of their volume.
    let importers = Select {
        labels: Some("app=containerized-data-importer"),
        fields: None,
    };
    let list = async |resource, select| -> Result<Vec<Value>, Error> {
        let listed = provider.list_where(Place::all(resource, namespace), select);
        if_allowed(listed.await.map(|it| it.items))
    };
    let (volumes, pods, claims, events) = join4(
        list(&kinds::DATA_VOLUME, ours),
        try_join3(
            list(&kinds::POD, pending),
            list(&kinds::POD, importers),
            list(&kinds::POD, of_workloads),
        ),
        list(&kinds::CLAIM, ours),
        list(&kinds::EVENT, WARNINGS),
    )
    .await;
    let pods = <[_; 3]>::from(pods?).concat();
    Ok(Around::new(volumes?, pods, claims?, events?))
}

/// What kube-system runs, inside a shoot.
async fn around_pods(server: &Provider) -> Result<Around, Error> {
    let list = async |resource, select| -> Result<Vec<Value>, Error> {
        let listed = server.list_where(Place::all(resource, Some("kube-system")), select);
        Ok(listed.await?.items)
    };
    let (pods, events) = try_join(
        list(&kinds::POD, Select::labels(None)),
        list(&kinds::EVENT, WARNINGS),
    )
    .await?;
    Ok(Around::new(Vec::new(), pods, Vec::new(), events))
}
