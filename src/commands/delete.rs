use super::protect;
use super::provider::{self, failed};
use super::running::{About, End, RunArgs, Session, counted};
use super::signals::Signals;
use super::{CommandError, Context, Exit, complete};
use crate::cluster::{
    ApiClient, Error, ProviderContext, RecordSnapshot, RemainingObjects, Retryability,
};
use crate::flow::Outcome;
use crate::plan::observed::Observed;
use crate::plan::{self, names::id_of};
use clap_complete::engine::ArgValueCompleter;
use std::time::Duration;
use tokio::time::sleep;

/// A run that is out of time still says what is left.
const LAST_LOOK: Duration = Duration::from_secs(5);
/// How often what is on its way out is listed again.
const LOOK: Duration = Duration::from_secs(1);

/// Delete a cluster, and prove that nothing is left
#[derive(Debug, clap::Args)]
pub(super) struct DeleteArgs {
    /// Name of the shoot; PROJECT/NAME outside the project `local`
    #[arg(add = ArgValueCompleter::new(complete::shoots))]
    name: String,
    /// Say yes without being asked, by the shoot's name
    #[arg(long, value_name = "NAME")]
    confirm: Option<String>,
    /// Say yes without being asked
    #[arg(short, long)]
    yes: bool,
    /// No shoot of that name is fine
    #[arg(long)]
    ignore_not_found: bool,
    /// Keep the volumes that its users made, as DataVolumes of the provider
    #[arg(long)]
    keep_volumes: bool,
    #[command(flatten)]
    run: RunArgs,
}

pub(super) fn run(args: &DeleteArgs, context: &Context) -> Result<Exit, CommandError> {
    if args.confirm.as_ref().is_some_and(|it| *it != args.name) {
        return Err(CommandError::new(
            Exit::Declined,
            format!("--confirm names another shoot than {}", args.name),
        ));
    }
    context.block_on(async {
        let signals = Signals::listen(Some(args.run.timeout))?;
        let id = id_of(&args.name);
        let (provider, left) = signals
            .or_interrupted("find the shoot", async {
                let provider = provider::connect(context).await?;
                if let Some(record) = provider.record(&id).await.map_err(failed)? {
                    protect::check(&record, &args.name)?;
                }
                let left = provider.remaining_objects(&id).await;
                let (left, _) = left.map_err(failed)?.without_disks(args.keep_volumes);
                Ok((provider, left))
            })
            .await?;
        if !is_shoot(&left) {
            // What a run left that was cut off between the record and the namespace.
            let is_sure = args.yes || args.confirm.is_some();
            if is_sure && remove_namespace(context, &provider).await? {
                return Ok(Exit::Done);
            }
            return not_there(args, context, &provider);
        }
        ask(args, context, &left)?;
        let deletion = Deletion {
            name: &args.name,
            keep_volumes: args.keep_volumes,
            run: &args.run,
            resume: context.config.command_line(),
        };
        let exit = delete(&deletion, context, &signals, &provider).await?;
        told(exit, &args.name, context);
        Ok(exit)
    })?
}

/// The result, for programs, when there is one.
pub(super) fn told(exit: Exit, name: &str, context: &Context) {
    if exit == Exit::Done {
        let ui = &context.ui;
        ui.data(&format!("shoot.core.gardener.cloud/{name} deleted\n"));
    }
}

/// A lease alone is what a run leaves that was over before it began.
fn is_shoot(left: &RemainingObjects) -> bool {
    left.objects.iter().any(|it| it.kind != "Lease")
}

fn not_there(
    args: &DeleteArgs,
    context: &Context,
    provider: &ApiClient,
) -> Result<Exit, CommandError> {
    if args.ignore_not_found {
        context.ui.status(&format!(
            "there is no shoot {} in namespace {}",
            args.name,
            provider.namespace()
        ));
        return Ok(Exit::Done);
    }
    let message = format!(
        "there is no shoot {} in namespace {}",
        args.name,
        provider.namespace()
    );
    Err(CommandError::new(Exit::NotFound, message).hint("kvshoot list shows what is there"))
}

/// Nothing is asked where the answer was given, and nothing is deleted where nobody can answer.
fn ask(args: &DeleteArgs, context: &Context, left: &RemainingObjects) -> Result<(), CommandError> {
    if args.yes || args.confirm.is_some() {
        return Ok(());
    }
    let count = |kind: &str| left.objects.iter().filter(|it| it.kind == kind).count();
    let text = format!(
        "shoot {} has {} and {}; all of it goes",
        args.name,
        counted(count("VirtualMachine"), "machine"),
        counted(count("PersistentVolumeClaim"), "volume")
    );
    context.ui.warn(&text);
    let what = format!("delete shoot {}", args.name);
    let flag = format!("--confirm {}", args.name);
    let answer = context
        .ui
        .confirm_name(&format!("Type {} to delete it", args.name), &args.name);
    answer.map_err(|it| CommandError::refused(it, &what, &flag))
}

/// What is to go, once that is settled.
pub(super) struct Deletion<'a> {
    /// As a person calls it.
    pub(super) name: &'a str,
    pub(super) keep_volumes: bool,
    pub(super) run: &'a RunArgs,
    /// The command that goes on where this ends.
    pub(super) resume: String,
}

pub(super) async fn delete(
    args: &Deletion<'_>,
    context: &Context,
    signals: &Signals,
    provider: &ApiClient,
) -> Result<Exit, CommandError> {
    let exit = delete_unless(args, context, signals, provider, |_| None).await?;
    Ok(exit.unwrap_or(Exit::Done))
}

/// The same, unless `stays` says why not once nobody else may change the shoot any more: None then. It is asked with the
/// record as it is by then.
pub(super) async fn delete_unless(
    args: &Deletion<'_>,
    context: &Context,
    signals: &Signals,
    provider: &ApiClient,
    stays: impl Fn(Option<&RecordSnapshot>) -> Option<String>,
) -> Result<Option<Exit>, CommandError> {
    let id = id_of(args.name);
    let about = About {
        verb: "delete",
        shoot: args.name,
        id: &id,
        beside: ProviderContext {
            is_deletion: true,
            ..ProviderContext::default()
        },
        resume: Some(args.resume.clone()),
    };
    let session = Session::start(context, signals, provider, args.run, about).await?;
    let why = match provider.record(&id).await {
        Ok(record) => stays(record.as_ref()),
        Err(error) => {
            session.unlock(Exit::Partly).await;
            return Err(failed(error));
        }
    };
    if let Some(why) = why {
        let end = End {
            exit: Exit::Done,
            outcome: "converged",
            summary: format!("{why}; it stays"),
            resume: None,
        };
        session.finish(end).await;
        return Ok(None);
    }
    let plan = |observed: &Observed| plan::delete(observed, args.keep_volumes);
    let report = session.run(plan, |_, _| Vec::new()).await?;
    let mut end = End::of(&report, signals, session.resume(), String::new());
    // What was in time and what was not: both are told by what is left.
    if matches!(report.outcome, Outcome::Converged | Outcome::Timeout) {
        end = proven(args, signals, &session, &id).await;
    }
    let exit = session.finish(end).await;
    if exit == Exit::Done {
        remove_namespace(context, provider).await?;
    }
    Ok(Some(exit))
}

/// A namespace that apply made goes with its last shoot.
async fn remove_namespace(context: &Context, provider: &ApiClient) -> Result<bool, CommandError> {
    let removed = match provider.is_namespace_empty().await {
        Ok(true) => provider.delete_namespace().await,
        other => other,
    };
    match removed {
        Ok(true) => context
            .ui
            .status(&format!("namespace {} deleted", provider.namespace())),
        // Whoever may not even look at namespaces has not made this one.
        Ok(false) | Err(Error::Forbidden { .. }) => return Ok(false),
        Err(error) => return Err(failed(error)),
    }
    Ok(true)
}

/// Lists every kind again until nothing is there but the lease, and says what stays.
async fn proven(args: &Deletion<'_>, signals: &Signals, session: &Session<'_>, id: &str) -> End {
    let unproven = |exit, why: &str| End {
        exit,
        outcome: "failed",
        summary: format!("all was deleted, but not seen to be gone: {why}"),
        resume: session.resume(),
    };
    loop {
        let left = tokio::select! {
            left = session.provider.remaining_objects(id) => left,
            () = signals.first.cancelled() => return unproven(signals.exit(), "interrupted"),
            () = sleep(signals.left().max(LAST_LOOK)) => return unproven(Exit::Timeout, "time is up"),
        };
        let (left, kept) = match left {
            Ok(left) => left.without_disks(args.keep_volumes),
            Err(error) if error.retryability() == Retryability::Retry => {
                session.note(error.to_string());
                sleep(LOOK).await;
                continue;
            }
            Err(error) => {
                let why = error.to_string();
                return unproven(failed(error).exit, &why);
            }
        };
        let objects: Vec<_> = left
            .objects
            .iter()
            .filter(|it| it.kind != "Lease")
            .collect();
        if objects.is_empty() {
            return End {
                exit: Exit::Done,
                outcome: "converged",
                summary: summary(args, &left, &kept),
                resume: None,
            };
        }
        let interrupted = signals.first.is_cancelled();
        if interrupted || signals.left().is_zero() {
            let names = objects.iter().map(|it| match it.finalizers.as_slice() {
                [] => format!("{} {}", it.kind, it.name),
                kept => format!("{} {} (kept by {})", it.kind, it.name, kept.join(", ")),
            });
            let exit = if interrupted {
                signals.exit()
            } else {
                Exit::Leftovers
            };
            let summary = format!(
                "left of shoot {}: {}",
                args.name,
                names.collect::<Vec<_>>().join(", ")
            );
            return End {
                exit,
                outcome: "failed",
                summary,
                resume: session.resume(),
            };
        }
        session.push(&left).await;
        let left = counted(objects.len(), "object");
        session.wait_for(&format!("{left} on the way out"));
        tokio::select! {
            () = sleep(LOOK) => {}
            () = signals.first.cancelled() => {}
        }
    }
}

fn summary(args: &Deletion<'_>, left: &RemainingObjects, kept: &[String]) -> String {
    let unseen = match left.unlisted.as_slice() {
        [] => String::new(),
        kinds => format!("; {} may not be listed", kinds.join(", ")),
    };
    let kept = match kept {
        [] => String::new(),
        names => format!(" but the kept DataVolumes {}", names.join(", ")),
    };
    format!("shoot {} deleted; nothing is left{kept}{unseen}", args.name)
}
