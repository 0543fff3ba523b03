mod archive;
mod index;
mod told;

use super::provider::{self, failed};
use super::running::duration;
use super::shoots::Summary;
use super::signals::Signals;
use super::{CommandError, Context, Exit, complete};
use crate::cluster::{
    ApiClient, BundleCollector, CollectedPart, Error, NamespaceScope, RecordSnapshot,
};
use crate::plan::names::id_of;
use archive::Archive;
use clap_complete::engine::ArgValueCompleter;
use index::Index;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// Collect what a maintainer would ask for: objects of both sides, events, logs, the record
///
/// The archive holds no secrets: these are told by names and lengths.
#[derive(Debug, clap::Args)]
pub(super) struct BundleArgs {
    /// Name of the shoot; PROJECT/NAME outside the project `local`
    #[arg(add = ArgValueCompleter::new(complete::shoots))]
    name: String,
    /// Archive to write, or - for standard output; NAME and the time, .tar.gz, when absent
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// How long to collect; what is not read by then is listed as missing
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = duration)]
    timeout: Duration,
}

/// What is collected, and for how long.
pub(super) struct Wanted<'a> {
    pub(super) provider: &'a ApiClient,
    /// As a person calls it.
    pub(super) shoot: &'a str,
    /// Where the archive goes; standard output when absent.
    pub(super) file: Option<&'a Path>,
    pub(super) limit: Duration,
    /// Files of the run that it is collected for: names and texts.
    pub(super) run: Vec<(String, String)>,
}

/// A bundle that was written.
#[derive(Debug)]
pub(super) struct Bundle {
    pub(super) files: usize,
    /// Of the archive.
    pub(super) bytes: u64,
    /// What could not be read, and why; it stands in the bundle too.
    pub(super) missing: Vec<(String, String)>,
}

/// Time that is kept back for writing down what was found.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How long the record may take; what is in it is wanted for all else.
const PATIENCE: Duration = Duration::from_secs(15);
/// Files that wait to be written.
const WAITING: usize = 4;

pub(super) fn run(args: &BundleArgs, context: &Context) -> Result<Exit, CommandError> {
    let is_stdout = args.output.as_deref() == Some(Path::new("-"));
    if is_stdout && context.ui.is_terminal() {
        let error = CommandError::new(Exit::Usage, "an archive is nothing for a terminal");
        return Err(error.hint("name a file by --output, or put the output into one"));
    }
    let file = (!is_stdout).then(|| file(args.output.as_deref(), &args.name));
    context.block_on(async {
        let signals = Signals::listen(None)?;
        let bundle = signals.or_interrupted("collect the bundle", async {
            let provider = provider::connect(context).await?;
            check(&provider, &args.name).await?;
            let status = format!("collecting what there is of shoot {}", args.name);
            context.ui.status(&status);
            let wanted = Wanted {
                provider: &provider,
                shoot: &args.name,
                file: file.as_deref(),
                limit: args.timeout,
                run: Vec::new(),
            };
            collect(wanted, context).await
        });
        tell(&bundle.await?, file.as_deref(), context);
        Ok(Exit::Done)
    })?
}

fn tell(bundle: &Bundle, file: Option<&Path>, context: &Context) {
    let size = match bundle.bytes {
        small if small < 10 << 10 => format!("{small} bytes"),
        bytes if bytes < 10 << 20 => format!("{} KiB", bytes >> 10),
        bytes => format!("{} MiB", bytes >> 20),
    };
    let text = format!("{} files in {size}", bundle.files);
    context.ui.status(&text);
    for (what, why) in &bundle.missing {
        context.ui.warn(&format!("{what} could not be read: {why}"));
    }
    if let Some(file) = file {
        context.ui.data(&format!("{}\n", file.display()));
    }
}

/// Of a folder, the usual name in it.
pub(super) fn file(output: Option<&Path>, name: &str) -> PathBuf {
    let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    let usual = format!("{}-{now}.tar.gz", name.replace('/', "-"));
    match output {
        None => PathBuf::from(usual),
        Some(folder) if folder.is_dir() => folder.join(usual),
        Some(file) => file.to_owned(),
    }
}

/// Nobody gets an archive about nothing.
async fn check(provider: &ApiClient, name: &str) -> Result<(), CommandError> {
    let id = id_of(name);
    if matches!(
        provider.record(&id).await,
        Ok(Some(_)) | Err(Error::Forbidden { .. })
    ) {
        return Ok(());
    }
    let left = provider.remaining_objects(&id).await.map_err(failed)?;
    if left.objects.is_empty() && left.unlisted.is_empty() {
        let message = format!(
            "there is no shoot {name} in namespace {}, and nothing of one",
            provider.namespace()
        );
        let error = CommandError::new(Exit::NotFound, message);
        return Err(error.hint("kvshoot list shows what is there"));
    }
    Ok(())
}

/// Writes a bundle in the time there is. Nothing that cannot be read keeps it from being written.
///
/// # Errors
///
/// The archive cannot be written.
pub(super) async fn collect(wanted: Wanted<'_>, context: &Context) -> Result<Bundle, CommandError> {
    let to = wanted.file.map_or_else(
        || "standard output".to_owned(),
        |it| it.display().to_string(),
    );
    let cannot = |error: io::Error| {
        let error = CommandError::new(Exit::Precondition, format!("cannot write the bundle {to}"))
            .cause(error.to_string());
        error.hint("name another file by --output")
    };
    let mut archive = begin(&wanted).map_err(cannot)?;
    let mut index = Index::default();
    fill(&mut archive, &mut index, &wanted)
        .await
        .map_err(cannot)?;
    index.missing.sort();
    let text = index.text(&archive.files);
    archive.add("README.md", &text).map_err(cannot)?;
    let files = archive.files.len();
    let bytes = match wanted.file {
        Some(file) if is_special(file) => archive.pour(file),
        Some(file) => archive.keep(file),
        None => archive.hand_on(|bytes| {
            context.ui.bytes(bytes);
            Ok(())
        }),
    };
    Ok(Bundle {
        files,
        bytes: bytes.map_err(cannot)?,
        missing: index.missing,
    })
}

/// Beside the file that it will be, so that it is only renamed in the end.
fn begin(wanted: &Wanted<'_>) -> io::Result<Archive> {
    let now = jiff::Timestamp::now();
    let time = u64::try_from(now.as_second()).unwrap_or_default();
    let name = wanted.file.and_then(Path::file_name);
    let name = name.map(|it| it.to_string_lossy().into_owned());
    let root = match &name {
        Some(name) => {
            let name = name.trim_end_matches(".gz").trim_end_matches(".tgz");
            name.trim_end_matches(".tar").to_owned()
        }
        None => format!("{}-bundle", wanted.shoot.replace('/', "-")),
    };
    let file = wanted.file.filter(|it| !is_special(it));
    let folder = file.map(|it| match it.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    });
    Archive::begin(folder, &root, time)
}

/// A pipe or a device is written to; it is not replaced by a file.
fn is_special(file: &Path) -> bool {
    file.metadata().is_ok_and(|it| !it.is_file())
}

async fn fill(archive: &mut Archive, index: &mut Index, wanted: &Wanted<'_>) -> io::Result<()> {
    let until = Instant::now() + wanted.limit.saturating_sub(LAST_WORDS);
    let (provider, id) = (wanted.provider, id_of(wanted.shoot));
    let record = timeout_at(until, recorded(provider, &id)).await;
    let (record, others) = record.unwrap_or_else(|_| (Err("time was up".to_owned()), Vec::new()));
    let (record, why) = match record {
        Ok(record) => (record, None),
        Err(why) => (None, Some(why)),
    };
    index
        .missing
        .extend(why.map(|it| ("the record".to_owned(), it)));
    let texts = record.as_ref().map(told::user_data).unwrap_or_default();
    let evidence = BundleCollector::start(provider, &id, others, &texts);
    let Ok(evidence) = timeout_at(until, evidence).await else {
        let all = "all objects, events and logs".to_owned();
        index.missing.push((all, "time was up".to_owned()));
        return Ok(());
    };
    let redactor = evidence.redactor();
    for (path, text) in record.iter().flat_map(|it| told::record(it, redactor)) {
        archive.add(&path, &text)?;
    }
    for (name, text) in &wanted.run {
        archive.add(&format!("run/{name}"), &redactor.text(text))?;
    }
    let (found, mut finds) = mpsc::channel(WAITING);
    let gather = async {
        let work = async {
            let summary = told::summary(&found, provider, &id, record.as_ref(), redactor);
            tokio::join!(summary, evidence.collect(&found));
        };
        let is_whole = timeout_at(until, work).await.is_ok();
        drop(found);
        Ok(is_whole)
    };
    let write = async {
        while let Some(one) = finds.recv().await {
            match one {
                CollectedPart::File { path, text } => archive.add(&path, &text)?,
                CollectedPart::Missing { what, why } => index.missing.push((what, why)),
                CollectedPart::Fact { what, value } => index.facts.push((what, value)),
                CollectedPart::Note(note) => index.notes.push(note),
            }
        }
        io::Result::Ok(())
    };
    let (is_whole, ()) = tokio::try_join!(gather, write)?;
    if !is_whole {
        let unread = evidence.unfinished().into_iter();
        let late = "time was up; --timeout gives more".to_owned();
        index.missing.extend(unread.map(|it| (it, late.clone())));
        index
            .missing
            .push(("what would have come after".to_owned(), late));
    }
    facts(index, wanted, record.as_ref());
    Ok(())
}

/// The record, and the IDs of other shoots.
async fn recorded(
    provider: &ApiClient,
    id: &str,
) -> (Result<Option<RecordSnapshot>, String>, Vec<String>) {
    let within = Instant::now() + PATIENCE;
    let (record, others) = tokio::join!(
        timeout_at(within, provider.record(id)),
        timeout_at(within, provider.records(NamespaceScope::Current))
    );
    let record = match record {
        Ok(record) => record.map_err(|it| it.to_string()),
        Err(_) => Err("no answer".to_owned()),
    };
    let others = others.ok().and_then(Result::ok).unwrap_or_default();
    (
        record,
        others.iter().map(|it| it.name.to_string()).collect(),
    )
}

fn facts(index: &mut Index, wanted: &Wanted<'_>, record: Option<&RecordSnapshot>) {
    let shoot = match record {
        Some(record) if record.leaving => "has a record, and is on its way out",
        Some(_) => "has a record",
        None => "has no record",
    };
    let version = record.map(|it| Summary::of(it, None).kubernetes_version);
    let facts = [
        ("shoot's manifest", version.unwrap_or_default()),
        (
            "shoot",
            format!("{} ({}), {shoot}", wanted.shoot, id_of(wanted.shoot)),
        ),
        ("namespace", wanted.provider.namespace().to_string()),
        ("provider", wanted.provider.server().to_owned()),
        ("collected", format!("{:.0}", jiff::Timestamp::now())),
        ("kvshoot", super::version::VERSION.to_string()),
    ];
    let facts = facts.into_iter().filter(|it| !it.1.is_empty());
    index.facts.extend(facts);
    index.facts.sort();
}
