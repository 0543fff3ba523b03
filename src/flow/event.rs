//! Events of a run, in one order for all readers: live view, plain lines and JSON.

use crate::state::plan::ItemKind;
use std::time::Duration;

/// An event of a run; `at` is the time since its start.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunEvent {
    pub(crate) at: Duration,
    pub(crate) kind: EventKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum EventKind {
    /// The first event of every run.
    RunStarted {
        /// The command: `apply` or `delete`.
        verb: &'static str,
        /// The shoot, or the number of shoots.
        shoot: String,
        /// Technical IDs of the shoots, the prefixes of all object names.
        technical_ids: Vec<String>,
        namespace: String,
    },
    /// The state of an item; sent when title, status or reason changes.
    ///
    /// `id` is stable during a run: `network/NAME`, `image/NAME`, `machine/POOL/zK/I` (a slot of a pool, independent of
    /// the machine that fills it) or `remove/UID`. The title of an item may change with its state.
    Item {
        id: String,
        kind: ItemKind,
        title: String,
        status: ItemStatus,
        /// A clause that stands alone, such as `import at 12%`.
        why: Option<String>,
    },
    /// The item is no longer part of the plan, for example because its object was deleted.
    ItemGone {
        id: String,
        /// It would have deleted an object that is no longer to be deleted.
        remains: bool,
    },
    /// Number of items done and in total. They decrease only if a finished item is undone.
    Progress { done: usize, total: usize },
    /// A request failed with a transient error and is retried after `again`.
    Retried {
        /// The item; the object of the request if several items wait for it.
        id: String,
        cause: String,
        again: Duration,
    },
    /// Information that does not affect the run.
    Note { text: String },
    /// The first SIGINT or SIGTERM: no new actions are started.
    Interrupted,
    /// The last event of every run.
    RunFinished {
        exit_code: u8,
        /// For programs: `converged`, `failed`, `timeout`, `interrupted` or `refused`.
        outcome: &'static str,
        /// The result in one line, such as `Created shoot dev in 16s (2/2 nodes ready)`.
        summary: String,
        /// Advice on the root cause.
        hint: Option<String>,
        /// The command that resumes the run.
        resume: Option<String>,
    },
}

/// State of an item, without its details.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ItemStatus {
    /// Held back by a dependency.
    Blocked,
    /// A request is in flight or about to be sent.
    Working,
    /// In progress in the provider cluster or the shoot.
    Waiting,
    Done,
    Failed,
}

impl ItemStatus {
    pub(crate) fn word(self) -> &'static str {
        match self {
            ItemStatus::Blocked => "blocked",
            ItemStatus::Working => "working",
            ItemStatus::Waiting => "waiting",
            ItemStatus::Done => "done",
            ItemStatus::Failed => "failed",
        }
    }
}
