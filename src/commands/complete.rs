//! What the shell offers at TAB. Nothing here may fail, ask, write, or take longer than a person waits.

use super::global::SANDBOX;
use super::provider::before;
use super::shoots::Summary;
use super::{Context, Global, command, provider, sandbox};
use crate::cluster::{
    ApiClient, KubeconfigSource, MachineSnapshot, NamespaceScope, RecordSnapshot,
};
use crate::model::Worker;
use clap::FromArgMatches;
use clap_complete::engine::CompletionCandidate;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;

/// So long a person waits at TAB.
const PATIENCE: Duration = Duration::from_millis(300);

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
    candidates(current, |context| {
        ask(context, async |provider| {
            let names = provider.namespaces().await.unwrap_or_default();
            names.into_iter().map(|it| (it, None)).collect()
        })
    })
}

/// Shoots of the namespace, with how they are.
pub(super) fn shoots(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, |context| {
        ask(context, async |provider| {
            let records = provider.records(NamespaceScope::Current).await;
            records.iter().flatten().map(shoot).collect()
        })
    })
}

/// Pools of the shoots of the namespace.
pub(super) fn pools(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, |context| {
        ask(context, async |provider| {
            let records = provider.records(NamespaceScope::Current).await;
            let shoots = records.iter().flatten().filter_map(|it| before(&it.data));
            let workers = shoots.flat_map(|it| it.0.spec.provider.workers);
            workers.map(|it| pool(&it)).collect()
        })
    })
}

/// Machines of the sandbox of the line.
pub(super) fn sandbox_machines(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, |context| {
        let name = value_of("--name").unwrap_or_else(|| SANDBOX.to_owned());
        let Some(source) = sandbox::source(context, &name) else {
            return Vec::new();
        };
        ask_at(context, Some(source), async |provider| {
            let mut names = Vec::new();
            let records = provider.records(NamespaceScope::All).await;
            for record in records.iter().flatten() {
                let there = provider.in_namespace(&record.namespace);
                let machines = there.machines(&record.name).await;
                names.extend(machines.iter().flatten().map(machine));
            }
            names
        })
    })
}

fn shoot(record: &RecordSnapshot) -> Named {
    let summary = Summary::of(record, None);
    let name = match summary.project.as_str() {
        "local" => summary.name.clone(),
        project => format!("{project}/{}", summary.name),
    };
    (name, Some(summary.operation()))
}

fn pool(worker: &Worker) -> Named {
    let size = match worker.minimum == worker.maximum {
        true => format!("{} wanted", worker.minimum),
        false => format!("{} to {} wanted", worker.minimum, worker.maximum),
    };
    let help = format!("{}, {size}", worker.machine.type_);
    (worker.name.clone(), Some(help))
}

fn machine(seen: &MachineSnapshot) -> Named {
    let help = format!("{} in {}, {}", seen.pool, seen.zone, seen.status);
    (seen.name.to_string(), Some(help))
}

/// Asks the provider cluster; one that does not answer has nothing to offer.
fn ask(context: &Context, look: impl AsyncFnOnce(ApiClient) -> Vec<Named>) -> Vec<Named> {
    ask_at(context, None, look)
}

fn ask_at(
    context: &Context,
    source: Option<KubeconfigSource>,
    look: impl AsyncFnOnce(ApiClient) -> Vec<Named>,
) -> Vec<Named> {
    let asked = context.block_on(async {
        match provider::connect_quietly(context, source).await {
            Some(provider) => look(provider).await,
            None => Vec::new(),
        }
    });
    asked.unwrap_or_default()
}

/// Looks names up, on a thread that is left behind when it takes longer than a person waits at TAB.
fn candidates(
    current: &OsStr,
    look_up: impl FnOnce(&Context) -> Vec<Named> + Send + 'static,
) -> Vec<CompletionCandidate> {
    let (found, names) = mpsc::channel();
    thread::spawn(move || {
        let context = Context::new(flags(), None);
        // Whoever waited may be gone.
        let _ = found.send(look_up(&context));
        context.leave();
    });
    let mut names = names.recv_timeout(PATIENCE).unwrap_or_default();
    names.sort();
    names.dedup_by(|one, other| one.0 == other.0);
    let current = current.to_string_lossy();
    let fitting = names.into_iter().filter(|it| it.0.starts_with(&*current));
    fitting
        .map(|(name, help)| CompletionCandidate::new(name).help(help.map(Into::into)))
        .collect()
}

/// What was typed after a flag, or with it.
fn value_of(flag: &str) -> Option<String> {
    let words = LINE.get()?;
    let typed = |it: &OsString| it.to_string_lossy().into_owned();
    let with = format!("{flag}=");
    words.iter().enumerate().find_map(|(index, word)| {
        let word = typed(word);
        match word.strip_prefix(&with) {
            Some(value) => Some(value.to_owned()),
            None if word == flag => words.get(index + 1).map(typed),
            None => None,
        }
    })
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
