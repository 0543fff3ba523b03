//! What the shell offers at TAB. Nothing here may fail, take long, or write.

use crate::config::Config;
use clap_complete::engine::CompletionCandidate;
use std::ffi::OsStr;
use std::fs;

/// Contexts of the kubeconfigs; flags on the line being completed are not known here.
pub(super) fn contexts(current: &OsStr) -> Vec<CompletionCandidate> {
    names_in_kubeconfigs("contexts", current)
}

pub(super) fn clusters(current: &OsStr) -> Vec<CompletionCandidate> {
    names_in_kubeconfigs("clusters", current)
}

pub(super) fn users(current: &OsStr) -> Vec<CompletionCandidate> {
    names_in_kubeconfigs("users", current)
}

pub(super) fn namespaces(_current: &OsStr) -> Vec<CompletionCandidate> {
    Vec::new()
}

/// Shoots of the namespace.
pub(super) fn shoots(_current: &OsStr) -> Vec<CompletionCandidate> {
    Vec::new()
}

/// Pools of the shoots of the namespace.
pub(super) fn pools(_current: &OsStr) -> Vec<CompletionCandidate> {
    Vec::new()
}

/// Machines of the shoots of the namespace.
pub(super) fn machines(_current: &OsStr) -> Vec<CompletionCandidate> {
    Vec::new()
}

fn names_in_kubeconfigs(list: &str, current: &OsStr) -> Vec<CompletionCandidate> {
    let files = Config::default().kubeconfigs();
    let texts = files.iter().filter_map(|it| fs::read_to_string(it).ok());
    let mut names: Vec<String> = texts.flat_map(|text| names(&text, list)).collect();
    names.sort();
    names.dedup();
    let current = current.to_string_lossy();
    names.retain(|it| it.starts_with(&*current));
    names.into_iter().map(CompletionCandidate::new).collect()
}

fn names(kubeconfig: &str, list: &str) -> Vec<String> {
    let value: serde_yaml::Value = serde_yaml::from_str(kubeconfig).unwrap_or_default();
    let entries = value.get(list).and_then(|it| it.as_sequence());
    let name = |entry: &serde_yaml::Value| Some(entry.get("name")?.as_str()?.to_owned());
    entries.into_iter().flatten().filter_map(name).collect()
}
