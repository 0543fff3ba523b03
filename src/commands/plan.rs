use super::apply::shared_networks;
use super::load::{self, LoadArgs};
use super::provider::{self, failed};
use super::signals::Signals;
use super::{CommandError, Context, Exit};
use crate::cluster::{Beside, Observer, Provider};
use crate::plan::item::{Action, Content, Item, Key, Kind, Plan, State};
use crate::plan::observed::{Facts, Observed};
use crate::plan::{self, render};
use crate::ui::Format;
use crate::validate::ValidShoot;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use tokio::time::Instant;

/// Show what apply would do
#[derive(Debug, clap::Args)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    load: LoadArgs,
    /// Exit with 1 when something would be done
    #[arg(long)]
    exit_code: bool,
    /// How to print it
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

/// One object that apply would write.
#[derive(Debug, Serialize)]
struct Change {
    /// create, change, replace, drain or delete.
    action: &'static str,
    kind: String,
    name: String,
    title: String,
    /// What holds it back for now.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<Field>,
}

#[derive(Debug, Serialize)]
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
    changes: Vec<Change>,
    failures: Vec<String>,
}

pub(super) fn run(args: &PlanArgs, context: &Context) -> Result<Exit, CommandError> {
    let texts = load::texts(&args.load)?;
    let planned = context.block_on(async {
        let signals = Signals::listen(None)?;
        signals
            .or_interrupted("plan", async {
                let ready = provider::ready(&texts, context).await?;
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
        _ => planned.iter().for_each(|it| context.ui.data(&text(it))),
    }
    let failed = planned.iter().any(|it| !it.failures.is_empty());
    let changes = planned.iter().any(|it| !it.changes.is_empty());
    Ok(match (failed, changes && args.exit_code) {
        (true, _) => Exit::Precondition,
        (false, true) => Exit::No,
        (false, false) => Exit::Done,
    })
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
    let beside = Beside {
        networks: shared_networks(shoot, provider),
    };
    let observer = Observer::start(provider, &shoot.id, Instant::now(), beside)
        .await
        .map_err(failed)?;
    let facts = observer.facts().borrow().clone();
    let observed = Observed {
        facts: facts.clone(),
        ..Observed::default()
    };
    let plan = plan::plan(shoot, &observed);
    let failures = plan.items.iter().filter_map(|it| match &it.state {
        State::Failed(failure) => Some(failure.message.clone()),
        _ => None,
    });
    Ok(Planned {
        shoot: shoot.name.clone(),
        changes: changes(shoot, &facts, &plan, before),
        failures: failures.collect(),
    })
}

fn changes(
    shoot: &ValidShoot,
    facts: &Facts,
    plan: &Plan,
    before: Option<&load::Before>,
) -> Vec<Change> {
    let mut changes: Vec<Change> = plan
        .items
        .iter()
        .filter_map(|it| change(shoot, facts, it, before))
        .collect();
    // Machines of a roll whose turn has not come have no name yet.
    let blocked = plan.items.iter().filter(|it| it.state == State::Blocked);
    changes.extend(blocked.filter_map(|it| later(shoot, facts, plan, it)));
    changes
}

fn change(
    shoot: &ValidShoot,
    facts: &Facts,
    item: &Item,
    before: Option<&load::Before>,
) -> Option<Change> {
    let State::Due(action) = &item.state else {
        return None;
    };
    let key = action.key();
    let is_there = match key.kind {
        Kind::Record => facts.record.is_some(),
        _ => facts.objects.contains_key(key),
    };
    let verb = match action {
        Action::Apply(it) if is_there || matches!(it.content, Content::Metadata { .. }) => "change",
        Action::Apply(_) => "create",
        Action::Delete(_) => "delete",
        Action::Drain(_) => "replace",
    };
    let fields = match (verb, key.kind) {
        ("change", Kind::Record) => before
            .map(|it| manifest_fields(shoot, it))
            .unwrap_or_default(),
        ("change", Kind::Machine) => metadata_fields(shoot, facts, action),
        ("create", _) => created_fields(shoot, facts, action),
        _ => Vec::new(),
    };
    Some(of(verb, key, item, None, fields))
}

/// What waits for something else of the plan.
fn later(_shoot: &ValidShoot, facts: &Facts, plan: &Plan, item: &Item) -> Option<Change> {
    let waits = item
        .needs
        .iter()
        .map(|it| plan.item(*it))
        .find(|it| it.state != State::Done);
    let waits = Some(waits.map_or_else(
        || "its turn".to_owned(),
        |it| format!("after: {}", it.title),
    ));
    let (verb, kind, name) = match item.id.0.split_once('/') {
        Some(("machine", _)) => (
            "create",
            Kind::Machine,
            item.title.rsplit("machine ").next()?.to_owned(),
        ),
        Some(("image", name)) => ("create", Kind::Image, name.to_owned()),
        Some(("network", name)) => ("create", Kind::Network, name.to_owned()),
        Some(("remove", uid)) => {
            let (name, _) = facts
                .machines
                .values()
                .flatten()
                .find(|it| *it.1.uid == *uid)
                .or_else(|| None)?;
            ("delete", Kind::Machine, name.to_string())
        }
        _ => return None,
    };
    let name = name.split(" in zone").next().unwrap_or_default().to_owned();
    Some(of(
        verb,
        &Key::provider(kind, name),
        item,
        waits,
        Vec::new(),
    ))
}

fn of(
    action: &'static str,
    key: &Key,
    item: &Item,
    waits: Option<String>,
    fields: Vec<Field>,
) -> Change {
    Change {
        action,
        kind: key.kind.to_string(),
        name: key.name.to_string(),
        title: item.title.clone(),
        waits,
        fields,
    }
}

/// What of the manifest differs from what was applied last.
fn manifest_fields(shoot: &ValidShoot, before: &load::Before) -> Vec<Field> {
    let (old, new) = (
        flat(&plan::record::manifest_of(&before.0)),
        flat(&plan::record::manifest_of(&shoot.manifest)),
    );
    difference(&old, &new)
}

fn metadata_fields(shoot: &ValidShoot, facts: &Facts, action: &Action) -> Vec<Field> {
    let patch = render::objects(shoot, facts, action)
        .into_iter()
        .next()
        .unwrap_or_default();
    let after = flat(&patch);
    let hidden = |it: &&(String, Value)| !it.0.contains("kvshoot.io/");
    let after: Vec<(String, Value)> = after.into_iter().collect();
    let field = |it: &(String, Value)| Field {
        path: it.0.clone(),
        before: None,
        after: Some(it.1.clone()).filter(|it| !it.is_null()),
    };
    after.iter().filter(hidden).map(field).collect()
}

/// The fields that tell one object from another; all of them are what render shows.
fn created_fields(shoot: &ValidShoot, facts: &Facts, action: &Action) -> Vec<Field> {
    let objects = render::objects(shoot, facts, action);
    let Some(object) = objects
        .last()
        .filter(|it| it["kind"] != "ConfigMap" && it["kind"] != "Secret")
    else {
        return Vec::new();
    };
    let fields = flat(&object["spec"]).into_iter();
    fields
        .map(|(path, value)| Field {
            path: format!("spec.{path}"),
            before: None,
            after: Some(value),
        })
        .collect()
}

fn difference(old: &BTreeMap<String, Value>, new: &BTreeMap<String, Value>) -> Vec<Field> {
    let paths: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let changed = paths.into_iter().filter(|it| old.get(*it) != new.get(*it));
    changed
        .map(|it| Field {
            path: it.clone(),
            before: old.get(it).cloned(),
            after: new.get(it).cloned(),
        })
        .collect()
}

/// Every scalar by its path.
fn flat(value: &Value) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    walk(value, String::new(), &mut all);
    all
}

fn walk(value: &Value, path: String, all: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                let key = if key.contains(['.', '/']) {
                    format!("[{key}]")
                } else {
                    key.clone()
                };
                let dot = if path.is_empty() || key.starts_with('[') {
                    ""
                } else {
                    "."
                };
                walk(value, format!("{path}{dot}{key}"), all);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, it)| walk(it, format!("{path}[{index}]"), all));
        }
        scalar => {
            all.insert(path, scalar.clone());
        }
    }
}

fn text(planned: &Planned) -> String {
    let mut out = String::new();
    for change in &planned.changes {
        let mark = match change.action {
            "create" => "+",
            "change" => "~",
            "replace" => "±",
            _ => "-",
        };
        let waits = change
            .waits
            .as_ref()
            .map(|it| format!("   ({it})"))
            .unwrap_or_default();
        out += &format!(
            "{mark} {} {} {}{waits}\n",
            change.action, change.kind, change.name
        );
        for field in &change.fields {
            let show = |it: &Value| serde_json::to_string(it).unwrap_or_default();
            out += &match (&field.before, &field.after) {
                (None, Some(after)) => format!("    + {}: {}\n", field.path, show(after)),
                (Some(before), None) => format!("    - {}: {}\n", field.path, show(before)),
                (Some(before), Some(after)) => format!(
                    "    ~ {}: {} -> {}\n",
                    field.path,
                    show(before),
                    show(after)
                ),
                (None, None) => format!("    - {}\n", field.path),
            };
        }
    }
    planned
        .failures
        .iter()
        .for_each(|it| out += &format!("! {it}\n"));
    let count = |verbs: &[&str]| {
        planned
            .changes
            .iter()
            .filter(|it| verbs.contains(&it.action))
            .count()
    };
    let (create, change, delete) = (
        count(&["create"]),
        count(&["change"]),
        count(&["delete", "replace"]),
    );
    match planned.changes.len() {
        0 => out += &format!("shoot {}: nothing to do\n", planned.shoot),
        _ => {
            out += &format!(
                "shoot {}: {create} to create, {change} to change, {delete} to delete\n",
                planned.shoot
            )
        }
    }
    out
}
