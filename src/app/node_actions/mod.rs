//! `kvshoot nodes restart`, `replace`, `delete`, `cordon`, `uncordon` and `drain`.

pub(crate) mod delete;
mod drain;

use super::apply::RecordExpectation;
use super::context::Context;
use super::error::{CommandError, Exit, failed};
use super::inspect::shoot_summary::find;
use super::lifecycle::recorded::{RecordedRun, last_applied_shoot};
use super::provider::connect::connect;
use super::run::session::RunOptions;
use super::signals::Signals;
use crate::cluster::{ApiClient, FactsScope, RecordSnapshot};
use crate::state::facts::ObservedMachine;
use crate::state::names::{REPLACE, RESTART_OF, RESTARTED_AT};
use jiff::Timestamp;
use serde_json::{Value, json};

const VERB: &str = "nodes";
const FIND: &str = "find the node";

/// An action on a node, or on its machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeAction {
    /// Deletes the instance, so that KubeVirt starts another one with the same disks.
    Restart,
    /// Replaces the machine within the bounds of its pool.
    Replace,
    Cordon,
    Uncordon,
    /// Cordons it and evicts its pods, as far as disruption budgets allow.
    Drain,
}

/// Options of an action on a node.
#[derive(Debug)]
pub(crate) struct NodeActionOptions {
    /// Display name of the shoot.
    pub(crate) shoot: String,
    pub(crate) node: String,
    pub(crate) action: NodeAction,
    pub(crate) run: RunOptions,
}

/// Does something to a node. A restart and a replacement are wishes on the machine, which any run carries out.
pub(crate) fn act(options: &NodeActionOptions, context: &Context) -> Result<Exit, CommandError> {
    context.block_on(async {
        let limit = match options.action {
            // It ends by itself, and says what remains.
            NodeAction::Drain => None,
            _ => Some(options.run.timeout),
        };
        let signals = Signals::listen(limit)?;
        let found = async {
            let provider = connect(context).await?;
            let record = find(&provider, &options.shoot, context).await?;
            Ok((provider, record))
        };
        let (provider, record) = signals.or_interrupted(FIND, found).await?;
        let acted = async {
            match options.action {
                NodeAction::Cordon => schedule(options, &provider, &record, false).await,
                NodeAction::Uncordon => schedule(options, &provider, &record, true).await,
                NodeAction::Drain => {
                    let names = (options.shoot.as_str(), options.node.as_str());
                    drain::drain(names, options.run.timeout, context, &provider, &record).await
                }
                NodeAction::Restart | NodeAction::Replace => {
                    wish(options, context, &provider, &record).await
                }
            }
        };
        let what = match options.action {
            NodeAction::Drain => "drain the node",
            _ => FIND,
        };
        signals.or_interrupted(what, acted).await?;
        let exit = match options.action {
            NodeAction::Cordon | NodeAction::Uncordon | NodeAction::Drain => Exit::Done,
            _ => apply(options, context, &signals, &provider, &record).await?,
        };
        if exit == Exit::Done {
            let done = match options.action {
                NodeAction::Restart => "restarted",
                NodeAction::Replace => "replaced",
                NodeAction::Cordon => "cordoned",
                NodeAction::Uncordon => "uncordoned",
                NodeAction::Drain => "drained",
            };
            let line = format!("node/{} {done}\n", options.node);
            context.ui.data(&line);
        }
        Ok(exit)
    })?
}

async fn schedule(
    options: &NodeActionOptions,
    provider: &ApiClient,
    record: &RecordSnapshot,
    accepts_pods: bool,
) -> Result<(), CommandError> {
    let patched = provider.set_schedulable(&record.name, &options.node, accepts_pods);
    patched.await.map_err(failed)
}

/// Writes on the machine what a run has to do.
async fn wish(
    options: &NodeActionOptions,
    context: &Context,
    provider: &ApiClient,
    record: &RecordSnapshot,
) -> Result<(), CommandError> {
    let facts = provider.list_facts(record, FactsScope::MACHINES).await;
    let facts = facts.map_err(failed)?;
    let node = &options.node;
    let machine = facts
        .machine(node)
        .ok_or_else(|| not_found(&options.shoot, node, context))?;
    let by = context.config.user_at_host();
    let annotations =
        wish_for(options.action, machine, provider.current_time(), &by).ok_or_else(|| {
            let message = format!("machine {node} does not run, so it cannot be restarted");
            CommandError::new(Exit::Precondition, message)
        })?;
    let annotated = provider.annotate_machine(node, &machine.uid, annotations);
    annotated.await.map_err(failed)
}

fn not_found(shoot: &str, node: &str, context: &Context) -> CommandError {
    let message = format!("machine {node:?} not found in shoot {shoot:?}");
    let list = context.hint_command(&["nodes", "list", shoot]);
    CommandError::new(Exit::NotFound, message).hint(format!("list its nodes: {list}"))
}

/// Annotations of the machine; None if it cannot be restarted.
fn wish_for(action: NodeAction, machine: &ObservedMachine, now: i64, by: &str) -> Option<Value> {
    if action == NodeAction::Replace {
        return Some(json!({ REPLACE: format!("requested by {by}") }));
    }
    let instance = machine.instance.uid.as_deref()?;
    let now = Timestamp::from_second(now).unwrap_or_default();
    Some(json!({ RESTARTED_AT: now.to_string(), RESTART_OF: instance }))
}

/// Applies the last applied manifest, with the wish on the machine.
async fn apply(
    options: &NodeActionOptions,
    context: &Context,
    signals: &Signals,
    provider: &ApiClient,
    record: &RecordSnapshot,
) -> Result<Exit, CommandError> {
    let shoot = last_applied_shoot(provider, record).await?;
    let run = RecordedRun {
        verb: VERB,
        run: options.run,
        context,
        signals,
        provider,
        expects: RecordExpectation::Any,
    };
    Ok(run.apply(&shoot).await?.exit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::facts::MachinePhase;
    use crate::state::testing::machine;

    #[test]
    fn a_machine_without_an_instance_is_replaced_and_not_restarted() {
        let mut machine = machine(MachinePhase::NotReady);
        let wish = |action, machine: &ObservedMachine| wish_for(action, machine, 60, "me@host");
        assert_eq!(wish(NodeAction::Restart, &machine), None);
        let replace = json!({ REPLACE: "requested by me@host" });
        assert_eq!(wish(NodeAction::Replace, &machine), Some(replace));
        machine.instance.uid = Some("one".into());
        let restart = json!({ RESTARTED_AT: "1970-01-01T00:01:00Z", RESTART_OF: "one" });
        assert_eq!(wish(NodeAction::Restart, &machine), Some(restart));
    }
}
