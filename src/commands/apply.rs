use super::addons::{self, AddonsArgs};
use super::load::{self, LoadArgs};
use super::provider::{self, failed};
use super::running::{About, End, RunArgs, Session};
use super::signals::Signals;
use super::{CommandError, Context, Exit, history};
use crate::cluster::{Beside, Provider};
use crate::flow::Outcome;
use crate::plan::pool::capacity;
use crate::state::desired::instancetypes;
use crate::state::facts::Facts;
use crate::state::failure::ErrorClass;
use crate::state::observed::Observed;
use crate::state::plan::ItemState;
use crate::state::prerequisite;
use crate::validate::{Network, ValidShoot};
use crate::{plan, render};
use std::cell::Cell;
use std::sync::Arc;

/// Make a cluster, or bring it to what the manifest says
#[derive(Debug, clap::Args)]
pub(super) struct ApplyArgs {
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    addons: AddonsArgs,
    #[command(flatten)]
    run: RunArgs,
    /// Make the namespace if it is not there; delete removes it again
    #[arg(long)]
    create_namespace: bool,
}

pub(super) fn run(args: &ApplyArgs, context: &Context) -> Result<Exit, CommandError> {
    let texts = load::texts(&args.load)?;
    context.block_on(async {
        let signals = Signals::listen(Some(args.run.timeout))?;
        let mut ready = signals
            .or_interrupted("find the shoot", provider::ready(&texts, context))
            .await?;
        let shoots = &mut ready.loaded.shoots;
        let read = addons::attach(&args.addons, shoots, context);
        signals.or_interrupted("read the add-ons", read).await?;
        if ready.loaded.shoots.is_empty() {
            return Err(CommandError::new(
                Exit::Manifest,
                "there is no Shoot in the manifests",
            ));
        }
        let mut worst = Exit::Done;
        for shoot in &ready.loaded.shoots {
            let application = Application {
                verb: "apply",
                run: &args.run,
                create_namespace: args.create_namespace,
                resume: Some(context.config.command_line()),
                is_new: false,
                stays: None,
                begun: &Cell::new(false),
            };
            let (exit, verb) =
                apply(&application, context, &signals, &ready.provider, shoot).await?;
            if exit == Exit::Done {
                let name = &shoot.name;
                let result = format!("shoot.core.gardener.cloud/{name} {verb}\n");
                context.ui.data(&result);
            }
            worst = if worst == Exit::Done { exit } else { worst };
        }
        Ok(worst)
    })?
}

/// Why nothing is to be done, by what is there; None when all is to be done.
type Stays<'a> = dyn Fn(&Facts) -> Option<String> + 'a;

/// How a shoot is to be applied.
pub(super) struct Application<'a> {
    /// Of the command, for who reads of it.
    pub(super) verb: &'static str,
    pub(super) run: &'a RunArgs,
    pub(super) create_namespace: bool,
    /// The command that goes on where this ends; none where whoever began it sees to that.
    pub(super) resume: Option<String>,
    /// A shoot of that name that is there already is another one.
    pub(super) is_new: bool,
    /// Says why nothing is to be done after all, once nobody else may change the shoot any more.
    pub(super) stays: Option<&'a Stays<'a>>,
    /// Set as soon as something of the shoot may have been written.
    pub(super) begun: &'a Cell<bool>,
}

/// How it ended, and what was done: created, configured or unchanged.
pub(super) async fn apply(
    args: &Application<'_>,
    context: &Context,
    signals: &Signals,
    provider: &Provider,
    shoot: &ValidShoot,
) -> Result<(Exit, &'static str), CommandError> {
    let installed = provider.check_installed(!shoot.networks.is_empty());
    signals
        .or_interrupted("see what is installed", async {
            installed.await.map_err(failed)
        })
        .await?;
    if args.create_namespace {
        let made = async { provider.create_namespace().await.map_err(failed) };
        signals.or_interrupted("make the namespace", made).await?;
    }
    let about = About {
        verb: args.verb,
        shoot: &shoot.name,
        id: &shoot.id,
        beside: beside(shoot, provider),
        resume: args.resume.clone(),
    };
    let session = Session::start(context, signals, provider, args.run, about).await?;
    let first = session.facts();
    let refuse = async |session: Session<'_>, end| Ok((session.finish(end).await, "refused"));
    if let Some(why) = args.stays.and_then(|it| it(&first)) {
        let end = End {
            exit: Exit::Done,
            outcome: "converged",
            summary: format!("{why}; nothing was changed"),
            resume: None,
        };
        return Ok((session.finish(end).await, "unchanged"));
    }
    if args.is_new && first.record.is_some() {
        let end = taken(shoot, provider);
        return refuse(session, end).await;
    }
    // Not every tenant has these rights, for not every shoot needs them.
    let keeps_types = instancetypes::is_missing(shoot, &first);
    if first.record.is_none() || keeps_types {
        let asked = forbidden(shoot, provider, &session, keeps_types);
        match signals.or_interrupted("see what is allowed", asked).await {
            Ok(None) => {}
            Ok(Some(end)) => return refuse(session, end).await,
            Err(error) => {
                session.unlock(error.exit).await;
                return Err(error);
            }
        }
    }
    if let Some(end) = refused(shoot, &first, &session) {
        return refuse(session, end).await;
    }
    for shortage in capacity::shortages(shoot, &first) {
        // What there is room for is made all the same.
        session.note(shortage);
    }
    args.begun.set(true);
    let report = session
        .run(
            |observed| plan::plan(shoot, observed),
            |facts, action| render::objects(shoot, facts, action),
        )
        .await?;
    let verb = match (report.performed, &first.record) {
        (0, _) => "unchanged",
        (_, None) => "created",
        _ => "configured",
    };
    let done = format!("shoot {} {verb}: {}", shoot.name, nodes(&session.facts()),);
    let end = End::of(&report, signals, session.resume(), done);
    if report.performed > 0 || report.outcome != Outcome::Converged {
        let told = history::tell(&session, &report, first.record.is_none(), context);
        session.at_last(end.exit, told).await;
    }
    Ok((session.finish(end).await, verb))
}

/// Whoever deletes what it makes takes nothing that is there.
fn taken(shoot: &ValidShoot, provider: &Provider) -> End {
    let namespace = provider.namespace();
    let name = &shoot.name;
    End {
        exit: Exit::Precondition,
        outcome: "refused",
        summary: format!(
            "there is a shoot {name} in namespace {namespace} already; nothing was changed"
        ),
        resume: None,
    }
}

/// A shoot is not begun that could not be finished for want of a right.
async fn forbidden(
    shoot: &ValidShoot,
    provider: &Provider,
    session: &Session<'_>,
    keeps_types: bool,
) -> Result<Option<End>, CommandError> {
    let mut missing = Vec::new();
    if session.facts().record.is_none() {
        let of_all = provider.missing_rights(!shoot.networks.is_empty());
        missing = of_all.await.map_err(failed)?;
    }
    if keeps_types {
        let of_types = provider.missing_rights_for_types();
        missing.extend(of_types.await.map_err(failed)?);
    }
    if missing.is_empty() {
        return Ok(None);
    }
    let told = provider::not_allowed(provider, &missing);
    Ok(Some(End {
        exit: Exit::NotAllowed,
        outcome: "refused",
        summary: format!("{told}; nothing was changed"),
        resume: session.resume(),
    }))
}

/// What cannot be mended by going on, before anything is written.
fn refused(shoot: &ValidShoot, facts: &Arc<Facts>, session: &Session) -> Option<End> {
    let observed = Observed {
        facts: facts.clone(),
        ..Observed::default()
    };
    let plan = plan::plan(shoot, &observed);
    let failure = plan.items.iter().find_map(|it| match &it.state {
        ItemState::Failed(failure) => exit_before(failure.class).map(|exit| (exit, failure)),
        _ => None,
    });
    let (exit, failure) = failure?;
    Some(End {
        exit,
        outcome: "refused",
        summary: format!("{}; nothing was changed", failure.message),
        resume: session.resume(),
    })
}

/// Of what is known to fail before anything was tried.
fn exit_before(class: ErrorClass) -> Option<Exit> {
    match class {
        ErrorClass::Missing | ErrorClass::Foreign => Some(Exit::Precondition),
        ErrorClass::NotAllowed => Some(Exit::NotAllowed),
        _ => None,
    }
}

fn nodes(facts: &Facts) -> String {
    match facts.machines.values().map(|it| it.len()).sum() {
        1 => "1 node is ready".to_owned(),
        count => format!("{count} nodes are ready"),
    }
}

/// Networks that belong to others, as `namespace/name`.
/// What a shoot uses and does not own.
pub(super) fn beside(shoot: &ValidShoot, provider: &Provider) -> Beside {
    let config = &shoot.profile.spec.provider_config;
    Beside {
        networks: shared_networks(shoot, provider),
        relied: prerequisite::of(shoot, provider.namespace()),
        templates: config.template_namespace.as_deref().map(Arc::from),
        is_leaving: false,
    }
}

fn shared_networks(shoot: &ValidShoot, provider: &Provider) -> Vec<Arc<str>> {
    let reference = |it: &Network| match it {
        Network::Shared { name, namespace } => Some(
            format!(
                "{}/{name}",
                namespace.as_deref().unwrap_or(provider.namespace())
            )
            .into(),
        ),
        Network::Tenant { .. } => None,
    };
    shoot.networks.iter().filter_map(reference).collect()
}
