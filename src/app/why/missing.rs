//! Objects of a shoot that do not exist, although the record wants them.

use crate::cluster::{Advice, Chain, Link, RecordSeen};
use crate::state::action::{Action, Content, Wanted};
use crate::state::facts::Facts;
use crate::state::failure::Class;
use crate::state::key::{Key, Kind};
use crate::state::plan::{Plan, State};
use crate::state::record::{LAST_OPERATION, LastError, Operation};

/// The number of missing objects that are named. The others are counted.
const NAMED: usize = 3;

/// The errors of the last run.
pub(super) fn last_errors(record: &RecordSeen) -> Vec<LastError> {
    let text = record.data.get(LAST_OPERATION);
    let operation: Option<Operation> = text.and_then(|it| serde_json::from_str(it).ok());
    operation
        .map(|operation| operation.last_errors)
        .unwrap_or_default()
}

/// Returns missing objects, each with the error of the last run if there was one.
///
/// Items in progress are reported only if nothing else explains why the shoot is not ready: `is_explained`.
pub(super) fn chains(
    facts: &Facts,
    plan: &Plan,
    errors: &[LastError],
    name: &str,
    is_explained: bool,
) -> Vec<Chain> {
    let own = |state| Link::new("Shoot", name, state);
    let (mut chains, mut titles, mut waits) = (Vec::new(), Vec::new(), Vec::new());
    for item in &plan.items {
        match &item.state {
            // Other failures are found by the diagnosis of the observed objects.
            State::Failed(it) if matches!(it.class, Class::Foreign | Class::Missing) => {
                chains.push(Chain::of(own(item.title.as_str()), it.message.as_str()));
            }
            State::Due(Action::Apply(wanted)) if facts.lack(wanted) => {
                let title = &item.title;
                match errors
                    .iter()
                    .find_map(|error| description_of(error, wanted, title))
                {
                    Some(message) => chains.push(missing(&wanted.key, message)),
                    None => titles.push(title.as_str()),
                }
            }
            State::Waiting(why) => waits.push((&item.title, why)),
            _ => {}
        }
    }
    // The diagnosis of objects says more, but does not cover everything.
    if let [(title, why), ..] = waits.as_slice()
        && chains.is_empty()
        && titles.is_empty()
        && !is_explained
    {
        chains.push(Chain::of(own(title.as_str()), why.as_str()));
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
    chains.push(Chain::of(own("not finished"), message).advised(Advice::Resume));
    chains
}

/// The error of the last run for an object. An error of a machine may name its pool and zone only.
fn description_of<'a>(error: &'a LastError, wanted: &Wanted, title: &str) -> Option<&'a str> {
    let description = &error.description;
    let named = description.strip_prefix(&format!("{}: ", wanted.key));
    let place = match &wanted.content {
        Content::Machine { pool, .. } => {
            let zone = title.rsplit(" in zone ").next().unwrap_or_default();
            format!("Make a machine of pool {pool} in zone {zone}")
        }
        _ => String::new(),
    };
    let is_own = error.task_id == title || error.task_id == place;
    named.or_else(|| is_own.then_some(description))
}

fn missing(key: &Key, message: &str) -> Chain {
    let own = Link::new(key.kind.to_string(), key.name.clone(), "missing");
    let chain = Chain::said(own, message);
    match key.kind {
        Kind::Machine => chain.under(Link::new("Machine", key.name.clone(), "")),
        _ => chain,
    }
}

#[cfg(test)]
#[path = "missing_tests.rs"]
mod tests;
