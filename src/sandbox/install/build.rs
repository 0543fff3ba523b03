//! Builds the programs with Go, from modules of the Go module proxy.

use super::bin_dir;
use super::clock;
use super::go_modules::{Edit, Workspace};
use crate::sandbox::error::{SandboxError, io};
use crate::sandbox::private_files;
use crate::sandbox::progress::Step;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const OLDEST: (u32, u32) = (1, 26);

/// Folder for the compiled programs, inside the folder of a build.
const OUTPUT: &str = "programs";

/// Folder for the packages of other modules, inside the folder of a build. Go names it.
const VENDOR: &str = "vendor";

/// Builds the missing programs of workspaces into `bin`. Returns a description of how they were built.
pub(super) fn build<'a>(
    root: &Path,
    bin: &Path,
    workspaces: impl IntoIterator<Item = &'a Workspace>,
    progress: &mut dyn FnMut(Step),
) -> Result<String, SandboxError> {
    let version = version()?;
    private_files::make_dir(bin)?;
    remove_leftovers(root);
    let clock = clock::overlay(root, Path::new(&env("GOROOT")?))?;
    for workspace in workspaces {
        if bin_dir::contains(bin, workspace) {
            continue;
        }
        progress(Step::note(format!(
            "building {} with {version}; this takes a few minutes and is done once",
            workspace.title
        )));
        let work = tempfile::Builder::new()
            .prefix("build-")
            .tempdir_in(root)
            .map_err(io("create the build folder"))?;
        write(workspace, work.path())?;
        let packages = fetch(workspace, work.path(), progress)?;
        compile(workspace, work.path(), clock.as_deref(), packages, progress)?;
        install(workspace, &work.path().join(OUTPUT), bin)?;
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

/// Writes the modules, and the go.work that makes one build of them.
fn write(workspace: &Workspace, work: &Path) -> Result<(), SandboxError> {
    let mut uses = String::new();
    for module in workspace.modules {
        let folder = work.join(module.name);
        for (path, text) in module.files {
            let path = folder.join(path);
            private_files::make_dir(path.parent().unwrap_or(&folder))?;
            private_files::write(&path, text)?;
        }
        uses.push_str(&format!("use ./{}\n", module.name));
    }
    private_files::make_dir(&work.join(OUTPUT))?;
    let go = workspace.go_version();
    private_files::write(&work.join("go.work"), &format!("go {go}\n\n{uses}"))
}

/// Downloads the modules. Returns the number of packages to compile.
fn fetch(
    workspace: &Workspace,
    work: &Path,
    progress: &mut dyn FnMut(Step),
) -> Result<usize, SandboxError> {
    let title = format!("Fetching the Go modules of {}", workspace.title);
    let total = workspace.modules_to_fetch();
    progress(Step::new(&title).counted(0, total, "modules"));
    let mut done = 0;
    let mut downloaded = |line: &str| {
        if line.starts_with("go: downloading ") {
            done += 1;
            progress(Step::new(&title).counted(done.min(total), total, "modules"));
        }
    };
    let mut skipped = String::new();
    if !workspace.changes.is_empty() {
        skipped = vendor(workspace, work, &mut downloaded)?;
    }
    let mut list = go(work);
    list.args(["list", "-deps"]).args(workspace.packages());
    match run(workspace, &mut list, &mut downloaded) {
        Ok(output) => Ok(output.printed.lines().count()),
        // A package is missing that could not be fetched.
        Err(SandboxError::Build { output, .. }) => Err(failed(workspace, output + &skipped)),
        Err(error) => Err(error),
    }
}

/// Copies all packages from Go's cache, where they cannot be changed, and changes them. Returns Go's messages about
/// packages that do not exist: the mocks of KubeVirt's client import some.
fn vendor(
    workspace: &Workspace,
    work: &Path,
    line: impl FnMut(&str),
) -> Result<String, SandboxError> {
    let mut command = go(work);
    command.args(["work", "vendor", "-e"]);
    let skipped = run(workspace, &mut command, line)?.messages;
    change(workspace, &work.join(VENDOR)).map_err(|error| match skipped.is_empty() {
        true => error,
        false => failed(workspace, format!("{error}\n{skipped}")),
    })?;
    Ok(skipped)
}

/// Changes packages in the vendor folder.
fn change(workspace: &Workspace, vendor: &Path) -> Result<(), SandboxError> {
    for change in workspace.changes {
        let package = vendor.join(change.package);
        let edit = &change.edit;
        match edit {
            Edit::Add(_) => {}
            Edit::Remove(files) => {
                for file in *files {
                    remove(&package.join(file))?;
                }
            }
            Edit::Keep(kept) => remove_all_but(&package, Some(kept))?,
            Edit::Replace(_) => remove_all_but(&package, None)?,
            Edit::ReplaceText { file, from, to } => {
                let path = package.join(file);
                let text = private_files::read(&path)?;
                private_files::write(&path, &text.replace(from, to))?;
            }
        }
        if let Edit::Add((file, text)) | Edit::Replace((file, text)) = edit {
            private_files::write(&package.join(file), text)?;
        }
    }
    Ok(())
}

fn remove_all_but(package: &Path, kept: Option<&str>) -> Result<(), SandboxError> {
    let failed = || io(format!("read {}", package.display()));
    for entry in std::fs::read_dir(package).map_err(failed())? {
        let path = entry.map_err(failed())?.path();
        let is_kept = path.file_name() == kept.map(std::ffi::OsStr::new);
        if path.is_file() && !is_kept {
            remove(&path)?;
        }
    }
    Ok(())
}

fn remove(file: &Path) -> Result<(), SandboxError> {
    std::fs::remove_file(file).map_err(io(format!("remove {}", file.display())))
}

/// Compiles and links all programs of a workspace in one build, so that what they share is compiled once.
fn compile(
    workspace: &Workspace,
    work: &Path,
    clock: Option<&Path>,
    total: usize,
    progress: &mut dyn FnMut(Step),
) -> Result<(), SandboxError> {
    let title = format!("Building {}", workspace.title);
    progress(Step::new(&title).counted(0, total, "packages"));
    let mut command = go(work);
    command
        .args(["build", "-v", "-trimpath", "-buildvcs=false"])
        // Without the information for debuggers, compiling takes less time.
        .args(["-gcflags=all=-dwarf=false", "-ldflags"])
        .arg(workspace.ldflags())
        .args(["-o", OUTPUT])
        // The compiler is a process for each package. Its memory is released when it exits, so most of them need
        // no garbage collection; the limit is for the largest packages and the linker.
        .env("GOGC", "off")
        .env("GOMEMLIMIT", "1GiB");
    if let Some(overlay) = clock {
        command.arg("-overlay").arg(overlay);
    }
    command.args(workspace.packages());
    let (mut done, mut programs) = (0, 0);
    run(workspace, &mut command, |line| {
        // -v prints each compiled package; lines with spaces are messages.
        if line.contains(' ') {
            return;
        }
        done += 1;
        progress(Step::new(&title).counted(done.min(total), total, "packages"));
        programs += usize::from(workspace.packages().any(|package| package == line));
        if programs == workspace.builds.len() {
            progress(Step::new(format!("Linking {}", workspace.title)));
        }
    })
    .map(drop)
}

/// Moves the programs into `bin`, each with the names under which it is called.
fn install(workspace: &Workspace, built: &Path, bin: &Path) -> Result<(), SandboxError> {
    for build in workspace.builds {
        let name = build.package.rsplit('/').next().unwrap_or(build.package);
        bin_dir::add(bin, build, &built.join(name))?;
    }
    Ok(())
}

/// Output of Go.
struct Output {
    /// Its standard output.
    printed: String,
    /// Its standard error, without progress.
    messages: String,
}

/// Runs Go to its end, with a call for each line of messages.
fn run(
    workspace: &Workspace,
    command: &mut Command,
    mut line: impl FnMut(&str),
) -> Result<Output, SandboxError> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(io("run go"))?;
    let stdout = child.stdout.take();
    // Read at the same time, because a full pipe would stop the program.
    let printed = std::thread::spawn(move || stdout.map(std::io::read_to_string));
    let mut messages = String::new();
    if let Some(stderr) = child.stderr.take() {
        for text in BufReader::new(stderr).lines() {
            let text = text.map_err(io("read the output of go"))?;
            line(&text);
            if text.contains(' ') && !text.starts_with("go: downloading ") {
                messages.push_str(&text);
                messages.push('\n');
            }
        }
    }
    let status = child.wait().map_err(io("wait for go"))?;
    let printed = printed
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    if !status.success() {
        return Err(failed(workspace, messages));
    }
    let printed = printed
        .unwrap_or_else(|| Ok(String::new()))
        .map_err(io("read the output of go"))?;
    Ok(Output { printed, messages })
}

fn failed(workspace: &Workspace, output: String) -> SandboxError {
    let program = workspace.title.to_owned();
    SandboxError::Build { program, output }
}

/// Go in a folder, with the workspace and the vendor folder in it, if there are any, and no other settings of the user.
fn go(folder: &Path) -> Command {
    let modules = match folder.join(VENDOR).is_dir() {
        true => "-mod=vendor",
        false => "-mod=readonly",
    };
    let mut command = Command::new("go");
    command
        .current_dir(folder)
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", modules)
        .env("GOWORK", folder.join("go.work"))
        .env("GO111MODULE", "on")
        .env("GOTOOLCHAIN", "local");
    command
}

/// The installed Go's version, such as `go1.26.8`.
pub(super) fn version() -> Result<String, SandboxError> {
    let found = env("GOVERSION")?;
    match number(&found) {
        Some(version) if version >= OLDEST => Ok(found),
        Some(_) => Err(SandboxError::OldGo { found }),
        None => Err(SandboxError::NoGo),
    }
}

/// A setting of the installed Go.
fn env(name: &str) -> Result<String, SandboxError> {
    let output = go(Path::new("/"))
        .args(["env", name])
        .env("GOWORK", "off")
        .output()
        .map_err(|_| SandboxError::NoGo)?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
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
