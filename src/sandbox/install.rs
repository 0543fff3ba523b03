//! Installs the sandbox's programs: from a given folder, the cache, `PATH`, archives of the release, or a build with Go.

mod bin_dir;
mod build;
mod clock;
mod go_modules;
mod guests;
mod prebuilt;

pub(crate) use go_modules::KUBERNETES_VERSION;
pub(super) use go_modules::KUBEVIRT_VERSION;
pub(crate) use guests::{GUEST_COMPONENTS, install_guests};
pub(crate) use prebuilt::{ReleaseArchives, RemoteFile};

use super::error::{SandboxError, io};
use super::private_files::{self, Lock};
use super::progress::Step;
use super::state::Dirs;
use go_modules::{CDI_DEFINITIONS, Workspace};
use prebuilt::DownloadOutcome;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Programs and manifests, ready to be started.
#[derive(Debug, Clone)]
pub(crate) struct Installation {
    pub(crate) bin: PathBuf,
    pub(crate) manifests: PathBuf,
    /// Identifies the sources; another digest means that the manifests may differ.
    pub(crate) digest: String,
    /// Where the programs came from, for messages.
    pub(crate) origin: String,
}

/// Sources of the programs besides the cache, `PATH` and Go.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProgramSources {
    /// A folder that contains them.
    pub(crate) from: Option<PathBuf>,
    /// Tried before Go.
    pub(crate) archives: Option<ReleaseArchives>,
}

/// How `install` would get the programs of the sandbox.
#[derive(Debug)]
pub(crate) enum ProgramState {
    /// They are in this folder.
    Installed(PathBuf),
    /// The release has archives of them.
    Downloadable,
    /// This version of Go builds them.
    Buildable(String),
    /// They cannot be built, for this reason.
    Unavailable(SandboxError),
}

/// Finds out where the programs of the sandbox would come from. Downloads and builds nothing.
pub(crate) fn program_state(dirs: &Dirs, archives: &ReleaseArchives) -> ProgramState {
    let installation = installation(dirs);
    if complete(&installation, false) {
        return ProgramState::Installed(installation.bin);
    }
    let is_complete = |it: &&PathBuf| missing(it, false).is_empty();
    if let Some(folder) = dirs.path.iter().find(is_complete) {
        return ProgramState::Installed(folder.clone());
    }
    let (digest, bin) = (&installation.digest, &installation.bin);
    if archives.needed(digest, bin, false).is_some() {
        return ProgramState::Downloadable;
    }
    match build::version() {
        Ok(version) => ProgramState::Buildable(version),
        Err(error) => ProgramState::Unavailable(error),
    }
}

/// The folders of this version's programs in the cache.
fn installation(dirs: &Dirs) -> Installation {
    let digest = go_modules::digest();
    let home = dirs.cache.join("sandbox").join(&digest);
    Installation {
        bin: home.join("bin"),
        manifests: home.join("manifests"),
        digest,
        origin: format!("from the cache, {}", home.display()),
    }
}

/// Finds the programs, downloads them, or builds them.
pub(crate) fn install(
    dirs: &Dirs,
    sources: &ProgramSources,
    cdi: bool,
    progress: &mut dyn FnMut(Step),
) -> Result<Installation, SandboxError> {
    let from = sources.from.as_deref();
    let root = dirs.cache.join("sandbox");
    let installation = installation(dirs);
    private_files::make_dir(&root.join(&installation.digest))?;
    if from.is_none() && complete(&installation, cdi) {
        return Ok(installation);
    }
    let _lock = lock(&root, progress)?;
    if from.is_none() && complete(&installation, cdi) {
        return Ok(installation);
    }
    // Only a folder with all programs, so that versions are not mixed.
    let ready = || {
        dirs.path
            .iter()
            .find(|folder| missing(folder, cdi).is_empty())
    };
    let origin = match from.or_else(|| ready().map(PathBuf::as_path)) {
        Some(folder) => {
            let folder = folder
                .canonicalize()
                .map_err(io(format!("open {}", folder.display())))?;
            link(&folder, &installation.bin, cdi)?;
            progress(Step::new(format!(
                "Using the programs in {}",
                folder.display()
            )));
            format!("from {}", folder.display())
        }
        None => {
            let (bin, digest) = (&installation.bin, &installation.digest);
            let downloaded = match &sources.archives {
                Some(archives) => prebuilt::install(archives, digest, &root, bin, cdi, progress)?,
                None => DownloadOutcome::NotReleased,
            };
            build_unless_installed(downloaded, progress, |progress| {
                build::build(&root, bin, go_modules::needed(cdi), progress)
            })?
        }
    };
    manifests(&installation, cdi, progress)?;
    Ok(Installation {
        origin,
        ..installation
    })
}

/// Keeps others from installing at the same time.
fn lock(root: &Path, progress: &mut dyn FnMut(Step)) -> Result<Lock, SandboxError> {
    let waiting = |pid: Option<u32>| {
        let process = pid.map_or(String::new(), |pid| format!(" (process {pid})"));
        progress(Step::new(format!(
            "Waiting for another kvshoot{process} to install the sandbox"
        )));
    };
    let patience = Duration::from_secs(45 * 60);
    let what = "installing the sandbox";
    Lock::take(root.join("install.lock"), what, patience, waiting)
}

/// Builds the programs if they were not downloaded. Returns a description of their origin.
fn build_unless_installed(
    downloaded: DownloadOutcome,
    progress: &mut dyn FnMut(Step),
    build: impl FnOnce(&mut dyn FnMut(Step)) -> Result<String, SandboxError>,
) -> Result<String, SandboxError> {
    let failure = match downloaded {
        DownloadOutcome::Installed(origin) => return Ok(origin),
        DownloadOutcome::NotReleased => return build(progress),
        DownloadOutcome::Unavailable(failure) => failure,
    };
    progress(Step::note(format!(
        "cannot download the sandbox's programs, building them instead: {failure}"
    )));
    build(progress).map_err(|error| match error {
        SandboxError::NoGo => SandboxError::NoPrograms { failure },
        other => other,
    })
}

fn complete(installation: &Installation, cdi: bool) -> bool {
    let marker = installation.manifests.join(marker(cdi));
    marker.exists() && missing(&installation.bin, cdi).is_empty()
}

/// Returns the file in the manifests' folder that marks it as complete.
fn marker(cdi: bool) -> &'static str {
    if cdi { ".complete-cdi" } else { ".complete" }
}

fn missing(folder: &Path, cdi: bool) -> Vec<String> {
    go_modules::needed(cdi)
        .flat_map(Workspace::programs)
        .filter(|program| !folder.join(program).is_file())
        .map(str::to_owned)
        .collect()
}

/// Links each program of a folder into `bin`.
fn link(folder: &Path, bin: &Path, cdi: bool) -> Result<(), SandboxError> {
    let programs = missing(folder, cdi);
    if !programs.is_empty() {
        let folder = folder.to_owned();
        return Err(SandboxError::Missing { folder, programs });
    }
    private_files::make_dir(bin)?;
    for program in go_modules::needed(cdi).flat_map(Workspace::programs) {
        let source = folder.join(program);
        private_files::symlink(&source, &bin.join(program))?;
    }
    Ok(())
}

/// Runs the programs that print the manifests that KubeVirt's and CDI's operators would create.
fn manifests(
    installation: &Installation,
    cdi: bool,
    progress: &mut dyn FnMut(Step),
) -> Result<(), SandboxError> {
    progress(Step::new("Writing the manifests of KubeVirt and CDI"));
    let folder = &installation.manifests;
    private_files::make_dir(folder)?;
    private_files::write(&folder.join("crd-cdi.yaml"), CDI_DEFINITIONS)?;
    let printers: &[&str] = if cdi {
        &["virt-manifests", "cdi-manifests"]
    } else {
        &["virt-manifests"]
    };
    for printer in printers {
        let output = Command::new(installation.bin.join(printer))
            .arg(folder)
            .output()
            .map_err(io(format!("run {printer}")))?;
        if !output.status.success() {
            let output = String::from_utf8_lossy(&output.stderr).into_owned();
            let program = (*printer).to_owned();
            return Err(SandboxError::Build { program, output });
        }
    }
    private_files::write(&folder.join(marker(false)), "")?;
    if cdi {
        private_files::write(&folder.join(marker(true)), "")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(
        downloaded: DownloadOutcome,
        built: Result<String, SandboxError>,
    ) -> (Vec<String>, Result<String, SandboxError>) {
        let mut steps = Vec::new();
        let result =
            build_unless_installed(downloaded, &mut |step| steps.push(step.title), |_| built);
        (steps, result)
    }

    #[test]
    fn programs_that_cannot_be_downloaded_are_built() {
        let built = || Ok("built".to_owned());
        let (steps, result) = after(DownloadOutcome::NotReleased, built());
        assert_eq!((steps.len(), result.unwrap().as_str()), (0, "built"));
        let (steps, result) = after(DownloadOutcome::Unavailable("no route".to_owned()), built());
        assert_eq!(result.unwrap(), "built");
        let expected = "cannot download the sandbox's programs, building them instead: no route";
        assert_eq!(steps, [expected]);
        let (steps, result) = after(DownloadOutcome::Installed("from a".to_owned()), built());
        assert_eq!((steps.len(), result.unwrap().as_str()), (0, "from a"));
    }

    #[test]
    fn without_network_and_go_the_error_names_both() {
        let downloaded = DownloadOutcome::Unavailable("no route".to_owned());
        let (_, result) = after(downloaded, Err(SandboxError::NoGo));
        let error = result.unwrap_err();
        assert!(matches!(&error, SandboxError::NoPrograms { failure } if failure == "no route"));
        let expected = "cannot download the programs of the sandbox, and Go is not installed";
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}
