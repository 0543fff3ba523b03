//! What kvshoot wrote into its shoots, as their own API servers tell it in their audit logs.

use super::provider::Provider;
use serde_json::Value;

/// One write that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AuditedWrite {
    pub(crate) verb: String,
    pub(crate) resource: String,
    pub(crate) name: String,
}

/// All writes of kvshoot so far, to the shoots of a namespace.
pub(crate) fn writes(provider: &Provider) -> Vec<AuditedWrite> {
    let start = format!("{}_", provider.namespace);
    let Ok(logs) = std::fs::read_dir(provider.pod_logs()) else {
        return Vec::new();
    };
    let logs = logs.map(|it| it.unwrap()).filter(|it| {
        let name = it.file_name().into_string().unwrap();
        name.starts_with(&start) && name.ends_with("_kube-apiserver.log")
    });
    let logs =
        logs.map(|it| String::from_utf8_lossy(&std::fs::read(it.path()).unwrap()).into_owned());
    logs.flat_map(|it| it.lines().filter_map(read).collect::<Vec<_>>())
        .collect()
}

fn read(line: &str) -> Option<AuditedWrite> {
    if !line.contains(r#""username":"kvshoot""#) {
        return None;
    }
    // The last line may still be on its way.
    let event: Value = serde_json::from_str(line).ok()?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let verb = text(&event["verb"]);
    let is_read = matches!(&*verb, "get" | "list" | "watch");
    let resource = text(&event["objectRef"]["resource"]);
    let is_question = event["objectRef"]["apiGroup"] == "authorization.k8s.io";
    (!is_read && !is_question).then(|| AuditedWrite {
        verb,
        resource,
        name: text(&event["objectRef"]["name"]),
    })
}
