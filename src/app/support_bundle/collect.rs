//! `kvshoot bundle`.

use super::archive::Archive;
use super::readme::Readme;
use super::summary;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::inspect::shoot_summary::ShootSummary;
use crate::app::provider::connect::connect;
use crate::app::signals::Signals;
use crate::app::version;
use crate::cluster::{
    ApiClient, BundleCollector, CollectedPart, Error, NamespaceScope, RecordSnapshot,
};
use crate::state::names::id_of;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// Options of `kvshoot bundle`.
#[derive(Debug)]
pub(crate) struct BundleOptions {
    /// Display name of the shoot.
    pub(crate) name: String,
    /// The archive, a directory for it, or `-` for standard output.
    pub(crate) output: Option<PathBuf>,
    pub(crate) timeout: Duration,
}

/// Parts to collect.
pub(crate) struct BundleRequest<'a> {
    pub(crate) provider: &'a ApiClient,
    /// Display name of the shoot.
    pub(crate) shoot: &'a str,
    /// The archive; standard output if None.
    pub(crate) file: Option<&'a Path>,
    pub(crate) limit: Duration,
    /// Files of the run that failed: names and contents.
    pub(crate) run_files: Vec<(String, String)>,
}

/// A support bundle that was written.
#[derive(Debug)]
pub(crate) struct BundleInfo {
    pub(crate) files: usize,
    /// Size of the archive.
    pub(crate) bytes: u64,
    /// Parts that could not be read, with the reason. The README in the archive has the same list.
    pub(crate) missing: Vec<(String, String)>,
}

/// Time that is reserved for writing the archive.
const WRITE_RESERVE: Duration = Duration::from_secs(1);
/// Time limit for the record, which everything else depends on.
const RECORD_TIMEOUT: Duration = Duration::from_secs(15);
/// Capacity of the queue of files to write.
const QUEUE: usize = 4;

/// Collects a support bundle of a shoot.
pub(crate) fn bundle(options: &BundleOptions, context: &Context) -> Result<Exit, CommandError> {
    let is_stdout = options.output.as_deref() == Some(Path::new("-"));
    if is_stdout && context.ui.is_terminal() {
        let error = CommandError::new(Exit::Usage, "cannot write an archive to a terminal");
        return Err(error.hint("pass --output FILE, or redirect standard output"));
    }
    let file = (!is_stdout).then(|| archive_path(options.output.as_deref(), &options.name));
    context.block_on(async {
        let signals = Signals::listen(None)?;
        let bundle = signals.or_interrupted("collect the support bundle", async {
            let provider = connect(context).await?;
            check_exists(&provider, &options.name, context).await?;
            let status = format!("Collecting support bundle of shoot {}", options.name);
            context.ui.status(&status);
            let request = BundleRequest {
                provider: &provider,
                shoot: &options.name,
                file: file.as_deref(),
                limit: options.timeout,
                run_files: Vec::new(),
            };
            collect(request, context).await
        });
        report(&bundle.await?, file.as_deref(), context);
        Ok(Exit::Done)
    })?
}

fn report(bundle: &BundleInfo, file: Option<&Path>, context: &Context) {
    let size = match bundle.bytes {
        small if small < 10 << 10 => format!("{small} bytes"),
        bytes if bytes < 10 << 20 => format!("{} KiB", bytes >> 10),
        bytes => format!("{} MiB", bytes >> 20),
    };
    let text = format!("Bundle has {} files in {size}", bundle.files);
    context.ui.status(&text);
    for (what, why) in &bundle.missing {
        context.ui.warn(&format!("cannot read {what}: {why}"));
    }
    if let Some(file) = file {
        context.ui.data(&format!("{}\n", file.display()));
    }
}

/// The path of the archive. In a directory, it is named after the shoot and the time.
pub(crate) fn archive_path(output: Option<&Path>, name: &str) -> PathBuf {
    let now = crate::clock::now().strftime("%Y%m%dT%H%M%SZ");
    let file_name = format!("{}-{now}.tar.gz", name.replace('/', "-"));
    match output {
        None => PathBuf::from(file_name),
        Some(directory) if directory.is_dir() => directory.join(file_name),
        Some(file) => file.to_owned(),
    }
}

/// # Errors
///
/// There are no objects of such a shoot.
async fn check_exists(
    provider: &ApiClient,
    name: &str,
    context: &Context,
) -> Result<(), CommandError> {
    let id = id_of(name);
    if matches!(
        provider.record(&id).await,
        Ok(Some(_)) | Err(Error::Forbidden { .. })
    ) {
        return Ok(());
    }
    let remaining = provider.remaining_objects(&id).await.map_err(failed)?;
    if remaining.objects.is_empty() && remaining.unlisted.is_empty() {
        let namespace = provider.namespace();
        let message = format!("shoot {name:?} not found in namespace {namespace}");
        let list = context.hint_command(&["list"]);
        let error = CommandError::new(Exit::NotFound, message);
        return Err(error.hint(format!("list shoots: {list}")));
    }
    Ok(())
}

/// Writes a support bundle within a time limit. Data that cannot be read is listed as missing.
///
/// # Errors
///
/// The archive cannot be written.
pub(crate) async fn collect(
    request: BundleRequest<'_>,
    context: &Context,
) -> Result<BundleInfo, CommandError> {
    let to = request.file.map_or_else(
        || "standard output".to_owned(),
        |it| it.display().to_string(),
    );
    let cannot = |error: io::Error| {
        let error = CommandError::new(
            Exit::Precondition,
            format!("cannot write the support bundle {to}"),
        )
        .cause(error.to_string());
        error.hint("pass another file with --output")
    };
    let mut archive = begin(&request).map_err(cannot)?;
    let mut readme = Readme::default();
    fill(&mut archive, &mut readme, &request)
        .await
        .map_err(cannot)?;
    readme.missing.sort();
    let text = readme.text(&archive.files);
    archive.add("README.md", &text).map_err(cannot)?;
    let files = archive.files.len();
    let bytes = match request.file {
        Some(file) if is_special(file) => archive.write_to(file),
        Some(file) => archive.persist(file),
        None => archive.copy(|bytes| {
            context.ui.bytes(bytes);
            Ok(())
        }),
    };
    Ok(BundleInfo {
        files,
        bytes: bytes.map_err(cannot)?,
        missing: readme.missing,
    })
}

/// Starts the archive beside its final path, so that it is renamed at the end.
fn begin(request: &BundleRequest<'_>) -> io::Result<Archive> {
    let now = crate::clock::now();
    let time = u64::try_from(now.as_second()).unwrap_or_default();
    let name = request
        .file
        .and_then(Path::file_name)
        .map(|it| it.to_string_lossy().into_owned());
    let root = match &name {
        Some(name) => {
            let name = name.trim_end_matches(".gz").trim_end_matches(".tgz");
            name.trim_end_matches(".tar").to_owned()
        }
        None => format!("{}-bundle", request.shoot.replace('/', "-")),
    };
    let file = request.file.filter(|it| !is_special(it));
    let folder = file.map(|file| match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    });
    Archive::begin(folder, &root, time)
}

/// Pipes and devices are written to, not replaced.
fn is_special(file: &Path) -> bool {
    file.metadata().is_ok_and(|it| !it.is_file())
}

async fn fill(
    archive: &mut Archive,
    readme: &mut Readme,
    request: &BundleRequest<'_>,
) -> io::Result<()> {
    let until = Instant::now() + request.limit.saturating_sub(WRITE_RESERVE);
    let (provider, id) = (request.provider, id_of(request.shoot));
    let record = timeout_at(until, read_record(provider, &id)).await;
    let (record, others) = record.unwrap_or_else(|_| (Err("timed out".to_owned()), Vec::new()));
    let (record, why) = match record {
        Ok(record) => (record, None),
        Err(why) => (None, Some(why)),
    };
    readme
        .missing
        .extend(why.map(|it| ("the record".to_owned(), it)));
    let secrets = match timeout_at(until, user_data(provider, record.as_ref())).await {
        Ok(Ok(secrets)) => secrets,
        // Without them, nothing that is collected has them either.
        Ok(Err(why)) => {
            readme
                .missing
                .push(("the user data of pools".to_owned(), why));
            Vec::new()
        }
        Err(_) => Vec::new(),
    };
    let evidence = BundleCollector::start(provider, &id, others, &secrets);
    let Ok(evidence) = timeout_at(until, evidence).await else {
        let all = "all objects, events and logs".to_owned();
        readme.missing.push((all, "timed out".to_owned()));
        return Ok(());
    };
    let redactor = evidence.redactor();
    for (path, text) in record.iter().flat_map(|it| summary::record(it, redactor)) {
        archive.add(&path, &text)?;
    }
    for (name, text) in &request.run_files {
        archive.add(&format!("run/{name}"), &redactor.text(text))?;
    }
    let (found, mut files) = mpsc::channel(QUEUE);
    let gather = async {
        let work = async {
            let summary = summary::summary(&found, provider, record.as_ref(), redactor);
            tokio::join!(summary, evidence.collect(&found));
        };
        let is_complete = timeout_at(until, work).await.is_ok();
        drop(found);
        Ok(is_complete)
    };
    let write = async {
        while let Some(one) = files.recv().await {
            match one {
                CollectedPart::File { path, text } => archive.add(&path, &text)?,
                CollectedPart::Missing { what, why } => readme.missing.push((what, why)),
                CollectedPart::Fact { what, value } => readme.facts.push((what, value)),
                CollectedPart::Note(note) => readme.notes.push(note),
            }
        }
        io::Result::Ok(())
    };
    let (is_complete, ()) = tokio::try_join!(gather, write)?;
    if !is_complete {
        let unread = evidence.unfinished().into_iter();
        let late = "timed out; pass a longer --timeout".to_owned();
        readme.missing.extend(unread.map(|it| (it, late.clone())));
        readme
            .missing
            .push(("everything after that".to_owned(), late));
    }
    facts(readme, request, record.as_ref());
    Ok(())
}

/// Reads the record, and the IDs of the other shoots.
async fn read_record(
    provider: &ApiClient,
    id: &str,
) -> (Result<Option<RecordSnapshot>, String>, Vec<String>) {
    let within = Instant::now() + RECORD_TIMEOUT;
    let (record, others) = tokio::join!(
        timeout_at(within, provider.record(id)),
        timeout_at(within, provider.records(NamespaceScope::Current))
    );
    let record = match record {
        Ok(record) => record.map_err(|it| it.to_string()),
        Err(_) => Err("timed out".to_owned()),
    };
    let others = others.ok().and_then(Result::ok).unwrap_or_default();
    (
        record,
        others.iter().map(|it| it.name.to_string()).collect(),
    )
}

/// User data of the pools, which must not be in the bundle.
async fn user_data(
    provider: &ApiClient,
    record: Option<&RecordSnapshot>,
) -> Result<Vec<String>, String> {
    let Some(record) = record else {
        return Ok(Vec::new());
    };
    let complete = provider.complete_record(record.clone()).await;
    let complete = complete.map_err(|error| error.to_string())?;
    Ok(summary::user_data(&complete))
}

fn facts(readme: &mut Readme, request: &BundleRequest<'_>, record: Option<&RecordSnapshot>) {
    let shoot = match record {
        Some(record) if record.leaving => "has a record, being deleted",
        Some(_) => "has a record",
        None => "has no record",
    };
    let version = record.map(|it| ShootSummary::of(it, None).kubernetes_version);
    let facts = [
        ("shoot's manifest", version.unwrap_or_default()),
        (
            "shoot",
            format!("{} ({}), {shoot}", request.shoot, id_of(request.shoot)),
        ),
        ("namespace", request.provider.namespace().to_string()),
        ("provider", request.provider.server().to_owned()),
        ("collected", format!("{:.0}", crate::clock::now())),
        ("kvshoot", version::VERSION.to_string()),
    ];
    let facts = facts.into_iter().filter(|it| !it.1.is_empty());
    readme.facts.extend(facts);
    readme.facts.sort();
}
