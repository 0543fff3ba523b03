//! The conditions of `kvshoot wait --for`.

use crate::model::suggest;
use crate::state::conditions::CONDITIONS;

/// A condition of `kvshoot wait --for`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WaitCondition {
    /// All conditions of the shoot are true.
    Ready,
    ApiServer,
    /// At least this many nodes are ready; every node if None.
    Nodes(Option<usize>),
    Condition {
        kind: &'static str,
        status: &'static str,
    },
    /// No objects remain.
    Deleted,
}

/// Values of `--for` with their meaning.
pub(crate) const WORDS: [(&str, &str); 5] = [
    ("ready", "the shoot is healthy"),
    ("api-server", "the API server answers"),
    ("nodes", "every node is ready"),
    ("deleted", "no objects remain"),
    ("nodes=1", "at least this many nodes are ready"),
];
const STATUSES: [&str; 3] = ["True", "False", "Unknown"];

/// Parses a value of `--for`. As in kubectl, conditions are case-insensitive, and their status defaults to True.
///
/// # Errors
///
/// The condition is unknown.
pub(crate) fn parse(text: &str) -> Result<WaitCondition, String> {
    let (word, value) = match text.split_once('=') {
        Some((word, value)) => (word, Some(value)),
        None => (text, None),
    };
    match (word, value) {
        ("ready", None) => Ok(WaitCondition::Ready),
        ("api-server", None) => Ok(WaitCondition::ApiServer),
        ("deleted" | "delete", None) => Ok(WaitCondition::Deleted),
        ("nodes", None) => Ok(WaitCondition::Nodes(None)),
        ("nodes", Some(count)) => match count.parse() {
            Ok(count) => Ok(WaitCondition::Nodes(Some(count))),
            Err(_) => Err(format!("{count:?} is not a number of nodes")),
        },
        ("condition", Some(condition)) => parse_condition(condition),
        _ => Err(
            "expected ready, api-server, nodes, nodes=N, deleted or condition=TYPE[=STATUS]"
                .to_owned(),
        ),
    }
}

fn parse_condition(text: &str) -> Result<WaitCondition, String> {
    let (kind, status) = text.split_once('=').unwrap_or((text, "True"));
    let same = |text: &str, all: &[&'static str]| {
        let mut all = all.iter();
        all.find(|it| it.eq_ignore_ascii_case(text)).copied()
    };
    let kind =
        same(kind, &CONDITIONS).ok_or_else(|| match suggest(kind, CONDITIONS.iter().copied()) {
            Some(meant) => format!("unknown condition {kind:?}; did you mean {meant}?"),
            None => format!(
                "unknown condition {kind:?}; expected {}",
                CONDITIONS.join(", ")
            ),
        })?;
    let status = same(status, &STATUSES).ok_or_else(|| {
        format!(
            "unknown status {status:?}; expected {}",
            STATUSES.join(", ")
        )
    })?;
    Ok(WaitCondition::Condition { kind, status })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_condition_is_answered_with_the_known_ones() {
        for word in WORDS {
            assert!(parse(word.0).is_ok(), "{}", word.0);
        }
        assert_eq!(parse("nodes=3"), Ok(WaitCondition::Nodes(Some(3))));
        for (text, expected) in [
            ("nodes=many", "\"many\" is not a number of nodes"),
            ("node", "expected ready, api-server"),
            ("ready=1", "expected ready, api-server"),
            ("condition=EveryNodeRedy", "did you mean EveryNodeReady?"),
            ("condition=X", "expected ImagesImported, "),
            (
                "condition=EveryNodeReady=yes",
                "unknown status \"yes\"; expected True, False, Unknown",
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
