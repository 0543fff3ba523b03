//! Installs the programs from archives of a release, whose digests are part of this program.

use super::bin_dir;
use super::go_modules::{Build, needed};
use crate::sandbox::error::{SandboxError, io};
use crate::sandbox::private_files;
use crate::sandbox::progress::Step;
use flate2::read::GzDecoder;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// Written by the release workflow before it builds kvshoot; lists nothing in the repository.
const ARCHIVES: &str = include_str!("archives.json");

/// Limit for one archive. Then the programs are built instead.
const DOWNLOAD_DEADLINE: Duration = Duration::from_secs(30 * 60);
/// Attempts to resume an interrupted download; only those without progress count.
const ATTEMPTS: usize = 3;
/// Several times the size of all programs.
const MAX_UNPACKED_BYTES: u64 = 2 << 30;
const MB: u64 = 1_000_000;

/// Requests a file from a byte on, and returns an error message if there is no response.
pub(crate) type Fetch = fn(url: &str, offset: u64) -> Result<RemoteFile, String>;

/// A file that is being downloaded.
#[derive(Debug)]
pub(crate) struct RemoteFile {
    /// Position of the first byte; 0 if the server does not resume downloads.
    pub(crate) offset: u64,
    /// Pieces in order, until the end or the first error.
    pub(crate) pieces: Receiver<Result<Vec<u8>, String>>,
}

/// The archives of a release.
#[derive(Debug, Clone)]
pub(crate) struct ReleaseArchives {
    /// URL of the folder that contains them.
    pub(super) url: String,
    pub(super) fetch: Fetch,
    pub(super) index: ArchiveIndex,
}

/// Contents of `archives.json`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ArchiveIndex {
    /// Digest of the sources that the archives were built from.
    pub(super) programs: String,
    pub(super) archives: Vec<ReleaseArchive>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct ReleaseArchive {
    pub(super) name: String,
    /// Operating system and architecture, such as `linux-x86_64`.
    pub(super) platform: String,
    /// Contains only what CDI's controllers need.
    pub(super) cdi: bool,
    /// In bytes.
    pub(super) size: u64,
    pub(super) sha256: String,
}

/// Result of an installation from archives.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DownloadOutcome {
    /// Installed, with a description of the origin.
    Installed(String),
    /// This version of kvshoot has no archives for this computer.
    NotReleased,
    /// The archives cannot be downloaded, for this reason.
    Unavailable(String),
}

impl ReleaseArchives {
    /// The archives of this version of kvshoot; `mirror` is the URL of a folder with copies.
    pub(crate) fn new(mirror: Option<&str>, fetch: Fetch) -> ReleaseArchives {
        let release = concat!(
            env!("CARGO_PKG_REPOSITORY"),
            "/releases/download/v",
            env!("CARGO_PKG_VERSION")
        );
        ReleaseArchives {
            url: mirror.unwrap_or(release).trim_end_matches('/').to_owned(),
            fetch,
            index: serde_json::from_str(ARCHIVES).expect("a test parses the index"),
        }
    }

    /// Returns the archives that contain the missing programs; `None` if not all of them are released.
    pub(super) fn needed(
        &self,
        digest: &str,
        bin: &Path,
        cdi: bool,
    ) -> Option<Vec<&ReleaseArchive>> {
        let mut kinds = vec![false, true];
        kinds.retain(|kind| {
            let mut workspaces = needed(cdi).filter(|workspace| workspace.cdi == *kind);
            workspaces.any(|workspace| !bin_dir::contains(bin, workspace))
        });
        let find = |kind: bool| {
            let mut archives = self.index.archives.iter();
            archives.find(|it| it.platform == platform() && it.cdi == kind)
        };
        (self.index.programs == digest)
            .then(|| kinds.into_iter().map(find).collect())
            .flatten()
    }
}

/// Downloads, verifies and unpacks the missing programs. `root` is the folder of partial downloads.
///
/// # Errors
///
/// A wrong digest, or a file that is not an archive of these programs. Nothing of it is installed.
pub(super) fn install(
    archives: &ReleaseArchives,
    digest: &str,
    root: &Path,
    bin: &Path,
    cdi: bool,
    progress: &mut dyn FnMut(Step),
) -> Result<DownloadOutcome, SandboxError> {
    let Some(needed) = archives.needed(digest, bin, cdi) else {
        return Ok(DownloadOutcome::NotReleased);
    };
    remove_other_downloads(root, archives);
    for archive in needed {
        let part = part(root, archive);
        let url = format!("{}/{}", archives.url, archive.name);
        if let Err(failure) = download(archive, &url, archives.fetch, &part, progress)? {
            return Ok(DownloadOutcome::Unavailable(format!("{url}: {failure}")));
        }
        progress(Step::new(format!("Verifying {}", archive.name)));
        verify(archive, &url, &part)?;
        progress(Step::new(format!("Unpacking {}", archive.name)));
        let unpacked = root.join("unpacked");
        // An interrupted run may have left it behind. It is not in use, because the lock is held.
        private_files::remove_dir(&unpacked)?;
        private_files::make_dir(&unpacked)?;
        let result = unpack(archive, &part, &unpacked, MAX_UNPACKED_BYTES)
            .and_then(|()| move_into_place(archive, &unpacked, bin));
        private_files::remove_dir(&unpacked)?;
        remove_file(&part)?;
        result?;
    }
    Ok(DownloadOutcome::Installed(format!("from {}", archives.url)))
}

/// Downloads an archive, or the rest of it. The outer error is one of this computer, the inner one of the network.
fn download(
    archive: &ReleaseArchive,
    url: &str,
    fetch: Fetch,
    part: &Path,
    progress: &mut dyn FnMut(Step),
) -> Result<Result<(), String>, SandboxError> {
    let failed = || io(format!("write {}", part.display()));
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(part)
        .map_err(failed())?;
    let end = Instant::now() + DOWNLOAD_DEADLINE;
    let mut fruitless = 0;
    loop {
        let before = file.metadata().map_err(failed())?.len();
        if before == archive.size {
            return Ok(Ok(()));
        }
        if before > archive.size {
            file.set_len(0).map_err(failed())?;
        }
        let failure = match continue_download(archive, url, fetch, &mut file, end, progress) {
            Ok(failure) => failure,
            Err(error) => return Err(failed()(error)),
        };
        let after = file.metadata().map_err(failed())?.len();
        if after == archive.size {
            return Ok(Ok(()));
        }
        fruitless = if after > before { 0 } else { fruitless + 1 };
        let failure = failure
            .unwrap_or_else(|| format!("the file has {after} bytes instead of {}", archive.size));
        if fruitless >= ATTEMPTS || Instant::now() >= end || before == 0 && after == 0 {
            return Ok(Err(failure));
        }
        tracing::debug!(url, failure, after, "resuming the download");
    }
}

/// Appends to a file what the server sends. Returns why it ended early.
fn continue_download(
    archive: &ReleaseArchive,
    url: &str,
    fetch: Fetch,
    file: &mut File,
    end: Instant,
    progress: &mut dyn FnMut(Step),
) -> std::io::Result<Option<String>> {
    let mut length = file.metadata()?.len();
    let remote = match fetch(url, length) {
        Ok(remote) => remote,
        Err(failure) => return Ok(Some(failure)),
    };
    if remote.offset != length {
        file.set_len(remote.offset)?;
        length = remote.offset;
    }
    let megabytes = |bytes: u64| usize::try_from(bytes / MB).unwrap_or(usize::MAX);
    for piece in remote.pieces {
        let piece = match piece {
            Ok(piece) => piece,
            Err(failure) => return Ok(Some(failure)),
        };
        length += piece.len() as u64;
        if length > archive.size {
            file.set_len(0)?;
            let size = archive.size;
            return Ok(Some(format!("the file is larger than {size} bytes")));
        }
        file.write_all(&piece)?;
        let step = Step::new(format!("Downloading {}", archive.name));
        progress(step.counted(megabytes(length), megabytes(archive.size), "MB"));
        if Instant::now() >= end {
            let minutes = DOWNLOAD_DEADLINE.as_secs() / 60;
            return Ok(Some(format!("not complete after {minutes} minutes")));
        }
    }
    Ok(None)
}

/// Compares the digest of a download, and deletes the file if it differs.
fn verify(archive: &ReleaseArchive, url: &str, part: &Path) -> Result<(), SandboxError> {
    let mut file = File::open(part).map_err(io(format!("open {}", part.display())))?;
    let mut hash = Sha256::new();
    std::io::copy(&mut file, &mut hash).map_err(io(format!("read {}", part.display())))?;
    let found: String = hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    if found == archive.sha256 {
        return Ok(());
    }
    remove_file(part)?;
    Err(SandboxError::WrongDigest {
        url: url.to_owned(),
        found,
        expected: archive.sha256.clone(),
    })
}

/// Unpacks the programs of an archive. Accepts nothing else: no folders, links, other names or second copies.
fn unpack(
    archive: &ReleaseArchive,
    part: &Path,
    folder: &Path,
    limit: u64,
) -> Result<(), SandboxError> {
    let refused = |reason: String| SandboxError::Archive {
        name: archive.name.clone(),
        reason,
    };
    let unreadable = |error: std::io::Error| refused(error.to_string());
    let outputs = outputs(archive);
    let file = File::open(part).map_err(io(format!("open {}", part.display())))?;
    let limited = GzDecoder::new(file).take(limit);
    let mut tar = tar::Archive::new(limited);
    for entry in tar.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        let path = entry.path().map_err(unreadable)?.into_owned();
        let name = outputs.iter().find(|name| path == Path::new(name));
        let Some(name) = name.filter(|_| entry.header().entry_type().is_file()) else {
            return Err(refused(format!(
                "unexpected entry {:?}",
                path.display().to_string()
            )));
        };
        let target = folder.join(name);
        let mut program = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o700)
            .open(&target)
            .map_err(io(format!("create {}", target.display())))?;
        std::io::copy(&mut entry, &mut program).map_err(unreadable)?;
    }
    match outputs.iter().find(|name| !folder.join(name).is_file()) {
        Some(name) => Err(refused(format!("{name} is missing"))),
        None => Ok(()),
    }
}

fn move_into_place(
    archive: &ReleaseArchive,
    unpacked: &Path,
    bin: &Path,
) -> Result<(), SandboxError> {
    private_files::make_dir(bin)?;
    for build in builds(archive) {
        bin_dir::add(bin, build, &unpacked.join(build.output))?;
    }
    Ok(())
}

fn builds(archive: &ReleaseArchive) -> impl Iterator<Item = &'static Build> {
    needed(true)
        .filter(|workspace| workspace.cdi == archive.cdi)
        .flat_map(|workspace| workspace.builds)
}

/// File names in an archive.
fn outputs(archive: &ReleaseArchive) -> Vec<&'static str> {
    builds(archive).map(|build| build.output).collect()
}

/// Removes partial downloads of other versions.
fn remove_other_downloads(root: &Path, archives: &ReleaseArchives) {
    let known = archives.index.archives.iter();
    let current: Vec<PathBuf> = known.map(|it| part(root, it)).collect();
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if path.extension().is_some_and(|it| it == "part") && !current.contains(&path) {
            // A file that cannot be removed does no harm.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The file of a partial download.
fn part(root: &Path, archive: &ReleaseArchive) -> PathBuf {
    root.join(format!("{}.part", archive.name))
}

fn remove_file(path: &Path) -> Result<(), SandboxError> {
    std::fs::remove_file(path).map_err(io(format!("remove {}", path.display())))
}

/// The platform of this program, as in `archives.json`.
pub(super) fn platform() -> &'static str {
    match (
        cfg!(target_os = "linux"),
        cfg!(target_arch = "x86_64"),
        cfg!(target_arch = "aarch64"),
    ) {
        (true, true, _) => "linux-x86_64",
        (true, _, true) => "linux-aarch64",
        _ => "",
    }
}

#[cfg(test)]
#[path = "prebuilt_tests.rs"]
mod tests;
