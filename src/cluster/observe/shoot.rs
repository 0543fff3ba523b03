//! The way to a shoot's own API server.

use super::observation_store::Shared;
use super::watcher::Feed;
use crate::cluster::client::api_client::Provider;
use crate::cluster::client::backoff::Backoff;
use crate::cluster::client::error::Error;
use crate::cluster::client::resources;
use crate::state::facts::{Fact, Facts, Inside};
use crate::state::key::{Key, Kind, Side};
use crate::state::names;
use futures::future::try_join_all;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Finds the way inside as soon as there is one, and looks at what is there from then on. Never ends.
pub(crate) async fn look_inside(provider: Provider, shared: Arc<Shared>, id: String) {
    let mut facts = shared.subscribe();
    let ready = facts.wait_for(|it| may_answer(it, &id)).await.is_ok();
    if !ready {
        return;
    }
    let mut backoff = Backoff::default();
    let server = loop {
        match provider.inside(&id).await {
            Ok(server) => break server,
            Err(error) => {
                tracing::debug!(%error, "the shoot's API server is not reached");
                let why = format!("the shoot's API server does not answer: {error}");
                shared.change(|world, _| world.fixed.inside = Inside::Unreachable(why.into()));
            }
        }
        backoff.wait().await;
    };
    let mut backoff = Backoff::default();
    let mut tasks = JoinSet::new();
    loop {
        let kinds: &[Kind] = match shared.is_leaving {
            true => &resources::LEAVING_INSIDE,
            false => &resources::INSIDE,
        };
        let feeds = kinds
            .iter()
            .map(|kind| Feed::new(&server, &shared, (Side::Shoot, *kind), &id));
        let first = feeds.map(async |feed| Ok::<_, Error>((feed.first().await?, feed)));
        match try_join_all(first).await {
            Ok(first) => {
                for (version, feed) in first {
                    tasks.spawn(feed.follow(version));
                }
                break;
            }
            Err(error) => {
                let why = format!("the shoot cannot be looked at: {error}");
                shared.change(|world, _| world.fixed.inside = Inside::Unreachable(why.into()));
            }
        }
        backoff.wait().await;
    }
    // Before the facts say so: who acts on them needs the way.
    let _ = shared.inside.set(server);
    shared.change(|world, _| world.fixed.inside = Inside::Observed);
    while tasks.join_next().await.is_some() {}
}

/// The Service has an address, the root is there, and a pod of the API server is available.
pub(crate) fn may_answer(facts: &Facts, id: &str) -> bool {
    let fact = |kind, part| {
        let key = Key::provider(kind, names::control_plane(id, part));
        facts.objects.get(&key).map(|it| &it.fact)
    };
    let has_root = fact(Kind::Secret, names::part::CA).is_some();
    let is_up = fact(Kind::Deployment, names::part::API_SERVER).is_some_and(|it| match it {
        Fact::Rollout(rollout) => rollout.available > 0,
        _ => false,
    });
    has_root && is_up && fact(Kind::Service, names::part::API_SERVER).is_some()
}
