//! The folder with the installed programs.

use super::go_modules::{Build, Workspace};
use crate::sandbox::error::{SandboxError, io};
use crate::sandbox::private_files;
use std::path::Path;

/// Returns whether all binaries and programs of a workspace are in `bin`.
pub(super) fn contains(bin: &Path, workspace: &Workspace) -> bool {
    let outputs = workspace.builds.iter().map(|it| it.output);
    let mut files = outputs.chain(workspace.programs());
    files.all(|name| bin.join(name).is_file())
}

/// Moves the binary of a build into `bin`, and links the programs that it contains.
pub(super) fn add(bin: &Path, build: &Build, binary: &Path) -> Result<(), SandboxError> {
    std::fs::rename(binary, bin.join(build.output))
        .map_err(io(format!("move {} into place", build.output)))?;
    for program in build.programs {
        private_files::symlink(Path::new(build.output), &bin.join(program))?;
    }
    Ok(())
}
