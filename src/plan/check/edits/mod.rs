//! Every edit of a Shoot on a finished cluster: refused with a reason, or carried out with a known effect.
//!
//! `edits.yaml` has a Shoot with two pools, and values for fields that have no obvious other value. The table of all
//! fields is docs/edits.md; `SNAPSHOTS=overwrite cargo test --lib edits` writes it.

mod effect;
mod fields;

use super::bootstrap::finished;
use crate::manifest::{Content, Manifest};
use crate::model::{CloudProfile, Shoot};
use crate::state::json::to_yaml;
use crate::validate::testing::{PROFILE, today};
use crate::validate::{Input, ValidShoot, ValidationOutcome, validate};
use effect::Before;
use fields::fields;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const PAGE: &str = "docs/edits.md";
const BEGIN: &str = "<!-- generated -->\n";

#[derive(Deserialize)]
struct Cases {
    /// The Shoot that is edited.
    shoot: Value,
    /// Fields that identify the shoot.
    without: Vec<String>,
    /// Other values of fields, by path; null removes the field.
    values: BTreeMap<String, Value>,
    /// Edits of more than one value: a title, and the values by JSON pointer.
    edits: Vec<(String, BTreeMap<String, Value>)>,
}

impl Cases {
    fn read() -> Cases {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/plan/check/edits/edits.yaml");
        let text = std::fs::read_to_string(path).expect("the file is in the repository");
        let mut cases: serde_yaml::Value = serde_yaml::from_str(&text).expect("YAML");
        cases.apply_merge().expect("anchors of mappings");
        serde_yaml::from_value(cases).expect("cases")
    }
}

/// A cluster, and the Shoot that it was created from.
struct Cluster {
    shoot: ValidShoot,
    profile: CloudProfile,
    before: Before,
}

impl Cluster {
    fn of(document: &Value) -> Cluster {
        let (shoot, profile) = read(document).expect("a readable Shoot");
        let outcome = judge(&shoot, &profile, None);
        assert_eq!(outcome.errors, [], "the Shoot must be valid");
        let shoot = outcome.shoot.expect("there are no errors");
        Cluster {
            before: Before::new(&shoot, finished(&shoot)),
            shoot,
            profile,
        }
    }

    /// Effect of an edit. An error is a document that is not valid, edited or not.
    fn effect(&self, document: &Value) -> Result<String, String> {
        let (shoot, _) = read(document)?;
        let texts = |outcome: &ValidationOutcome| {
            let errors = outcome.errors.iter();
            let errors = errors.map(|it| match &it.hint {
                Some(hint) => format!("{}; {hint}", it.message),
                None => it.message.clone(),
            });
            errors.collect::<Vec<_>>().join("; ")
        };
        let alone = judge(&shoot, &self.profile, None);
        if !alone.errors.is_empty() {
            return Err(texts(&alone));
        }
        let updated = judge(&shoot, &self.profile, Some(&self.shoot.manifest));
        match &updated.shoot {
            None => Ok(format!("refused: {}", texts(&updated))),
            Some(after) => Ok(self.before.effect(after)),
        }
    }
}

fn read(document: &Value) -> Result<(Arc<Shoot>, CloudProfile), String> {
    let files = [
        ("shoot.yaml".to_owned(), to_yaml(document).into_bytes()),
        ("profile.yaml".to_owned(), PROFILE.as_bytes().to_vec()),
    ];
    let manifest = Manifest::parse(files);
    if let Some(problem) = manifest.problems().first() {
        return Err(format!("{}: {}", problem.path, problem.message));
    }
    let (mut shoot, mut profile) = (None, None);
    for (_, content) in manifest.documents() {
        match content {
            Content::Shoot(it) => shoot = Some(Arc::clone(it)),
            Content::CloudProfile(it) => profile = Some(it.as_ref().clone()),
            _ => {}
        }
    }
    Ok((shoot.expect("a Shoot"), profile.expect("a CloudProfile")))
}

fn judge(shoot: &Arc<Shoot>, profile: &CloudProfile, last: Option<&Shoot>) -> ValidationOutcome {
    validate(&Input {
        shoot,
        profile,
        previous: last,
        previous_profile: last.map(|_| profile),
        now: today(),
    })
}

/// The rows of the table: field or edit, and effect.
fn rows(cases: &Cases) -> Vec<(String, String)> {
    let cluster = Cluster::of(&cases.shoot);
    let (mut rows, mut wrong) = (Vec::new(), Vec::new());
    let mut judge = |name: String, document: &Value| match cluster.effect(document) {
        Ok(effect) => rows.push((name, effect)),
        Err(why) => wrong.push(format!("{name}: {why}")),
    };
    let mut all = fields(|it| cases.values.contains_key(it));
    all.retain(|it| !cases.without.contains(&it.to_string()));
    for field in &all {
        let name = field.to_string();
        let value = cases.values.get(&name).cloned();
        let value = value.unwrap_or_else(|| field.other_value(&cases.shoot));
        let mut document = cases.shoot.clone();
        field.set(&mut document, &value);
        judge(name, &document);
    }
    for (title, values) in &cases.edits {
        let mut document = cases.shoot.clone();
        for (pointer, value) in values {
            *document.pointer_mut(pointer).expect("a value to replace") = value.clone();
        }
        judge(title.clone(), &document);
    }
    let known: Vec<String> = all.iter().map(ToString::to_string).collect();
    let unknown = cases.values.keys().filter(|it| !known.contains(it));
    wrong.extend(unknown.map(|it| format!("{it}: not a field")));
    assert!(wrong.is_empty(), "edits.yaml:\n{}", wrong.join("\n"));
    rows
}

/// Joins the rows of a struct whose fields all have the same effect.
fn joined(rows: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut rows = rows;
    for depth in (2..10).rev() {
        let parent = |name: &str| {
            let parts: Vec<&str> = name.split('.').collect();
            (parts.len() > depth && !name.contains(' ')).then(|| parts[..depth].join("."))
        };
        let mut effects: BTreeMap<String, (usize, bool)> = BTreeMap::new();
        for (name, effect) in &rows {
            let Some(parent) = parent(name) else { continue };
            let mut of_parent = rows
                .iter()
                .filter(|it| it.0.starts_with(&format!("{parent}.")));
            let count = of_parent.clone().count();
            let is_same = of_parent.all(|it| it.1 == *effect);
            effects.insert(parent, (count, is_same));
        }
        let mut kept: Vec<(String, String)> = Vec::new();
        for (name, effect) in rows {
            let joined = parent(&name).filter(|it| {
                effects
                    .get(it)
                    .is_some_and(|(count, is_same)| *count > 1 && *is_same)
            });
            let name = joined.map_or(name, |it| format!("{it}.*"));
            if kept.last().is_none_or(|it| it.0 != name) {
                kept.push((name, effect));
            }
        }
        rows = kept;
    }
    rows
}

fn table(rows: &[(String, String)]) -> String {
    let lines = rows.iter().map(|(name, effect)| {
        let name = match name.contains(' ') {
            true => name.clone(),
            false => format!("`{name}`"),
        };
        format!("| {name} | {} |\n", effect.replace('|', "\\|"))
    });
    format!(
        "| edit | effect |\n|---|---|\n{}",
        lines.collect::<String>()
    )
}

#[test]
fn each_edit_is_refused_or_has_a_known_effect() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let before = std::fs::read_to_string(&page).expect("the page is in the repository");
    let (head, _) = before.split_once(BEGIN).expect("the page has a mark");
    let wanted = format!("{head}{BEGIN}\n{}", table(&joined(rows(&Cases::read()))));
    if std::env::var("SNAPSHOTS").is_ok_and(|it| it == "overwrite") {
        std::fs::write(&page, &wanted).expect("the page can be written");
    } else {
        snapbox::assert_data_eq!(before, wanted);
    }
}
