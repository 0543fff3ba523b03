//! Builds the programs with Go, from modules of the Go module proxy.

use super::go_modules::{Build, Module, needed};
use crate::sandbox::error::{SandboxError, io};
use crate::sandbox::private_files;
use crate::sandbox::progress::Step;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const OLDEST: (u32, u32) = (1, 26);

/// Builds the missing programs into `bin`. Returns a description of how they were built.
pub(super) fn build(
    root: &Path,
    bin: &Path,
    cdi: bool,
    progress: &mut dyn FnMut(Step),
) -> Result<String, SandboxError> {
    let version = version()?;
    progress(Step::note(format!(
        "building the sandbox's programs with {version}; the first build takes about ten minutes"
    )));
    private_files::make_dir(bin)?;
    remove_leftovers(root);
    let work = tempfile::Builder::new()
        .prefix("build-")
        .tempdir_in(root)
        .map_err(io("create the build folder"))?;
    let mut written = Vec::new();
    for (module, build) in needed(cdi) {
        if build
            .programs
            .iter()
            .all(|program| bin.join(program).is_file())
        {
            continue;
        }
        let folder = work.path().join(module.name);
        if !written.contains(&module.name) {
            write(module, &folder)?;
            written.push(module.name);
        }
        compile(build, &folder, progress)?;
        let output = bin.join(build.output);
        std::fs::rename(folder.join(build.output), &output)
            .map_err(io(format!("move {} into place", build.output)))?;
        for program in build.programs {
            private_files::symlink(Path::new(build.output), &bin.join(program))?;
        }
    }
    Ok(format!("built with {version} from the Go module proxy"))
}

/// Removes the folders of interrupted builds. None is in use, because the lock is held.
fn remove_leftovers(root: &Path) {
    for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("build-") {
            // A folder that cannot be removed does no harm.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn write(module: &Module, folder: &Path) -> Result<(), SandboxError> {
    for (path, text) in module.files {
        let path = folder.join(path);
        private_files::make_dir(path.parent().unwrap_or(folder))?;
        private_files::write(&path, text)?;
    }
    Ok(())
}

fn compile(
    build: &Build,
    folder: &Path,
    progress: &mut dyn FnMut(Step),
) -> Result<(), SandboxError> {
    let title = format!("Building {}", build.output);
    progress(Step::new(format!(
        "Fetching the modules of {}",
        build.output
    )));
    let deps = go(folder)
        .args(["list", "-deps", build.package])
        .output()
        .map_err(io("run go list"))?;
    if !deps.status.success() {
        let output = String::from_utf8_lossy(&deps.stderr).into_owned();
        return Err(failed(build, output));
    }
    let total = deps.stdout.split(|byte| *byte == b'\n').count();
    let mut child = go(folder)
        .args(["build", "-v", "-trimpath", "-buildvcs=false", "-ldflags"])
        .args([&build.ldflags(), "-o", build.output, build.package])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(io("run go build"))?;
    progress(Step::new(&title).counted(0, total));
    let mut output = String::new();
    let mut done = 0;
    if let Some(stderr) = child.stderr.take() {
        for line in BufReader::new(stderr).lines() {
            let line = line.map_err(io("read the output of go build"))?;
            // -v prints each compiled package; lines with spaces are messages.
            if line.contains(' ') {
                output.push_str(&line);
                output.push('\n');
            } else {
                done += 1;
                progress(Step::new(&title).counted(done.min(total), total));
            }
        }
    }
    let status = child.wait().map_err(io("wait for go"))?;
    if !status.success() {
        return Err(failed(build, output));
    }
    progress(Step::new(&title).counted(total, total));
    Ok(())
}

fn failed(build: &Build, output: String) -> SandboxError {
    let program = build.output.to_owned();
    SandboxError::Build { program, output }
}

fn go(folder: &Path) -> Command {
    let mut command = Command::new("go");
    command
        .current_dir(folder)
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-mod=readonly")
        .env("GOWORK", "off")
        .env("GO111MODULE", "on")
        .env("GOTOOLCHAIN", "local");
    command
}

/// The installed Go's version, such as `go1.26.8`.
fn version() -> Result<String, SandboxError> {
    let output = go(Path::new("/"))
        .args(["env", "GOVERSION"])
        .output()
        .map_err(|_| SandboxError::NoGo)?;
    let found = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    match number(&found) {
        Some(version) if version >= OLDEST => Ok(found),
        Some(_) => Err(SandboxError::OldGo { found }),
        None => Err(SandboxError::NoGo),
    }
}

fn number(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.strip_prefix("go")?.split(['.', '-', 'r', 'b', ' ']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_go_are_compared_as_numbers() {
        assert_eq!(number("go1.26.8"), Some((1, 26)));
        assert_eq!(number("go1.27rc1"), Some((1, 27)));
        assert_eq!(number("devel"), None);
        assert!(number("go1.9.7") < Some(OLDEST));
    }
}
