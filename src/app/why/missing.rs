//! Objects of a shoot that do not exist, although the record wants them.

use crate::cluster::{Advice, Cause, CauseChain, RecordSnapshot};
use crate::state::action::{Action, Desired};
use crate::state::facts::Facts;
use crate::state::failure::ErrorClass;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::plan::{Item, ItemKind, ItemState, MachineStep, Plan, empty_slot_title};
use crate::state::record::failed_console;
use crate::state::record::{LAST_OPERATION, LastError, Operation};
use std::collections::BTreeMap;

/// The number of missing objects that are named. The others are counted.
const NAMED: usize = 3;

/// The errors of the last run.
fn last_errors(record: &RecordSnapshot) -> Vec<LastError> {
    let text = record.data.get(LAST_OPERATION);
    let operation: Option<Operation> = text.and_then(|it| serde_json::from_str(it).ok());
    operation
        .map(|operation| operation.last_errors)
        .unwrap_or_default()
}

/// Errors and consoles that the last run left in the record.
pub(super) struct LastRun<'a> {
    pub(super) errors: Vec<LastError>,
    /// The data of the record, with the consoles of failed machines.
    pub(super) data: &'a BTreeMap<String, String>,
}

impl LastRun<'_> {
    pub(super) fn of(record: &RecordSnapshot) -> LastRun<'_> {
        LastRun {
            errors: last_errors(record),
            data: &record.data,
        }
    }

    /// The last lines on the console of the machine that failed in the place of an item.
    fn console(&self, item: &Item) -> Vec<String> {
        let ItemKind::Machine(slot) = &item.kind else {
            return Vec::new();
        };
        let Some(console) = failed_console::read(self.data, &slot.pool, slot.zone) else {
            return Vec::new();
        };
        let title = format!("console of {}:", console.machine);
        [title].into_iter().chain(console.lines).collect()
    }
}

/// Returns missing objects, each with the error of the last run if there was one.
///
/// Items in progress are reported only if nothing else explains why the shoot is not ready: `is_explained`.
pub(super) fn chains(
    facts: &Facts,
    plan: &Plan,
    last: &LastRun<'_>,
    name: &str,
    is_explained: bool,
) -> Vec<CauseChain> {
    let own = |state| Cause::new("Shoot", name, state);
    let (mut chains, mut titles, mut waits) = (Vec::new(), Vec::new(), Vec::new());
    for item in &plan.items {
        match &item.state {
            // Other failures are found by the diagnosis of the observed objects.
            ItemState::Failed(it)
                if matches!(it.class, ErrorClass::Foreign | ErrorClass::Missing) =>
            {
                chains.push(CauseChain::new(
                    own(item.title.as_str()),
                    it.message.as_str(),
                ));
            }
            ItemState::Due(Action::Apply(wanted)) if facts.is_missing(wanted) => {
                let mut errors = last.errors.iter();
                match errors.find_map(|error| description_of(error, wanted, item)) {
                    Some(message) => chains.push(CauseChain {
                        log: last.console(item),
                        ..missing(&wanted.key, message)
                    }),
                    None => titles.push(item.title.as_str()),
                }
            }
            ItemState::Waiting(why) => waits.push((&item.title, why)),
            _ => {}
        }
    }
    // The diagnosis of objects says more, but does not cover everything.
    if let [(title, why), ..] = waits.as_slice()
        && chains.is_empty()
        && titles.is_empty()
        && !is_explained
    {
        chains.push(CauseChain::new(own(title.as_str()), why.as_str()));
    }
    if titles.is_empty() {
        return chains;
    }
    let named = titles[..titles.len().min(NAMED)].join(", ");
    let more = titles.len().saturating_sub(NAMED);
    let more = match more {
        0 => String::new(),
        count => format!(", and {count} more"),
    };
    let message = format!("remaining steps: {named}{more}");
    chains.push(CauseChain::new(own("not finished"), message).with_advice(Advice::Resume));
    chains
}

/// The error of the last run for an object. An error of a machine may name its pool and zone only.
fn description_of<'a>(error: &'a LastError, wanted: &Desired, item: &Item) -> Option<&'a str> {
    let description = &error.description;
    let named = description.strip_prefix(&format!("{}: ", wanted.key));
    let place = match &item.kind {
        ItemKind::Machine(slot) if slot.step == MachineStep::Create => {
            empty_slot_title(&slot.pool, &slot.zone_name)
        }
        _ => String::new(),
    };
    let is_own = error.task_id == item.title || error.task_id == place;
    named.or_else(|| is_own.then_some(description))
}

fn missing(key: &ObjectKey, message: &str) -> CauseChain {
    let own = Cause::new(key.kind.to_string(), key.name.clone(), "missing");
    let chain = CauseChain::reported(own, message);
    match key.kind {
        ObjectKind::Machine => chain.under(Cause::new("Machine", key.name.clone(), "")),
        _ => chain,
    }
}

#[cfg(test)]
#[path = "missing_tests.rs"]
mod tests;
