//! Suggestions for commands and options of other tools.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Verbs of other tools, and what to run instead.
const VERBS: [(&[&str], &str); 15] = [
    (
        &["create", "up", "deploy", "update", "edit", "install"],
        "kvshoot apply -f FILE",
    ),
    (&["diff", "preview", "dry-run"], "kvshoot plan -f FILE"),
    (
        &["destroy", "rm", "remove", "down", "uninstall"],
        "kvshoot delete NAME",
    ),
    (
        &["describe", "show", "info", "health"],
        "kvshoot status NAME",
    ),
    (
        &["logs", "log", "debug", "diagnose"],
        "kvshoot why NAME, kvshoot nodes logs NAME NODE, or kvshoot bundle NAME for all logs",
    ),
    (
        &["ssh", "shell", "attach", "kubectl"],
        "kvshoot exec NAME -- COMMAND",
    ),
    (
        &["console"],
        "kvshoot nodes console NAME NODE; kvshoot nodes list NAME lists the nodes",
    ),
    (
        &["top", "nodepool", "nodepools", "machines"],
        "kvshoot nodes list NAME or kvshoot pools list NAME",
    ),
    (
        &["login", "config", "credentials", "get-credentials"],
        "kvshoot kubeconfig merge NAME",
    ),
    (&["port-forward", "proxy"], "kvshoot tunnel NAME"),
    (
        &["generate", "template", "new", "wizard"],
        "kvshoot init NAME",
    ),
    (
        &["lint", "check"],
        "kvshoot validate -f FILE, or kvshoot doctor for the provider cluster",
    ),
    (&["expire", "extend"], "kvshoot ttl NAME TIME"),
    (
        &["pause", "sleep", "stop", "suspend", "start", "resume"],
        "kvshoot hibernate NAME or kvshoot wake NAME",
    ),
    (
        &["drain", "replace"],
        "kvshoot nodes drain NAME NODE or kvshoot nodes replace NAME NODE; kvshoot evacuate for draining provider nodes",
    ),
];

/// Options of other tools, and what to use instead.
const OPTIONS: [(&str, &str); 2] = [
    (
        "--dry-run",
        "kvshoot plan -f FILE shows what apply would do",
    ),
    (
        "--wait",
        "kvshoot waits until the cluster is ready; --timeout limits that",
    ),
];

/// Replaces clap's suggestion where a better one is known, and its usage, which has all options that variables set.
pub(super) fn improve(
    mut error: clap::Error,
    command: &mut clap::Command,
    args: &[OsString],
) -> clap::Error {
    if error.kind() == ErrorKind::MissingRequiredArgument {
        let usage = usage(command, args);
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    }
    let suggestion = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            text(&error, ContextKind::InvalidSubcommand).and_then(for_verb)
        }
        ErrorKind::UnknownArgument => {
            text(&error, ContextKind::InvalidArg).and_then(|argument| for_argument(&argument))
        }
        _ => None,
    };
    if let Some(suggestion) = suggestion {
        error.remove(ContextKind::SuggestedSubcommand);
        error.remove(ContextKind::SuggestedArg);
        let suggestion = vec![StyledStr::from(suggestion)];
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(suggestion));
    }
    error
}

/// Usage of the subcommand that the arguments name.
fn usage(command: &mut clap::Command, args: &[OsString]) -> StyledStr {
    let mut named = command;
    for name in args.iter().skip(1).filter_map(|it| it.to_str()) {
        if named.find_subcommand(name).is_some() {
            named = named
                .find_subcommand_mut(name)
                .expect("it was found just now");
        }
    }
    named.render_usage()
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        _ => None,
    }
}

fn for_verb(verb: String) -> Option<String> {
    let found = VERBS.iter().find(|(verbs, _)| verbs.contains(&&*verb));
    found.map(|(_, command)| format!("use {command}"))
}

fn for_argument(argument: &str) -> Option<String> {
    let is_manifest = [".yaml", ".yml", ".json"]
        .iter()
        .any(|extension| argument.ends_with(extension));
    if is_manifest && !argument.starts_with('-') {
        return Some(format!("pass manifests with -f {argument}"));
    }
    let name = argument.split('=').next().unwrap_or_default();
    let found = OPTIONS.iter().find(|(option, _)| *option == name);
    found.map(|(_, suggestion)| (*suggestion).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(line: &str) -> String {
        let mut command = crate::commands::command();
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let parsed = command.try_get_matches_from_mut(&args);
        improve(parsed.unwrap_err(), &mut command, &args).to_string()
    }

    /// KVSHOOT_SANDBOX, for example, has the same effect as the option.
    #[test]
    fn usage_has_only_what_is_required() {
        let message = message("kvshoot --sandbox --quiet apply");
        let usage = "Usage: kvshoot apply [OPTIONS] --filename <FILE>\n";
        assert!(message.contains(usage), "{message}");
    }

    #[test]
    fn verbs_of_other_tools_are_answered_with_a_command() {
        for (line, expected) in [
            ("kvshoot create", "use kvshoot apply -f FILE"),
            ("kvshoot describe dev", "use kvshoot status NAME"),
            ("kvshoot logs dev", "use kvshoot why NAME"),
            ("kvshoot ssh dev", "use kvshoot exec NAME"),
            (
                "kvshoot apply shoot.yaml",
                "pass manifests with -f shoot.yaml",
            ),
            ("kvshoot apply -f a --dry-run", "kvshoot plan -f FILE"),
            ("kvshoot aply", "'apply'"),
        ] {
            let message = message(line);
            assert!(message.contains(expected), "{message}");
        }
        assert!(!message("kvshoot create").contains("evacuate"));
    }

    #[test]
    fn no_verb_of_another_tool_is_a_command() {
        let command = crate::commands::command();
        for verb in VERBS.iter().flat_map(|(verbs, _)| *verbs) {
            assert!(command.find_subcommand(verb).is_none(), "{verb}");
        }
    }
}
