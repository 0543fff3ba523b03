//! `kvshoot nodes console` and `kvshoot nodes logs`: logs of a machine and of services on its node.

use super::node_facts;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::inspect::shoot_summary::find;
use crate::app::provider::connect::connect;
use crate::app::signals::Signals;
use crate::cluster::{ApiClient, LogTail, NodeLog, RecordSnapshot};
use crate::state::facts::{Facts, ShootApi};
use crate::ui::format_size;
use tokio::task::yield_now;

/// Bytes that are printed at once.
const PIECE: usize = 64 << 10;

/// Options of both commands.
#[derive(Debug)]
pub(crate) struct NodeLogOptions {
    /// Display name of the shoot.
    pub(crate) shoot: String,
    pub(crate) node: String,
    /// Lines from the end.
    pub(crate) tail: usize,
}

/// Prints the serial console of a machine, and with `follow` all that it writes until its instance ends.
pub(crate) fn console(
    options: &NodeLogOptions,
    follow: bool,
    context: &Context,
) -> Result<Exit, CommandError> {
    context.block_on(async {
        let signals = Signals::listen(None)?;
        let found = async {
            let provider = connect(context).await?;
            let record = find(&provider, &options.shoot, context).await?;
            Ok((provider, record))
        };
        let (provider, record) = signals.or_interrupted("find the shoot", found).await?;
        let printed = async {
            match follow {
                true => follow_console(options, context, &provider, &record).await,
                false => {
                    let read = provider.console_log(&record.name, &options.node, options.tail);
                    match read.await.map_err(failed)? {
                        Some(log) => print_tail(&log, context),
                        None => return Err(no_console(options, context, &provider, &record).await),
                    }
                    Ok(())
                }
            }
        };
        tokio::select! {
            printed = printed => printed.map(|()| Exit::Done),
            () = signals.first.cancelled() => Ok(signals.exit()),
        }
    })?
}

async fn follow_console(
    options: &NodeLogOptions,
    context: &Context,
    provider: &ApiClient,
    record: &RecordSnapshot,
) -> Result<(), CommandError> {
    let opened = provider.follow_console(&record.name, &options.node, options.tail);
    let opened = opened.await.map_err(failed)?;
    let Some(mut lines) = opened else {
        return Err(no_console(options, context, provider, record).await);
    };
    while let Some(line) = lines.next().await {
        context.ui.data(&(line.map_err(failed)? + "\n"));
        // A console that writes all the time must not keep a signal from being heard.
        yield_now().await;
    }
    let text = format!("the console of machine {} has ended", options.node);
    context.ui.status(&text);
    Ok(())
}

/// The reason for a missing console.
async fn no_console(
    options: &NodeLogOptions,
    context: &Context,
    provider: &ApiClient,
    record: &RecordSnapshot,
) -> CommandError {
    let facts = match node_facts(provider, record, &mut |_| {}).await {
        Ok(facts) => facts,
        Err(error) => return error,
    };
    if let Err(error) = known(options, context, &facts) {
        return error;
    }
    let message = format!("no console of machine {:?} is kept", options.node);
    let error = CommandError::new(Exit::Precondition, message);
    let error = error.cause("it has not been started, or logSerialConsole is disabled in KubeVirt");
    let describe = ["nodes", "describe", &options.shoot, &options.node];
    error.hint(format!(
        "show its state: {}",
        context.hint_command(&describe)
    ))
}

/// Prints the end of a service's log on a node.
pub(crate) fn logs(
    options: &NodeLogOptions,
    service: &str,
    context: &Context,
) -> Result<Exit, CommandError> {
    context.block_on(async {
        let signals = Signals::listen(None)?;
        let read = async {
            let provider = connect(context).await?;
            let record = find(&provider, &options.shoot, context).await?;
            let facts = node_facts(&provider, &record, &mut |_| {}).await?;
            has_node(options, context, &facts)?;
            let shoot = provider.shoot_client(&record.name).await.map_err(failed)?;
            let log = shoot.node_log(&options.node, service, options.tail);
            log.await.map_err(failed)
        };
        match signals.or_interrupted("read the log", read).await? {
            NodeLog::Text(text) => {
                print(&text, context);
                Ok(Exit::Done)
            }
            NodeLog::NotOffered(answer) => Err(not_offered(options, &answer, context)),
        }
    })?
}

/// # Errors
///
/// The machine does not exist.
fn known(options: &NodeLogOptions, context: &Context, facts: &Facts) -> Result<(), CommandError> {
    if facts.machine(&options.node).is_some() {
        return Ok(());
    }
    let message = format!(
        "machine {:?} not found in shoot {:?}",
        options.node, options.shoot
    );
    let list = context.hint_command(&["nodes", "list", &options.shoot]);
    Err(CommandError::new(Exit::NotFound, message).hint(format!("list its nodes: {list}")))
}

/// # Errors
///
/// The API server of the shoot is not reachable, or the machine has not joined.
fn has_node(
    options: &NodeLogOptions,
    context: &Context,
    facts: &Facts,
) -> Result<(), CommandError> {
    known(options, context, facts)?;
    let message = match &facts.shoot_api {
        _ if facts.nodes.contains_key(options.node.as_str()) => return Ok(()),
        ShootApi::Reachable => format!("machine {:?} has not joined the shoot", options.node),
        ShootApi::Absent => "the shoot has no API server".to_owned(),
        ShootApi::Unreachable(error) => {
            format!("the API server of the shoot is not reachable: {error}")
        }
    };
    let error = CommandError::new(Exit::Precondition, message);
    Err(error.hint(console_hint(options, context)))
}

fn not_offered(options: &NodeLogOptions, answer: &str, context: &Context) -> CommandError {
    let message = format!("the kubelet of node {:?} does not offer logs", options.node);
    let error = CommandError::new(Exit::Precondition, message);
    let error = match answer.trim() {
        "" => error.cause("its configuration has no enableSystemLogQuery"),
        answer => error.cause(answer),
    };
    error.hint(console_hint(options, context))
}

fn console_hint(options: &NodeLogOptions, context: &Context) -> String {
    let console = ["nodes", "console", &options.shoot, &options.node];
    format!(
        "read its serial console: {}",
        context.hint_command(&console)
    )
}

fn print_tail(log: &LogTail, context: &Context) {
    if log.cut > 0 {
        let cut = format_size(log.cut);
        let text = format!("the first {cut} of these lines are left out");
        context.ui.warn(&text);
    }
    print(&log.text, context);
}

/// Prints a log in pieces, since its control characters take more memory as escapes.
fn print(text: &str, context: &Context) {
    let mut rest = text;
    while !rest.is_empty() {
        let most = rest.floor_char_boundary(PIECE);
        let end = match most < rest.len() {
            true => rest[..most].rfind('\n').map_or(most, |it| it + 1),
            false => most,
        };
        let (piece, after) = rest.split_at(end);
        context.ui.data(piece);
        rest = after;
    }
}
