//! Election of one keeper among several, by a Lease.

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
use std::time::Duration;
use tokio::time::timeout;

/// Time to wait for another `kvshoot keep` until it is waited for again.
const WAIT: Duration = Duration::from_secs(365 * 24 * 60 * 60);
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
        while !signals.first.is_cancelled() {
            let lease = tokio::select! {
                lease = elect(options, context, &provider) => lease?,
                () = signals.first.cancelled() => break,
            };
            hold(&lease, options, context, &signals, &provider).await?;
            // It expires if it cannot be deleted now.
            let _ = timeout(CLEANUP, lease.delete()).await;
        }
        Ok(signals.exit())
    })?
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
) -> Result<(), CommandError> {
    let signals = signals.child();
    let scope = KeepScope {
        options,
        context,
        signals: &signals,
        provider,
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
