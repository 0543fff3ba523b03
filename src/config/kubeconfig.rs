//! A person's kubeconfig as text: what kvshoot puts into it, and takes out again. All else in it stays.

use serde_yaml::{Mapping, Value};

/// The shoot that entries are of; it stands beside them, so that others' entries are told from them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntryOwner {
    /// The technical ID.
    pub(crate) shoot: String,
    pub(crate) namespace: String,
    /// API server of the provider cluster.
    pub(crate) server: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum KubeconfigError {
    #[error("it is no kubeconfig: {0}")]
    Malformed(String),
    #[error("{kind} {name} is there already, and not of this shoot")]
    Taken { kind: &'static str, name: String },
}

/// Lists of a kubeconfig: the list, the field in which an entry has its content, and what an entry is called.
const LISTS: [(&str, &str, &str); 3] = [
    ("clusters", "cluster", "cluster"),
    ("users", "user", "user"),
    ("contexts", "context", "context"),
];
/// Name of the extension that [`Mark`] stands in.
const EXTENSION: &str = "kvshoot.io";
const CURRENT: &str = "current-context";

/// Puts the entries of `addition` into a kubeconfig. Those that are there of the same shoot are renewed, and keep what
/// others wrote to them.
pub(crate) fn merge(
    text: &str,
    addition: &serde_json::Value,
    mark: &EntryOwner,
    switch: bool,
) -> Result<String, KubeconfigError> {
    let mut whole = parse(text)?;
    let addition = serde_yaml::to_value(addition).expect("JSON is YAML");
    for (list, field, kind) in LISTS {
        let entries = entries(&mut whole, list)?;
        for new in addition[list].as_sequence().into_iter().flatten() {
            let name = new["name"].as_str().unwrap_or_default();
            let there = entries.iter_mut().find(|it| it["name"] == *name);
            let entry = match there {
                Some(entry) if mark.is_on(&entry[field]) => entry,
                Some(_) => {
                    let name = name.to_owned();
                    return Err(KubeconfigError::Taken { kind, name });
                }
                None => {
                    let mut entry = Mapping::new();
                    entry.insert("name".into(), name.into());
                    entry.insert(field.into(), Mapping::new().into());
                    entries.push(entry.into());
                    entries.last_mut().expect("it was just put there")
                }
            };
            let content = &mut entry[field];
            for (key, value) in new[field].as_mapping().into_iter().flatten() {
                content[key] = value.clone();
            }
            mark.put_on(content);
        }
    }
    if switch {
        whole.insert(CURRENT.into(), addition[CURRENT].clone());
    }
    Ok(written(&whole))
}

/// Takes out what [`merge`] put there for a shoot; in any namespace when none is given. None when there is nothing.
pub(crate) fn remove(
    text: &str,
    shoot: &str,
    namespace: Option<&str>,
) -> Result<Option<String>, KubeconfigError> {
    let mut whole = parse(text)?;
    let is_of =
        |mark: &EntryOwner| mark.shoot == shoot && namespace.is_none_or(|it| it == mark.namespace);
    let mut gone = Vec::new();
    let mut any = false;
    for (list, field, _) in LISTS {
        let entries = entries(&mut whole, list)?;
        entries.retain(|entry| {
            let is_ours = EntryOwner::of(&entry[field]).is_some_and(|it| is_of(&it));
            any |= is_ours;
            if is_ours && list == "contexts" {
                gone.push(entry["name"].clone());
            }
            !is_ours
        });
    }
    if gone.contains(whole.get(CURRENT).unwrap_or(&Value::Null)) {
        whole.insert(CURRENT.into(), "".into());
    }
    Ok(any.then(|| written(&whole)))
}

/// Whether there is a context of this name.
pub(crate) fn has_context(text: &str, name: &str) -> bool {
    let whole = parse(text).unwrap_or_default();
    let contexts = whole.get("contexts").and_then(Value::as_sequence);
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

    fn is_on(&self, content: &Value) -> bool {
        EntryOwner::of(content).is_some_and(|it| it == *self)
    }

    fn put_on(&self, content: &mut Value) {
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

/// An empty file is a kubeconfig without entries.
fn parse(text: &str) -> Result<Mapping, KubeconfigError> {
    // The parser's own words show the lines around, and with them what is secret.
    let whole = serde_yaml::from_str(text).map_err(|it| {
        KubeconfigError::Malformed(it.location().map_or_else(
            || "not YAML".to_owned(),
            |it| format!("no YAML in line {}", it.line()),
        ))
    })?;
    match whole {
        Value::Mapping(whole) => Ok(whole),
        Value::Null => {
            let mut whole = Mapping::new();
            whole.insert("apiVersion".into(), "v1".into());
            whole.insert("kind".into(), "Config".into());
            Ok(whole)
        }
        _ => Err(KubeconfigError::Malformed("no mapping".to_owned())),
    }
}

fn entries<'a>(whole: &'a mut Mapping, list: &str) -> Result<&'a mut Vec<Value>, KubeconfigError> {
    let entries = whole.entry(list.into()).or_insert(Value::Null);
    if entries.is_null() {
        *entries = Value::Sequence(Vec::new());
    }
    entries
        .as_sequence_mut()
        .ok_or_else(|| KubeconfigError::Malformed(format!("{list} is no list")))
}

fn written(whole: &Mapping) -> String {
    serde_yaml::to_string(whole).expect("what was read can be written")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn mark() -> EntryOwner {
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
    fn what_is_merged_and_removed_again_leaves_all_as_it_was() {
        let merged = merge(OTHERS, &addition("https://a"), &mark(), false).unwrap();
        let it = value(&merged);
        assert_eq!(it["current-context"], *"prod");
        assert_eq!(it["x-own"], *"kept");
        assert_eq!(it["clusters"][0]["cluster"]["x-more"], 1);
        assert_eq!(it["clusters"][1]["cluster"]["server"], *"https://a");
        let removed = remove(&merged, "shoot--local--dev", Some("shoots")).unwrap();
        assert_eq!(value(&removed.unwrap()), value(OTHERS));
    }

    #[test]
    fn a_second_merge_renews_and_keeps_what_others_wrote() {
        let first = merge("", &addition("https://a"), &mark(), true).unwrap();
        assert!(has_context(&first, "dev"));
        let mut edited = value(&first);
        edited["contexts"][0]["context"]["namespace"] = "mine".into();
        let edited = serde_yaml::to_string(&edited).unwrap();
        let second = value(&merge(&edited, &addition("https://b"), &mark(), false).unwrap());
        assert_eq!(second["clusters"].as_sequence().unwrap().len(), 1);
        assert_eq!(second["clusters"][0]["cluster"]["server"], *"https://b");
        assert_eq!(second["contexts"][0]["context"]["namespace"], *"mine");
        let extensions = second["contexts"][0]["context"]["extensions"].clone();
        assert_eq!(extensions.as_sequence().unwrap().len(), 1);
        assert_eq!(second["current-context"], *"dev");
    }

    #[test]
    fn entries_of_others_are_neither_taken_nor_removed() {
        let others = OTHERS.replace("prod", "dev");
        let error = merge(&others, &addition("https://a"), &mark(), false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cluster dev is there already, and not of this shoot"
        );
        assert_eq!(remove(&others, "shoot--local--dev", None).unwrap(), None);
        let elsewhere = EntryOwner {
            server: "https://other".to_owned(),
            ..mark()
        };
        let merged = merge("", &addition("https://a"), &elsewhere, false).unwrap();
        assert!(merge(&merged, &addition("https://a"), &mark(), false).is_err());
    }

    #[test]
    fn no_context_is_current_that_is_gone() {
        let merged = merge("", &addition("https://a"), &mark(), true).unwrap();
        let removed = remove(&merged, "shoot--local--dev", None).unwrap().unwrap();
        assert_eq!(value(&removed)["current-context"], *"");
        assert_eq!(remove(&removed, "shoot--local--dev", None).unwrap(), None);
    }

    #[test]
    fn what_is_no_kubeconfig_is_told_without_what_is_in_it() {
        let error = merge("token: [secret\n", &addition("a"), &mark(), false).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
        assert!(merge("- a\n", &addition("a"), &mark(), false).is_err());
        assert!(merge("clusters: 1\n", &addition("a"), &mark(), false).is_err());
    }
}
