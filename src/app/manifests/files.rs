//! Reading the files of manifests.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::manifests::report::accept;
use crate::app::provider::connect::has_option;
use crate::load::{BindingLookup, FetchedValues, LoadContext, Loaded, ProfileFile, judge};
use crate::manifest::Manifest;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The limit of all manifests together, in bytes. The parser rejects a file that reaches it.
const BUDGET: u64 = 16 << 20;

/// Files, directories or `-`, as given to `-f` and `--profile`.
#[derive(Debug, Clone, Default)]
pub(crate) struct ManifestFiles {
    pub(crate) manifests: Vec<PathBuf>,
    pub(crate) profile: Option<PathBuf>,
}

/// Scope of a judgement without a provider cluster.
pub(crate) struct OfflineScope {
    pub(crate) values: FetchedValues,
    /// Accepts MachineDeployments without a Shoot.
    pub(crate) allow_without_shoot: bool,
    /// Names of the add-ons; None if the pod network is not judged.
    pub(crate) addons: Option<Vec<String>>,
}

/// Names of files with their content.
pub(crate) type SourceTexts = Vec<(String, Vec<u8>)>;

impl ManifestFiles {
    /// Reads each file once, however often it is named.
    pub(crate) fn read(&self) -> Result<SourceTexts, CommandError> {
        read(&self.manifests, self.profile.as_deref())
    }

    /// Reads and judges manifests without a provider cluster.
    pub(crate) fn judge_offline(
        &self,
        scope: OfflineScope,
        context: &Context,
    ) -> Result<Loaded, CommandError> {
        let load_context = LoadContext {
            values: scope.values,
            allow_without_shoot: scope.allow_without_shoot,
            addons: scope.addons,
            bindings: match has_option(context) {
                true => BindingLookup::Skipped,
                false => BindingLookup::Advisory,
            },
            ..load_context(context)?
        };
        let texts = self.read()?;
        Ok(context.report_busy(|| judge(Manifest::parse(texts), &load_context)))
    }

    /// Like `judge_offline`; problems are reported, and errors end the command.
    pub(crate) fn load_offline(
        &self,
        allow_without_shoot: bool,
        context: &Context,
    ) -> Result<Loaded, CommandError> {
        let scope = OfflineScope {
            values: FetchedValues::Offline,
            allow_without_shoot,
            addons: None,
        };
        let loaded = self.judge_offline(scope, context)?;
        accept(loaded, context)
    }
}

/// A load context with the profiles of the configuration directory.
pub(crate) fn load_context(context: &Context) -> Result<LoadContext, CommandError> {
    let cannot = |error: io::Error| {
        CommandError::new(
            Exit::Precondition,
            "cannot read the profiles in the configuration directory",
        )
        .cause(error.to_string())
    };
    let read = |path: PathBuf| -> io::Result<ProfileFile> {
        Ok((path.display().to_string(), fs::read(&path)?))
    };
    let files = context.config.profiles().map_err(cannot)?;
    let profiles = files.into_iter().map(read).collect::<Result<_, _>>();
    Ok(LoadContext {
        profiles: profiles.map_err(cannot)?,
        allow_exec: context.provider.allow_exec,
        ..LoadContext::at(crate::clock::now())
    })
}

pub(crate) fn read(names: &[PathBuf], profile: Option<&Path>) -> Result<SourceTexts, CommandError> {
    let mut known = HashSet::new();
    let mut files = Vec::new();
    let mut left = BUDGET;
    for name in names.iter().map(PathBuf::as_path).chain(profile) {
        for path in expand(name)? {
            let same = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
            if !known.insert(same) {
                continue;
            }
            let bytes = content(&path, left)?;
            left = left.saturating_sub(bytes.len() as u64);
            files.push((display_name(&path), bytes));
        }
    }
    Ok(files)
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn display_name(path: &Path) -> String {
    if is_stdin(path) {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}

/// Replaces a directory by the manifests in it, sorted by name. Subdirectories are skipped.
fn expand(path: &Path) -> Result<Vec<PathBuf>, CommandError> {
    if is_stdin(path) || !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.map_err(|error| unreadable(path, &error))?;
    let is_manifest = |path: &PathBuf| {
        let extension = path.extension().and_then(|it| it.to_str());
        matches!(extension, Some("yaml" | "yml" | "json")) && path.is_file()
    };
    let mut files: Vec<PathBuf> = entries
        .iter()
        .map(fs::DirEntry::path)
        .filter(is_manifest)
        .collect();
    files.sort();
    if files.is_empty() {
        let message = format!("no manifests in {}", path.display());
        return Err(CommandError::new(Exit::Usage, message)
            .hint("only .yaml, .yml and .json files are read; subdirectories are skipped"));
    }
    Ok(files)
}

/// Reads at most one byte more than the budget leaves, so that the parser notices.
fn content(path: &Path, left: u64) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    let read = if is_stdin(path) {
        io::stdin().lock().take(left + 1).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(left + 1).read_to_end(&mut bytes))
    };
    read.map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > left {
        let message = format!(
            "{}: manifests exceed the limit of {BUDGET} bytes in total",
            display_name(path)
        );
        return Err(CommandError::new(Exit::Usage, message));
    }
    Ok(bytes)
}

fn unreadable(path: &Path, error: &io::Error) -> CommandError {
    if error.kind() == io::ErrorKind::NotFound {
        return CommandError::new(Exit::Usage, format!("file {} not found", path.display()));
    }
    CommandError::new(
        Exit::Precondition,
        format!("cannot read {}", display_name(path)),
    )
    .cause(error.to_string())
}
