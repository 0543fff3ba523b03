//! `kvshoot nodes drain`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::cluster::{ApiClient, RecordSnapshot};
use crate::ui::format_duration;
use std::cell::RefCell;
use std::time::Duration;

/// Remaining pods that are listed; the rest is only counted.
const LISTED: usize = 20;

/// Cordons a node and evicts its pods until none is left. What remains at the time limit is the error.
pub(super) async fn drain(
    (shoot, node): (&str, &str),
    limit: Duration,
    context: &Context,
    provider: &ApiClient,
    record: &RecordSnapshot,
) -> Result<(), CommandError> {
    let last = RefCell::new(String::new());
    let report = |what: &str| {
        // Most looks find the same.
        if *last.borrow() != what {
            context.ui.status(&format!("draining {}: {what}", node));
            what.clone_into(&mut last.borrow_mut());
        }
    };
    let drained = provider.drain(&record.name, node, limit, report);
    let remaining = drained.await.map_err(failed)?;
    if remaining.is_empty() {
        return Ok(());
    }
    let message = format!(
        "node {} is not drained after {}: {} remain",
        node,
        format_duration(limit),
        remaining.len()
    );
    let mut error = CommandError::new(Exit::Timeout, message);
    for one in remaining.iter().take(LISTED) {
        error = error.cause(one);
    }
    let words = ["nodes", "uncordon", shoot, node];
    let uncordon = context.hint_command(&words);
    Err(error.hint(format!(
        "it accepts no new pods; to let it accept them again: {uncordon}"
    )))
}
