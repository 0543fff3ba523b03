//! Election of one keeper among several, by a Lease.

use super::autoscaler::{self, AutoscaledShoots};
use super::listen::listen;
use super::metrics::KeepMetrics;
use super::options::{FIND, KeepOptions, VERB};
use super::scope::KeepScope;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::inspect::shoot_summary::find;
use crate::app::provider::connect::connect;
use crate::app::run::session::is_gone;
use crate::app::signals::Signals;
use crate::cluster::{ApiClient, Error, Lease, LeaseHolder};
use crate::state::names::{self, id_of, role};
use futures::future::{BoxFuture, pending};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Time to wait for another `kvshoot keep` until it is waited for again.
const WAIT: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// Backups that are made at the same time: many schedules have the same times.
const MAX_BACKUPS: usize = 4;
/// Time limit for giving up the Lease.
const CLEANUP: Duration = Duration::from_secs(2);

/// Keeps shoots until a signal. One of several keepers acts; the others wait for its Lease.
pub(crate) fn keep(options: &KeepOptions, context: &Context) -> Result<Exit, CommandError> {
    context.block_on(async {
        let signals = Signals::listen(None)?;
        let found = async {
            let provider = connect(context).await?;
            if let Some(name) = &options.name {
                find(&provider, name, context).await?;
            }
            Ok(provider)
        };
        let provider = signals.or_interrupted(FIND, found).await?;
        let shared = KeepState {
            metrics: Arc::new(KeepMetrics::new(provider.namespace())),
            autoscaled: AutoscaledShoots::default(),
        };
        let metrics = serve(options, context, &shared.metrics).await?;
        let node_groups = autoscaler::serve(options, context, &shared.autoscaled).await?;
        let work = work(options, context, &signals, &provider, &shared);
        tokio::select! {
            worked = work => worked?,
            never = metrics => match never {},
            never = node_groups => match never {},
        }
        Ok(signals.exit())
    })?
}

/// State that the servers for metrics and for autoscalers read.
struct KeepState {
    metrics: Arc<KeepMetrics>,
    autoscaled: AutoscaledShoots,
}

/// Keeps the shoots whenever it is elected, until a signal.
async fn work(
    options: &KeepOptions,
    context: &Context,
    signals: &Signals,
    provider: &ApiClient,
    shared: &KeepState,
) -> Result<(), CommandError> {
    while !signals.first.is_cancelled() {
        let lease = tokio::select! {
            lease = elect(options, context, provider) => lease?,
            () = signals.first.cancelled() => break,
        };
        shared.metrics.set_leader(true);
        let held = hold(&lease, options, context, signals, provider, shared).await;
        shared.metrics.set_leader(false);
        held?;
        // It expires if it cannot be deleted now.
        let _ = timeout(CLEANUP, lease.delete()).await;
    }
    Ok(())
}

/// Listens for those who read metrics. Those that wait for their election serve them as well.
async fn serve(
    options: &KeepOptions,
    context: &Context,
    metrics: &Arc<KeepMetrics>,
) -> Result<BoxFuture<'static, Infallible>, CommandError> {
    let Some(address) = options.metrics else {
        return Ok(Box::pin(pending()));
    };
    let (server, address) = listen(address, "metrics", "--metrics-address").await?;
    let text = format!("serving metrics at http://{address}/metrics");
    context.ui.status(&text);
    let metrics = metrics.clone();
    let page = Arc::new(move || metrics.text());
    Ok(Box::pin(crate::metrics::serve(server, page)))
}

/// Waits for the Lease of keepers.
async fn elect(
    options: &KeepOptions,
    context: &Context,
    provider: &ApiClient,
) -> Result<Lease, CommandError> {
    let own = context.config.identity();
    let holder = LeaseHolder {
        name: format!("{}, run {}", context.config.user_at_host(), context.run_id),
        identity: serde_json::to_string(&own).expect("numbers and texts"),
        verb: VERB,
        role: role::KEEPER,
    };
    let name = names::keeper(options.name.as_deref().map(id_of).as_deref());
    let report = |held: &Error| {
        let text = format!("waiting for another kvshoot keep: {held}");
        context.ui.status(&text);
    };
    let lease = Lease::acquire(provider, &name, &holder, WAIT, is_gone(own), report);
    lease.await.map_err(failed)
}

/// Keeps the shoots until a signal, or until the Lease is lost. Runs in progress end gracefully.
async fn hold(
    lease: &Lease,
    options: &KeepOptions,
    context: &Context,
    signals: &Signals,
    provider: &ApiClient,
    shared: &KeepState,
) -> Result<(), CommandError> {
    let signals = signals.child();
    let scope = KeepScope {
        options,
        context,
        signals: &signals,
        provider,
        backups: &Semaphore::new(MAX_BACKUPS),
        metrics: &shared.metrics,
        autoscaled: &shared.autoscaled,
    };
    let fence = lease.fence();
    let mut work = std::pin::pin!(scope.work());
    tokio::select! {
        done = &mut work => done,
        lost = fence.lost() => {
            context.ui.warn(&lost.to_string());
            signals.first.cancel();
            work.await
        }
    }
}
