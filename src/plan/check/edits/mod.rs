//! Every edit of a Shoot and of its CloudProfile on a finished cluster: refused with a reason, or carried out with a known
//! effect.
//!
//! `edits.yaml` has a Shoot with two pools, its CloudProfile, and values for fields that have no obvious other value. The
//! tables of all fields are in docs/edits.md; `SNAPSHOTS=overwrite cargo test --lib edits` writes them.

mod effect;
mod fields;

use super::bootstrap::finished;
use crate::manifest::{Content, Manifest};
use crate::model::{CloudProfile, Shoot};
use crate::state::json::to_yaml;
use crate::state::record::used_part;
use crate::validate::testing::today;
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

/// Between the two tables.
const OF_PROFILE: &str = "
## Edits of the CloudProfile

A cluster keeps what it uses: its record has the used part of the CloudProfile, and versions, types and images that are
removed or expire stay valid for the pools that have them. In the paths, `[]` is the item that the cluster uses; if its
name is edited, the item that the cluster uses is no longer in the list.

";

#[derive(Deserialize)]
struct Cases {
    /// The Shoot that is edited.
    shoot: Value,
    /// Its CloudProfile.
    profile: Value,
    shoot_edits: Edits,
    profile_edits: Edits,
}

/// Edits of one of the documents.
#[derive(Deserialize)]
struct Edits {
    /// Fields that are not edited alone.
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

/// A cluster, and the documents that it was created from.
struct Cluster {
    shoot: ValidShoot,
    /// The part of the CloudProfile that the record has.
    used: CloudProfile,
    before: Before,
}

impl Cluster {
    fn of(cases: &Cases) -> Cluster {
        let (shoot, profile) = read(&cases.shoot, &cases.profile).expect("readable documents");
        let outcome = judge(&shoot, &profile, None);
        assert_eq!(outcome.errors, [], "the Shoot must be valid");
        let shoot = outcome.shoot.expect("there are no errors");
        Cluster {
            before: Before::new(&shoot, finished(&shoot)),
            used: used_part(&profile, &shoot),
            shoot,
        }
    }

    /// Effect of an edit of the Shoot. An error is a document that is not valid, edited or not.
    fn effect_of_shoot(&self, shoot: &Value, profile: &Value) -> Result<String, String> {
        let (shoot, profile) = read(shoot, profile)?;
        let alone = judge(&shoot, &profile, None);
        if !alone.errors.is_empty() {
            return Err(texts(&alone));
        }
        Ok(self.effect(&shoot, &profile))
    }

    /// Effect of an edit of the CloudProfile. It may be invalid for a new Shoot.
    fn effect_of_profile(&self, shoot: &Value, profile: &Value) -> Result<String, String> {
        let (shoot, profile) = read(shoot, profile)?;
        Ok(self.effect(&shoot, &profile))
    }

    fn effect(&self, shoot: &Arc<Shoot>, profile: &CloudProfile) -> String {
        let updated = judge(shoot, profile, Some((&self.shoot.manifest, &self.used)));
        match &updated.shoot {
            None => format!("refused: {}", texts(&updated)),
            Some(after) => self.before.effect(after),
        }
    }
}

fn texts(outcome: &ValidationOutcome) -> String {
    let errors = outcome.errors.iter();
    let errors = errors.map(|it| match &it.hint {
        Some(hint) => format!("{}; {hint}", it.message),
        None => it.message.clone(),
    });
    errors.collect::<Vec<_>>().join("; ")
}

fn read(shoot: &Value, profile: &Value) -> Result<(Arc<Shoot>, CloudProfile), String> {
    let files = [("shoot.yaml", shoot), ("profile.yaml", profile)];
    let files = files.map(|(name, it)| (name.to_owned(), to_yaml(it).into_bytes()));
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

fn judge(
    shoot: &Arc<Shoot>,
    profile: &CloudProfile,
    last: Option<(&Shoot, &CloudProfile)>,
) -> ValidationOutcome {
    validate(&Input {
        shoot,
        profile,
        previous: last.map(|it| it.0),
        previous_profile: last.map(|it| it.1),
        now: today(),
    })
}

/// The rows of a table: field or edit, and effect. `effect` judges an edited document.
fn rows(
    kind: &str,
    document: &Value,
    edits: &Edits,
    effect: impl Fn(&Value) -> Result<String, String>,
) -> Vec<(String, String)> {
    let (mut rows, mut wrong) = (Vec::new(), Vec::new());
    let mut judge = |name: String, document: &Value| match effect(document) {
        Ok(effect) => rows.push((name, effect)),
        Err(why) => wrong.push(format!("{name}: {why}")),
    };
    let mut all = fields(kind, |it| edits.values.contains_key(it));
    all.retain(|it| !edits.without.contains(&it.to_string()));
    for field in &all {
        let name = field.to_string();
        let value = edits.values.get(&name).cloned();
        let value = value.unwrap_or_else(|| field.other_value(document));
        let mut document = document.clone();
        field.set(&mut document, &value);
        judge(name, &document);
    }
    for (title, values) in &edits.edits {
        let mut document = document.clone();
        for (pointer, value) in values {
            *document.pointer_mut(pointer).expect("a value to replace") = value.clone();
        }
        judge(title.clone(), &document);
    }
    let known: Vec<String> = all.iter().map(ToString::to_string).collect();
    let unknown = edits.values.keys().filter(|it| !known.contains(it));
    wrong.extend(unknown.map(|it| format!("{it}: not a field")));
    assert!(wrong.is_empty(), "edits.yaml:\n{}", wrong.join("\n"));
    rows
}

/// The generated part of the page.
fn tables() -> String {
    let cases = Cases::read();
    let cluster = Cluster::of(&cases);
    let (shoot, profile) = (&cases.shoot, &cases.profile);
    let of_shoot = rows("shoot", shoot, &cases.shoot_edits, |it| {
        cluster.effect_of_shoot(it, profile)
    });
    let of_profile = rows("cloudprofile", profile, &cases.profile_edits, |it| {
        cluster.effect_of_profile(shoot, it)
    });
    let [of_shoot, of_profile] = [of_shoot, of_profile].map(|it| table(&joined(it)));
    format!("{of_shoot}{OF_PROFILE}{of_profile}")
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
    let wanted = format!("{head}{BEGIN}\n{}", tables());
    if std::env::var("SNAPSHOTS").is_ok_and(|it| it == "overwrite") {
        std::fs::write(&page, &wanted).expect("the page can be written");
    } else {
        snapbox::assert_data_eq!(before, wanted);
    }
}
