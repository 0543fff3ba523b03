//! Several shoots at the same time, with one progress output and one budget of writes.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::provider::prepare::Providers;
use crate::cluster::SharedWatches;
use crate::flow::{EventKind, MergedRuns, RunEvent};
use crate::ui::Progress;
use crate::validate::ValidShoot;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

/// Concurrent writes of a command. More gains nothing with an API server of two cores.
pub(super) const WRITES: usize = 32;

/// Runs of several shoots of one command.
pub(crate) struct RunGroup {
    started: Instant,
    shoots: HashMap<String, GroupMember>,
    progress: RefCell<Progress>,
    runs: RefCell<MergedRuns>,
    /// Why shoots failed.
    failures: RefCell<BTreeMap<String, String>>,
    /// At most [`WRITES`] at a time in all runs.
    writes: Semaphore,
}

/// A shoot of a group.
struct GroupMember {
    /// Name in messages.
    label: String,
    /// Shared with the other shoots of its provider cluster.
    watches: Arc<SharedWatches>,
}

impl RunGroup {
    /// Reports the start of all runs.
    pub(crate) fn start(
        context: &Context,
        verb: &'static str,
        shoots: &[ValidShoot],
        providers: &Providers,
    ) -> RunGroup {
        let ids = shoots.iter().map(|it| it.id.clone()).collect::<Vec<_>>();
        let namespace = providers.of(&ids[0]).namespace().to_string();
        let group = RunGroup {
            started: Instant::now(),
            shoots: members(shoots, providers),
            progress: RefCell::new(context.ui.progress()),
            runs: RefCell::default(),
            failures: RefCell::default(),
            writes: Semaphore::new(WRITES),
        };
        group.report(EventKind::RunStarted {
            verb,
            shoot: format!("{} shoots", ids.len()),
            technical_ids: ids,
            namespace,
        });
        group
    }

    /// Name of a shoot in messages: its own name, or the technical ID if another shoot has the same name.
    pub(crate) fn label(&self, id: &str) -> &str {
        self.shoots.get(id).map_or("", |it| &it.label)
    }

    /// Watches that the shoot shares with others.
    pub(super) fn watches(&self, id: &str) -> Option<&Arc<SharedWatches>> {
        self.shoots.get(id).map(|it| &it.watches)
    }

    /// Reports an event of the run of one shoot, given by its label.
    pub(super) fn forward(&self, shoot: &str, event: EventKind) {
        if let EventKind::RunFinished {
            exit_code: 1..,
            summary,
            ..
        } = &event
        {
            self.set_failure(shoot, summary);
        }
        let merged = self.runs.borrow_mut().merge(shoot, event);
        if let Some(event) = merged {
            self.report(event);
        }
    }

    /// Sets the reason in the summary.
    pub(crate) fn set_failure(&self, shoot: &str, why: &str) {
        let mut failures = self.failures.borrow_mut();
        failures.insert(shoot.to_owned(), why.to_owned());
    }

    fn report(&self, kind: EventKind) {
        let at = self.started.elapsed();
        self.progress.borrow_mut().event(&RunEvent { at, kind });
    }

    /// Redraws what depends on the time.
    pub(super) fn tick(&self) {
        self.progress.borrow_mut().tick(self.started.elapsed());
    }

    /// Waits until a write may be sent.
    pub(super) async fn permit(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.writes.acquire().await.ok()
    }

    /// Reports an error that is not a result of the run of a shoot, such as a lock that is held.
    pub(crate) fn report_error(&self, shoot: &str, error: &CommandError) {
        let causes = error.causes.iter().map(|it| format!(": {it}"));
        let hints = error.hints.iter().map(|it| format!("; {it}"));
        let details: String = causes.chain(hints).collect();
        let text = format!("{}{details}", error.message);
        self.set_failure(shoot, &error.message);
        self.forward(shoot, EventKind::Note { text });
    }

    /// Reports the end of all runs, with the exit code of each shoot. Returns the worst of them: the highest one.
    pub(crate) fn finish(&self, exits: &[(String, Exit)], resume: Option<String>) -> Exit {
        let worst = exits.iter().map(|it| it.1).max_by_key(|it| it.code());
        let worst = worst.unwrap_or(Exit::Done);
        let elapsed = crate::ui::format_duration(self.started.elapsed());
        self.report(EventKind::RunFinished {
            exit_code: worst.code(),
            outcome: outcome(worst),
            summary: summarize(exits, &self.failures.borrow(), &elapsed),
            hint: None,
            resume: resume.filter(|_| worst != Exit::Done),
        });
        worst
    }
}

/// All shoots of a command, by technical ID.
fn members(shoots: &[ValidShoot], providers: &Providers) -> HashMap<String, GroupMember> {
    let mut members = HashMap::new();
    for (provider, is_on_it) in providers.all() {
        let of_provider = shoots.iter().filter(|it| is_on_it(&it.id));
        let ids: Vec<String> = of_provider.clone().map(|it| it.id.clone()).collect();
        let watches = Arc::new(SharedWatches::new(provider, ids));
        for shoot in of_provider {
            let namesakes = shoots.iter().filter(|it| it.name == shoot.name).count();
            let label = if namesakes > 1 {
                &shoot.id
            } else {
                &shoot.name
            };
            let member = GroupMember {
                label: label.clone(),
                watches: watches.clone(),
            };
            members.insert(shoot.id.clone(), member);
        }
    }
    members
}

fn outcome(worst: Exit) -> &'static str {
    match worst {
        Exit::Done => "converged",
        Exit::Timeout => "timeout",
        Exit::Interrupted | Exit::Terminated => "interrupted",
        _ => "failed",
    }
}

/// `Applied 9 of 10 shoots in 1m16s; failed: dev-3 (exit code 9: image not found)`.
fn summarize(
    exits: &[(String, Exit)],
    failures: &BTreeMap<String, String>,
    elapsed: &str,
) -> String {
    let failed: Vec<String> = exits
        .iter()
        .filter(|it| it.1 != Exit::Done)
        .map(|(shoot, exit)| {
            let why = failures.get(shoot).map(|it| format!(": {it}"));
            let why = why.unwrap_or_default();
            format!("{shoot} (exit code {}{why})", exit.code())
        })
        .collect();
    let all = exits.len();
    if failed.is_empty() {
        return format!("Applied {all} shoots in {elapsed}");
    }
    let done = all - failed.len();
    let failed = failed.join(", ");
    format!("Applied {done} of {all} shoots in {elapsed}; failed: {failed}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_names_the_shoots_that_failed() {
        let exits = [Exit::Done, Exit::Infrastructure, Exit::Held];
        let names = ["a", "b", "c"].map(str::to_owned);
        let exits: Vec<_> = names.into_iter().zip(exits).collect();
        let failures = BTreeMap::from([("b".to_owned(), "image not found".to_owned())]);
        let summary = |exits: &[_]| summarize(exits, &failures, "16s");
        assert_eq!(summary(&exits[..1]), "Applied 1 shoots in 16s");
        assert_eq!(
            summary(&exits),
            "Applied 1 of 3 shoots in 16s; failed: b (exit code 9: image not found), c (exit code 6)"
        );
    }
}
