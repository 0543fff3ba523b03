//! Takes what is secret out of objects, by the names of their fields. Pure.

use super::super::project::text;
use super::redact::Redactor;
use serde_json::{Map, Value};

/// What is called so is secret, whatever it looks like.
pub(super) const NAMES: &str = r"(?i)(passwor[dt]|passwd|passphrase|token$|secret$|credential|api[_-]?key|access[_-]?key|private[_-]?key|^auth$|dockerconfig)";
/// Fields that hold what a machine is told when it boots.
const USER_DATA: [&str; 6] = [
    "userData",
    "userDataBase64",
    "networkData",
    "networkDataBase64",
    "user-data",
    "userdata",
];
/// Says again what stands in the object, secrets too.
const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Whose ConfigMaps serve the cluster, and not its users.
const SYSTEM: [&str; 3] = ["kube-system", "kube-public", "kube-node-lease"];
/// Where Secrets and ConfigMaps have what they hold.
const DATA: [&str; 3] = ["data", "stringData", "binaryData"];
/// What an entry of an audit log has of an object.
const AUDITED: [&str; 2] = ["requestObject", "responseObject"];

impl Redactor {
    /// The object without what is secret in it, and without what only programs read.
    pub(crate) fn object(&self, value: &mut Value) {
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        self.value(value);
    }

    pub(super) fn value(&self, value: &mut Value) {
        match value {
            Value::String(it) => *it = self.text(it),
            Value::Array(items) => items.iter_mut().for_each(|it| self.value(it)),
            Value::Object(fields) => self.fields(fields),
            _ => {}
        }
    }

    fn fields(&self, fields: &mut Map<String, Value>) {
        let is_named_value = fields.get("value").is_some_and(Value::is_string);
        let name = fields.get("name").and_then(Value::as_str);
        if is_named_value && name.is_some_and(|it| self.names.is_match(it)) {
            fields["value"] = length(&fields["value"]);
        }
        without_data(fields);
        without_audited(fields);
        for (key, it) in fields {
            let is_secret =
                USER_DATA.contains(&key.as_str()) || key == APPLIED || self.names.is_match(key);
            match it {
                Value::String(_) if is_secret => *it = length(it),
                _ => self.value(it),
            }
        }
    }
}

/// What users keep is nobody else's business: names and lengths will do.
fn without_data(fields: &mut Map<String, Value>) {
    let kind = fields.get("kind").and_then(Value::as_str);
    let is_users = match kind {
        Some("Secret") => true,
        Some("ConfigMap") => fields
            .get("metadata")
            .is_some_and(|it| is_users(&it["namespace"])),
        _ => false,
    };
    if is_users {
        lengths(fields);
    }
}

/// The same of what is told of a request: a patch does not say what kind of object it is of.
fn without_audited(fields: &mut Map<String, Value>) {
    let Some(about) = fields.get("objectRef") else {
        return;
    };
    let is_users = match text(&about["resource"]) {
        "secrets" => true,
        "configmaps" => is_users(&about["namespace"]),
        _ => false,
    };
    for object in AUDITED {
        if is_users && let Some(object) = fields.get_mut(object) {
            *object = "<left out>".into();
        }
    }
}

/// Whether a ConfigMap in this namespace of a shoot is not Kubernetes' own.
pub(super) fn is_users(namespace: &Value) -> bool {
    namespace.as_str().is_some_and(|it| !SYSTEM.contains(&it))
}

/// Keeps names and lengths of what a Secret or ConfigMap holds.
pub(super) fn lengths(fields: &mut Map<String, Value>) {
    for field in DATA {
        let data = fields.get_mut(field).and_then(Value::as_object_mut);
        for (_, it) in data.into_iter().flatten() {
            *it = length(it);
        }
    }
}

/// What is left of a text that may not be shown; what is so already stays.
pub(super) fn length(value: &Value) -> Value {
    let text = text(value);
    match text.starts_with('<') && text.ends_with(" bytes>") {
        true => text.into(),
        false => format!("<{} bytes>", text.len()).into(),
    }
}
