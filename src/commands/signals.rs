//! The first Ctrl-C ends a run gently, a second one leaves at once; SIGTERM is as good as Ctrl-C.

use super::{CommandError, Exit};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone)]
pub(super) struct Signals {
    pub(super) first: CancellationToken,
    pub(super) second: CancellationToken,
    was_term: Arc<AtomicBool>,
    /// When time is up; none where only single questions are put, for these end by themselves.
    deadline: Option<Instant>,
}

impl Signals {
    /// From now on signals are heard here, and end nothing by themselves. Needs a runtime.
    pub(super) fn listen(timeout: Option<Duration>) -> Result<Signals, CommandError> {
        let cannot = |error: std::io::Error| {
            CommandError::new(Exit::Precondition, "cannot listen to signals")
                .cause(error.to_string())
        };
        let mut interrupts = signal(SignalKind::interrupt()).map_err(cannot)?;
        let mut terminations = signal(SignalKind::terminate()).map_err(cannot)?;
        let signals = Signals {
            first: CancellationToken::new(),
            second: CancellationToken::new(),
            was_term: Arc::default(),
            deadline: timeout.and_then(|it| Instant::now().checked_add(it)),
        };
        let heard = signals.clone();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    Some(()) = interrupts.recv() => {}
                    Some(()) = terminations.recv() => heard.was_term.store(true, Ordering::Relaxed),
                    else => return,
                }
                if heard.first.is_cancelled() {
                    heard.second.cancel();
                }
                heard.first.cancel();
            }
        });
        Ok(signals)
    }

    pub(super) fn exit(&self) -> Exit {
        if self.was_term.load(Ordering::Relaxed) {
            Exit::Terminated
        } else {
            Exit::Interrupted
        }
    }

    /// For what is done after a first signal, or whatever it is: only a second one ends it, and it has time of its own.
    pub(super) fn again(&self, timeout: Duration) -> Signals {
        Signals {
            first: self.second.clone(),
            second: self.second.clone(),
            was_term: self.was_term.clone(),
            deadline: Instant::now().checked_add(timeout),
        }
    }

    /// The same, for one thing after the other: each has time of its own.
    pub(super) fn within(&self, timeout: Duration) -> Signals {
        Signals {
            deadline: Instant::now().checked_add(timeout),
            ..self.clone()
        }
    }

    /// How much of the time there was is left.
    pub(super) fn left(&self) -> Duration {
        self.deadline.map_or(Duration::MAX, |it| {
            it.saturating_duration_since(Instant::now())
        })
    }

    /// For what may be dropped at any moment: it ends with the first signal, and when time is up. `what` is waited for.
    pub(super) async fn or_interrupted<T>(
        &self,
        what: &str,
        work: impl Future<Output = Result<T, CommandError>>,
    ) -> Result<T, CommandError> {
        let work = async {
            let Some(deadline) = self.deadline else {
                return work.await;
            };
            timeout_at(deadline, work).await.unwrap_or_else(|_| {
                let error = CommandError::new(Exit::Timeout, format!("time is up: cannot {what}"));
                let error = error.cause("no answer from the API server, or it came too slowly");
                Err(error.hint("nothing was changed"))
            })
        };
        tokio::select! {
            result = work => result,
            () = self.first.cancelled() => Err(CommandError::new(self.exit(), "interrupted").hint("nothing was changed")),
        }
    }
}
