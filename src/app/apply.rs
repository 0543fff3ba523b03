//! Creating and updating a shoot.

use super::context::Context;
use super::error::{CommandError, Exit, failed};
use super::manifests::addons;
use super::manifests::files::ManifestFiles;
use super::provider::connect::format_missing;
use super::provider::doctor::used_features;
use super::provider::external_objects::external_objects;
use super::provider::prepare::{Providers, prepare_each};
use super::run::diagnosis::with_root_cause;
use super::run::group::RunGroup;
use super::run::history;
use super::run::result::RunResult;
use super::run::session::{RunInfo, RunOptions, Session};
use super::signals::Signals;
use crate::cluster::{ApiClient, HealthMemory, ProviderContext, VmAdmission};
use crate::flow::{self, Outcome};
use crate::load::LastApplied;
use crate::plan::{duties, maintenance::confinement, pool::capacity, prerequisites};
use crate::render;
use crate::state::desired::instancetypes;
use crate::state::plan::Plan;
use crate::state::{duty::Duty, facts::Facts, hash::Hash};
use crate::ui::format_duration;
use crate::validate::ValidShoot;
use futures::{StreamExt as _, stream};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Options of `kvshoot apply`.
#[derive(Debug)]
pub(crate) struct ApplyOptions {
    pub(crate) files: ManifestFiles,
    pub(crate) addons: Option<PathBuf>,
    pub(crate) run: RunOptions,
    pub(crate) create_namespace: bool,
    /// Changes do not wait for the maintenance window.
    pub(crate) now: bool,
    /// Number of shoots that are applied at the same time.
    pub(crate) parallel: usize,
}

/// Applies all Shoots of the manifests; several are applied at the same time.
pub(crate) fn apply(options: &ApplyOptions, context: &Context) -> Result<Exit, CommandError> {
    let texts = options.files.read()?;
    context.block_on(async {
        let signals = Signals::listen(Some(options.run.timeout))?;
        let mut prepared = signals
            .or_interrupted("find the shoot", prepare_each(texts, context))
            .await?;
        let shoots = &mut prepared.loaded.shoots;
        let attached = addons::attach(options.addons.as_deref(), shoots, context);
        signals.or_interrupted("read the add-ons", attached).await?;
        if shoots.is_empty() {
            return Err(CommandError::new(
                Exit::Manifest,
                "no Shoot in the manifests",
            ));
        }
        let command = ApplyCommand {
            options,
            context,
            signals: &signals,
            providers: &prepared.providers,
            records: &prepared.records,
            refused: &RefCell::new(prepared.refused),
        };
        match (
            prepared.loaded.shoots.as_slice(),
            prepared.invalid.as_slice(),
        ) {
            ([shoot], []) => command.apply(shoot, None).await,
            (shoots, invalid) => Ok(command.apply_all(shoots, invalid).await),
        }
    })?
}

/// One command for all its shoots.
struct ApplyCommand<'a> {
    options: &'a ApplyOptions,
    context: &'a Context,
    signals: &'a Signals,
    providers: &'a Providers,
    /// Manifests of the last apply, by technical ID.
    records: &'a HashMap<String, LastApplied>,
    /// Shoots whose record cannot be read, by technical ID.
    refused: &'a RefCell<HashMap<String, CommandError>>,
}

impl ApplyCommand<'_> {
    /// Applies several shoots at the same time. One that fails does not stop the others; the errors of those that are
    /// `invalid` were reported.
    async fn apply_all(&self, shoots: &[ValidShoot], invalid: &[String]) -> Exit {
        let group = RunGroup::start(self.context, "apply", shoots, self.providers);
        let applies = shoots.iter().map(async |shoot| {
            let exit = match self.apply(shoot, Some(&group)).await {
                Ok(exit) => exit,
                Err(error) => {
                    group.report_error(group.label(&shoot.id), &error);
                    error.exit
                }
            };
            (group.label(&shoot.id).to_owned(), exit)
        });
        let applies = stream::iter(applies).buffer_unordered(self.options.parallel);
        let mut exits: Vec<(String, Exit)> = applies.collect().await;
        for name in invalid {
            group.set_failure(name, "invalid manifest");
            exits.push((name.clone(), Exit::Manifest));
        }
        exits.sort_by(|one, other| one.0.cmp(&other.0));
        group.finish(&exits, Some(self.context.config.command_line()))
    }

    async fn apply(
        &self,
        shoot: &ValidShoot,
        group: Option<&RunGroup>,
    ) -> Result<Exit, CommandError> {
        let request = ApplyRequest {
            verb: "apply",
            run: self.options.run,
            create_namespace: self.options.create_namespace,
            resume: Some(self.context.config.command_line()),
            expects: RecordExpectation::Any,
            skipped: BTreeSet::new(),
            health: None,
            skip_if: None,
            started: &Cell::new(false),
            group,
        };
        let refused = self.refused.borrow_mut().remove(&shoot.id);
        if let Some(error) = refused {
            return Err(error);
        }
        let provider = self.providers.of(&shoot.id);
        self.check_window(shoot, provider)?;
        let applied = apply_shoot(&request, self.context, self.signals, provider, shoot).await?;
        if applied.exit == Exit::Done {
            let (name, verb) = (&shoot.name, applied.verb);
            let result = format!("shoot.core.gardener.cloud/{name} {verb}\n");
            self.context.ui.data(&result);
        }
        Ok(applied.exit)
    }

    /// # Errors
    ///
    /// A change has to wait for the maintenance window.
    fn check_window(&self, shoot: &ValidShoot, provider: &ApiClient) -> Result<(), CommandError> {
        let before = self.records.get(&shoot.id).filter(|_| !self.options.now);
        let waits =
            before.and_then(|(before, _)| confinement(before, shoot, provider.current_time()));
        match waits {
            None => Ok(()),
            Some(why) => {
                let error = CommandError::new(Exit::Precondition, why);
                Err(error.hint("to apply them now, add --now"))
            }
        }
    }
}

/// Returns why nothing has to be done in the observed state, or None.
type SkipIf<'a> = dyn Fn(&Facts) -> Option<String> + 'a;

/// The record that a shoot must have once it is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordExpectation {
    Any,
    /// None: the shoot is created.
    Absent,
    /// The one that decisions were made from. No other run has changed it since.
    Unchanged(Hash),
}

/// One apply of one shoot.
pub(crate) struct ApplyRequest<'a> {
    /// The subcommand, for events and the history.
    pub(crate) verb: &'static str,
    pub(crate) run: RunOptions,
    pub(crate) create_namespace: bool,
    /// The command that resumes the run; None if the caller handles that.
    pub(crate) resume: Option<String>,
    /// Refuses to apply to another record.
    pub(crate) expects: RecordExpectation,
    /// Duties that are left out of the plan.
    pub(crate) skipped: BTreeSet<Duty>,
    /// Memory of earlier runs about the health of nodes; None without one.
    pub(crate) health: Option<Arc<HealthMemory>>,
    /// Checked once the shoot is locked.
    pub(crate) skip_if: Option<&'a SkipIf<'a>>,
    /// Set as soon as objects of the shoot may have been written.
    pub(crate) started: &'a Cell<bool>,
    /// The other shoots of the command.
    pub(crate) group: Option<&'a RunGroup>,
}

/// The result of an apply.
pub(crate) struct Applied {
    pub(crate) exit: Exit,
    /// created, configured, unchanged or refused.
    pub(crate) verb: &'static str,
}

/// Applies one shoot and reports the progress.
#[tracing::instrument(name = "shoot", skip_all, fields(id = %shoot.id))]
pub(crate) async fn apply_shoot(
    request: &ApplyRequest<'_>,
    context: &Context,
    signals: &Signals,
    provider: &ApiClient,
    shoot: &ValidShoot,
) -> Result<Applied, CommandError> {
    let installed = provider.check_installed(!shoot.networks.is_empty());
    signals
        .or_interrupted("check the prerequisites", async {
            installed.await.map_err(failed)
        })
        .await?;
    if request.create_namespace {
        let created = async { provider.create_namespace().await.map_err(failed) };
        signals
            .or_interrupted("create the namespace", created)
            .await?;
    }
    let info = RunInfo {
        verb: request.verb,
        shoot: &shoot.name,
        id: &shoot.id,
        beside: ProviderContext {
            health: request.health.clone().unwrap_or_default(),
            ..external_objects(shoot, provider)
        },
        resume: request.resume.clone(),
        group: request.group,
    };
    let session = Session::start(context, signals, provider, request.run, info).await?;
    let first = session.facts();
    let finish = async |session: Session<'_>, result, verb| {
        Ok(Applied {
            exit: session.finish(result).await,
            verb,
        })
    };
    if let Some(why) = request.skip_if.and_then(|skip_if| skip_if(&first)) {
        let result = RunResult::converged(format!("{why}; nothing was changed"));
        return finish(session, result, "unchanged").await;
    }
    if let Some(why) = request.expects.refusal(&first, &shoot.name, provider) {
        let result = RunResult::refused(Exit::Precondition, &why, None);
        return finish(session, result, "refused").await;
    }
    if first.record.is_none() {
        let checked = check_admission(provider, &session);
        match signals.or_interrupted("check the namespace", checked).await {
            Ok(None) => {}
            Ok(Some(result)) => return finish(session, result, "refused").await,
            Err(error) => {
                session.unlock(error.exit).await;
                return Err(error);
            }
        }
    }
    // Only shoots with instancetypes of their own need these permissions.
    let applies_types = instancetypes::is_missing(shoot, &first);
    if first.record.is_none() || applies_types {
        let checked = check_permissions(shoot, provider, &session, applies_types);
        match signals
            .or_interrupted("check the permissions", checked)
            .await
        {
            Ok(None) => {}
            Ok(Some(result)) => return finish(session, result, "refused").await,
            Err(error) => {
                session.unlock(error.exit).await;
                return Err(error);
            }
        }
    }
    let admit = |plan: &Plan| {
        flow::check_feasible(plan)?;
        if let Some(failure) = capacity::too_small_quota(shoot, &first) {
            return Err(failure);
        }
        let without_hosts = prerequisites::zones_without_hosts(shoot, &first);
        for shortage in capacity::shortages(shoot, &first)
            .into_iter()
            .chain(without_hosts)
        {
            // Whatever fits is created anyway.
            session.note(shortage);
        }
        request.started.set(true);
        Ok(())
    };
    let report = session
        .run(
            |observed| duties::plan_without(shoot, observed, &request.skipped),
            admit,
            |facts, desired| render::objects(shoot, facts, desired),
        )
        .await?;
    if let Outcome::Refused(_) = report.outcome {
        let result = RunResult::of(&report, signals, session.resume(), String::new());
        return finish(session, result, "refused").await;
    }
    let verb = match (report.performed, &first.record) {
        (0, _) => "unchanged",
        (_, None) => "created",
        _ => "configured",
    };
    let summary = summarize(verb, &shoot.name, session.elapsed(), &session.facts());
    let result = RunResult::of(&report, signals, session.resume(), summary);
    if report.performed > 0 || report.outcome != Outcome::Converged {
        let written = history::write(&session, &report, first.record.is_none(), context);
        session.with_deadline(result.exit, written).await;
    }
    let result = with_root_cause(result, &report, &session, context).await;
    finish(session, result, verb).await
}

impl RecordExpectation {
    /// Why the record is another one; None if it is as expected.
    fn refusal(self, facts: &Facts, name: &str, provider: &ApiClient) -> Option<String> {
        let namespace = provider.namespace();
        match (self, &facts.record) {
            (RecordExpectation::Absent, Some(_)) => Some(format!(
                "shoot {name:?} already exists in namespace {namespace}"
            )),
            (RecordExpectation::Unchanged(_), None) => Some(format!(
                "shoot {name:?} was deleted in namespace {namespace}"
            )),
            (RecordExpectation::Unchanged(hash), Some(record)) if record.hash != hash => {
                Some(format!("shoot {name:?} was changed by another run"))
            }
            _ => None,
        }
    }
}

/// A shoot is not started if the namespace refuses its machines. What cannot be found out is only noted.
async fn check_admission(
    provider: &ApiClient,
    session: &Session<'_>,
) -> Result<Option<RunResult>, CommandError> {
    let admission = provider.vm_admission().await.map_err(failed)?;
    let Some(problem) = admission.problem(provider.namespace()) else {
        return Ok(None);
    };
    if admission == VmAdmission::Unknown {
        session.note(problem);
        return Ok(None);
    }
    let result = RunResult::refused(Exit::Precondition, &problem, session.resume());
    Ok(Some(result))
}

/// A shoot is not started if it cannot be finished for lack of permissions.
async fn check_permissions(
    shoot: &ValidShoot,
    provider: &ApiClient,
    session: &Session<'_>,
    applies_types: bool,
) -> Result<Option<RunResult>, CommandError> {
    let mut missing = Vec::new();
    if session.facts().record.is_none() {
        let rights = provider.missing_permissions(used_features(shoot));
        missing = rights.await.map_err(failed)?;
    }
    if applies_types {
        let rights = provider.missing_instancetype_permissions();
        missing.extend(rights.await.map_err(failed)?);
    }
    if missing.is_empty() {
        return Ok(None);
    }
    let why = format_missing(provider, &missing);
    Ok(Some(RunResult::refused(
        Exit::NotAllowed,
        &why,
        session.resume(),
    )))
}

/// `Created shoot dev in 16s (2/2 nodes ready)`.
fn summarize(verb: &str, name: &str, elapsed: Duration, facts: &Facts) -> String {
    let record = facts.record.as_ref();
    if record.is_some_and(|it| it.hibernation.complete) {
        return match verb {
            "unchanged" => {
                format!("No changes. Shoot {name} hibernates; kvshoot wake {name} starts it.")
            }
            _ => format!(
                "Updated shoot {name} in {} (hibernated)",
                format_duration(elapsed)
            ),
        };
    }
    let nodes: usize = facts.machines.values().map(|pool| pool.len()).sum();
    let action = match verb {
        "created" => "Created",
        "configured" => "Updated",
        _ => return format!("No changes. Shoot {name} matches the manifest."),
    };
    let elapsed = format_duration(elapsed);
    format!("{action} shoot {name} in {elapsed} ({nodes}/{nodes} nodes ready)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_one_line() {
        let summary = |verb| summarize(verb, "dev", Duration::from_secs(76), &Facts::default());
        assert_eq!(
            summary("created"),
            "Created shoot dev in 1m16s (0/0 nodes ready)"
        );
        assert_eq!(
            summary("unchanged"),
            "No changes. Shoot dev matches the manifest."
        );
    }
}
