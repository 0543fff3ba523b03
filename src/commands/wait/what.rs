//! What can be waited for, as it is written behind `--for`.

use crate::model::nearest;
use crate::state::conditions::CONDITIONS;
use clap_complete::engine::CompletionCandidate;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// All of it is healthy.
    Ready,
    ApiServer,
    /// So many nodes are ready, or every one.
    Nodes(Option<usize>),
    Condition {
        kind: &'static str,
        status: &'static str,
    },
    /// Nothing is left of it.
    Deleted,
}

const WORDS: [(&str, &str); 5] = [
    ("ready", "all of it is healthy"),
    ("api-server", "the API server answers"),
    ("nodes", "every node is ready"),
    ("deleted", "nothing is left of it"),
    ("nodes=1", "so many nodes are ready, or more"),
];
const STATUSES: [&str; 3] = ["True", "False", "Unknown"];

/// As kubectl reads it: conditions and their statuses in any case, True where none is given.
pub(super) fn parse(text: &str) -> Result<What, String> {
    let (word, value) = match text.split_once('=') {
        Some((word, value)) => (word, Some(value)),
        None => (text, None),
    };
    match (word, value) {
        ("ready", None) => Ok(What::Ready),
        ("api-server", None) => Ok(What::ApiServer),
        ("deleted" | "delete", None) => Ok(What::Deleted),
        ("nodes", None) => Ok(What::Nodes(None)),
        ("nodes", Some(count)) => match count.parse() {
            Ok(count) => Ok(What::Nodes(Some(count))),
            Err(_) => Err(format!("`{count}` is no number of nodes")),
        },
        ("condition", Some(condition)) => of_condition(condition),
        _ => Err(
            "one of ready, api-server, nodes, nodes=N, deleted and condition=TYPE[=STATUS]"
                .to_owned(),
        ),
    }
}

fn of_condition(text: &str) -> Result<What, String> {
    let (kind, status) = text.split_once('=').unwrap_or((text, "True"));
    let same = |text: &str, all: &[&'static str]| {
        let mut all = all.iter();
        all.find(|it| it.eq_ignore_ascii_case(text)).copied()
    };
    let kind =
        same(kind, &CONDITIONS).ok_or_else(|| match nearest(kind, CONDITIONS.iter().copied()) {
            Some(meant) => format!("there is no condition {kind}; did you mean {meant}?"),
            None => format!(
                "there is no condition {kind}, only {}",
                CONDITIONS.join(", ")
            ),
        })?;
    let status = same(status, &STATUSES)
        .ok_or_else(|| format!("`{status}` is none of {}", STATUSES.join(", ")))?;
    Ok(What::Condition { kind, status })
}

/// For the shell.
pub(super) fn candidates() -> Vec<CompletionCandidate> {
    let words = WORDS.into_iter();
    let words = words.map(|(word, help)| CompletionCandidate::new(word).help(Some(help.into())));
    let conditions = CONDITIONS.into_iter();
    let conditions = conditions.map(|it| CompletionCandidate::new(format!("condition={it}")));
    words.chain(conditions).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_answered_by_what_is() {
        for word in WORDS {
            assert!(parse(word.0).is_ok(), "{}", word.0);
        }
        assert_eq!(parse("nodes=3"), Ok(What::Nodes(Some(3))));
        for (text, told) in [
            ("nodes=many", "`many` is no number of nodes"),
            ("node", "one of ready, api-server"),
            ("ready=1", "one of ready, api-server"),
            ("condition=EveryNodeRedy", "did you mean EveryNodeReady?"),
            ("condition=X", "only ImagesImported, "),
            (
                "condition=EveryNodeReady=yes",
                "`yes` is none of True, False, Unknown",
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(told), "{error}");
        }
    }
}
