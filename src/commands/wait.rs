use super::provider::{self, failed};
use super::running::{duration, spoken};
use super::shoots::find;
use super::signals::Signals;
use super::{CommandError, Context, Exit, complete, health};
use crate::cluster::Provider;
use crate::plan::health::{API_SERVER, Condition, NODES};
use crate::plan::names;
use clap_complete::engine::ArgValueCompleter;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// Wait until a cluster is as it should be; changes nothing
#[derive(Debug, clap::Args)]
pub(super) struct WaitArgs {
    /// Name of the shoot
    #[arg(add = ArgValueCompleter::new(complete::shoots))]
    name: String,
    /// What to wait for
    #[arg(long = "for", value_name = "WHAT", default_value = "ready")]
    what: What,
    /// How long to wait; with 0s it is looked once, and the exit code is 1 when the answer is no
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = duration)]
    timeout: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum What {
    /// All of it is healthy
    Ready,
    /// The API server answers
    ApiServer,
    /// Every node is ready
    Nodes,
    /// Nothing is left of it
    Deleted,
}

/// How often it is looked.
const LOOK: Duration = Duration::from_secs(1);

pub(super) fn run(args: &WaitArgs, context: &Context) -> Result<Exit, CommandError> {
    context.block_on(async {
        let signals = Signals::listen(None)?;
        tokio::select! {
            exit = wait(args, context) => exit,
            () = signals.first.cancelled() => Err(CommandError::new(signals.exit(), "interrupted")),
        }
    })?
}

async fn wait(args: &WaitArgs, context: &Context) -> Result<Exit, CommandError> {
    let provider = provider::connect(context).await?;
    let begun = Instant::now();
    let mut told = String::new();
    loop {
        let Some(missing) = missing(args, &provider).await? else {
            return Ok(Exit::Done);
        };
        if missing != told {
            context.ui.status(&missing);
            told = missing;
        }
        if args.timeout.is_zero() {
            return Ok(Exit::No);
        }
        let left = args.timeout.saturating_sub(begun.elapsed());
        if left.is_zero() {
            let message = format!("time is up after {}", spoken(args.timeout));
            return Err(CommandError::new(Exit::Timeout, message).cause(told));
        }
        sleep(LOOK.min(left)).await;
    }
}

/// What is waited for; None when it is there.
async fn missing(args: &WaitArgs, provider: &Provider) -> Result<Option<String>, CommandError> {
    if args.what == What::Deleted {
        let left = provider.leftovers(&names::id_of(&args.name)).await;
        // Volumes that are to go are gone before the record is.
        let (left, _) = left.map_err(failed)?.without_disks(true);
        let count = left.objects.len();
        return Ok((count > 0).then(|| format!("waiting for {count} objects to be gone")));
    }
    let record = find(provider, &args.name).await?;
    let conditions = health::look(provider, &record).await?;
    Ok(first_wrong(args.what, &conditions))
}

fn first_wrong(what: What, conditions: &[Condition]) -> Option<String> {
    let kind = match what {
        What::ApiServer => Some(API_SERVER),
        What::Nodes => Some(NODES),
        What::Ready | What::Deleted => None,
    };
    let mut asked = conditions
        .iter()
        .filter(|it| kind.is_none_or(|kind| it.kind == kind))
        .peekable();
    if asked.peek().is_none() {
        return Some("waiting for an answer of the API server".to_owned());
    }
    let wrong = asked.find(|it| !it.is_true)?;
    Some(format!("waiting for {}: {}", wrong.kind, wrong.message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_waited_for() {
        let api = Condition {
            kind: API_SERVER,
            is_true: false,
            message: "no answer".to_owned(),
        };
        let told = first_wrong(What::Nodes, std::slice::from_ref(&api));
        assert_eq!(
            told.as_deref(),
            Some("waiting for an answer of the API server")
        );
        let told = first_wrong(What::Ready, std::slice::from_ref(&api));
        assert_eq!(
            told.as_deref(),
            Some("waiting for APIServerAvailable: no answer")
        );
        let well = Condition {
            is_true: true,
            ..api
        };
        assert_eq!(first_wrong(What::ApiServer, &[well]), None);
    }
}
