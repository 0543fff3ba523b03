//! Builds the programs with Go, from modules of the Go module proxy.

use super::bin_dir;
use super::go_modules::{Copy, Workspace, needed};
use crate::sandbox::error::{SandboxError, io};
use crate::sandbox::private_files;
use crate::sandbox::progress::Step;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const OLDEST: (u32, u32) = (1, 26);

/// Folder for the compiled programs, inside the folder of a build.
const OUTPUT: &str = "programs";

/// Builds the missing programs into `bin`. Returns a description of how they were built.
pub(super) fn build(
    root: &Path,
    bin: &Path,
    cdi: bool,
    progress: &mut dyn FnMut(Step),
) -> Result<String, SandboxError> {
    let version = version()?;
    private_files::make_dir(bin)?;
    remove_leftovers(root);
    for workspace in needed(cdi) {
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
        compile(workspace, work.path(), packages, progress)?;
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
    private_files::write(&work.join("go.work"), &format!("go 1.26.0\n\n{uses}"))
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
    for module in workspace.modules {
        for copy in module.copies {
            copy_module(workspace, copy, &work.join(module.name))?;
        }
    }
    let mut done = 0;
    let packages = run(
        workspace,
        go(work).args(["list", "-deps"]).args(workspace.packages()),
        |line| {
            if line.starts_with("go: downloading ") {
                done += 1;
                progress(Step::new(&title).counted(done.min(total), total, "modules"));
            }
        },
    )?;
    Ok(packages.lines().count())
}

/// Copies a module from the cache of Go into the folder of the module that replaces it with the copy.
fn copy_module(workspace: &Workspace, copy: &Copy, folder: &Path) -> Result<(), SandboxError> {
    let module = format!("{}@{}", copy.module, copy.version);
    let mut command = go(Path::new("/"));
    command
        .args(["mod", "download", "-json", &module])
        // The checksum is compared here; the database of checksums may be out of reach.
        .env("GONOSUMDB", copy.module)
        .env("GOWORK", "off");
    let output = run(workspace, &mut command, |_| {})?;
    let answer: serde_json::Value =
        serde_json::from_str(&output).map_err(|source| SandboxError::State {
            path: module.clone().into(),
            source,
        })?;
    let (sum, source) = (answer["Sum"].as_str(), answer["Dir"].as_str());
    let (Some(source), Some(true)) = (source, sum.map(|sum| sum == copy.sum)) else {
        let output = format!("the checksum of {module} is {sum:?}, not {}", copy.sum);
        return Err(failed(workspace, output));
    };
    copy_folder(Path::new(source), &folder.join(copy.folder))
        .map_err(io(format!("copy {module}")))?;
    for file in copy.without {
        std::fs::remove_file(folder.join(copy.folder).join(file))
            .map_err(io(format!("remove {file} of {module}")))?;
    }
    for (file, from, to) in copy.replacements {
        let path = folder.join(copy.folder).join(file);
        let text = private_files::read(&path)?;
        private_files::write(&path, &text.replace(from, to))?;
    }
    Ok(())
}

/// Copies contents without permissions: files of Go's cache are read-only.
fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy_folder(&entry.path(), &target)?,
            false => std::fs::write(target, std::fs::read(entry.path())?)?,
        }
    }
    Ok(())
}

/// Compiles and links all programs of a workspace in one build, so that what they share is compiled once.
fn compile(
    workspace: &Workspace,
    work: &Path,
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
        .args(workspace.packages())
        // The compiler is a process for each package. Its memory is released when it exits, so most of them need
        // no garbage collection; the limit is for the largest packages and the linker.
        .env("GOGC", "off")
        .env("GOMEMLIMIT", "1GiB");
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

/// Runs Go to its end, with a call for each line of messages. Returns what it printed to its standard output.
fn run(
    workspace: &Workspace,
    command: &mut Command,
    mut line: impl FnMut(&str),
) -> Result<String, SandboxError> {
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
    printed
        .unwrap_or_else(|| Ok(String::new()))
        .map_err(io("read the output of go"))
}

fn failed(workspace: &Workspace, output: String) -> SandboxError {
    let program = workspace.title.to_owned();
    SandboxError::Build { program, output }
}

/// Go in a folder, with the workspace of the folder, if there is one, and no other settings of the user.
fn go(folder: &Path) -> Command {
    let mut command = Command::new("go");
    command
        .current_dir(folder)
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-mod=readonly")
        .env("GOWORK", folder.join("go.work"))
        .env("GO111MODULE", "on")
        .env("GOTOOLCHAIN", "local");
    command
}

/// The installed Go's version, such as `go1.26.8`.
fn version() -> Result<String, SandboxError> {
    let output = go(Path::new("/"))
        .args(["env", "GOVERSION"])
        .env("GOWORK", "off")
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
