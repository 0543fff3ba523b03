//! Runs the real program in an empty home directory and captures its output.

use super::process::Running;
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The program with its own home directory and an otherwise empty environment.
pub(crate) struct Kvshoot {
    home: TempDir,
    variables: Vec<(String, String)>,
}

/// Output and exit code of a program.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Kvshoot {
    pub(crate) fn new() -> Self {
        Self {
            home: TempDir::new().unwrap(),
            variables: Vec::new(),
        }
    }

    /// Its kubeconfig names an address that is reserved for documentation, where no server responds.
    pub(crate) fn with_unreachable_provider() -> Self {
        let kubeconfig = "\
clusters: [{name: a, cluster: {server: 'https://192.0.2.1:6443'}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
users: [{name: a, user: {token: a}}]
current-context: a
";
        Self::new()
            .env("KUBECONFIG", "config")
            .file("config", kubeconfig)
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    #[must_use]
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Writes a file to the home directory, which is also the working directory.
    #[must_use]
    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        let path = self.home().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// Runs a command line, which is split at white space, without quoting.
    pub(crate) fn run(&self, line: &str) -> Output {
        self.args(line.split_whitespace())
    }

    pub(crate) fn args(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Output {
        self.program(Path::new(env!("CARGO_BIN_EXE_kvshoot")), args)
    }

    /// Starts a command line in the background.
    pub(crate) fn start(&self, line: &str) -> Running {
        Running::start(self, line)
    }

    /// Runs another program in the same environment.
    pub(crate) fn program(
        &self,
        program: &Path,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Output {
        let mut child = self.command(program, args).spawn().unwrap();
        drop(child.stdin.take());
        let output = child.wait_with_output().unwrap();
        Output {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Returns the command, not started, with pipes for stdin, stdout and stderr.
    pub(crate) fn command(
        &self,
        program: &Path,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", "/usr/bin:/bin")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.home())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

impl fmt::Display for Output {
    /// Stdout, then stderr if it is not empty, then the exit code if it is not 0.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.out)?;
        if !self.err.is_empty() {
            write!(f, "------- stderr -------\n{}", self.err)?;
        }
        match self.code {
            0 => Ok(()),
            code => writeln!(f, "------- exit code {code}"),
        }
    }
}
