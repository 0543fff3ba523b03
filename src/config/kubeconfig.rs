//! Merges kvshoot's entries into a user's kubeconfig and removes them. Other entries are preserved.

use super::yaml_comments::with_comments;
use crate::model::read_yaml;
use serde_yaml::{Mapping, Value};

/// Owner of kubeconfig entries, stored as an extension of each entry to distinguish them from foreign ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntryOwner {
    /// Technical ID of the shoot.
    pub(crate) shoot: String,
    pub(crate) namespace: String,
    /// URL of the provider cluster's API server.
    pub(crate) server: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum KubeconfigError {
    #[error("not a valid kubeconfig: {0}")]
    Malformed(String),
    #[error("{kind} \"{name}\" already exists and does not belong to this shoot")]
    Taken { kind: &'static str, name: String },
}

/// Lists of a kubeconfig: name of the list, field with the content of an entry, and kind of an entry.
const LISTS: [(&str, &str, &str); 3] = [
    ("clusters", "cluster", "cluster"),
    ("users", "user", "user"),
    ("contexts", "context", "context"),
];
/// Name of the extension that holds [`EntryOwner`].
const EXTENSION: &str = "kvshoot.io";
const CURRENT: &str = "current-context";

/// Merges the entries of `addition` into a kubeconfig.
///
/// Existing entries of the same shoot are updated; fields that others added to them are kept, and so are comments.
/// `switch` also sets the current context.
///
/// # Errors
///
/// [`KubeconfigError::Taken`] if an entry of that name has another owner.
pub(crate) fn merge(
    text: &str,
    addition: &serde_json::Value,
    owner: &EntryOwner,
    switch: bool,
) -> Result<String, KubeconfigError> {
    let mut kubeconfig = parse(text)?;
    let addition = serde_yaml::to_value(addition).expect("JSON is YAML");
    for (list, field, kind) in LISTS {
        let entries = entries(&mut kubeconfig, list)?;
        for new in addition[list].as_sequence().into_iter().flatten() {
            let name = new["name"].as_str().unwrap_or_default();
            let existing = entries.iter_mut().find(|entry| entry["name"] == *name);
            let entry = match existing {
                Some(entry) if owner.owns(&entry[field]) => entry,
                Some(_) => {
                    let name = name.to_owned();
                    return Err(KubeconfigError::Taken { kind, name });
                }
                None => {
                    let mut entry = Mapping::new();
                    entry.insert("name".into(), name.into());
                    entry.insert(field.into(), Mapping::new().into());
                    entries.push(entry.into());
                    entries.last_mut().expect("an entry was just added")
                }
            };
            let content = &mut entry[field];
            for (key, value) in new[field].as_mapping().into_iter().flatten() {
                content[key] = value.clone();
            }
            owner.write_to(content);
        }
    }
    if switch {
        kubeconfig.insert(CURRENT.into(), addition[CURRENT].clone());
    }
    Ok(with_comments(text, serialize(&kubeconfig)))
}

/// Removes the entries that [`merge`] added for a shoot, in `namespace` or in all namespaces.
///
/// Returns none if the kubeconfig has no such entries.
pub(crate) fn remove(
    text: &str,
    shoot: &str,
    namespace: Option<&str>,
) -> Result<Option<String>, KubeconfigError> {
    let mut kubeconfig = parse(text)?;
    let is_of = |owner: &EntryOwner| {
        owner.shoot == shoot && namespace.is_none_or(|it| it == owner.namespace)
    };
    let mut removed_contexts = Vec::new();
    let mut changed = false;
    for (list, field, _) in LISTS {
        let entries = entries(&mut kubeconfig, list)?;
        entries.retain(|entry| {
            let is_ours = EntryOwner::of(&entry[field]).is_some_and(|it| is_of(&it));
            changed |= is_ours;
            if is_ours && list == "contexts" {
                removed_contexts.push(entry["name"].clone());
            }
            !is_ours
        });
    }
    if removed_contexts.contains(kubeconfig.get(CURRENT).unwrap_or(&Value::Null)) {
        kubeconfig.insert(CURRENT.into(), "".into());
    }
    Ok(changed.then(|| with_comments(text, serialize(&kubeconfig))))
}

/// True if the kubeconfig has a context with this name.
pub(crate) fn has_context(text: &str, name: &str) -> bool {
    let kubeconfig = parse(text).unwrap_or_default();
    let contexts = kubeconfig.get("contexts").and_then(Value::as_sequence);
    contexts.is_some_and(|it| it.iter().any(|it| it["name"] == *name))
}

impl EntryOwner {
    fn of(content: &Value) -> Option<EntryOwner> {
        let extensions = content.get("extensions")?.as_sequence()?;
        let ours = extensions.iter().find(|it| it["name"] == *EXTENSION)?;
        let word = |key: &str| Some(ours.get("extension")?.get(key)?.as_str()?.to_owned());
        Some(EntryOwner {
            shoot: word("shoot")?,
            namespace: word("namespace")?,
            server: word("server")?,
        })
    }

    fn owns(&self, content: &Value) -> bool {
        EntryOwner::of(content).is_some_and(|it| it == *self)
    }

    fn write_to(&self, content: &mut Value) {
        let mut ours = Mapping::new();
        let words = [
            ("shoot", &self.shoot),
            ("namespace", &self.namespace),
            ("server", &self.server),
        ];
        for (key, word) in words {
            ours.insert(key.into(), word.as_str().into());
        }
        let mut extension = Mapping::new();
        extension.insert("name".into(), EXTENSION.into());
        extension.insert("extension".into(), ours.into());
        let mut extensions = match content.get("extensions") {
            Some(Value::Sequence(all)) => all.clone(),
            _ => Vec::new(),
        };
        extensions.retain(|it| it["name"] != *EXTENSION);
        extensions.push(extension.into());
        content["extensions"] = extensions.into();
    }
}

/// Parses a kubeconfig; an empty file has no entries.
fn parse(text: &str) -> Result<Mapping, KubeconfigError> {
    let kubeconfig = read_yaml(text);
    let kubeconfig = kubeconfig.map_err(|it| KubeconfigError::Malformed(it.to_string()))?;
    match kubeconfig {
        Value::Mapping(kubeconfig) => Ok(kubeconfig),
        Value::Null => {
            let mut kubeconfig = Mapping::new();
            kubeconfig.insert("apiVersion".into(), "v1".into());
            kubeconfig.insert("kind".into(), "Config".into());
            Ok(kubeconfig)
        }
        _ => Err(KubeconfigError::Malformed("not a mapping".to_owned())),
    }
}

fn entries<'a>(
    kubeconfig: &'a mut Mapping,
    list: &str,
) -> Result<&'a mut Vec<Value>, KubeconfigError> {
    let entries = kubeconfig.entry(list.into()).or_insert(Value::Null);
    if entries.is_null() {
        *entries = Value::Sequence(Vec::new());
    }
    entries
        .as_sequence_mut()
        .ok_or_else(|| KubeconfigError::Malformed(format!("{list} is not a list")))
}

fn serialize(kubeconfig: &Mapping) -> String {
    serde_yaml::to_string(kubeconfig).expect("a parsed mapping can be serialized")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn owner() -> EntryOwner {
        EntryOwner {
            shoot: "shoot--local--dev".to_owned(),
            namespace: "shoots".to_owned(),
            server: "https://provider:6443".to_owned(),
        }
    }

    fn addition(server: &str) -> serde_json::Value {
        json!({
            "clusters": [{ "name": "dev", "cluster": { "server": server } }],
            "users": [{ "name": "dev", "user": { "client-key-data": "a2V5" } }],
            "contexts": [{ "name": "dev", "context": { "cluster": "dev", "user": "dev" } }],
            "current-context": "dev",
        })
    }

    const OTHERS: &str = "\
apiVersion: v1
kind: Config
preferences: {colors: true}
x-own: kept
current-context: prod
clusters:
- name: prod
  cluster: {server: https://prod, x-more: 1}
contexts:
- name: prod
  context: {cluster: prod, user: prod}
users:
- name: prod
  user: {token: t}
";

    fn value(text: &str) -> Value {
        serde_yaml::from_str(text).unwrap()
    }

    #[test]
    fn removing_merged_entries_restores_the_kubeconfig() {
        let merged = merge(OTHERS, &addition("https://a"), &owner(), false).unwrap();
        let it = value(&merged);
        assert_eq!(it["current-context"], *"prod");
        assert_eq!(it["x-own"], *"kept");
        assert_eq!(it["clusters"][0]["cluster"]["x-more"], 1);
        assert_eq!(it["clusters"][1]["cluster"]["server"], *"https://a");
        let removed = remove(&merged, "shoot--local--dev", Some("shoots")).unwrap();
        assert_eq!(value(&removed.unwrap()), value(OTHERS));
    }

    #[test]
    fn a_second_merge_updates_entries_and_keeps_foreign_fields() {
        let first = merge("", &addition("https://a"), &owner(), true).unwrap();
        assert!(has_context(&first, "dev"));
        let mut edited = value(&first);
        edited["contexts"][0]["context"]["namespace"] = "mine".into();
        let edited = serde_yaml::to_string(&edited).unwrap();
        let second = value(&merge(&edited, &addition("https://b"), &owner(), false).unwrap());
        assert_eq!(second["clusters"].as_sequence().unwrap().len(), 1);
        assert_eq!(second["clusters"][0]["cluster"]["server"], *"https://b");
        assert_eq!(second["contexts"][0]["context"]["namespace"], *"mine");
        let extensions = second["contexts"][0]["context"]["extensions"].clone();
        assert_eq!(extensions.as_sequence().unwrap().len(), 1);
        assert_eq!(second["current-context"], *"dev");
    }

    #[test]
    fn foreign_entries_are_neither_overwritten_nor_removed() {
        let others = OTHERS.replace("prod", "dev");
        let error = merge(&others, &addition("https://a"), &owner(), false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cluster \"dev\" already exists and does not belong to this shoot"
        );
        assert_eq!(remove(&others, "shoot--local--dev", None).unwrap(), None);
        let elsewhere = EntryOwner {
            server: "https://other".to_owned(),
            ..owner()
        };
        let merged = merge("", &addition("https://a"), &elsewhere, false).unwrap();
        assert!(merge(&merged, &addition("https://a"), &owner(), false).is_err());
    }

    #[test]
    fn removing_the_current_context_clears_it() {
        let merged = merge("", &addition("https://a"), &owner(), true).unwrap();
        let removed = remove(&merged, "shoot--local--dev", None).unwrap().unwrap();
        assert_eq!(value(&removed)["current-context"], *"");
        assert_eq!(remove(&removed, "shoot--local--dev", None).unwrap(), None);
    }

    #[test]
    fn errors_for_invalid_kubeconfigs_do_not_quote_them() {
        let error = merge("token: [secret\n", &addition("a"), &owner(), false).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
        assert!(merge("- a\n", &addition("a"), &owner(), false).is_err());
        assert!(merge("clusters: 1\n", &addition("a"), &owner(), false).is_err());
    }
}
