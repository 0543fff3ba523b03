//! The way to a shoot's own API server.

use super::Provider;
use super::error::Error;
use super::kinds;
use super::observe::{Observer, Shared};
use super::project::text;
use super::request::Place;
use super::root::ClientCertificate;
use super::tunnel::Tunnel;
use super::watch::{Backoff, Feed};
use crate::plan::item::{Key, Kind, Side};
use crate::plan::names;
use crate::plan::observed::{Fact, Facts, Inside};
use base64::Engine as _;
use futures::future::{join_all, try_join_all};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long an address may take to answer before the next one is tried.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long kvshoot's own certificate holds: longer than any run takes.
const OWN_LIFE: i64 = 24 * 60 * 60;

impl Provider {
    /// Base URLs of a shoot's API server, the outer one first.
    ///
    /// # Errors
    ///
    /// There is no such control plane, or it may not be looked at.
    pub(crate) async fn shoot_addresses(&self, id: &str) -> Result<Vec<String>, Error> {
        let outer = names::control_plane(id, names::part::EXTERNAL);
        let inner = names::control_plane(id, names::part::API_SERVER);
        let mut addresses = Vec::new();
        for name in [&outer, &inner] {
            let place = Place::one(&kinds::SERVICE, self.namespace(), name);
            match self.get_again(place).await {
                Ok(service) => addresses.extend(base_url(&service)),
                Err(Error::NotFound { .. }) if *name == outer => {}
                Err(error) => return Err(error),
            }
        }
        Ok(addresses)
    }

    /// A client of a shoot's API server, for kvshoot itself: by the first address that answers, and else through
    /// the API server of the provider.
    ///
    /// # Errors
    ///
    /// There is no such control plane, its root may not be read, or nothing answers.
    pub(crate) async fn inside(&self, id: &str) -> Result<Provider, Error> {
        let addresses = self.shoot_addresses(id).await?;
        // The group works before there are roles.
        let own = self.client_certificate(id, "kvshoot", &["system:masters"], OWN_LIFE);
        let credentials = own.await?;
        let tries = addresses
            .iter()
            .map(|url| answering(url.clone(), &credentials));
        let mut last = None;
        for answer in join_all(tries).await {
            match answer {
                Ok(server) => return Ok(server),
                Err(error) => last = Some(error),
            }
        }
        let last = last.unwrap_or(Error::NotInside);
        self.through(id, &credentials, last).await
    }

    /// The same by a tunnel, which lives as long as the client; `without` is why one is needed.
    async fn through(
        &self,
        id: &str,
        credentials: &ClientCertificate,
        without: Error,
    ) -> Result<Provider, Error> {
        let tunnel = match Tunnel::open(self, id).await {
            Ok(tunnel) => tunnel,
            Err(error) => {
                tracing::debug!(%error, "no tunnel to the shoot's API server");
                return Err(without);
            }
        };
        let server = answering(tunnel.url(), credentials).await?;
        Ok(Provider {
            _tunnel: Some(Arc::new(tunnel)),
            ..server
        })
    }
}

/// A client of the server at `url`, if that answers in time.
pub(super) async fn answering(
    url: String,
    credentials: &ClientCertificate,
) -> Result<Provider, Error> {
    let server = Provider::from_credentials(&url, credentials).await?;
    match timeout(PATIENCE, server.get_once("/version", "version")).await {
        Ok(Ok(_)) => Ok(server),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(Error::Timeout {
            what: super::What::get("version"),
            after: PATIENCE,
        }),
    }
}

/// Where a Service can be spoken to.
fn base_url(service: &Value) -> Option<String> {
    let Some(Fact::Service(fact)) = super::told::fact(Kind::Service, service) else {
        return None;
    };
    let annotations = &service["metadata"]["annotations"];
    let (host, port) = match (fact.ingress, fact.node_ports.get("https")) {
        (Some(ingress), _) => (ingress, super::API_PORT),
        (None, Some(port)) if service["spec"]["type"] == "NodePort" => {
            (text(&annotations[names::ADDRESS]).into(), *port)
        }
        _ => (fact.cluster_ip?, super::API_PORT),
    };
    let host = match host.contains(':') {
        true => format!("[{host}]"),
        false => host.to_string(),
    };
    Some(format!("https://{host}:{port}"))
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
