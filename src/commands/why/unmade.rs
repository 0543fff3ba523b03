//! What of a shoot is not there, although the record says that it should be.

use crate::cluster::{Advice, Chain, Link, RecordSeen};
use crate::plan::item::{Action, Class, Content, Key, Kind, Plan, State, Wanted};
use crate::plan::observed::Facts;
use crate::plan::record::{LAST_OPERATION, LastError, Operation};

/// So many of what is missing are named; the others are counted.
const NAMED: usize = 3;

/// Of the last run that changed something.
pub(super) fn errors(record: &RecordSeen) -> Vec<LastError> {
    let text = record.data.get(LAST_OPERATION);
    let operation: Option<Operation> = text.and_then(|it| serde_json::from_str(it).ok());
    operation.map(|it| it.last_errors).unwrap_or_default()
}

/// What has never been made, or is gone; by what the last run failed of, where it failed of that.
///
/// What the provider is at is told only where nothing else explains that it is not done: `is_explained`.
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
            // Anything else that failed is seen to by what was looked at.
            State::Failed(it) if matches!(it.class, Class::Foreign | Class::Missing) => {
                chains.push(Chain::of(own(item.title.as_str()), it.message.as_str()));
            }
            State::Due(Action::Apply(wanted)) if facts.lack(wanted) => {
                let title = &item.title;
                match errors.iter().find_map(|it| said_of(it, wanted, title)) {
                    Some(words) => chains.push(not_made(&wanted.key, words)),
                    None => titles.push(title.as_str()),
                }
            }
            State::Waiting(why) => waits.push((&item.title, why)),
            _ => {}
        }
    }
    // What is looked at tells more, but not of everything.
    if let [(title, why), ..] = waits.as_slice()
        && chains.is_empty()
        && titles.is_empty()
        && !is_explained
    {
        chains.push(Chain::of(own(title.as_str()), format!("waiting for {why}")));
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
    let message = format!("still to do: {named}{more}");
    chains.push(Chain::of(own("not finished"), message).advised(Advice::Resume));
    chains
}

/// What the last run was told of an object. That of a machine may have been about its place only.
fn said_of<'a>(error: &'a LastError, wanted: &Wanted, title: &str) -> Option<&'a str> {
    let words = &error.description;
    let named = words.strip_prefix(&format!("{}: ", wanted.key));
    let place = match &wanted.content {
        Content::Machine { pool, .. } => {
            let zone = title.rsplit(" in zone ").next().unwrap_or_default();
            format!("Create a machine of pool {pool} in zone {zone}")
        }
        _ => String::new(),
    };
    let is_its = error.task_id == title || error.task_id == place;
    named.or_else(|| is_its.then_some(words))
}

fn not_made(key: &Key, words: &str) -> Chain {
    let own = Link::new(key.kind.to_string(), key.name.clone(), "missing");
    let chain = Chain::said(own, words);
    match key.kind {
        Kind::Machine => chain.under(Link::new("Machine", key.name.clone(), "")),
        _ => chain,
    }
}

#[cfg(test)]
#[path = "unmade_tests.rs"]
mod tests;
