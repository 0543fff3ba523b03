//! The shoots whose autoscalers are answered.

use super::node_groups::{NodeGroups, ObservedShoot};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::keep::listen::listen;
use crate::app::keep::options::KeepOptions;
use crate::autoscaler::{ServedShoot, server_config};
use crate::cluster::ApiClient;
use crate::plan::autoscaling::scalable_zones;
use crate::render::control_plane::cluster_autoscaler::{CLIENT, server_names};
use futures::future::{BoxFuture, pending};
use secrecy::ExposeSecret as _;
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Validity of the certificate of the server, in seconds, and its age when it is replaced.
const VALIDITY: i64 = 24 * 60 * 60;
const RENEWAL: Duration = Duration::from_secs(12 * 60 * 60);

/// Shoots by the name of their server.
#[derive(Clone, Default)]
pub(in crate::app::keep) struct AutoscaledShoots(Arc<Mutex<HashMap<String, Registered>>>);

struct Registered {
    served: ServedShoot,
    groups: Arc<NodeGroups>,
    /// When the certificate was issued, and which authorities its client trusted then.
    issued: Instant,
    authorities: Arc<str>,
}

impl AutoscaledShoots {
    /// Answers the autoscaler of a shoot from now on, from this observation.
    ///
    /// # Errors
    ///
    /// The certificate authority of the shoot cannot be read.
    pub(in crate::app::keep) async fn observe(
        &self,
        provider: &ApiClient,
        observed: ObservedShoot,
    ) -> Result<(), CommandError> {
        if scalable_zones(&observed.shoot).is_empty() {
            self.remove(provider, &observed.shoot.id);
            return Ok(());
        }
        let names = server_names(&observed.shoot.id, provider.namespace());
        if let Some(known) = self.lock().get(&names[0])
            && known.issued.elapsed() < RENEWAL
            && known.authorities == observed.authorities
        {
            known.groups.observe(observed);
            return Ok(());
        }
        let certificate = provider
            .serving_certificate(&observed.shoot.id, &names, VALIDITY)
            .await;
        let certificate = certificate.map_err(failed)?;
        let tls = server_config(
            &certificate.certificate,
            certificate.key.expose_secret(),
            &certificate.ca,
        );
        let tls = tls.map_err(|error| {
            CommandError::new(Exit::Precondition, "cannot serve the cluster autoscaler")
                .cause(error.to_string())
        })?;
        let authorities = observed.authorities.clone();
        let groups = Arc::new(NodeGroups::new(provider.clone(), observed));
        let served = ServedShoot {
            tls: Arc::new(tls),
            client: CLIENT.to_owned(),
            shoot: groups.clone(),
            ended: CancellationToken::new(),
        };
        let registered = Registered {
            served,
            groups,
            issued: Instant::now(),
            authorities,
        };
        if let Some(before) = self.lock().insert(names[0].clone(), registered) {
            before.served.ended.cancel();
        }
        Ok(())
    }

    /// Closes the connection of a shoot's autoscaler.
    pub(in crate::app::keep) fn remove(&self, provider: &ApiClient, id: &str) {
        let name = &server_names(id, provider.namespace())[0];
        if let Some(before) = self.lock().remove(name) {
            before.served.ended.cancel();
        }
    }

    fn find(&self, name: &str) -> Option<ServedShoot> {
        self.lock().get(name).map(|it| it.served.clone())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Registered>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Listens for autoscalers. Those of shoots that this process does not keep are refused.
pub(in crate::app::keep) async fn serve(
    options: &KeepOptions,
    context: &Context,
    shoots: &AutoscaledShoots,
) -> Result<BoxFuture<'static, Infallible>, CommandError> {
    let Some(address) = options.autoscaler else {
        return Ok(Box::pin(pending()));
    };
    let what = "cluster autoscalers";
    let (server, address) = listen(address, what, "--autoscaler-address").await?;
    context.ui.status(&format!("serving {what} at {address}"));
    let shoots = shoots.clone();
    let find = Arc::new(move |name: &str| shoots.find(name));
    Ok(Box::pin(crate::autoscaler::serve(server, find)))
}
