//! The way to a shoot's own API server.

use super::error::Error;
use super::observe::{Observer, Shared};
use super::root::ClientCertificate;
use super::watch::{Backoff, Feed};
use super::{Provider, kinds};
use crate::state::facts::{Fact, Facts, Inside};
use crate::state::key::{Key, Kind, Side};
use crate::state::names;
use base64::Engine as _;
use futures::future::try_join_all;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long kvshoot's own certificate holds: longer than any run takes.
const OWN_LIFE: i64 = 24 * 60 * 60;

impl Provider {
    /// A client of a shoot's API server, for kvshoot itself.
    ///
    /// # Errors
    ///
    /// There is no such control plane, its root may not be read, or nothing answers.
    pub(crate) async fn inside(&self, id: &str) -> Result<Provider, Error> {
        // The group works before there are roles.
        let own = self.client_certificate(id, "kvshoot", &["system:masters"], OWN_LIFE);
        Ok(self.way(id, &own.await?).await?.server)
    }
}

/// Text of a kubeconfig that holds all that it needs.
pub(crate) fn kubeconfig(name: &str, url: &str, credentials: &ClientCertificate) -> Value {
    use secrecy::ExposeSecret as _;
    let coded = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": name, "cluster": {
            "server": url,
            "certificate-authority-data": coded(&credentials.ca),
        } }],
        "users": [{ "name": name, "user": {
            "client-certificate-data": coded(&credentials.certificate),
            "client-key-data": coded(credentials.key.expose_secret()),
        } }],
        "contexts": [{ "name": name, "context": { "cluster": name, "user": name } }],
        "current-context": name,
    })
}

/// Finds the way inside as soon as there is one, and looks at what is there from then on. Never ends.
pub(super) async fn look_inside(provider: Provider, shared: Arc<Shared>, id: String) {
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
            true => &kinds::LEAVING_INSIDE,
            false => &kinds::INSIDE,
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

impl Observer {
    /// Returns when what is inside the shoot is in the facts as well, if there is a way inside; waits for that
    /// no longer than `limit`.
    pub(crate) async fn whole(&self, limit: Duration) -> Arc<Facts> {
        let id = self.shared.read(|world| world.id().clone());
        let is_whole = |it: &Arc<Facts>| it.inside != Inside::Absent || !may_answer(it, &id);
        let mut facts = self.facts();
        let waited = timeout(limit, facts.wait_for(is_whole)).await;
        drop(waited);
        self.facts().borrow().clone()
    }
}

/// The Service has an address, the root is there, and a pod of the API server is available.
fn may_answer(facts: &Facts, id: &str) -> bool {
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
