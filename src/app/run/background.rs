//! Tasks beside a run: redrawing, the owner of the lease, and notes when the API server does not answer.

use super::reporter::Reporter;
use crate::cluster::{Fence, Lease, Observer};
use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// The interval of redraws.
const TICK: Duration = Duration::from_millis(200);
/// The lease is renewed more often than this while the API server answers.
const SILENCE: Duration = Duration::from_secs(11);
/// How long an observation may fail before that is noted.
const PATIENCE: Duration = Duration::from_secs(4);

/// Runs the background tasks until they are dropped. `lost` is cancelled when the lease is lost. The lease of a deletion
/// has no owner, since it is held until the end.
pub(super) async fn run(
    reporter: &Reporter<'_>,
    observer: &Observer,
    lease: &Lease,
    is_deletion: bool,
    lost: CancellationToken,
) -> Infallible {
    let fence = lease.fence();
    let own_lease = async {
        match is_deletion {
            true => pending().await,
            false => own_lease(observer, lease).await,
        }
    };
    tokio::join!(
        redraw(reporter),
        own_lease,
        watch_lease(reporter, &fence, lost),
        watch_silence(reporter, &fence),
        watch_observer(reporter, observer),
    )
    .0
}

async fn redraw(reporter: &Reporter<'_>) -> Infallible {
    loop {
        sleep(TICK).await;
        reporter.tick();
    }
}

/// Makes the record the owner of the lease as soon as it exists.
async fn own_lease(observer: &Observer, lease: &Lease) -> Infallible {
    let mut facts = observer.facts();
    if let Ok(record) = facts
        .wait_for(|facts| facts.record.is_some())
        .await
        .map(|facts| facts.record.clone())
        && let Some(record) = record
        && let Err(error) = lease.set_owner(&record.name, &record.uid).await
    {
        tracing::debug!(%error, "cannot set the owner of the lease");
    }
    pending().await
}

async fn watch_lease(
    reporter: &Reporter<'_>,
    fence: &Fence,
    lost: CancellationToken,
) -> Infallible {
    let error = fence.lost().await;
    reporter.note(error.to_string());
    lost.cancel();
    pending().await
}

async fn watch_silence(reporter: &Reporter<'_>, fence: &Fence) -> Infallible {
    let mut is_silent = false;
    loop {
        sleep(TICK).await;
        let age = fence.age();
        if is_silent != (age > SILENCE) {
            is_silent = !is_silent;
            reporter.note(match is_silent {
                true => format!("the API server has not answered for {} s", age.as_secs()),
                false => "the API server answers again".to_owned(),
            });
        }
    }
}

async fn watch_observer(reporter: &Reporter<'_>, observer: &Observer) -> Infallible {
    let mut health = observer.health();
    while health.wait_for(Option::is_some).await.is_ok() {
        // Most problems are short, and are retried at once.
        let passed = timeout(PATIENCE, health.wait_for(Option::is_none))
            .await
            .is_ok();
        let text = health.borrow().clone().filter(|_| !passed);
        let Some(text) = text else { continue };
        reporter.note(text);
        if health.wait_for(Option::is_none).await.is_ok() {
            reporter.note("observing again");
        }
    }
    pending().await
}
