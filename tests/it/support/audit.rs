//! Writes of kvshoot to its shoots, read from the audit logs of their API servers.

use super::provider::Provider;
use serde_json::Value;

/// A write that the API server has answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AuditedWrite {
    pub(crate) verb: String,
    pub(crate) resource: String,
    pub(crate) name: String,
}

/// Returns the writes of kvshoot so far, to all shoots of a namespace.
pub(crate) fn writes(provider: &Provider) -> Vec<AuditedWrite> {
    let prefix = format!("{}_", provider.namespace);
    let is_audit_log =
        |name: &str| name.starts_with(&prefix) && name.ends_with("_kube-apiserver.log");
    let Ok(entries) = std::fs::read_dir(provider.pod_logs()) else {
        return Vec::new();
    };
    entries
        .map(|entry| entry.unwrap())
        .filter(|entry| is_audit_log(&entry.file_name().to_string_lossy()))
        .flat_map(|entry| {
            let log = std::fs::read(entry.path()).unwrap();
            let log = String::from_utf8_lossy(&log);
            log.lines().filter_map(parse).collect::<Vec<_>>()
        })
        .collect()
}

fn parse(line: &str) -> Option<AuditedWrite> {
    if !line.contains(r#""username":"kvshoot""#) {
        return None;
    }
    // The last line may be incomplete.
    let event: Value = serde_json::from_str(line).ok()?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let verb = text(&event["verb"]);
    let is_read = matches!(&*verb, "get" | "list" | "watch");
    let resource = text(&event["objectRef"]["resource"]);
    let is_access_review = event["objectRef"]["apiGroup"] == "authorization.k8s.io";
    (!is_read && !is_access_review).then(|| AuditedWrite {
        verb,
        resource,
        name: text(&event["objectRef"]["name"]),
    })
}
