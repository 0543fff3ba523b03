//! SIGINT, SIGTERM and SIGHUP, which counts as SIGTERM: the first one ends a run gracefully, the second one immediately.

use super::error::{CommandError, Exit};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone)]
pub(crate) struct Signals {
    pub(crate) first: CancellationToken,
    pub(crate) second: CancellationToken,
    was_term: Arc<AtomicBool>,
    /// None for commands whose single requests have their own timeouts.
    deadline: Option<Instant>,
}

impl Signals {
    /// Starts to handle signals, which no longer end the process. Needs a runtime.
    pub(crate) fn listen(timeout: Option<Duration>) -> Result<Signals, CommandError> {
        let cannot = |error: std::io::Error| {
            CommandError::new(Exit::Precondition, "cannot handle signals").cause(error.to_string())
        };
        let mut interrupts = signal(SignalKind::interrupt()).map_err(cannot)?;
        let mut terminations = signal(SignalKind::terminate()).map_err(cannot)?;
        let mut hangups = match is_hangup_ignored() {
            true => None,
            false => Some(signal(SignalKind::hangup()).map_err(cannot)?),
        };
        let signals = Signals {
            first: CancellationToken::new(),
            second: CancellationToken::new(),
            was_term: Arc::default(),
            deadline: timeout.and_then(|it| Instant::now().checked_add(it)),
        };
        let received = signals.clone();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    Some(()) = interrupts.recv() => {}
                    Some(()) = terminations.recv() => received.was_term.store(true, Ordering::Relaxed),
                    Some(()) = hangup(&mut hangups) => received.was_term.store(true, Ordering::Relaxed),
                    else => return,
                }
                if received.first.is_cancelled() {
                    received.second.cancel();
                }
                received.first.cancel();
            }
        });
        Ok(signals)
    }

    pub(crate) fn exit(&self) -> Exit {
        if self.was_term.load(Ordering::Relaxed) {
            Exit::Terminated
        } else {
            Exit::Interrupted
        }
    }

    /// For cleanup after a first signal: only the second signal ends it, and it has its own time limit.
    pub(crate) fn for_cleanup(&self, timeout: Duration) -> Signals {
        Signals {
            first: self.second.clone(),
            second: self.second.clone(),
            was_term: self.was_term.clone(),
            deadline: Instant::now().checked_add(timeout),
        }
    }

    /// The same signals with a new time limit.
    pub(crate) fn with_timeout(&self, timeout: Duration) -> Signals {
        Signals {
            deadline: Instant::now().checked_add(timeout),
            ..self.clone()
        }
    }

    /// The same signals, which can also be ended without one.
    pub(crate) fn child(&self) -> Signals {
        Signals {
            first: self.first.child_token(),
            ..self.clone()
        }
    }

    /// The time that remains.
    pub(crate) fn remaining(&self) -> Duration {
        self.deadline.map_or(Duration::MAX, |it| {
            it.saturating_duration_since(Instant::now())
        })
    }

    /// Runs work that can be dropped at any time: it ends with the first signal or at the deadline. `what` is a verb
    /// phrase for the error.
    pub(crate) async fn or_interrupted<T>(
        &self,
        what: &str,
        work: impl Future<Output = Result<T, CommandError>>,
    ) -> Result<T, CommandError> {
        let work = async {
            let Some(deadline) = self.deadline else {
                return work.await;
            };
            timeout_at(deadline, work).await.unwrap_or_else(|_| {
                let error = CommandError::new(Exit::Timeout, format!("timed out: cannot {what}"));
                let error = error.cause("the API server did not answer in time");
                Err(error.hint("nothing was changed"))
            })
        };
        tokio::select! {
            result = work => result,
            () = self.first.cancelled() => Err(CommandError::new(self.exit(), "interrupted").hint("nothing was changed")),
        }
    }
}

/// True if the program was started with nohup.
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|it| it.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|it| u64::from_str_radix(it.trim(), 16).ok());
    mask.is_some_and(|it| it & 1 == 1)
}

async fn hangup(hangups: &mut Option<Signal>) -> Option<()> {
    match hangups {
        Some(hangups) => hangups.recv().await,
        None => std::future::pending().await,
    }
}
