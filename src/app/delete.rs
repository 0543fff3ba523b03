//! Deleting a shoot, and verifying that nothing remains.

use super::context::Context;
use super::error::{CommandError, Exit, failed};
use super::protection;
use super::provider::connect::connect;
use super::run::history;
use super::run::result::RunResult;
use super::run::session::{RunInfo, RunOptions, Session};
use super::signals::Signals;
use crate::cluster::{
    ApiClient, Error, ProviderContext, RecordSnapshot, RemainingObjects, Retryability,
};
use crate::flow::Outcome;
use crate::plan;
use crate::state::names::id_of;
use crate::state::observed::Observed;
use crate::state::plan::Plan;
use crate::ui::{count, format_duration};
use std::time::Duration;
use tokio::time::sleep;

/// Time to list what remains after the time limit of the run.
const LAST_LIST: Duration = Duration::from_secs(5);
/// The interval between two lists of what remains.
const INTERVAL: Duration = Duration::from_secs(1);

/// Options of `kvshoot delete`.
#[derive(Debug)]
pub(crate) struct DeleteOptions {
    /// Display name of the shoot.
    pub(crate) name: String,
    /// The name that confirms the deletion.
    pub(crate) confirm: Option<String>,
    pub(crate) yes: bool,
    pub(crate) ignore_not_found: bool,
    pub(crate) keep_volumes: bool,
    pub(crate) run: RunOptions,
}

/// Deletes a shoot after confirmation.
pub(crate) fn delete(options: &DeleteOptions, context: &Context) -> Result<Exit, CommandError> {
    let name = &options.name;
    if let Some(confirmed) = options.confirm.as_ref().filter(|it| *it != name) {
        let message = format!("--confirm={confirmed} does not match shoot {name:?}");
        return Err(CommandError::new(Exit::Declined, message));
    }
    context.block_on(async {
        let signals = Signals::listen(Some(options.run.timeout))?;
        let id = id_of(name);
        let (provider, remaining) = signals
            .or_interrupted("find the shoot", async {
                let provider = connect(context).await?;
                if let Some(record) = provider.record(&id).await.map_err(failed)? {
                    protection::check(&record, name, context)?;
                }
                let remaining = provider.remaining_objects(&id).await.map_err(failed)?;
                let (remaining, _) = remaining.without_disks(options.keep_volumes);
                Ok((provider, remaining))
            })
            .await?;
        if !has_objects(&remaining) {
            // A run may have ended after it deleted the record and before it deleted the namespace.
            let is_confirmed = options.yes || options.confirm.is_some();
            if is_confirmed && delete_namespace(context, &provider).await? {
                return Ok(Exit::Done);
            }
            return not_found(options, context, &provider);
        }
        confirm(options, context, &remaining)?;
        let request = DeleteRequest {
            name,
            keep_volumes: options.keep_volumes,
            run: options.run,
            resume: context.config.command_line(),
        };
        let exit = delete_shoot(&request, context, &signals, &provider, |_| None).await?;
        let exit = exit.unwrap_or(Exit::Done);
        if exit == Exit::Done {
            print_deleted(name, context);
        }
        Ok(exit)
    })?
}

/// Prints the result for programs.
pub(crate) fn print_deleted(name: &str, context: &Context) {
    let line = format!("shoot.core.gardener.cloud/{name} deleted\n");
    context.ui.data(&line);
}

/// A Lease alone remains after a run that changed nothing.
fn has_objects(remaining: &RemainingObjects) -> bool {
    remaining
        .objects
        .iter()
        .any(|object| object.kind != "Lease")
}

fn not_found(
    options: &DeleteOptions,
    context: &Context,
    provider: &ApiClient,
) -> Result<Exit, CommandError> {
    let (name, namespace) = (&options.name, provider.namespace());
    let message = format!("shoot {name:?} not found in namespace {namespace}");
    if options.ignore_not_found {
        context.ui.status(&message);
        return Ok(Exit::Done);
    }
    let list = context.hint_command(&["list"]);
    Err(CommandError::new(Exit::NotFound, message).hint(format!("list shoots: {list}")))
}

/// Asks for the name of the shoot unless the deletion is confirmed by a flag.
fn confirm(
    options: &DeleteOptions,
    context: &Context,
    remaining: &RemainingObjects,
) -> Result<(), CommandError> {
    if options.yes || options.confirm.is_some() {
        return Ok(());
    }
    let name = &options.name;
    let number = |kind: &str| {
        let objects = remaining.objects.iter();
        objects.filter(|object| object.kind == kind).count()
    };
    context.ui.warn(&format!(
        "this will delete shoot {name} with {} and {}",
        count(number("VirtualMachine"), "machine"),
        count(number("PersistentVolumeClaim"), "volume")
    ));
    let answer = context
        .ui
        .confirm_name(&format!("Type {name} to delete it"), name);
    let flags = format!("--yes or --confirm={name}");
    answer.map_err(|it| CommandError::refused(it, &format!("delete shoot {name}"), &flags))
}

/// One deletion of one shoot.
pub(crate) struct DeleteRequest<'a> {
    /// Display name.
    pub(crate) name: &'a str,
    pub(crate) keep_volumes: bool,
    pub(crate) run: RunOptions,
    /// The command that resumes the deletion.
    pub(crate) resume: String,
}

/// Deletes a shoot and verifies that nothing remains.
///
/// `skip_if` gets the record once the shoot is locked, and returns why the shoot must not be deleted; the result is None
/// then.
#[tracing::instrument(name = "shoot", skip_all, fields(id = %id_of(request.name)))]
pub(crate) async fn delete_shoot(
    request: &DeleteRequest<'_>,
    context: &Context,
    signals: &Signals,
    provider: &ApiClient,
    skip_if: impl Fn(Option<&RecordSnapshot>) -> Option<String>,
) -> Result<Option<Exit>, CommandError> {
    let id = id_of(request.name);
    let info = RunInfo {
        verb: "delete",
        shoot: request.name,
        id: &id,
        beside: ProviderContext {
            is_deletion: true,
            ..ProviderContext::default()
        },
        resume: Some(request.resume.clone()),
        group: None,
    };
    let session = Session::start(context, signals, provider, request.run, info).await?;
    let record = match provider.record(&id).await {
        Ok(record) => record,
        Err(error) => {
            session.unlock(Exit::Partly).await;
            return Err(failed(error));
        }
    };
    if let Some(why) = skip_if(record.as_ref()) {
        let summary = format!("{why}; not deleted");
        session.finish(RunResult::converged(summary)).await;
        return Ok(None);
    }
    let had_record = session.facts().record.is_some();
    // Without it, `kvshoot keep` would create again what an interrupted deletion has deleted. Once is enough, so that a run
    // that follows others that were killed makes progress with its first write.
    let is_new = record.is_some_and(|it| !history::is_being_deleted(&it));
    let noted = async {
        if is_new {
            history::write_deletion(&session).await;
        }
        session.keep_lock_without_record().await;
        Ok(())
    };
    if let Err(error) = signals.or_interrupted("delete the shoot", noted).await {
        session.unlock(error.exit).await;
        return Err(error);
    }
    let plan = |observed: &Observed| plan::delete(observed, request.keep_volumes);
    // Whatever can be deleted is deleted.
    let admit = |_: &Plan| Ok(());
    let report = session.run(plan, admit, |_, _| Vec::new()).await?;
    let mut result = RunResult::of(&report, signals, session.resume(), String::new());
    // In both cases, the objects that remain decide.
    if matches!(report.outcome, Outcome::Converged | Outcome::Timeout) {
        result = verify(request, signals, &session, had_record, &id).await;
    }
    let exit = session.finish(result).await;
    if exit == Exit::Done {
        delete_namespace(context, provider).await?;
    }
    Ok(Some(exit))
}

/// Deletes a namespace that apply created, once it has no shoots.
async fn delete_namespace(context: &Context, provider: &ApiClient) -> Result<bool, CommandError> {
    let deleted = match provider.is_namespace_empty().await {
        Ok(true) => provider.delete_namespace().await,
        other => other,
    };
    let namespace = provider.namespace();
    match deleted {
        Ok(true) => context.ui.status(&format!("Deleted namespace {namespace}")),
        // It was created by a run that had the permission.
        Err(Error::Forbidden { what, .. }) if what.verb == "delete" => {
            let ui = &context.ui;
            ui.warn(&format!(
                "namespace {namespace} remains: no permission to delete namespaces"
            ));
            ui.hint(&format!("ask an administrator of the provider cluster to run: kubectl delete namespace {namespace}"));
            return Ok(false);
        }
        // Without permission to read namespaces, kvshoot did not create this one.
        Ok(false) | Err(Error::Forbidden { .. }) => return Ok(false),
        Err(error) => return Err(failed(error)),
    }
    Ok(true)
}

/// Lists every kind until only the Lease remains, or names what remains.
async fn verify(
    request: &DeleteRequest<'_>,
    signals: &Signals,
    session: &Session<'_>,
    had_record: bool,
    id: &str,
) -> RunResult {
    let failure = |exit, summary: String| RunResult {
        exit,
        outcome: "failed",
        summary,
        hint: None,
        resume: session.resume(),
    };
    let unverified = |exit, why: &str| {
        let summary = format!("deleted all objects, but could not verify that none remain: {why}");
        failure(exit, summary)
    };
    loop {
        let remaining = tokio::select! {
            remaining = session.provider.remaining_objects(id) => remaining,
            () = signals.first.cancelled() => return unverified(signals.exit(), "interrupted"),
            () = sleep(signals.remaining().max(LAST_LIST)) => return unverified(Exit::Timeout, "timed out"),
        };
        let (remaining, kept) = match remaining {
            Ok(remaining) => remaining.without_disks(request.keep_volumes),
            Err(error) if error.retryability() == Retryability::Retry => {
                session.note(error.to_string());
                sleep(INTERVAL).await;
                continue;
            }
            Err(error) => {
                let why = error.to_string();
                return unverified(failed(error).exit, &why);
            }
        };
        let objects: Vec<_> = remaining
            .objects
            .iter()
            .filter(|object| object.kind != "Lease")
            .collect();
        if objects.is_empty() {
            let summary = summarize(request, session.elapsed(), &remaining, &kept, had_record);
            return RunResult::converged(summary);
        }
        let interrupted = signals.first.is_cancelled();
        if interrupted || signals.remaining().is_zero() {
            let names: Vec<String> = objects
                .iter()
                .map(|object| match object.finalizers.as_slice() {
                    [] => format!("{} {}", object.kind, object.name),
                    finalizers => format!(
                        "{} {} (finalizers: {})",
                        object.kind,
                        object.name,
                        finalizers.join(", ")
                    ),
                })
                .collect();
            let exit = match interrupted {
                true => signals.exit(),
                false => Exit::Leftovers,
            };
            let number = count(objects.len(), "object");
            let (name, names) = (request.name, names.join(", "));
            return failure(exit, format!("{number} of shoot {name} remain: {names}"));
        }
        session.force_delete(&remaining).await;
        let number = count(objects.len(), "object");
        session.report_verification(&format!("{number} terminating"));
        tokio::select! {
            () = sleep(INTERVAL) => {}
            () = signals.first.cancelled() => {}
        }
    }
}

/// `Deleted shoot dev in 9s (0 objects remain)`.
fn summarize(
    request: &DeleteRequest<'_>,
    elapsed: Duration,
    remaining: &RemainingObjects,
    kept: &[String],
    had_record: bool,
) -> String {
    let kept = match kept {
        [] => String::new(),
        names => format!("; kept DataVolumes {}", names.join(", ")),
    };
    let unlisted = match remaining.unlisted.as_slice() {
        [] => String::new(),
        // The record owned them.
        ["Secret"] if had_record => "; Kubernetes deletes the Secrets with the record".to_owned(),
        kinds => format!("; no permission to list {}", kinds.join(", ")),
    };
    let (name, elapsed) = (request.name, format_duration(elapsed));
    format!("Deleted shoot {name} in {elapsed} (0 objects remain{kept}{unlisted})")
}
