//! Shell completion. It must not fail, prompt, write, or take longer than a user waits.

use super::global::Global;
use crate::app::context::{Context, DEFAULT_SANDBOX};
use crate::app::inspect::shoot_summary::ShootSummary;
use crate::app::inspect::wait_condition::WORDS;
use crate::app::provider::{connect, sandbox};
use crate::cluster::{ApiClient, FactsScope, KubeconfigSource, NamespaceScope, RecordSnapshot};
use crate::load::last_applied;
use crate::manifest::read_value;
use crate::model::Worker;
use crate::state::conditions::CONDITIONS;
use crate::state::facts::{Facts, ObservedMachine};
use crate::state::names::display_name;
use crate::state::printable::one_line;
use crate::ui::UiSettings;
use clap::{Arg, Command, FromArgMatches, ValueHint};
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;

/// Time limit of a completion. A plugin may have to get credentials first.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The most bytes of a kubeconfig.
const MAX_KUBECONFIG: usize = 1 << 20;

/// A name and its description.
type Candidate = (String, Option<String>);

/// The words typed so far, and the definition of the command line. A completer gets only the last word.
static LINE: OnceLock<Line> = OnceLock::new();

/// A line to complete.
struct Line {
    words: Vec<OsString>,
    command: fn() -> Command,
}

/// Adds the completers to the arguments of all commands.
pub(super) fn attach(command: Command) -> Command {
    let name = command.get_name().to_owned();
    command
        .mut_args(|arg| match completer(&name, &arg) {
            Some(completer) => arg.add(completer),
            None if arg.get_id() == "conditions" => arg.add(ArgValueCandidates::new(conditions)),
            None => arg,
        })
        .mut_subcommands(attach)
}

fn completer(command: &str, arg: &Arg) -> Option<ArgValueCompleter> {
    Some(match arg.get_id().as_str() {
        "context" => ArgValueCompleter::new(contexts),
        "cluster" => ArgValueCompleter::new(clusters),
        "user" => ArgValueCompleter::new(users),
        "namespace" => ArgValueCompleter::new(namespaces),
        "pool" => ArgValueCompleter::new(pools),
        "node" if arg.is_positional() => ArgValueCompleter::new(nodes),
        "prefix" if command != "pod-crash" => ArgValueCompleter::new(sandbox_machines),
        // A removed context may belong to a shoot that no longer exists.
        "name" if arg.is_positional() && command != "remove" => ArgValueCompleter::new(shoots),
        _ => ArgValueCompleter::new(paths(arg.get_value_hint())?),
    })
}

/// The completer of files or directories. That of clap offers any name.
fn paths(hint: ValueHint) -> Option<impl Fn(&OsStr) -> Vec<CompletionCandidate> + Send + Sync> {
    let paths = match hint {
        ValueHint::AnyPath => PathCompleter::any(),
        ValueHint::FilePath => PathCompleter::file(),
        ValueHint::DirPath => PathCompleter::dir(),
        _ => return None,
    };
    Some(move |current: &OsStr| {
        let mut found = paths.complete(current);
        found.retain(|it| it.get_value().to_str().is_some_and(is_plain));
        found
    })
}

/// True for names that every shell reads as one word and nothing else: no quotes, expansions, separators or options. zsh
/// takes `=name` for the path of a program.
fn is_plain(name: &str) -> bool {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "._/:@+=,-".contains(it);
    !name.starts_with(['-', '=', '+']) && name.chars().all(is_plain)
}

/// Remembers the line. Has to be called before completion starts, with all arguments of the program.
pub(super) fn remember(args: &[OsString], command: fn() -> Command) {
    let words = args.iter().skip_while(|it| *it != "--").skip(1);
    // A process completes one line.
    let _ = LINE.set(Line {
        words: words.cloned().collect(),
        command,
    });
}

fn contexts(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, |it| names_in_kubeconfigs(it, "contexts"))
}

fn clusters(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, |it| names_in_kubeconfigs(it, "clusters"))
}

fn users(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, |it| names_in_kubeconfigs(it, "users"))
}

fn namespaces(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, |context| {
        ask(context, async |provider| {
            let names = provider.namespaces().await.unwrap_or_default();
            names.into_iter().map(|it| (it, None)).collect()
        })
    })
}

/// Shoots of the namespace with their last operation.
fn shoots(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, |context| {
        ask(context, async |provider| {
            let records = provider.records(NamespaceScope::Current).await;
            records.iter().flatten().map(shoot).collect()
        })
    })
}

/// Pools of the shoots of the namespace.
fn pools(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, |context| {
        ask(context, async |provider| {
            let records = provider.records(NamespaceScope::Current).await;
            let shoots = records
                .iter()
                .flatten()
                .filter_map(|it| last_applied(&it.data));
            let workers = shoots.flat_map(|it| it.0.spec.provider.workers);
            workers.map(|it| pool(&it)).collect()
        })
    })
}

/// Machines of the shoots of the namespace that the line names, or of all of them.
fn nodes(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, |context| {
        ask(context, async |provider| {
            let records = provider.records(NamespaceScope::Current).await;
            let mut records: Vec<RecordSnapshot> = records.unwrap_or_default();
            let is_named = |it: &RecordSnapshot| has_word(&display_name(&it.name));
            if records.iter().any(is_named) {
                records.retain(is_named);
            }
            let mut names = Vec::new();
            for record in &records {
                let facts = provider.list_facts(record, FactsScope::MACHINES).await;
                let machines = facts.iter().flat_map(Facts::machines);
                names.extend(machines.map(|(pool, name, it)| machine(pool, name, it)));
            }
            names
        })
    })
}

/// True if the line has this word.
fn has_word(word: &str) -> bool {
    LINE.get()
        .is_some_and(|it| it.words.iter().any(|it| it == word))
}

/// Machines of all shoots in the sandbox.
fn sandbox_machines(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, |context| {
        let name = value_of("--name").unwrap_or_else(|| DEFAULT_SANDBOX.to_owned());
        let Some(source) = sandbox::source(context, &name) else {
            return Vec::new();
        };
        ask_at(context, Some(source), async |provider| {
            let mut names = Vec::new();
            let records = provider.records(NamespaceScope::All).await;
            for record in records.iter().flatten() {
                let provider = provider.in_namespace(&record.namespace);
                let facts = provider.list_facts(record, FactsScope::MACHINES).await;
                let machines = facts.iter().flat_map(Facts::machines);
                names.extend(machines.map(|(pool, name, it)| machine(pool, name, it)));
            }
            names
        })
    })
}

/// Conditions of `kvshoot wait --for`.
fn conditions() -> Vec<CompletionCandidate> {
    let words = WORDS
        .into_iter()
        .map(|(word, help)| CompletionCandidate::new(word).help(Some(help.into())));
    let conditions = CONDITIONS
        .into_iter()
        .map(|it| CompletionCandidate::new(format!("condition={it}")));
    words.chain(conditions).collect()
}

fn shoot(record: &RecordSnapshot) -> Candidate {
    let summary = ShootSummary::of(record, None);
    let name = match summary.project.as_str() {
        "local" => summary.name.clone(),
        project => format!("{project}/{}", summary.name),
    };
    (name, Some(summary.operation()))
}

fn pool(worker: &Worker) -> Candidate {
    let size = match worker.minimum == worker.maximum {
        true => format!("{} wanted", worker.minimum),
        false => format!("{} to {} wanted", worker.minimum, worker.maximum),
    };
    let help = format!("{}, {size}", worker.machine.type_);
    (worker.name.clone(), Some(help))
}

fn machine(pool: &str, name: &str, machine: &ObservedMachine) -> Candidate {
    let (zone, status) = (&machine.placement.zone, machine.shown_status());
    (name.to_owned(), Some(format!("{pool} in {zone}, {status}")))
}

/// Reads from the provider cluster; without an answer there are no candidates.
fn ask(context: &Context, look: impl AsyncFnOnce(ApiClient) -> Vec<Candidate>) -> Vec<Candidate> {
    ask_at(context, None, look)
}

fn ask_at(
    context: &Context,
    source: Option<KubeconfigSource>,
    look: impl AsyncFnOnce(ApiClient) -> Vec<Candidate>,
) -> Vec<Candidate> {
    let asked = context.block_on(async {
        match connect::connect_quietly(context, source).await {
            Some(provider) => look(provider).await,
            None => Vec::new(),
        }
    });
    asked.unwrap_or_default()
}

/// Looks up names on a thread that is abandoned at the time limit.
fn candidates(
    current: &OsStr,
    look_up: impl FnOnce(&Context) -> Vec<Candidate> + Send + 'static,
) -> Vec<CompletionCandidate> {
    let (found, names) = mpsc::channel();
    thread::spawn(move || {
        let context = Context::new(flags().environment_options(), UiSettings::default(), None);
        // The receiver may have timed out.
        let _ = found.send(look_up(&context));
        context.shutdown();
    });
    let mut names = names.recv_timeout(TIMEOUT).unwrap_or_default();
    names.sort();
    names.dedup_by(|one, other| one.0 == other.0);
    let current = current.to_string_lossy();
    // Names come from clusters and files. What is not plain could run as a command of the shell.
    let fitting = names
        .into_iter()
        .filter(|(name, _)| is_plain(name) && name.starts_with(&*current));
    fitting
        .map(|(name, help)| {
            let help = help.map(|it| one_line(&it).into());
            CompletionCandidate::new(name).help(help)
        })
        .collect()
}

/// The value of a flag in the line.
fn value_of(flag: &str) -> Option<String> {
    let Line { words, .. } = LINE.get()?;
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

/// The options in the line.
fn flags() -> Global {
    let Some(Line { words, command }) = LINE.get() else {
        return Global::default();
    };
    let matches = command().ignore_errors(true).try_get_matches_from(words);
    let flags = matches.and_then(|it| Global::from_arg_matches(&it));
    flags.unwrap_or_default()
}

fn names_in_kubeconfigs(context: &Context, list: &str) -> Vec<Candidate> {
    let files = match &context.provider.kubeconfig {
        Some(file) => vec![file.clone()],
        None => context.config.kubeconfigs(),
    };
    let texts = files.iter().filter_map(|it| {
        let file = File::open(it).ok()?;
        let most = MAX_KUBECONFIG as u64 + 1;
        io::read_to_string(file.take(most)).ok()
    });
    texts
        .flat_map(|text| names(&text, list))
        .map(|name| (name, None))
        .collect()
}

fn names(kubeconfig: &str, list: &str) -> Vec<String> {
    let value = read_value(kubeconfig, MAX_KUBECONFIG).unwrap_or_default();
    let entries = value[list].as_array().into_iter().flatten();
    let names = entries.filter_map(|it| it["name"].as_str());
    names.map(str::to_owned).collect()
}
