//! `kvshoot completions --install`: the completion script, where the shell looks for it.

use super::context::Context;
use super::error::{CommandError, Exit};
use crate::config::Config;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A shell that loads completion scripts from the home directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompletionShell {
    Bash,
    Zsh,
    Fish,
}

/// Path of a script, and what the shell needs to load it.
struct Destination {
    path: PathBuf,
    /// A line for the configuration of the shell, and the file that it belongs to; None if the shell loads the script
    /// without it.
    line: Option<(String, &'static str)>,
}

/// The shell of the user, from `SHELL`.
pub(crate) fn current_shell(config: Config) -> Option<CompletionShell> {
    let shell = config.shell()?;
    match shell.file_name()?.to_str()? {
        "bash" => Some(CompletionShell::Bash),
        "zsh" => Some(CompletionShell::Zsh),
        "fish" => Some(CompletionShell::Fish),
        _ => None,
    }
}

/// Writes a completion script. Files of the shell's configuration are not changed.
pub(crate) fn install(
    shell: CompletionShell,
    script: &str,
    context: &Context,
) -> Result<Exit, CommandError> {
    let destination = destination(shell, context.config).ok_or_else(|| {
        let error = CommandError::new(Exit::Precondition, "cannot find the home directory");
        error.hint("set HOME")
    })?;
    let path = destination.path;
    let is_new = write(&path, script).map_err(|error| {
        let message = format!("cannot write {}", path.display());
        CommandError::new(Exit::Precondition, message).cause(error.to_string())
    })?;
    let path = path.display();
    context.ui.status(&match is_new {
        true => format!("Wrote {path}"),
        false => format!("{path} is up to date"),
    });
    match destination.line {
        None => context.ui.hint("open a new shell to use it"),
        Some((line, file)) => context.ui.hint(&format!(
            "add this line to {file}, and open a new shell: {line}"
        )),
    }
    Ok(Exit::Done)
}

fn destination(shell: CompletionShell, config: Config) -> Option<Destination> {
    let home = config.home()?;
    Some(match shell {
        CompletionShell::Bash => {
            let path = config.bash_completions()?.join("kvshoot");
            // Bash itself reads no directory; the package bash-completion does.
            let line = (!config.has_bash_completion())
                .then(|| (format!("source {}", shown(&path, &home)), "~/.bashrc"));
            Destination { path, line }
        }
        CompletionShell::Zsh => {
            let directory = config.data_home()?.join("zsh/site-functions");
            let fpath = shown(&directory, &home);
            let line = format!("fpath=({fpath} $fpath); autoload -Uz compinit; compinit");
            Destination {
                path: directory.join("_kvshoot"),
                line: Some((line, "~/.zshrc")),
            }
        }
        CompletionShell::Fish => Destination {
            path: config.config_home()?.join("fish/completions/kvshoot.fish"),
            line: None,
        },
    })
}

/// A path for a shell, with `~` for the home directory.
fn shown(path: &Path, home: &Path) -> String {
    let quoted = |it: &Path| crate::config::quoted(it.display().to_string());
    match path.strip_prefix(home) {
        Ok(inside) => format!("~/{}", quoted(inside)),
        Err(_) => quoted(path),
    }
}

/// Returns false if the file has this text already.
fn write(path: &Path, text: &str) -> io::Result<bool> {
    if fs::read_to_string(path).is_ok_and(|it| it == text) {
        return Ok(false);
    }
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(path, text)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_in_the_home_directory_is_short() {
        let home = Path::new("/home/me");
        assert_eq!(shown(Path::new("/home/me/a/b"), home), "~/a/b");
        assert_eq!(shown(Path::new("/home/me/a b"), home), "~/'a b'");
        assert_eq!(shown(Path::new("/data/x"), home), "/data/x");
    }

    #[test]
    fn a_script_is_written_once() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a/b");
        assert!(write(&path, "script").expect("written"));
        assert!(!write(&path, "script").expect("unchanged"));
        assert!(write(&path, "newer").expect("replaced"));
    }
}
