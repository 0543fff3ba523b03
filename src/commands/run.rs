//! The whole life of a cluster around one program.

mod again;
mod inside;
mod name;

use super::addons::{self, AddonsArgs};
use super::apply::{self, Application};
use super::bundle::{self, Wanted};
use super::delete::{self, Deletion};
use super::load::{self, LoadArgs, Texts};
use super::protect::protection;
use super::provider::{self, Ready, failed};
use super::running::{RunArgs, duration, spoken};
use super::signals::Signals;
use super::ttl::now;
use super::{CommandError, Context, Exit, gc, why};
use crate::cluster::{Provider, RecordSeen};
use crate::state::names::{EXPIRES, display_name};
use crate::validate::ValidShoot;
use inside::Ended;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use std::cell::Cell;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long a cluster may live when nobody says how long.
const LIFE: Duration = Duration::from_secs(2 * 60 * 60);
/// Another run may be at the shoot when it is to be deleted: one that extends its life, or a gc.
const PATIENCE: Duration = Duration::from_secs(60);

/// Make a cluster, run a program in it, and delete it again
///
/// Gives the program's exit code; 125 when kvshoot itself failed. The program's streams are its own, all that kvshoot
/// says goes to stderr. Ctrl-C deletes the cluster; a second one leaves it, and says how to delete it. What a run
/// leaves that was killed expires, and goes with the next gc or run in its namespace.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: kvshoot run -f shoot.yaml --generate-name -- make e2e")]
pub(super) struct EphemeralArgs {
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    addons: AddonsArgs,
    /// Add five random characters to the shoot's name, so that runs at the same time do not meet
    #[arg(long)]
    generate_name: bool,
    /// How long the cluster may live: CMD is ended then, and gc takes what is left of it [default: 2h]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    ttl: Option<Duration>,
    /// Keep a cluster in which something failed, for so long
    #[arg(
        long,
        value_name = "TIME",
        value_parser = duration,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "2h"
    )]
    keep_on_failure: Option<Duration>,
    /// Where to put a bundle of all there is to know when something failed
    #[arg(long, value_name = "DIR", env = "KVSHOOT_ARTIFACTS", default_value = ".", value_hint = clap::ValueHint::DirPath)]
    artifacts: PathBuf,
    /// How long it may take to make the cluster, and to delete it
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = duration)]
    timeout: Duration,
    /// Make the namespace if it is not there; it is removed again with its last shoot
    #[arg(long)]
    create_namespace: bool,
    /// The program and its arguments; it finds KUBECONFIG, KVSHOOT_NAME, KVSHOOT_NAMESPACE and KVSHOOT_API_SERVER
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// How long it may take to find out what failed.
const COLLECTING: Duration = Duration::from_secs(60);

/// One cluster on its way through its life.
struct Ephemeral<'a> {
    args: &'a EphemeralArgs,
    context: &'a Context,
    signals: &'a Signals,
    provider: &'a Provider,
    shoot: &'a ValidShoot,
    /// As a person calls it.
    name: String,
    /// When others may delete it.
    end: Timestamp,
    /// The command that deletes it.
    cleanup: String,
}

pub(super) fn run(args: &EphemeralArgs, context: &Context) -> Result<Exit, CommandError> {
    let texts = load::texts(&args.load).map_err(own)?;
    context.block_on(async {
        let signals = Signals::listen(Some(args.timeout))?;
        live(args, context, &signals, texts).await.map_err(own)
    })?
}

/// A code of the program is not to be taken for one of kvshoot's own.
fn own(error: CommandError) -> CommandError {
    let exit = code(error.exit);
    CommandError { exit, ..error }
}

fn code(exit: Exit) -> Exit {
    match exit {
        Exit::Interrupted | Exit::Terminated | Exit::Declined | Exit::Child(_) => exit,
        _ => Exit::Exec,
    }
}

async fn live(
    args: &EphemeralArgs,
    context: &Context,
    signals: &Signals,
    texts: Texts,
) -> Result<Exit, CommandError> {
    let texts = match args.generate_name {
        true => name::generated(texts)?,
        false => texts,
    };
    let ready = provider::ready(&texts, context);
    let Ready {
        provider,
        mut loaded,
        ..
    } = signals.or_interrupted("find the shoot", ready).await?;
    let read = addons::attach(&args.addons, &mut loaded.shoots, context);
    signals.or_interrupted("read the add-ons", read).await?;
    let [shoot] = loaded.shoots.as_mut_slice() else {
        let count = loaded.shoots.len();
        let message = format!("a run has one cluster, and the manifests have {count} Shoots");
        return Err(CommandError::new(Exit::Manifest, message));
    };
    reap(args, context, signals, &provider).await?;
    let end = expire(shoot, args, &provider)?;
    let name = display_name(&shoot.id);
    let ephemeral = Ephemeral {
        args,
        context,
        signals,
        provider: &provider,
        shoot,
        end,
        cleanup: context.global.command(context, &["delete", &name, "--yes"]),
        name,
    };
    ephemeral.live().await
}

/// What is over in the namespace goes first: it may hold what this run needs. What stays is no reason not to begin.
async fn reap(
    args: &EphemeralArgs,
    context: &Context,
    signals: &Signals,
    provider: &Provider,
) -> Result<(), CommandError> {
    let run = RunArgs {
        timeout: args.timeout,
        lock_timeout: Duration::ZERO,
    };
    match gc::reap_expired(&run, context, signals, provider).await {
        Err(error) if matches!(error.exit, Exit::Interrupted | Exit::Terminated) => Err(error),
        Err(error) => {
            context
                .ui
                .warn(&format!("what is over stays: {}", error.message));
            Ok(())
        }
        Ok(_) => Ok(()),
    }
}

/// The end of the shoot's life is in the first write of its record: whoever is killed after it leaves nothing for ever.
fn expire(
    shoot: &mut ValidShoot,
    args: &EphemeralArgs,
    provider: &Provider,
) -> Result<Timestamp, CommandError> {
    let annotations = &shoot.manifest.metadata.annotations;
    let said = annotations.get(EXPIRES).and_then(|it| it.parse().ok());
    let end = match (args.ttl, said) {
        (None, Some(end)) => end,
        (life, _) => after(now(provider), life.unwrap_or(LIFE))?,
    };
    if end <= now(provider) {
        let message = format!("the shoot is over before it begins: it expires at {end:.0}");
        return Err(CommandError::new(Exit::Manifest, message).hint("--ttl 2h lets it live longer"));
    }
    let manifest = Arc::make_mut(&mut shoot.manifest);
    let annotations = &mut manifest.metadata.annotations;
    annotations.insert(EXPIRES.to_owned(), end.to_string());
    Ok(end)
}

fn after(now: Timestamp, life: Duration) -> Result<Timestamp, CommandError> {
    let life = SignedDuration::try_from(life).ok();
    let end = life.and_then(|it| now.checked_add(it).ok());
    end.ok_or_else(|| CommandError::new(Exit::Usage, "no calendar goes as far as that"))
}

impl Ephemeral<'_> {
    async fn live(&self) -> Result<Exit, CommandError> {
        let begun = Cell::new(false);
        let made = self.make(&begun).await;
        if !begun.get() {
            return made.map(code);
        }
        let ended = match self.tell(made) {
            Exit::Done => self.follow().await,
            exit => Ended {
                exit: code(exit),
                well: false,
            },
        };
        if self.is_left() {
            return Err(self.leave());
        }
        let is_told_to_end = self.signals.first.is_cancelled();
        if !ended.well && !is_told_to_end {
            self.collect().await;
            if let Some(life) = self.args.keep_on_failure.filter(|_| !self.is_left()) {
                return self.keep(life).await.map(|()| ended.exit);
            }
        }
        let deleted = self.delete().await;
        let deleted = self.tell(deleted.map_err(|error| self.may_be_left(error)));
        if self.is_left() {
            return Err(self.leave());
        }
        Ok(match (is_told_to_end, ended.exit, deleted) {
            (true, ..) => self.signals.exit(),
            (false, Exit::Done, Exit::Done) => Exit::Done,
            (false, Exit::Done, deleted) => code(deleted),
            (false, exit, _) => exit,
        })
    }

    async fn make(&self, begun: &Cell<bool>) -> Result<Exit, CommandError> {
        let _fold = self.fold("make", "Make");
        let run = RunArgs {
            timeout: self.args.timeout,
            lock_timeout: Duration::ZERO,
        };
        let application = Application {
            verb: "apply",
            run: &run,
            create_namespace: self.args.create_namespace,
            resume: None,
            is_new: true,
            stays: None,
            begun,
        };
        let applied = apply::apply(
            &application,
            self.context,
            self.signals,
            self.provider,
            self.shoot,
        );
        applied.await.map(|it| it.0)
    }

    /// Deletes it, unless somebody has protected it meanwhile; a first signal from now on changes nothing.
    async fn delete(&self) -> Result<Exit, CommandError> {
        let _fold = self.fold("delete", "Delete");
        let signals = self.signals.again(self.args.timeout);
        let tell = |why: &str| self.say(&format!("not deleted yet: {why}"));
        let deleting = again::again(self.args.timeout, &signals, tell, async || {
            let deletion = Deletion {
                name: &self.name,
                keep_volumes: false,
                run: &RunArgs {
                    timeout: self.args.timeout,
                    lock_timeout: PATIENCE,
                },
                resume: self.cleanup.clone(),
            };
            let stays = |record: Option<&RecordSeen>| protection(record?, &self.name);
            let (context, provider) = (self.context, self.provider);
            let deleted =
                delete::delete_unless(&deletion, context, &signals, provider, stays).await?;
            Ok(deleted.unwrap_or(Exit::Declined))
        });
        let told = async {
            if !self.signals.first.is_cancelled() {
                self.signals.first.cancelled().await;
                self.say("it is being deleted; Ctrl-C again leaves at once");
            }
            std::future::pending::<Exit>().await
        };
        tokio::select! {
            deleted = deleting => deleted,
            never = told => Ok(never),
        }
    }

    /// Gives it a longer life, and says how to enter and when that ends.
    async fn keep(&self, life: Duration) -> Result<(), CommandError> {
        let found = self.provider.record(&self.shoot.id).await.map_err(failed)?;
        let Some(record) = found else {
            return Ok(());
        };
        let end = after(now(self.provider), life)?;
        let annotations = json!({ EXPIRES: end.to_string() });
        let kept = self.provider.annotate(&record, annotations).await;
        kept.map_err(failed)?;
        let (ui, name) = (&self.context.ui, self.name.as_str());
        let command = |words: &[&str]| self.context.global.command(self.context, words);
        ui.warn(&format!(
            "shoot {name} is kept until {end:.0}; gc takes it after that"
        ));
        let enter = command(&["exec", name, "--", "kubectl", "get", "nodes"]);
        ui.hint(&format!("to enter: {enter}"));
        ui.hint(&format!("to see why: {}", command(&["why", name])));
        ui.hint(&format!("to delete it: {}", self.cleanup));
        Ok(())
    }

    /// All there is to know of what failed; a run does not fail of it.
    async fn collect(&self) {
        let _fold = self.fold("collect", "Collect what there is to know of");
        let ui = &self.context.ui;
        let folder = &self.args.artifacts;
        let collected = async {
            std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
            let file = bundle::file(Some(folder), &self.name);
            let wanted = Wanted {
                provider: self.provider,
                shoot: &self.name,
                file: Some(&file),
                limit: COLLECTING,
                run: vec![("why.txt".to_owned(), self.causes().await)],
            };
            let bundle = bundle::collect(wanted, self.context).await;
            bundle.map(|_| file).map_err(|error| {
                let mut words = vec![error.message];
                words.extend(error.causes);
                words.join(": ")
            })
        };
        let collected = tokio::select! {
            collected = collected => collected,
            () = self.signals.first.cancelled() => Err("interrupted".to_owned()),
        };
        match collected {
            Ok(file) => self.say(&format!("all there is to know is in {}", file.display())),
            Err(why) => ui.warn(&format!("no bundle in {}: {why}", folder.display())),
        }
    }

    /// What keeps it from being as it should be, a line for each thing.
    async fn causes(&self) -> String {
        let looked = async {
            let record = self.provider.record(&self.shoot.id).await.map_err(failed)?;
            match record {
                Some(record) => why::findings(self.provider, &record).await,
                None => Ok(Vec::new()),
            }
        };
        match timeout(COLLECTING, looked).await {
            Ok(Ok(findings)) => findings.iter().map(|it| format!("{it}\n")).collect(),
            Ok(Err(error)) => format!("{}\n", error.message),
            Err(_) => "no answer in time\n".to_owned(),
        }
    }

    fn fold(&self, name: &'static str, title: &str) -> crate::ui::Fold<'_> {
        let title = format!("{title} shoot {}", self.name);
        self.context.ui.fold(name, &title)
    }

    fn say(&self, text: &str) {
        self.context
            .ui
            .status(&format!("shoot {}: {text}", self.name));
    }

    fn tell(&self, result: Result<Exit, CommandError>) -> Exit {
        result.unwrap_or_else(|error| error.tell(&self.context.ui))
    }

    fn is_left(&self) -> bool {
        self.signals.second.is_cancelled()
    }

    fn leave(&self) -> CommandError {
        let message = format!("left at once, and shoot {} may still be there", self.name);
        self.may_be_left(CommandError::new(self.signals.exit(), message))
    }

    fn may_be_left(&self, error: CommandError) -> CommandError {
        let end = self.end;
        error
            .hint(format!("to clean up: {}", self.cleanup))
            .hint(format!("it expires at {end:.0}; gc takes it after that"))
    }
}
