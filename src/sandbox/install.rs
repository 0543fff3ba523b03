//! Installs the sandbox's programs: from a given folder, the cache, `PATH`, or a build with Go.

mod build;
mod go_modules;

pub(super) use go_modules::KUBEVIRT_VERSION;

use super::error::{SandboxError, io};
use super::private_files::{self, Lock};
use super::progress::Step;
use super::state::Dirs;
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

/// Finds the programs, or builds them; `from` is a folder that contains them.
pub(crate) fn install(
    dirs: &Dirs,
    from: Option<&Path>,
    cdi: bool,
    progress: &mut dyn FnMut(Step),
) -> Result<Installation, SandboxError> {
    let digest = go_modules::digest();
    let root = dirs.cache.join("sandbox");
    let home = root.join(&digest);
    private_files::make_dir(&home)?;
    let installation = Installation {
        bin: home.join("bin"),
        manifests: home.join("manifests"),
        digest,
        origin: format!("from the cache, {}", home.display()),
    };
    if from.is_none() && complete(&installation, cdi) {
        return Ok(installation);
    }
    let waiting = |pid: Option<u32>| {
        let process = pid.map_or(String::new(), |pid| format!(" (process {pid})"));
        progress(Step::new(format!(
            "Waiting for another kvshoot{process} to install the sandbox"
        )));
    };
    let patience = Duration::from_secs(45 * 60);
    let _lock = Lock::take(
        root.join("install.lock"),
        "installing the sandbox",
        patience,
        waiting,
    )?;
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
        None => build::build(&root, &installation.bin, cdi, progress)?,
    };
    manifests(&installation, cdi, progress)?;
    Ok(Installation {
        origin,
        ..installation
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
        .flat_map(|(_, build)| build.programs)
        .filter(|program| !folder.join(program).is_file())
        .map(|program| (*program).to_owned())
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
    for program in go_modules::needed(cdi).flat_map(|(_, build)| build.programs) {
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
    let printers: &[&str] = if cdi {
        &["virt-manifests", "cdi-crds", "cdi-manifests"]
    } else {
        &["virt-manifests", "cdi-crds"]
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
