//! `kvshoot wait`.

use super::health;
use super::shoot_summary::find;
use super::wait_condition::WaitCondition;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::provider::connect::connect;
use crate::app::signals::Signals;
use crate::app::why::root_causes::{deletion_causes, root_causes};
use crate::cluster::ApiClient;
use crate::state::conditions;
use crate::state::conditions::{API_SERVER, Condition, HealthInput, NODES};
use crate::state::names::id_of;
use crate::ui::{count, format_duration};
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// The interval between two checks.
const INTERVAL: Duration = Duration::from_secs(1);
/// Time to find the causes after a timeout.
const DIAGNOSIS: Duration = Duration::from_secs(15);
/// The number of causes that are printed.
const CAUSES: usize = 5;

/// Options of `kvshoot wait`.
#[derive(Debug)]
pub(crate) struct WaitOptions {
    /// Display name of the shoot.
    pub(crate) name: String,
    /// All of them have to be met.
    pub(crate) conditions: Vec<WaitCondition>,
    /// With zero, the conditions are checked once.
    pub(crate) timeout: Duration,
}

/// Waits until all conditions are met.
pub(crate) fn wait(options: &WaitOptions, context: &Context) -> Result<Exit, CommandError> {
    let conditions = &options.conditions;
    if conditions.len() > 1
        && conditions.contains(&WaitCondition::Deleted)
        && conditions.iter().any(|it| *it != WaitCondition::Deleted)
    {
        let message = "--for deleted cannot be combined with other conditions";
        return Err(CommandError::new(Exit::Usage, message));
    }
    context.block_on(async {
        let signals = Signals::listen(None)?;
        tokio::select! {
            exit = poll(options, context) => exit,
            () = signals.first.cancelled() => Err(CommandError::new(signals.exit(), "interrupted")),
        }
    })?
}

async fn poll(options: &WaitOptions, context: &Context) -> Result<Exit, CommandError> {
    let provider = connect(context).await?;
    let started = Instant::now();
    let mut printed = String::new();
    loop {
        let Some(unmet) = first_unmet(options, &provider, context).await? else {
            return Ok(Exit::Done);
        };
        if unmet != printed {
            context.ui.status(&unmet);
            printed = unmet;
        }
        if options.timeout.is_zero() {
            return Ok(Exit::No);
        }
        let left = options.timeout.saturating_sub(started.elapsed());
        if left.is_zero() {
            return Err(timed_out(options, &provider, printed, context).await);
        }
        sleep(INTERVAL.min(left)).await;
    }
}

/// The error of a timeout, with the root causes.
async fn timed_out(
    options: &WaitOptions,
    provider: &ApiClient,
    unmet: String,
    context: &Context,
) -> CommandError {
    let message = format!("timed out after {}", format_duration(options.timeout));
    let mut error = CommandError::new(Exit::Timeout, message).cause(unmet);
    let found = async {
        if options.conditions == [WaitCondition::Deleted] {
            let id = id_of(&options.name);
            return deletion_causes(provider, &id, context).await.ok();
        }
        let record = find(provider, &options.name, context).await.ok()?;
        root_causes(provider, &record, context).await.ok()
    };
    let found = timeout(DIAGNOSIS, found).await.ok().flatten();
    let found = found.unwrap_or_default();
    for cause in found.iter().take(CAUSES) {
        error = error.cause(cause.to_string());
        let hint = cause.hint.as_ref();
        if let Some(hint) = hint.filter(|hint| !error.hints.contains(hint)) {
            error = error.hint(hint);
        }
    }
    match found.len().saturating_sub(CAUSES) {
        0 => error,
        more => {
            let why = context.hint_command(&["why", &options.name]);
            error.cause(format!("and {more} more; to list them: {why}"))
        }
    }
}

/// Returns what the first unmet condition waits for; None if all are met.
async fn first_unmet(
    options: &WaitOptions,
    provider: &ApiClient,
    context: &Context,
) -> Result<Option<String>, CommandError> {
    if options.conditions == [WaitCondition::Deleted] {
        let remaining = provider.remaining_objects(&id_of(&options.name)).await;
        // Volumes are deleted before the record.
        let (remaining, _) = remaining.map_err(failed)?.without_disks(true);
        let number = remaining.objects.len();
        return Ok((number > 0).then(|| format!("{} remaining", count(number, "object"))));
    }
    let record = find(provider, &options.name, context).await?;
    let seen = health::observe(provider, &record).await?;
    let current = conditions::conditions(&seen);
    let mut wanted = options.conditions.iter();
    Ok(wanted.find_map(|condition| unmet(condition, &seen, &current)))
}

pub(super) fn unmet(
    wanted: &WaitCondition,
    seen: &HealthInput,
    conditions: &[Condition],
) -> Option<String> {
    let find = |kind: &str| conditions.iter().find(|condition| condition.kind == kind);
    let is_false =
        |condition: &Condition| format!("{} is False: {}", condition.kind, condition.message);
    let unreachable = || "API server not reachable".to_owned();
    let holds = |kind: &str| match find(kind) {
        Some(condition) if condition.is_true => None,
        Some(condition) => Some(is_false(condition)),
        None => Some(unreachable()),
    };
    match wanted {
        WaitCondition::Ready => conditions.iter().find(|it| !it.is_true).map(is_false),
        WaitCondition::ApiServer => holds(API_SERVER),
        WaitCondition::Nodes(None) => holds(NODES),
        WaitCondition::Nodes(Some(wanted)) => match seen.ready_nodes() {
            Some(ready) if ready >= *wanted => None,
            Some(ready) => Some(format!("{ready} of {wanted} nodes ready")),
            None => Some(unreachable()),
        },
        WaitCondition::Condition { kind, status } => {
            let (current, message) = match find(kind) {
                Some(it) if it.is_true => ("True", it.message.as_str()),
                Some(it) => ("False", it.message.as_str()),
                None => ("Unknown", "not reported"),
            };
            (current != *status)
                .then(|| format!("{kind} is {current}, expected {status}: {message}"))
        }
        // Handled by the caller, since it is never combined.
        WaitCondition::Deleted => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::inspect::wait_condition::parse;
    use crate::state::conditions::{ComponentHealth, ShootHealth};

    fn api_server(is_true: bool) -> Condition {
        Condition {
            kind: API_SERVER,
            is_true,
            message: "no answer".to_owned(),
        }
    }

    fn pending(what: &str, seen: &HealthInput, conditions: &[Condition]) -> Option<String> {
        unmet(&parse(what).unwrap(), seen, conditions)
    }

    #[test]
    fn an_unreachable_api_server_is_waited_for() {
        let seen = HealthInput::default();
        let silent = [api_server(false)];
        for what in ["nodes", "nodes=1"] {
            assert_eq!(
                pending(what, &seen, &silent).as_deref(),
                Some("API server not reachable")
            );
        }
        assert_eq!(
            pending("ready", &seen, &silent).as_deref(),
            Some("APIServerAvailable is False: no answer")
        );
        assert_eq!(pending("api-server", &seen, &[api_server(true)]), None);
    }

    #[test]
    fn conditions_are_case_insensitive_and_have_any_status() {
        let seen = HealthInput::default();
        let silent = [api_server(false)];
        assert_eq!(
            pending("condition=apiserveravailable", &seen, &silent).as_deref(),
            Some("APIServerAvailable is False, expected True: no answer")
        );
        assert_eq!(
            pending("condition=APIServerAvailable=false", &seen, &silent),
            None
        );
        assert_eq!(
            pending("condition=EveryNodeReady=Unknown", &seen, &silent),
            None
        );
        assert!(pending("condition=EveryNodeReady=False", &seen, &silent).is_some());
    }

    #[test]
    fn more_nodes_than_needed_are_enough() {
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
        assert_eq!(pending("nodes=1", &seen, &[]), None);
        assert_eq!(pending("nodes=2", &seen, &[]), None);
        assert_eq!(
            pending("nodes=3", &seen, &[]).as_deref(),
            Some("2 of 3 nodes ready")
        );
    }
}
