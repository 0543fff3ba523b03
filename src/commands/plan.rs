mod changes;
mod fields;
mod text;

use super::addons::{self, AddonsArgs};
use super::apply::beside;
use super::load::{self, LoadArgs};
use super::provider::{self, failed};
use super::signals::Signals;
use super::{CommandError, Context, Exit, doctor};
use crate::cluster::{Observer, Provider, RecordSeen};
use crate::plan;
use crate::plan::pool::capacity;
use crate::state::observed::Observed;
use crate::state::plan::{ItemState, Plan};
use crate::ui::{Format, Style};
use crate::validate::ValidShoot;
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

/// How long the shoot's own API server may take to show what is there.
const PATIENCE: Duration = Duration::from_secs(10);

/// Show what apply would do
#[derive(Debug, clap::Args)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    addons: AddonsArgs,
    /// Exit with 1 when something would be done
    #[arg(long)]
    exit_code: bool,
    /// How to print it
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

/// One object that apply would write.
#[derive(Debug, Clone, Serialize)]
struct Change {
    action: Verb,
    kind: String,
    /// A machine whose turn comes later in a roll has none yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zone: Option<String>,
    title: String,
    /// What holds it back for now.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits: Option<String>,
    /// What tells it from others, for people.
    #[serde(skip)]
    about: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<Field>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verb {
    Create,
    Change,
    Delete,
}

#[derive(Debug, Clone, Serialize)]
struct Field {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Value>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Planned {
    shoot: String,
    namespace: String,
    technical_id: String,
    changes: Vec<Change>,
    /// What the provider cluster is at already; apply would wait for it.
    waiting: Vec<String>,
    /// What apply would fail of.
    failures: Vec<String>,
}

pub(super) fn run(args: &PlanArgs, context: &Context) -> Result<Exit, CommandError> {
    let texts = load::texts(&args.load)?;
    let planned = context.block_on(async {
        let signals = Signals::listen(None)?;
        signals
            .or_interrupted("plan", async {
                let mut ready = provider::ready(&texts, context).await?;
                addons::attach(&args.addons, &mut ready.loaded.shoots, context).await?;
                let mut planned = Vec::new();
                for shoot in &ready.loaded.shoots {
                    planned.push(look(&ready.provider, shoot, ready.known.get(&shoot.id)).await?);
                }
                Ok(planned)
            })
            .await
    })??;
    match args.output {
        Format::Json | Format::Yaml => context.ui.value(args.output, &planned),
        Format::Name => context.ui.data(&text::names(&planned)),
        Format::Table | Format::Wide => {
            let wide = args.output == Format::Wide;
            let (style, width) = (context.ui.style(), context.ui.width());
            let texts = planned.iter().map(|it| text::text(it, wide, style, width));
            context.ui.data(&texts.collect::<Vec<_>>().join("\n"));
        }
    }
    let failed = planned.iter().any(|it| !it.failures.is_empty());
    let changes = planned.iter().any(|it| !it.changes.is_empty());
    Ok(match (failed, changes && args.exit_code) {
        (true, _) => Exit::Precondition,
        (false, true) => Exit::No,
        (false, false) => Exit::Done,
    })
}

/// What an apply of what was applied last would do, as a person reads it.
pub(super) async fn told(provider: &Provider, record: &RecordSeen) -> Result<String, CommandError> {
    const WIDTH: usize = 200;
    let before = provider::before(&record.data);
    let mut out = String::new();
    for shoot in doctor::of_record(record) {
        let planned = look(provider, &shoot, before.as_ref()).await?;
        out += &text::text(&planned, true, Style { on: false }, WIDTH);
    }
    Ok(out)
}

async fn look(
    provider: &Provider,
    shoot: &ValidShoot,
    before: Option<&load::Before>,
) -> Result<Planned, CommandError> {
    provider
        .check_installed(!shoot.networks.is_empty())
        .await
        .map_err(failed)?;
    let beside = beside(shoot, provider);
    let observer = Observer::start(provider, &shoot.id, Instant::now(), beside)
        .await
        .map_err(failed)?;
    let facts = observer.whole(PATIENCE).await;
    let observed = Observed {
        facts: facts.clone(),
        ..Observed::default()
    };
    let plan = plan::plan(shoot, &observed);
    let failures = words_of(&plan, |it| match it {
        ItemState::Failed(failure) => Some(&failure.message),
        _ => None,
    });
    let shortages = capacity::shortages(shoot, &facts);
    Ok(Planned {
        shoot: shoot.name.clone(),
        namespace: provider.namespace().to_string(),
        technical_id: shoot.id.clone(),
        changes: changes::changes(shoot, &facts, &plan, before),
        waiting: words_of(&plan, |it| match it {
            ItemState::Waiting(why) => Some(why),
            _ => None,
        }),
        failures: failures.into_iter().chain(shortages).collect(),
    })
}

/// Titles with what there is to say of them.
fn words_of(plan: &Plan, words: impl Fn(&ItemState) -> Option<&String>) -> Vec<String> {
    let items = plan.items.iter();
    items
        .filter_map(|it| Some(format!("{}: {}", it.title, words(&it.state)?)))
        .collect()
}
