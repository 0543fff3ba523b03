//! Kubeconfigs in manifests, as far as they can be judged without connecting. Nothing of their content is shown.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::manifest::{Problem, read_value};
use crate::model::{FieldPath, FindingKind};

/// Credentials that run a program or read a local file, with the name of what they use.
const LOCAL: [(&str, &str); 5] = [
    ("exec", "an exec plugin"),
    ("auth-provider", "an auth-provider plugin"),
    ("tokenFile", "a local file in tokenFile"),
    ("client-certificate", "a local file in client-certificate"),
    ("client-key", "a local file in client-key"),
];

/// The most bytes of a kubeconfig.
const MAX_BYTES: usize = 1 << 20;

/// Values in base64, by the list that they are in.
const ENCODED: [(&str, &str); 3] = [
    ("cluster", "certificate-authority-data"),
    ("user", "client-certificate-data"),
    ("user", "client-key-data"),
];

/// The first reason why clients would reject a kubeconfig.
///
/// Plugins and local files are forbidden for all users, not only the current one, unless `allow_exec`.
pub(super) fn problem(
    text: &str,
    path: FieldPath,
    code: &'static str,
    allow_exec: bool,
) -> Option<Problem> {
    let invalid = |why: String| Problem::new(path.clone(), FindingKind::Invalid, code, why);
    if text.len() > MAX_BYTES {
        return Some(invalid(format!(
            "kubeconfig must be at most {MAX_BYTES} bytes"
        )));
    }
    let config = read_value(text, MAX_BYTES);
    let Some(config) = config.filter(|it| it["clusters"].is_array()) else {
        return Some(invalid("is not a kubeconfig".to_owned()));
    };
    let authority = entries(&config, "clusters", "cluster");
    let authority = authority.filter(|it| !it["certificate-authority"].is_null());
    let authority = authority
        .map(|_| "a local file in certificate-authority")
        .next();
    let forbidden = entries(&config, "users", "user").find_map(uses_local);
    let forbidden = forbidden.or(authority);
    if let Some(what) = forbidden.filter(|_| !allow_exec) {
        let message = format!("kubeconfig must not use {what}");
        let hint = "use a token or client-certificate-data; --allow-exec allows it for manifests that you trust";
        let problem = Problem::new(path.clone(), FindingKind::Forbidden, code, message);
        return Some(problem.hint(Some(hint)));
    }
    current(&config)
        .or_else(|| broken_data(&config))
        .map(invalid)
}

/// The objects of a list of named entries.
fn entries<'c>(
    config: &'c Value,
    list: &str,
    field: &'c str,
) -> impl Iterator<Item = &'c Value> + use<'c> {
    let all = config[list].as_array().map_or(&[][..], Vec::as_slice);
    all.iter().map(move |it| &it[field])
}

fn uses_local(user: &Value) -> Option<&'static str> {
    let used = |field: &str| user.get(field).is_some_and(|it| !it.is_null());
    LOCAL.iter().find(|it| used(it.0)).map(|it| it.1)
}

/// Follows the current context to its cluster and user.
fn current(config: &Value) -> Option<String> {
    let named = |list: &str, field: &str, name: &Value| {
        let all = config[list].as_array().map_or(&[][..], Vec::as_slice);
        let found = all.iter().find(|it| it["name"] == *name);
        found.map(|it| it[field].clone())
    };
    let Some(name) = config.get("current-context").filter(|it| it.is_string()) else {
        return Some("kubeconfig has no current-context".to_owned());
    };
    let Some(context) = named("contexts", "context", name) else {
        return Some("current-context of the kubeconfig is not in contexts".to_owned());
    };
    let Some(cluster) = named("clusters", "cluster", &context["cluster"]) else {
        return Some("cluster of the current context is not in clusters".to_owned());
    };
    let user = &context["user"];
    let has_user =
        user.as_str().is_none_or(str::is_empty) || named("users", "user", user).is_some();
    if !has_user {
        return Some("user of the current context is not in users".to_owned());
    }
    let server = cluster["server"].as_str().unwrap_or_default();
    let is_url = ["https://", "http://"].iter().any(|it| {
        let rest = server.strip_prefix(it);
        rest.is_some_and(|it| !it.is_empty() && !it.contains(char::is_whitespace))
    });
    (!is_url).then(|| "server of the current cluster is not an HTTP URL".to_owned())
}

fn broken_data(config: &Value) -> Option<String> {
    let broken = |(field, data): &(&'static str, &'static str)| {
        let list = format!("{field}s");
        let mut all = entries(config, &list, field);
        all.any(|it| match it.get(*data) {
            None | Some(Value::Null) => false,
            Some(value) => {
                let text: String = value.as_str().unwrap_or("?").split_whitespace().collect();
                STANDARD.decode(text).is_err()
            }
        })
    };
    let found = ENCODED.iter().find(|it| broken(it))?;
    Some(format!("{} of the kubeconfig is not base64", found.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::cpu_time;
    use std::time::Duration;

    const GOOD: &str = "\
clusters: [{name: c, cluster: {server: 'https://192.0.2.1:6443', certificate-authority-data: YQ==}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: hunter2}}]
current-context: x
";

    fn verdict(from: &str, to: &str, allow_exec: bool) -> String {
        let text = GOOD.replace(from, to);
        assert!(from.is_empty() || text != GOOD, "{from} is not in the text");
        let path = FieldPath::root();
        problem(&text, path, "secret/kubeconfig", allow_exec)
            .map(|it| format!("{:?}: {}", it.kind, it.message))
            .unwrap_or_default()
    }

    #[test]
    fn a_kubeconfig_that_clients_reject_is_told_before_one_connects() {
        assert_eq!(verdict("", "", false), "");
        for (from, to, expected) in [
            ("clusters:", "cluster:", "is not a kubeconfig"),
            (
                "current-context: x",
                "",
                "kubeconfig has no current-context",
            ),
            (
                "current-context: x",
                "current-context: y",
                "current-context of the kubeconfig is not in contexts",
            ),
            (
                "cluster: c",
                "cluster: d",
                "cluster of the current context is not in clusters",
            ),
            (
                "user: u}",
                "user: v}",
                "user of the current context is not in users",
            ),
            (
                "https://192.0.2.1:6443",
                "hunter2",
                "server of the current cluster is not an HTTP URL",
            ),
            (
                "YQ==",
                "hunter2!",
                "certificate-authority-data of the kubeconfig is not base64",
            ),
            (
                "token: hunter2",
                "client-key-data: 'a b c!'",
                "client-key-data of the kubeconfig is not base64",
            ),
        ] {
            assert_eq!(verdict(from, to, false), format!("Invalid: {expected}"));
        }
    }

    #[test]
    fn the_time_for_a_hostile_kubeconfig_grows_with_its_size_only() {
        let texts: [fn(usize) -> String; 5] = [
            |size| "[".repeat(size),
            |size| "{a: ".repeat(size),
            |size| format!("clusters: [{}]", "{},".repeat(size)),
            |size| "- ".repeat(size),
            |size| "a\n".repeat(size),
        ];
        for text in texts {
            let time = |size| {
                let text = text(size);
                let begun = cpu_time();
                let problem = problem(&text, FieldPath::root(), "secret/kubeconfig", false);
                assert!(problem.is_some());
                cpu_time().saturating_sub(begun)
            };
            let (small, large) = (time(10_000).max(Duration::from_millis(5)), time(40_000));
            // The square would be 16 times as long.
            assert!(large < small * 10, "{small:?} and {large:?}: {:?}", text(3));
        }
    }

    #[test]
    fn a_file_of_a_cluster_is_forbidden_unless_it_is_allowed() {
        let file = "certificate-authority: /dev/zero";
        let expected = "Forbidden: kubeconfig must not use a local file in certificate-authority";
        let given = "certificate-authority-data: YQ==";
        assert_eq!(verdict(given, file, false), expected);
        assert_eq!(verdict(given, file, true), "");
    }

    #[test]
    fn programs_and_local_files_are_forbidden_unless_they_are_allowed() {
        for (field, what) in [
            ("exec: {command: hunter2}", "an exec plugin"),
            ("auth-provider: {name: hunter2}", "an auth-provider plugin"),
            ("tokenFile: /hunter2", "a local file in tokenFile"),
            ("client-key: /hunter2", "a local file in client-key"),
        ] {
            let expected = format!("Forbidden: kubeconfig must not use {what}");
            assert_eq!(verdict("token: hunter2", field, false), expected);
            assert_eq!(verdict("token: hunter2", field, true), "");
        }
    }
}
