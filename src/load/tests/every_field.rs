//! No field is ignored in silence: each field of the schema, set to a valid value, changes what is rendered or planned,
//! or is named by a finding.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value, json};

use super::every_field_values::{BASES, BESIDE, BINDINGS, ELSEWHERE, REFUSED, VALUES};
use crate::load::{LoadContext, judge, provider_credentials};
use crate::manifest::{Manifest, Problem, kinds, schema_of};
use crate::model::{CloudProfile, WorkerConfig};
use crate::plan::preview::first_apply;
use crate::state::desired::{attachments, pool_hash};
use crate::state::facts::Facts;
use crate::state::names;
use crate::validate::ValidShoot;
use crate::validate::testing::{SHOOT, read, today};

/// A field of the schema: its path, with `[]` for items of lists, and its own schema.
struct Field {
    path: String,
    schema: Value,
}

#[test]
fn every_field_of_a_shoot_changes_something_or_is_named() {
    try_all("Shoot", 60);
}

#[test]
fn every_field_of_a_cloud_profile_changes_something_or_is_named() {
    try_all("CloudProfile", 60);
}

#[test]
fn every_field_of_a_machine_deployment_changes_something_or_is_named() {
    try_all("MachineDeployment", 60);
}

#[test]
fn every_field_of_bindings_and_their_secret_selects_the_provider_or_is_named() {
    try_all("SecretBinding", 8);
    try_all("CredentialsBinding", 10);
    try_all("Secret", 9);
}

#[test]
fn every_kind_is_tried() {
    let tried = BASES.iter().chain(&BINDINGS).map(|it| it.0);
    assert_eq!(
        tried.collect::<BTreeSet<_>>(),
        kinds().collect::<BTreeSet<_>>()
    );
}

/// `least` is the number of fields that must be found.
fn try_all(kind: &'static str, least: usize) {
    let root = schema_of(kind).expect("the kind is known").to_value();
    let mut fields = Vec::new();
    collect(&root, &root, String::new(), &mut fields);
    assert!(fields.len() >= least, "{kind} has {} fields", fields.len());
    let mut known = HashMap::new();
    let mut wrong = Vec::new();
    for field in fields {
        let name = format!("{kind}.{}", field.path);
        let is_refused = REFUSED.iter().any(|it| name.ends_with(it));
        let is_elsewhere = ELSEWHERE.iter().any(|it| name.ends_with(it.0));
        let effect = try_field(kind, &root, &field, &mut known);
        wrong.extend(match effect {
            Effect::Changes if is_refused || is_elsewhere => Some(format!("{name} has an effect")),
            Effect::Refuses(why) if !is_refused => {
                Some(format!("{name} needs a valid value: {why}"))
            }
            Effect::Nothing if !is_elsewhere => Some(format!("{name} is ignored in silence")),
            _ => None,
        });
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// What a field does.
enum Effect {
    /// Something rendered or planned differs, or a warning names the field.
    Changes,
    /// The value is an error.
    Refuses(String),
    Nothing,
}

fn try_field(
    kind: &'static str,
    root: &Value,
    field: &Field,
    known: &mut HashMap<String, Result<Outcome, String>>,
) -> Effect {
    let mut before = documents(kind);
    let document = before.get_mut(kind).expect("each kind has a base");
    let steps: Vec<&str> = field.path.split('.').collect();
    let name = format!("{kind}.{}", field.path);
    // What the field needs beside it.
    set_parents(document, root, root, &steps);
    for (_, beside, value) in BESIDE.iter().filter(|it| name.ends_with(it.0)) {
        let value = serde_json::from_str(value).expect("JSON");
        // Policies are at different places of Shoot and CloudProfile.
        let policies = steps.iter().position(|it| *it == "customNetworkPolicies[]");
        let policies = policies.map_or(String::new(), |it| steps[..=it].join("."));
        let beside = beside.replace("@policies", &policies);
        match beside.strip_prefix('/') {
            Some(path) => set(
                document,
                root,
                root,
                &path.split('.').collect::<Vec<_>>(),
                value,
            ),
            None => parent(document, root, root, &steps)[beside] = value,
        }
    }
    let had = get(document, &steps).cloned();
    let given = VALUES.iter().filter(|it| name.ends_with(it.0));
    let given = given.max_by_key(|it| it.0.len());
    let value = given.map_or_else(
        || generated(root, &field.schema, had.as_ref()),
        |it| serde_json::from_str(it.1).expect("JSON"),
    );
    if had.as_ref() == Some(&value) {
        return Effect::Refuses("has the value already".to_owned());
    }
    let mut after = before.clone();
    set(
        after.get_mut(kind).expect("it is there"),
        root,
        root,
        &steps,
        value,
    );
    let text = serde_json::to_string(&before).expect("JSON");
    let known = known.entry(text).or_insert_with(|| outcome(&before));
    let before = match known {
        Err(why) => return Effect::Refuses(format!("before: {why}")),
        Ok(before) => before,
    };
    let after = match outcome(&after) {
        Err(why) => return Effect::Refuses(why),
        Ok(after) => after,
    };
    // Rendering takes most of the time.
    let told = |it: &Outcome| (it.warnings.clone(), it.provider.clone());
    if told(before) != told(&after) || before.decided != after.decided {
        return Effect::Changes;
    }
    let before = before
        .rendered
        .get_or_insert_with(|| rendered(&before.shoot));
    match *before == rendered(&after.shoot) {
        true => Effect::Nothing,
        false => Effect::Changes,
    }
}

/// The documents that a field of this kind is added to. Only for bindings and their Secret, the Shoot names a binding.
fn documents(kind: &str) -> BTreeMap<&'static str, Value> {
    let read = |it: &(&'static str, &str)| (it.0, serde_yaml::from_str(it.1).expect("YAML"));
    let mut documents: BTreeMap<&str, Value> = BASES.iter().map(read).collect();
    if BASES.iter().any(|it| it.0 == kind) {
        return documents;
    }
    let (binding, field) = match kind {
        "CredentialsBinding" => (kind, "credentialsBindingName"),
        _ => ("SecretBinding", "secretBindingName"),
    };
    let needed = BINDINGS
        .iter()
        .filter(|it| [binding, "Secret"].contains(&it.0));
    documents.extend(needed.map(read));
    documents.get_mut("Shoot").expect("a base")["spec"][field] = json!("provider");
    documents
}

/// What documents mean.
struct Outcome {
    warnings: Vec<String>,
    /// The provider cluster that the documents select.
    provider: String,
    /// What is decided, as text.
    decided: String,
    shoot: ValidShoot,
    rendered: Option<String>,
}

fn outcome(documents: &BTreeMap<&str, Value>) -> Result<Outcome, String> {
    let files = documents.iter().map(|(kind, document)| {
        let text = serde_json::to_vec(document).expect("JSON");
        ((*kind).to_owned(), text)
    });
    let manifest = Manifest::parse(files);
    let provider = provider_credentials(&manifest);
    let provider = provider.first().map(|it| it.1.identity().to_string());
    let loaded = judge(manifest, &LoadContext::at(today()));
    let text = |it: &Problem| format!("{} {}", it.path, it.message);
    if let Some(problem) = loaded.manifest.problems().first() {
        return Err(text(problem));
    }
    let shoot = loaded.shoots.first().expect("there are no problems");
    Ok(Outcome {
        warnings: loaded.manifest.warnings().iter().map(text).collect(),
        provider: provider.unwrap_or_default(),
        decided: decided(shoot),
        shoot: shoot.clone(),
        rendered: None,
    })
}

/// The Shoot without the parts that are copied from the manifest as they are: these count only where they are rendered.
fn decided(shoot: &ValidShoot) -> String {
    let mut shoot = shoot.clone();
    shoot.manifest = read(SHOOT).0.into();
    shoot.profile = CloudProfile::nothing();
    for pool in &mut shoot.pools {
        pool.worker = WorkerConfig::default();
        pool.kubelet = None;
    }
    format!("{shoot:?}")
}

fn rendered(shoot: &ValidShoot) -> String {
    let facts = Facts {
        namespace: "provider".into(),
        expands_volumes: true,
        ..Facts::default()
    };
    let objects = first_apply(shoot, &facts);
    // The record holds the whole manifest.
    let is_record =
        |it: &&(_, Value)| it.1["kind"] == "ConfigMap" && it.1["metadata"]["name"] == shoot.id;
    let objects = objects
        .iter()
        .filter(|it| !is_record(it))
        .map(|(_, object)| {
            let mut object = object.clone();
            if let Some(notes) = object["metadata"]["annotations"].as_object_mut() {
                for key in [names::SPEC_HASH, names::SIZE_HASH, names::FIXED_HASH] {
                    notes.remove(key);
                }
            }
            object.to_string()
        });
    let text: Vec<String> = objects.collect();
    let mut text = text.join("\n");
    for pool in &shoot.pools {
        let hash = pool_hash(shoot, pool, &attachments(shoot, &facts), None);
        text = text
            .replace(&hash.short(), "hash")
            .replace(&hash.to_string(), "hash");
    }
    text
}

fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let mut schema = schema;
    loop {
        if let Some(reference) = schema["$ref"].as_str() {
            schema = root
                .pointer(reference.trim_start_matches('#'))
                .expect("defined");
            continue;
        }
        let alternatives = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
        let structs = alternatives.and_then(|all| {
            let mut scalars = all
                .iter()
                .filter(|it| ["string", "boolean"].iter().any(|name| is_type(it, name)));
            // A mapping in place of a scalar is another notation of the same field.
            scalars
                .next()
                .or(all.iter().find(|it| it["type"] != "null"))
        });
        match structs {
            Some(found) => schema = found,
            None => return schema,
        }
    }
}

fn is_type(schema: &Value, name: &str) -> bool {
    schema["type"] == name
        || schema["type"]
            .as_array()
            .is_some_and(|it| it.contains(&json!(name)))
}

/// Collects leaves: scalars, maps, lists of scalars, and fields without effect.
fn collect(root: &Value, schema: &Value, path: String, fields: &mut Vec<Field>) {
    if schema.get("x-ignored").is_some() {
        return;
    }
    let inner = resolved(root, schema);
    let unused = schema.get("x-unused").is_some() || is_without_effect(schema);
    if let Some(properties) = inner["properties"]
        .as_object()
        .filter(|it| !unused && !it.is_empty())
    {
        for (name, property) in properties {
            let path = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}.{name}")
            };
            collect(root, property, path, fields);
        }
        return;
    }
    if is_type(inner, "array") {
        let item = resolved(root, &inner["items"]);
        if item["properties"].is_object() {
            return collect(root, item, format!("{path}[]"), fields);
        }
    }
    // A constant has no other value.
    if inner["enum"].as_array().is_none_or(|it| it.len() > 1) {
        fields.push(Field {
            path,
            schema: inner.clone(),
        });
    }
}

/// Such a field gets a warning of its own, whatever is below it.
fn is_without_effect(schema: &Value) -> bool {
    let description = schema["description"].as_str();
    description.is_some_and(|it| it.starts_with("No effect: "))
}

/// Another valid value of a type, as far as it follows from the type.
fn generated(root: &Value, schema: &Value, had: Option<&Value>) -> Value {
    let schema = resolved(root, schema);
    if schema.get("x-unused").is_some() {
        return json!({ "a": "b" });
    }
    match schema["format"].as_str() {
        Some("quantity") if had == Some(&json!("7Gi")) => return json!("8Gi"),
        Some("quantity") => return json!("7Gi"),
        Some("duration") => return json!("7m"),
        _ => {}
    }
    if is_type(schema, "boolean") {
        return json!(had != Some(&json!(true)));
    }
    if is_type(schema, "integer") || is_type(schema, "number") {
        return json!(had.and_then(Value::as_i64).unwrap_or(1) + 1);
    }
    if is_type(schema, "array") {
        return json!([generated(root, &schema["items"], None)]);
    }
    if is_type(schema, "object") {
        let below = schema["additionalProperties"].clone();
        return match below.is_object() {
            true => json!({ "example.org": generated(root, &below, None) }),
            false => json!({}),
        };
    }
    match schema["enum"].as_array() {
        Some(words) => words[0].clone(),
        None if had == Some(&json!("example")) => json!("another"),
        None => json!("example"),
    }
}

/// A struct with its required fields.
fn minimal(root: &Value, schema: &Value) -> Value {
    let schema = resolved(root, schema);
    let mut fields = Map::new();
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().expect("a name");
        let property = resolved(root, &schema["properties"][name]);
        let value = match property["properties"].is_object() {
            true => minimal(root, property),
            false => generated(root, property, None),
        };
        fields.insert(name.to_owned(), value);
    }
    Value::Object(fields)
}

/// Splits `name[]` into the name and whether items of a list follow.
fn split(step: &str) -> (&str, bool) {
    step.strip_suffix("[]")
        .map_or((step, false), |name| (name, true))
}

fn get<'d>(document: &'d Value, steps: &[&str]) -> Option<&'d Value> {
    steps.iter().try_fold(document, |at, step| {
        let (name, is_list) = split(step);
        let below = at.get(name)?;
        if is_list { below.get(0) } else { Some(below) }
    })
}

fn set_parents(document: &mut Value, root: &Value, schema: &Value, steps: &[&str]) {
    parent(document, root, schema, steps);
}

fn set(document: &mut Value, root: &Value, schema: &Value, steps: &[&str], value: Value) {
    let last = split(steps[steps.len() - 1]).0.to_owned();
    parent(document, root, schema, steps)[last] = value;
}

/// The mapping that holds the last step; mappings and lists on the way are made.
fn parent<'d>(
    document: &'d mut Value,
    root: &Value,
    schema: &Value,
    steps: &[&str],
) -> &'d mut Value {
    let [step, below @ ..] = steps else {
        unreachable!("a path has steps")
    };
    if below.is_empty() {
        return document;
    }
    let (name, is_list) = split(step);
    let schema = resolved(root, schema);
    let mut inner = resolved(root, &schema["properties"][name]);
    if document.get(name).is_none_or(Value::is_null) {
        document[name] = if is_list {
            json!([])
        } else {
            minimal(root, inner)
        };
    }
    let mut at = &mut document[name];
    if is_list {
        inner = resolved(root, &inner["items"]);
        let items = at.as_array_mut().expect("a list");
        if items.is_empty() {
            items.push(minimal(root, inner));
        }
        at = &mut items[0];
    }
    parent(at, root, inner, below)
}
