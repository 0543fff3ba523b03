//! `kvshoot plan`.

use super::types::Preview;
use super::{diff, format};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::manifests::addons;
use crate::app::manifests::files::ManifestFiles;
use crate::app::provider::external_objects::external_objects;
use crate::app::provider::prepare::prepare;
use crate::app::signals::Signals;
use crate::cluster::{ApiClient, Observer, RecordSnapshot};
use crate::load::{LastApplied, last_applied, recorded_shoot};
use crate::plan;
use crate::plan::maintenance::confinement;
use crate::plan::pool::capacity;
use crate::plan::prerequisites;
use crate::state::desired;
use crate::state::facts::Facts;
use crate::state::observed::Observed;
use crate::state::plan::{ItemState, Plan};
use crate::ui::{Format, Style};
use crate::validate::ValidShoot;
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::Instant;

/// Time to wait for the objects inside the shoot.
const INSIDE_TIMEOUT: Duration = Duration::from_secs(10);

/// Options of `kvshoot plan`.
#[derive(Debug)]
pub(crate) struct PlanOptions {
    pub(crate) files: ManifestFiles,
    pub(crate) addons: Option<PathBuf>,
    /// Exits with code 1 if there are changes.
    pub(crate) exit_code: bool,
    pub(crate) output: Format,
}

/// Prints what apply would do.
pub(crate) fn plan(options: &PlanOptions, context: &Context) -> Result<Exit, CommandError> {
    let texts = options.files.read()?;
    let previews = context.block_on(async {
        let signals = Signals::listen(None)?;
        signals
            .or_interrupted("plan", async {
                let mut prepared = prepare(texts, context).await?;
                let shoots = &mut prepared.loaded.shoots;
                addons::attach(options.addons.as_deref(), shoots, context).await?;
                let mut previews = Vec::new();
                for shoot in shoots.iter() {
                    let last = prepared.records.get(&shoot.id);
                    let provider = prepared.providers.of(&shoot.id);
                    previews.push(preview(provider, shoot, last).await?);
                }
                Ok(previews)
            })
            .await
    })??;
    match options.output {
        Format::Json | Format::Yaml => context.ui.value(options.output, &previews),
        Format::Name => context.ui.data(&format::names(&previews)),
        Format::Table | Format::Wide => {
            let wide = options.output == Format::Wide;
            let (style, width) = (context.ui.style(), context.ui.width());
            let texts = previews
                .iter()
                .map(|preview| format::text(preview, wide, style, width));
            context.ui.data(&texts.collect::<Vec<_>>().join("\n"));
        }
    }
    let has_failures = previews.iter().any(|it| !it.failures.is_empty());
    let has_changes = previews.iter().any(|it| !it.changes.is_empty());
    Ok(match (has_failures, has_changes && options.exit_code) {
        (true, _) => Exit::Precondition,
        (false, true) => Exit::No,
        (false, false) => Exit::Done,
    })
}

/// Plan of another apply of the last applied manifest, for support bundles.
pub(crate) async fn plan_text(
    provider: &ApiClient,
    record: &RecordSnapshot,
) -> Result<String, CommandError> {
    const WIDTH: usize = 200;
    let record = provider.complete_record(record.clone());
    let record = record.await.map_err(failed)?;
    let last = last_applied(&record.data);
    let Some(shoot) = recorded_shoot(&record.name, &record.data, crate::clock::now()) else {
        return Ok(String::new());
    };
    let preview = preview(provider, &shoot, last.as_ref()).await?;
    Ok(format::text(&preview, true, Style { on: false }, WIDTH))
}

async fn preview(
    provider: &ApiClient,
    shoot: &ValidShoot,
    last: Option<&LastApplied>,
) -> Result<Preview, CommandError> {
    provider
        .check_installed(!shoot.networks.is_empty())
        .await
        .map_err(failed)?;
    let external = external_objects(shoot, provider);
    let observer = Observer::start(provider, &shoot.id, Instant::now(), external)
        .await
        .map_err(failed)?;
    let facts = observer.complete_facts(INSIDE_TIMEOUT).await;
    let observed = Observed {
        facts: facts.clone(),
        ..Observed::default()
    };
    let plan = plan::plan(shoot, &observed);
    let failures = reasons(&plan, |state| match state {
        ItemState::Failed(failure) => Some(&failure.message),
        _ => None,
    });
    let shortages = capacity::shortages(shoot, &facts);
    Ok(Preview {
        shoot: shoot.name.clone(),
        namespace: provider.namespace().to_string(),
        technical_id: shoot.id.clone(),
        changes: diff::changes(shoot, &facts, &plan, last),
        waiting: reasons(&plan, |state| match state {
            ItemState::Waiting(why) => Some(why),
            _ => None,
        }),
        failures: failures.into_iter().chain(shortages).collect(),
        notes: window_note(shoot, last, provider.current_time())
            .into_iter()
            .chain(notes(shoot, &facts))
            .chain(prerequisites::zones_without_hosts(shoot, &facts))
            .collect(),
    })
}

/// Says that apply refuses the changes at `now`, in seconds since 1970, if they wait for the maintenance window.
fn window_note(shoot: &ValidShoot, last: Option<&LastApplied>, now: i64) -> Option<String> {
    let (before, _) = last?;
    let waits = confinement(before, shoot, now)?;
    Some(format!("{waits}; apply --now does not wait"))
}

/// Decisions in the record that the manifest leaves open: sizes of pools.
fn notes(shoot: &ValidShoot, facts: &Facts) -> Vec<String> {
    let sizes = shoot.pools.iter().filter_map(|pool| {
        let size = desired::size(facts, pool);
        let (name, minimum, maximum) = (&pool.name, pool.minimum, pool.maximum);
        (facts.record.is_some() && size != minimum).then(|| {
            format!(
                "pool {name} keeps its size of {size}; the manifest allows {minimum} to {maximum}"
            )
        })
    });
    let record = facts.record.as_ref();
    let is_hibernating = record.is_some_and(|it| it.hibernation.enabled);
    let note = "the shoot hibernates; other changes follow when it wakes".to_owned();
    is_hibernating
        .then_some(note)
        .into_iter()
        .chain(sizes)
        .collect()
}

/// The titles of items with the reasons of their states.
fn reasons(plan: &Plan, reason: impl Fn(&ItemState) -> Option<&String>) -> Vec<String> {
    let items = plan.items.iter();
    items
        .filter_map(|item| Some(format!("{}: {}", item.title, reason(&item.state)?)))
        .collect()
}
