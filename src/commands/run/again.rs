//! What a run does once more: a provider that has made a cluster answers again, and a run that gives up leaves something.

use crate::commands::signals::Signals;
use crate::commands::{CommandError, Exit};
use std::time::Duration;
use tokio::time::{Instant, sleep};

const PAUSE: Duration = Duration::from_secs(3);

/// Does it until it fails of something that does not pass by itself, or for longer than `patience`; a signal ends it.
/// `tell` hears of each failure but the last.
pub(super) async fn again<T>(
    patience: Duration,
    signals: &Signals,
    tell: impl Fn(&str),
    work: impl AsyncFn() -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let begun = Instant::now();
    loop {
        let error = match work().await {
            Err(error) if error.exit == Exit::Precondition => error,
            other => return other,
        };
        let is_over = begun.elapsed() + PAUSE > patience.min(signals.left());
        if is_over || signals.first.is_cancelled() {
            return Err(error);
        }
        tell(&error.message);
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
    async fn what_passes_is_waited_out_and_told() {
        let signals = Signals::listen(None).unwrap();
        let (calls, told) = (Cell::new(0), RefCell::new(Vec::new()));
        let tell = |text: &str| told.borrow_mut().push(text.to_owned());
        let done = again(MINUTE, &signals, tell, async || {
            calls.set(calls.get() + 1);
            match calls.get() {
                3 => Ok("done"),
                _ => Err(failure(Exit::Precondition)),
            }
        });
        assert_eq!(done.await.unwrap(), "done");
        assert_eq!(*told.borrow(), ["no answer", "no answer"]);
    }

    #[tokio::test(start_paused = true)]
    async fn it_has_an_end_and_what_does_not_pass_ends_it_at_once() {
        let signals = Signals::listen(None).unwrap();
        let calls = Cell::new(0);
        let never = async |exit| {
            calls.set(calls.get() + 1);
            Err::<(), _>(failure(exit))
        };
        let begun = Instant::now();
        let missing = async || never(Exit::Precondition).await;
        let error = again(MINUTE, &signals, |_| (), missing).await.unwrap_err();
        assert_eq!(error.exit, Exit::Precondition);
        assert!(begun.elapsed() <= MINUTE && calls.get() > 10, "{calls:?}");

        calls.set(0);
        let refused = async || never(Exit::NotAllowed).await;
        let error = again(MINUTE, &signals, |_| (), refused).await.unwrap_err();
        assert_eq!((error.exit, calls.get()), (Exit::NotAllowed, 1));

        calls.set(0);
        signals.first.cancel();
        let missing = async || never(Exit::Precondition).await;
        let _ = again(MINUTE, &signals, |_| (), missing).await.unwrap_err();
        assert_eq!(calls.get(), 1);
    }
}
