//! One cause of an unhealthy shoot.

use crate::cluster::{Cause, CauseChain};
use serde::Serialize;
use std::fmt;

/// One cause of an unhealthy shoot.
#[derive(Debug, Clone)]
pub(crate) struct RootCause {
    pub(crate) chain: CauseChain,
    /// Advice, if it is certain.
    pub(crate) hint: Option<String>,
}

/// A root cause as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RootCauseJson<'a> {
    /// From the symptom to the root cause.
    chain: Vec<ObjectJson<'a>>,
    message: &'a str,
    /// The last log lines of a crashed container.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    log: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

#[derive(Serialize)]
struct ObjectJson<'a> {
    kind: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    state: &'a str,
}

impl ObjectJson<'_> {
    fn of(link: &Cause) -> ObjectJson<'_> {
        ObjectJson {
            kind: &link.kind,
            name: &link.name,
            state: &link.state,
        }
    }
}

impl fmt::Display for RootCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chain.fmt(f)
    }
}

impl Serialize for RootCause {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = RootCauseJson {
            chain: self.chain.causes.iter().map(ObjectJson::of).collect(),
            message: &self.chain.message,
            log: &self.chain.log,
            hint: self.hint.as_deref(),
        };
        json.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_each_object_down_to_the_root_cause() {
        let pod = Cause::new("Pod", "etcd-0", "CrashLoopBackOff");
        let chain =
            CauseChain::new(pod, "exit code 1").under(Cause::new("StatefulSet", "etcd", ""));
        let cause = RootCause {
            chain,
            hint: Some("read the log".to_owned()),
        };
        let expected = serde_json::json!({
            "chain": [
                { "kind": "StatefulSet", "name": "etcd" },
                { "kind": "Pod", "name": "etcd-0", "state": "CrashLoopBackOff" },
            ],
            "message": "exit code 1",
            "hint": "read the log",
        });
        assert_eq!(serde_json::to_value(&cause).unwrap(), expected);
        assert_eq!(
            cause.to_string(),
            "StatefulSet etcd: Pod etcd-0 CrashLoopBackOff: exit code 1"
        );
    }
}
