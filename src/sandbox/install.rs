//! Where the sandbox's programs come from: a folder that was given, the cache, `PATH`, or a build by Go.

use super::error::{SandboxError, io};
use super::files::{self, Lock};
use super::{Dirs, Step, build, modules};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Programs and manifests, ready to be started.
#[derive(Debug, Clone)]
pub(crate) struct Installation {
    pub(crate) bin: PathBuf,
    pub(crate) manifests: PathBuf,
    /// Of what it was made; differs when the manifests may differ.
    pub(crate) digest: String,
    /// How the programs came here, for people.
    pub(crate) way: String,
}

/// Finds the programs, or makes them; `from` is a folder that has them.
pub(crate) fn install(
    dirs: &Dirs,
    from: Option<&Path>,
    cdi: bool,
    tell: &mut dyn FnMut(Step),
) -> Result<Installation, SandboxError> {
    let digest = modules::digest();
    let root = dirs.cache.join("sandbox");
    let home = root.join(&digest);
    files::make_dir(&home)?;
    let installation = Installation {
        bin: home.join("bin"),
        manifests: home.join("manifests"),
        digest,
        way: format!("from the cache, {}", home.display()),
    };
    if from.is_none() && complete(&installation, cdi) {
        return Ok(installation);
    }
    let waiting = |pid: Option<u32>| {
        let who = pid.map_or(String::new(), |pid| format!(" (process {pid})"));
        tell(Step::new(format!(
            "Waiting for another kvshoot{who} that installs the sandbox"
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
    // All of them together, or versions that do not fit would be mixed.
    let ready = || dirs.path.iter().find(|it| missing(it, cdi).is_empty());
    let way = match from.or_else(|| ready().map(PathBuf::as_path)) {
        Some(folder) => {
            let folder = folder
                .canonicalize()
                .map_err(io(format!("open {}", folder.display())))?;
            link(&folder, &installation.bin, cdi)?;
            tell(Step::new(format!(
                "Taking the programs from {}",
                folder.display()
            )));
            format!("from {}", folder.display())
        }
        None => build::build(&root, &installation.bin, cdi, tell)?,
    };
    manifests(&installation, cdi, tell)?;
    Ok(Installation {
        way,
        ..installation
    })
}

fn complete(installation: &Installation, cdi: bool) -> bool {
    let marker = installation.manifests.join(marker(cdi));
    marker.exists() && missing(&installation.bin, cdi).is_empty()
}

/// Stands in the manifests' folder once all of them are there.
fn marker(cdi: bool) -> &'static str {
    if cdi { ".complete-cdi" } else { ".complete" }
}

fn missing(folder: &Path, cdi: bool) -> Vec<String> {
    modules::needed(cdi)
        .flat_map(|(_, build)| build.programs)
        .filter(|program| !folder.join(program).is_file())
        .map(|program| (*program).to_owned())
        .collect()
}

/// Puts each program of a folder under its name into ours.
fn link(folder: &Path, bin: &Path, cdi: bool) -> Result<(), SandboxError> {
    let programs = missing(folder, cdi);
    if !programs.is_empty() {
        let folder = folder.to_owned();
        return Err(SandboxError::Missing { folder, programs });
    }
    files::make_dir(bin)?;
    for program in modules::needed(cdi).flat_map(|(_, build)| build.programs) {
        let source = folder.join(program);
        symlink(&source, &bin.join(program))?;
    }
    Ok(())
}

/// Makes a link in one step, in place of whatever is there.
pub(super) fn symlink(target: &Path, link: &Path) -> Result<(), SandboxError> {
    let passing = link.with_extension("new");
    // What an interrupted run left.
    let _ = std::fs::remove_file(&passing);
    std::os::unix::fs::symlink(target, &passing)
        .and_then(|()| std::fs::rename(&passing, link))
        .map_err(io(format!("link {}", link.display())))
}

/// Has the programs print what their operators would create.
fn manifests(
    installation: &Installation,
    cdi: bool,
    tell: &mut dyn FnMut(Step),
) -> Result<(), SandboxError> {
    tell(Step::new("Writing the manifests of KubeVirt and CDI"));
    let folder = &installation.manifests;
    files::make_dir(folder)?;
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
    files::write(&folder.join(marker(false)), "")?;
    if cdi {
        files::write(&folder.join(marker(true)), "")?;
    }
    Ok(())
}
