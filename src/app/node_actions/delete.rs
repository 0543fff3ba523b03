//! `kvshoot nodes delete`: a pool becomes smaller by a machine that the user chooses.

use super::{VERB, not_found};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::lifecycle::recorded::RecordedChange;
use crate::app::lifecycle::scale::{size_change, sizes};
use crate::app::run::session::RunOptions;
use crate::cluster::FactsScope;
use crate::state::facts::Facts;
use crate::state::record::{DeletedMachine, SizeRefusal, without_machine};
use std::collections::BTreeSet;

/// Options of `kvshoot nodes delete`.
#[derive(Debug)]
pub(crate) struct NodeDeletionOptions {
    /// Display name of the shoot.
    pub(crate) shoot: String,
    pub(crate) node: String,
    pub(crate) run: RunOptions,
}

/// Writes to the record that the machine is deleted and its zone has one less, and applies that. Both are one write, so
/// that an interrupted command can be repeated.
pub(crate) fn delete(
    options: &NodeDeletionOptions,
    context: &Context,
) -> Result<Exit, CommandError> {
    let (shoot, node) = (options.shoot.as_str(), options.node.as_str());
    let change = RecordedChange {
        verb: VERB,
        subject: &format!("node/{node}"),
        done: "deleted",
        name: shoot,
        run: options.run,
    };
    change.execute(context, async |provider, record, manifest| {
        let facts = provider.list_facts(record, FactsScope::MACHINES).await;
        let facts = facts.map_err(failed)?;
        let machine = machine(&facts, node).ok_or_else(|| not_found(shoot, node, context))?;
        let before = sizes(record);
        let after = without_machine(&manifest.pools, &before, machine, &uids(&facts));
        let after = after.map_err(|it| refused(&it, options, context))?;
        Ok(size_change(&before, &after))
    })
}

fn machine<'a>(facts: &'a Facts, name: &str) -> Option<DeletedMachine<'a>> {
    facts.machines.iter().find_map(|(pool, machines)| {
        let machine = machines.get(name)?;
        Some(DeletedMachine {
            pool,
            zone: machine.zone,
            uid: &machine.uid,
        })
    })
}

fn uids(facts: &Facts) -> BTreeSet<&str> {
    let machines = facts.machines.values().flat_map(|it| it.values());
    machines.map(|it| &*it.uid).collect()
}

fn refused(
    refusal: &SizeRefusal,
    options: &NodeDeletionOptions,
    context: &Context,
) -> CommandError {
    let NodeDeletionOptions { shoot, node, .. } = options;
    let message = format!("cannot delete node {node}: {refusal}");
    let error = CommandError::new(Exit::Precondition, message);
    let replace = context.hint_command(&["nodes", "replace", shoot, node]);
    match refusal {
        SizeRefusal::Unknown { .. } => {
            error.hint("its pool is not in the manifest, so apply deletes the machine")
        }
        SizeRefusal::Fixed { .. } => error.hint(format!(
            "set minimum below maximum in the manifest and apply it, or replace the machine: {replace}"
        )),
        SizeRefusal::OutOfBounds { .. } => error.hint(format!(
            "change minimum in the manifest and apply it, or replace the machine: {replace}"
        )),
    }
}
