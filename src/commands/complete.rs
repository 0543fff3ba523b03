//! What the shell offers at TAB. Nothing here may fail, ask, write, or take longer than a person waits.

use super::{Context, Global, command};
use clap::FromArgMatches;
use clap_complete::engine::CompletionCandidate;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::sync::OnceLock;

/// A name, and what to tell beside it.
type Named = (String, Option<String>);

/// The words typed so far; a completer itself is told only the last one.
static LINE: OnceLock<Vec<OsString>> = OnceLock::new();

/// To be called before anything is completed, with all arguments of the program.
pub(super) fn remember(args: &[OsString]) {
    let words = args.iter().skip_while(|it| *it != "--").skip(1);
    // One program completes one line.
    let _ = LINE.set(words.cloned().collect());
}

pub(super) fn contexts(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, |it| names_in_kubeconfigs(it, "contexts"))
}

pub(super) fn clusters(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, |it| names_in_kubeconfigs(it, "clusters"))
}

pub(super) fn users(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, |it| names_in_kubeconfigs(it, "users"))
}

pub(super) fn namespaces(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, |_| Vec::new())
}

/// Shoots of the namespace.
pub(super) fn shoots(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, |_| Vec::new())
}

/// Pools of the shoots of the namespace.
pub(super) fn pools(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, |_| Vec::new())
}

/// Machines of the shoots of the namespace.
pub(super) fn machines(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, |_| Vec::new())
}

fn candidates(
    current: &OsStr,
    look_up: impl FnOnce(&Context) -> Vec<Named>,
) -> Vec<CompletionCandidate> {
    let mut names = look_up(&Context::new(flags(), None));
    names.sort();
    names.dedup_by(|one, other| one.0 == other.0);
    let current = current.to_string_lossy();
    let fitting = names.into_iter().filter(|it| it.0.starts_with(&*current));
    fitting
        .map(|(name, help)| CompletionCandidate::new(name).help(help.map(Into::into)))
        .collect()
}

/// The flags of the line, as far as it is written.
fn flags() -> Global {
    let line = LINE.get().cloned().unwrap_or_default();
    let matches = command().ignore_errors(true).try_get_matches_from(line);
    let flags = matches.and_then(|it| Global::from_arg_matches(&it));
    flags.unwrap_or_default()
}

fn names_in_kubeconfigs(context: &Context, list: &str) -> Vec<Named> {
    let files = match &context.global.kubeconfig {
        Some(file) => vec![file.clone()],
        None => context.config.kubeconfigs(),
    };
    let texts = files.iter().filter_map(|it| fs::read_to_string(it).ok());
    texts
        .flat_map(|text| names(&text, list))
        .map(|name| (name, None))
        .collect()
}

fn names(kubeconfig: &str, list: &str) -> Vec<String> {
    let value: serde_yaml::Value = serde_yaml::from_str(kubeconfig).unwrap_or_default();
    let entries = value.get(list).and_then(|it| it.as_sequence());
    let name = |entry: &serde_yaml::Value| Some(entry.get("name")?.as_str()?.to_owned());
    entries.into_iter().flatten().filter_map(name).collect()
}
