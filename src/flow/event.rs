//! What a run tells while it goes: one order of events, read by the terminal, by plain lines and by JSON.

use std::time::Duration;

/// `at` counts from the start of the run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunEvent {
    pub(crate) at: Duration,
    pub(crate) kind: EventKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum EventKind {
    /// Always the first.
    RunStarted {
        /// What the person typed: `apply` or `delete`.
        verb: &'static str,
        shoot: String,
        /// The technical ID, with which the names of all objects begin.
        technical_id: String,
        namespace: String,
    },
    /// The state of an item, whenever it or its reason differs from what was told last.
    ///
    /// `id` is stable over a run: `network/NAME`, `image/NAME`, `machine/POOL/zK/I` (a place in a pool, whichever
    /// machine takes it) or `remove/UID`. The title of an item may change with its state.
    Item {
        id: String,
        title: String,
        status: ItemStatus,
        why: Option<String>,
    },
    /// The item has no place in the plan any more: a removed machine is gone.
    ItemGone { id: String },
    /// Neither number shrinks, unless what was done comes undone.
    Progress { done: usize, total: usize },
    /// A request met a passing error and is sent again after a while.
    Retried {
        id: String,
        cause: String,
        again: Duration,
    },
    /// Something that the person should know, and that stops nothing.
    Note { text: String },
    /// The first Ctrl-C or SIGTERM: nothing new is begun.
    Interrupted,
    /// Always the last.
    RunFinished {
        exit_code: u8,
        /// One word for machines: `converged`, `failed`, `timeout`, `interrupted`, `refused`.
        outcome: &'static str,
        /// A sentence for people.
        summary: String,
        /// The command that goes on from here.
        resume: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ItemStatus {
    /// Held back by what it needs.
    Blocked,
    /// A request is on its way, or about to be.
    Working,
    /// The provider cluster is at it.
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
