use super::provider::{self, failed};
use super::running::{counted, duration, spoken};
use super::shoots::find;
use super::signals::Signals;
use super::{CommandError, Context, Exit, complete, health, why};
use crate::cluster::Provider;
use crate::state::conditions::{API_SERVER, Condition, HealthInput, NODES};
use crate::state::{conditions as judged, names};
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter};
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};
use what::What;

mod what;

/// Wait until a cluster is as it should be; changes nothing
#[derive(Debug, clap::Args)]
pub(super) struct WaitArgs {
    /// Name of the shoot
    #[arg(add = ArgValueCompleter::new(complete::shoots))]
    name: String,
    /// What to wait for, of several for all: ready, api-server, nodes (every one is ready), nodes=N (at least N are),
    /// deleted, or condition=TYPE[=STATUS] of those that status shows
    #[arg(
        long = "for",
        value_name = "WHAT",
        default_value = "ready",
        value_parser = what::parse,
        add = ArgValueCandidates::new(what::candidates)
    )]
    what: Vec<What>,
    /// How long to wait; with 0s it is looked once, and the exit code is 1 when the answer is no
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = duration)]
    timeout: Duration,
}

/// How often it is looked.
const LOOK: Duration = Duration::from_secs(1);
/// A wait that is out of time still says why.
const LAST_LOOK: Duration = Duration::from_secs(15);
/// So many causes are told.
const CAUSES: usize = 5;

pub(super) fn run(args: &WaitArgs, context: &Context) -> Result<Exit, CommandError> {
    let (deleted, others): (Vec<&What>, Vec<&What>) =
        args.what.iter().partition(|it| **it == What::Deleted);
    if !deleted.is_empty() && !others.is_empty() {
        let message = "what is deleted is nothing else: --for deleted stands alone";
        return Err(CommandError::new(Exit::Usage, message));
    }
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
            return Err(out_of_time(args, &provider, told).await);
        }
        sleep(LOOK.min(left)).await;
    }
}

/// With the causes that why would tell.
async fn out_of_time(args: &WaitArgs, provider: &Provider, told: String) -> CommandError {
    let message = format!("time is up after {}", spoken(args.timeout));
    let mut error = CommandError::new(Exit::Timeout, message).cause(told);
    let looked = async {
        if args.what == [What::Deleted] {
            return why::holding(provider, &names::id_of(&args.name)).await.ok();
        }
        let record = find(provider, &args.name).await.ok()?;
        why::findings(provider, &record).await.ok()
    };
    let findings = timeout(LAST_LOOK, looked).await.ok().flatten();
    let findings = findings.unwrap_or_default();
    for finding in findings.iter().take(CAUSES) {
        error = error.cause(finding.to_string());
        if let Some(hint) = finding.hint.as_ref().filter(|it| !error.hints.contains(it)) {
            error = error.hint(hint);
        }
    }
    match findings.len().saturating_sub(CAUSES) {
        0 => error,
        more => error.cause(format!(
            "and {more} more; kvshoot why {} tells them",
            args.name
        )),
    }
}

/// What is waited for; None when it is there.
async fn missing(args: &WaitArgs, provider: &Provider) -> Result<Option<String>, CommandError> {
    if args.what == [What::Deleted] {
        let left = provider.leftovers(&names::id_of(&args.name)).await;
        // Volumes that are to go are gone before the record is.
        let (left, _) = left.map_err(failed)?.without_disks(true);
        let count = left.objects.len();
        let left = counted(count, "object");
        return Ok((count > 0).then(|| format!("waiting for {left} to be gone")));
    }
    let record = find(provider, &args.name).await?;
    let seen = health::seen(provider, &record).await?;
    let conditions = judged::conditions(&seen);
    Ok(args
        .what
        .iter()
        .find_map(|it| lacks(it, &seen, &conditions)))
}

fn lacks(what: &What, seen: &HealthInput, conditions: &[Condition]) -> Option<String> {
    let of = |kind: &str| conditions.iter().find(|it| it.kind == kind);
    let told = |it: &Condition| format!("waiting for {}: {}", it.kind, it.message);
    let nobody = || "waiting for an answer of the API server".to_owned();
    let holds = |kind: &str| match of(kind) {
        Some(it) if it.is_true => None,
        Some(it) => Some(told(it)),
        None => Some(nobody()),
    };
    match what {
        What::Ready => conditions.iter().find(|it| !it.is_true).map(told),
        What::ApiServer => holds(API_SERVER),
        What::Nodes(None) => holds(NODES),
        What::Nodes(Some(wanted)) => match seen.ready_nodes() {
            Some(ready) if ready >= *wanted => None,
            Some(ready) => Some(format!("waiting for {wanted} ready nodes: {ready} are")),
            None => Some(nobody()),
        },
        What::Condition { kind, status } => {
            let found = of(kind);
            let is = found.map_or("Unknown", |it| if it.is_true { "True" } else { "False" });
            let words = found.map_or("nobody says", |it| &it.message);
            let wanted = format!("waiting for {kind} to be {status}: it is {is}, {words}");
            (is != *status).then_some(wanted)
        }
        // It stands alone, and is seen to elsewhere.
        What::Deleted => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::conditions::{ComponentHealth, ShootHealth};

    fn api_server(is_true: bool) -> Condition {
        Condition {
            kind: API_SERVER,
            is_true,
            message: "no answer".to_owned(),
        }
    }

    fn told(what: &str, seen: &HealthInput, conditions: &[Condition]) -> Option<String> {
        lacks(&what::parse(what).unwrap(), seen, conditions)
    }

    #[test]
    fn what_cannot_be_seen_is_waited_for() {
        let seen = HealthInput::default();
        let silent = [api_server(false)];
        for what in ["nodes", "nodes=1"] {
            assert_eq!(
                told(what, &seen, &silent).as_deref(),
                Some("waiting for an answer of the API server")
            );
        }
        assert_eq!(
            told("ready", &seen, &silent).as_deref(),
            Some("waiting for APIServerAvailable: no answer")
        );
        assert_eq!(told("api-server", &seen, &[api_server(true)]), None);
    }

    #[test]
    fn conditions_are_waited_for_in_any_case_and_with_any_status() {
        let seen = HealthInput::default();
        let silent = [api_server(false)];
        assert_eq!(
            told("condition=apiserveravailable", &seen, &silent).as_deref(),
            Some("waiting for APIServerAvailable to be True: it is False, no answer")
        );
        assert_eq!(
            told("condition=APIServerAvailable=false", &seen, &silent),
            None
        );
        assert_eq!(
            told("condition=EveryNodeReady=Unknown", &seen, &silent),
            None
        );
        assert!(told("condition=EveryNodeReady=False", &seen, &silent).is_some());
    }

    #[test]
    fn so_many_nodes_or_more_will_do() {
        let node = |why: Option<&str>| ComponentHealth {
            name: "a".into(),
            why: why.map(Into::into),
        };
        let seen = HealthInput {
            inside: ShootHealth::Reachable {
                nodes: vec![node(None), node(None), node(Some("no network"))],
                workloads: Vec::new(),
                answers: Vec::new(),
            },
            has_network: true,
            ..HealthInput::default()
        };
        assert_eq!(told("nodes=1", &seen, &[]), None);
        assert_eq!(told("nodes=2", &seen, &[]), None);
        assert_eq!(
            told("nodes=3", &seen, &[]).as_deref(),
            Some("waiting for 3 ready nodes: 2 are")
        );
    }
}
