//! The temporary cluster: its creation, its expiry, and its deletion.

use super::program::{EphemeralCommand, ProgramEnd};
use super::unique_name;
use crate::app::apply::{ApplyRequest, RecordExpectation, apply_shoot};
use crate::app::context::Context;
use crate::app::delete::{DeleteRequest, delete_shoot};
use crate::app::error::{CommandError, Exit, failed};
use crate::app::expiry::{Lifetime, after, now};
use crate::app::gc;
use crate::app::manifests::addons;
use crate::app::manifests::files::{ManifestFiles, SourceTexts};
use crate::app::protection;
use crate::app::provider::prepare::{Prepared, prepare};
use crate::app::run::retry::retry;
use crate::app::run::session::RunOptions;
use crate::app::signals::Signals;
use crate::app::support_bundle::collect::{self, BundleRequest};
use crate::app::why::root_causes::root_causes;
use crate::cluster::{ApiClient, RecordSnapshot};
use crate::state::names::{EXPIRES, display_name};
use crate::ui::LogGroup;
use crate::validate::ValidShoot;
use jiff::Timestamp;
use serde_json::json;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// The default lifetime of a temporary cluster.
const LIFETIME: Duration = Duration::from_secs(2 * 60 * 60);
/// Time to wait for another run before the deletion, for example a ttl or gc.
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);
/// Time limit for finding out what failed.
const COLLECT_TIMEOUT: Duration = Duration::from_secs(60);

/// Options of `kvshoot run`.
#[derive(Debug)]
pub(crate) struct EphemeralOptions {
    pub(crate) files: ManifestFiles,
    pub(crate) addons: Option<PathBuf>,
    /// Adds a random suffix to the name of the shoot.
    pub(crate) generate_name: bool,
    pub(crate) ttl: Option<Duration>,
    /// Keeps a failed cluster for this long.
    pub(crate) keep_on_failure: Option<Duration>,
    /// Directory of the support bundle of a failed run.
    pub(crate) artifacts: PathBuf,
    /// Time limit of the creation, and of the deletion.
    pub(crate) timeout: Duration,
    pub(crate) create_namespace: bool,
    /// The command inherits the variables that select the provider cluster.
    pub(crate) inherits_provider: bool,
    pub(crate) command: Vec<OsString>,
}

impl EphemeralOptions {
    fn run(&self, lock_timeout: Duration) -> RunOptions {
        RunOptions {
            timeout: self.timeout,
            lock_timeout,
        }
    }
}

/// Runs a command against a temporary cluster.
pub(crate) fn run(options: &EphemeralOptions, context: &Context) -> Result<Exit, CommandError> {
    let texts = options.files.read().map_err(own_error)?;
    context.block_on(async {
        let signals = Signals::listen(Some(options.timeout))?;
        let exit = prepare_and_run(options, context, &signals, texts).await;
        exit.map_err(own_error)
    })?
}

/// Exit codes of kvshoot must not be mistaken for those of the command.
fn own_error(error: CommandError) -> CommandError {
    CommandError {
        exit: own_exit(error.exit),
        ..error
    }
}

fn own_exit(exit: Exit) -> Exit {
    match exit {
        Exit::Interrupted | Exit::Terminated | Exit::Declined | Exit::Child(_) => exit,
        _ => Exit::Exec,
    }
}

async fn prepare_and_run(
    options: &EphemeralOptions,
    context: &Context,
    signals: &Signals,
    texts: SourceTexts,
) -> Result<Exit, CommandError> {
    let texts = match options.generate_name {
        true => unique_name::generate(texts)?,
        false => texts,
    };
    let prepared = prepare(texts, context);
    let Prepared {
        providers,
        mut loaded,
        ..
    } = signals.or_interrupted("find the shoot", prepared).await?;
    let attached = addons::attach(options.addons.as_deref(), &mut loaded.shoots, context);
    signals.or_interrupted("read the add-ons", attached).await?;
    let [shoot] = loaded.shoots.as_mut_slice() else {
        let message = format!(
            "expected one Shoot in the manifests, found {}",
            loaded.shoots.len()
        );
        return Err(CommandError::new(Exit::Manifest, message));
    };
    let provider = providers.of(&shoot.id);
    collect_expired(options, context, signals, provider).await?;
    let end = set_expiry(shoot, options, provider)?;
    let name = display_name(&shoot.id);
    let cluster = TemporaryCluster {
        options,
        context,
        signals,
        provider,
        shoot,
        end,
        cleanup: context.full_command(&["delete", &name, "--yes"]),
        name,
    };
    cluster.run().await
}

/// Deletes expired clusters first, since they may use what this run needs. A failure is only a warning.
async fn collect_expired(
    options: &EphemeralOptions,
    context: &Context,
    signals: &Signals,
    provider: &ApiClient,
) -> Result<(), CommandError> {
    let run = options.run(Duration::ZERO);
    match gc::collect_expired(run, context, signals, provider).await {
        Err(error) if matches!(error.exit, Exit::Interrupted | Exit::Terminated) => Err(error),
        Err(error) => {
            let ui = &context.ui;
            ui.warn(&format!(
                "cannot delete expired clusters: {}",
                error.message
            ));
            Ok(())
        }
        Ok(_) => Ok(()),
    }
}

/// Sets the expiry, which is part of the first write of the record: a killed run leaves nothing forever.
fn set_expiry(
    shoot: &mut ValidShoot,
    options: &EphemeralOptions,
    provider: &ApiClient,
) -> Result<Timestamp, CommandError> {
    let now = now(provider);
    let annotations = &shoot.manifest.metadata.annotations;
    let given = annotations.get(EXPIRES).and_then(|it| it.parse().ok());
    let end = match (options.ttl, given) {
        (None, Some(end)) => end,
        (ttl, _) => after(None, now, Lifetime::FromNow(ttl.unwrap_or(LIFETIME)))?,
    };
    if end <= now {
        let message = format!("the expiry {end:.0} is in the past");
        return Err(
            CommandError::new(Exit::Manifest, message).hint("pass --ttl, for example --ttl 2h")
        );
    }
    let manifest = Arc::make_mut(&mut shoot.manifest);
    let annotations = &mut manifest.metadata.annotations;
    annotations.insert(EXPIRES.to_owned(), end.to_string());
    Ok(end)
}

/// A cluster that is deleted after its command has ended.
struct TemporaryCluster<'a> {
    options: &'a EphemeralOptions,
    context: &'a Context,
    signals: &'a Signals,
    provider: &'a ApiClient,
    shoot: &'a ValidShoot,
    /// Display name.
    name: String,
    end: Timestamp,
    /// The command that deletes the cluster.
    cleanup: String,
}

impl TemporaryCluster<'_> {
    async fn run(&self) -> Result<Exit, CommandError> {
        let started = Cell::new(false);
        let created = self.create(&started).await;
        if !started.get() {
            return created.map(own_exit);
        }
        let ended = match self.report(created) {
            Exit::Done => self.run_program().await,
            exit => ProgramEnd::failed(own_exit(exit)),
        };
        if self.is_aborted() {
            return Err(self.aborted());
        }
        let is_interrupted = self.signals.first.is_cancelled();
        if !ended.succeeded && !is_interrupted {
            self.collect_bundle().await;
            if let Some(lifetime) = self.options.keep_on_failure.filter(|_| !self.is_aborted()) {
                return self.keep(lifetime).await.map(|()| ended.exit);
            }
        }
        let deleted = self.delete().await;
        let deleted = self.report(deleted.map_err(|error| self.with_cleanup_hints(error)));
        if self.is_aborted() {
            return Err(self.aborted());
        }
        Ok(match (is_interrupted, ended.exit, deleted) {
            (true, ..) => self.signals.exit(),
            (false, Exit::Done, Exit::Done) => Exit::Done,
            (false, Exit::Done, deleted) => own_exit(deleted),
            (false, exit, _) => exit,
        })
    }

    async fn create(&self, started: &Cell<bool>) -> Result<Exit, CommandError> {
        let _group = self.log_group("make", "Creating");
        let request = ApplyRequest {
            verb: "apply",
            run: self.options.run(Duration::ZERO),
            create_namespace: self.options.create_namespace,
            resume: None,
            expects: RecordExpectation::Absent,
            skipped: BTreeSet::new(),
            health: None,
            skip_if: None,
            started,
            group: None,
        };
        let applied = apply_shoot(
            &request,
            self.context,
            self.signals,
            self.provider,
            self.shoot,
        );
        applied.await.map(|applied| applied.exit)
    }

    async fn run_program(&self) -> ProgramEnd {
        let program = EphemeralCommand {
            context: self.context,
            signals: self.signals,
            provider: self.provider,
            id: &self.shoot.id,
            name: &self.name,
            end: self.end,
            inherits_provider: self.options.inherits_provider,
            command: &self.options.command,
        };
        match program.run().await {
            Ok(ended) => ended,
            Err(error) => ProgramEnd::failed(own_exit(error.report(&self.context.ui))),
        }
    }

    /// Deletes the cluster unless it was protected meanwhile. From now on, the first signal changes nothing.
    async fn delete(&self) -> Result<Exit, CommandError> {
        let _group = self.log_group("delete", "Deleting");
        let signals = self.signals.for_cleanup(self.options.timeout);
        let report = |why: &str| self.print(&format!("retrying the deletion: {why}"));
        let deleting = retry(self.options.timeout, &signals, report, async || {
            let request = DeleteRequest {
                name: &self.name,
                keep_volumes: false,
                run: self.options.run(LOCK_TIMEOUT),
                resume: self.cleanup.clone(),
            };
            let skip_if =
                |record: Option<&RecordSnapshot>| protection::message(record?, &self.name);
            let (context, provider) = (self.context, self.provider);
            let deleted = delete_shoot(&request, context, &signals, provider, skip_if).await?;
            Ok(deleted.unwrap_or(Exit::Declined))
        });
        let notice = async {
            if !self.signals.first.is_cancelled() {
                self.signals.first.cancelled().await;
                self.print("deleting; press Ctrl-C again to exit now");
            }
            std::future::pending::<Exit>().await
        };
        tokio::select! {
            deleted = deleting => deleted,
            never = notice => Ok(never),
        }
    }

    /// Extends the expiry, and prints how to use the cluster until then.
    async fn keep(&self, lifetime: Duration) -> Result<(), CommandError> {
        let found = self.provider.record(&self.shoot.id).await.map_err(failed)?;
        let Some(record) = found else {
            return Ok(());
        };
        let end = after(None, now(self.provider), Lifetime::FromNow(lifetime))?;
        let annotations = json!({ EXPIRES: end.to_string() });
        let kept = self.provider.annotate(&record, annotations).await;
        kept.map_err(failed)?;
        let (ui, name) = (&self.context.ui, self.name.as_str());
        let command = |words: &[&str]| self.context.full_command(words);
        ui.warn(&format!(
            "keeping shoot {name} until {end:.0}; the next kvshoot gc after that deletes it"
        ));
        let enter = command(&["exec", name, "--", "kubectl", "get", "nodes"]);
        ui.hint(&format!("to access it: {enter}"));
        ui.hint(&format!("to diagnose it: {}", command(&["why", name])));
        ui.hint(&format!("to delete it: {}", self.cleanup));
        Ok(())
    }

    /// Writes a support bundle. A failure is only a warning.
    async fn collect_bundle(&self) {
        let _group = self.log_group("collect", "Collecting a support bundle of");
        let directory = &self.options.artifacts;
        let collected = async {
            std::fs::create_dir_all(directory).map_err(|error| error.to_string())?;
            let file = collect::archive_path(Some(directory), &self.name);
            let request = BundleRequest {
                provider: self.provider,
                shoot: &self.name,
                file: Some(&file),
                limit: COLLECT_TIMEOUT,
                run_files: vec![("why.txt".to_owned(), self.causes().await)],
            };
            match collect::collect(request, self.context).await {
                Ok(_) => Ok(file),
                Err(error) => Err([vec![error.message], error.causes].concat().join(": ")),
            }
        };
        let collected = tokio::select! {
            collected = collected => collected,
            () = self.signals.first.cancelled() => Err("interrupted".to_owned()),
        };
        match collected {
            Ok(file) => self.print(&format!("support bundle written to {}", file.display())),
            Err(why) => self.context.ui.warn(&format!(
                "cannot write a support bundle to {}: {why}",
                directory.display()
            )),
        }
    }

    /// The root causes, one per line.
    async fn causes(&self) -> String {
        let found = async {
            let record = self.provider.record(&self.shoot.id).await.map_err(failed)?;
            match record {
                Some(record) => root_causes(self.provider, &record, self.context).await,
                None => Ok(Vec::new()),
            }
        };
        match timeout(COLLECT_TIMEOUT, found).await {
            Ok(Ok(causes)) => causes.iter().map(|cause| format!("{cause}\n")).collect(),
            Ok(Err(error)) => format!("{}\n", error.message),
            Err(_) => "timed out\n".to_owned(),
        }
    }

    fn log_group(&self, name: &'static str, title: &str) -> LogGroup<'_> {
        let title = format!("{title} shoot {}", self.name);
        self.context.ui.log_group(name, &title)
    }

    fn print(&self, text: &str) {
        let ui = &self.context.ui;
        ui.status(&format!("shoot {}: {text}", self.name));
    }

    fn report(&self, result: Result<Exit, CommandError>) -> Exit {
        result.unwrap_or_else(|error| error.report(&self.context.ui))
    }

    fn is_aborted(&self) -> bool {
        self.signals.second.is_cancelled()
    }

    fn aborted(&self) -> CommandError {
        let message = format!("aborted; shoot {} may still exist", self.name);
        self.with_cleanup_hints(CommandError::new(self.signals.exit(), message))
    }

    fn with_cleanup_hints(&self, error: CommandError) -> CommandError {
        let end = self.end;
        error
            .hint(format!("to clean up: {}", self.cleanup))
            .hint(format!(
                "it expires at {end:.0}; the next kvshoot gc after that deletes it"
            ))
    }
}
