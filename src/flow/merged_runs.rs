//! Runs of several shoots at the same time, as one run: for one live view, one log and one stream of events.

use super::event::EventKind;
use crate::state::plan::ItemKind;
use std::collections::BTreeMap;

/// Turns the events of each run into those of all runs.
#[derive(Debug, Default)]
pub(crate) struct MergedRuns {
    /// Items done and in total, by shoot.
    counts: BTreeMap<String, (usize, usize)>,
    is_interrupted: bool,
}

impl MergedRuns {
    /// Returns the event of all runs for an event of one of them, or None if it is none: the first and the last event
    /// of a run belong to that run alone, and all runs are interrupted together.
    pub(crate) fn merge(&mut self, shoot: &str, event: EventKind) -> Option<EventKind> {
        let named = |text: &str| format!("{shoot}: {text}");
        let path = |id: &str| format!("{shoot}/{id}");
        Some(match event {
            EventKind::RunStarted { .. } => return None,
            EventKind::Item {
                id,
                kind,
                title,
                status,
                why,
            } => EventKind::Item {
                id: path(&id),
                kind: kind_of(shoot, kind),
                title: named(&title),
                status,
                why,
            },
            EventKind::ItemGone { id, remains } => EventKind::ItemGone {
                id: path(&id),
                remains,
            },
            EventKind::Progress { done, total } => {
                self.counts.insert(shoot.to_owned(), (done, total));
                EventKind::Progress {
                    done: self.counts.values().map(|it| it.0).sum(),
                    total: self.counts.values().map(|it| it.1).sum(),
                }
            }
            EventKind::Retried { id, cause, again } => EventKind::Retried {
                id: path(&id),
                cause,
                again,
            },
            EventKind::Note { text } => EventKind::Note { text: named(&text) },
            EventKind::Interrupted if self.is_interrupted => return None,
            EventKind::Interrupted => {
                self.is_interrupted = true;
                EventKind::Interrupted
            }
            // The summary of a success has the name of the shoot.
            EventKind::RunFinished {
                exit_code: 0,
                summary,
                ..
            } if summary.split_whitespace().any(|it| it == shoot) => {
                EventKind::Note { text: summary }
            }
            EventKind::RunFinished { summary, hint, .. } => {
                let hint = hint.map(|it| format!("; {it}")).unwrap_or_default();
                EventKind::Note {
                    text: named(&format!("{summary}{hint}")),
                }
            }
        })
    }
}

/// Pools of different shoots may have the same name.
fn kind_of(shoot: &str, kind: ItemKind) -> ItemKind {
    match kind {
        ItemKind::Machine(mut machine) => {
            machine.pool = format!("{shoot}/{}", machine.pool).into();
            ItemKind::Machine(machine)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::ItemStatus;

    fn item(title: &str) -> EventKind {
        EventKind::Item {
            id: "record".to_owned(),
            kind: ItemKind::Record,
            title: title.to_owned(),
            status: ItemStatus::Done,
            why: None,
        }
    }

    fn finished(exit_code: u8, summary: &str) -> EventKind {
        EventKind::RunFinished {
            exit_code,
            outcome: "any",
            summary: summary.to_owned(),
            hint: None,
            resume: None,
        }
    }

    #[test]
    fn items_of_different_shoots_are_different_items() {
        let mut runs = MergedRuns::default();
        let ids: Vec<_> = ["a", "b"]
            .into_iter()
            .filter_map(|shoot| match runs.merge(shoot, item("Apply record")) {
                Some(EventKind::Item { id, title, .. }) => Some((id, title)),
                _ => None,
            })
            .collect();
        let [a, b] = ["a", "b"].map(|it| (format!("{it}/record"), format!("{it}: Apply record")));
        assert_eq!(ids, [a, b]);
    }

    #[test]
    fn progress_is_that_of_all_shoots() {
        let mut runs = MergedRuns::default();
        let mut merge = |shoot, done, total| runs.merge(shoot, EventKind::Progress { done, total });
        merge("a", 1, 10);
        merge("b", 2, 20);
        let all = merge("a", 5, 10);
        assert_eq!(all, Some(EventKind::Progress { done: 7, total: 30 }));
    }

    #[test]
    fn the_end_of_one_run_is_a_note_with_its_shoot() {
        let mut runs = MergedRuns::default();
        let mut note = |event| match runs.merge("a", event) {
            Some(EventKind::Note { text }) => text,
            other => panic!("{other:?}"),
        };
        let created = "Created shoot a in 16s (1/1 nodes ready)";
        assert_eq!(note(finished(0, created)), created);
        assert_eq!(note(finished(9, "no space left")), "a: no space left");
        // Of two shoots called b, in different namespaces.
        let created = "Created shoot b in 16s";
        assert_eq!(note(finished(0, created)), format!("a: {created}"));
    }

    #[test]
    fn an_interrupt_is_reported_once() {
        let mut runs = MergedRuns::default();
        let interrupted = EventKind::Interrupted;
        assert_eq!(runs.merge("a", EventKind::Interrupted), Some(interrupted));
        assert_eq!(runs.merge("b", EventKind::Interrupted), None);
    }
}
