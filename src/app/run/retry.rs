//! Retrying steps of an ephemeral run while the provider cluster does not answer.

use crate::app::error::{CommandError, Exit};
use crate::app::signals::Signals;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Time between two attempts.
const PAUSE: Duration = Duration::from_secs(3);

/// Repeats work that fails with [`Exit::Precondition`], until `limit` or a signal. `report` gets each failure but the
/// last.
pub(crate) async fn retry<T>(
    limit: Duration,
    signals: &Signals,
    report: impl Fn(&str),
    work: impl AsyncFn() -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let begun = Instant::now();
    loop {
        let error = match work().await {
            Err(error) if error.exit == Exit::Precondition => error,
            other => return other,
        };
        let is_too_late = begun.elapsed() + PAUSE > limit.min(signals.remaining());
        if is_too_late || signals.first.is_cancelled() {
            return Err(error);
        }
        report(&error.message);
        sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    const MINUTE: Duration = Duration::from_secs(60);

    fn failure(exit: Exit) -> CommandError {
        CommandError::new(exit, "no answer")
    }

    #[tokio::test(start_paused = true)]
    async fn a_passing_failure_is_retried_and_reported() {
        let signals = Signals::listen(None).unwrap();
        let (calls, reported) = (Cell::new(0), RefCell::new(Vec::new()));
        let report = |text: &str| reported.borrow_mut().push(text.to_owned());
        let done = retry(MINUTE, &signals, report, async || {
            calls.set(calls.get() + 1);
            match calls.get() {
                3 => Ok("done"),
                _ => Err(failure(Exit::Precondition)),
            }
        });
        assert_eq!(done.await.unwrap(), "done");
        assert_eq!(*reported.borrow(), ["no answer", "no answer"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_permanent_failure_ends_at_once_and_others_at_the_limit() {
        let signals = Signals::listen(None).unwrap();
        let calls = Cell::new(0);
        let never = async |exit| {
            calls.set(calls.get() + 1);
            Err::<(), _>(failure(exit))
        };
        let begun = Instant::now();
        let missing = async || never(Exit::Precondition).await;
        let error = retry(MINUTE, &signals, |_| (), missing).await.unwrap_err();
        assert_eq!(error.exit, Exit::Precondition);
        assert!(begun.elapsed() <= MINUTE && calls.get() > 10, "{calls:?}");

        calls.set(0);
        let refused = async || never(Exit::NotAllowed).await;
        let error = retry(MINUTE, &signals, |_| (), refused).await.unwrap_err();
        assert_eq!((error.exit, calls.get()), (Exit::NotAllowed, 1));

        calls.set(0);
        signals.first.cancel();
        let missing = async || never(Exit::Precondition).await;
        let _ = retry(MINUTE, &signals, |_| (), missing).await.unwrap_err();
        assert_eq!(calls.get(), 1);
    }
}
