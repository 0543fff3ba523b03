//! Runs the sandbox's kubectl.

use super::clock_file::ClockFile;
use super::error::{SandboxError, io};
use crate::clock;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Debug, Clone)]
pub(super) struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    /// Its HOME, so that it ignores the user's configuration.
    home: PathBuf,
    /// The file with the sandbox's clock.
    clock: PathBuf,
}

impl Kubectl {
    pub(super) fn new(bin: &Path, folder: &Path) -> Self {
        Self {
            program: bin.join("kubectl"),
            kubeconfig: folder.join("admin.kubeconfig"),
            home: folder.to_owned(),
            clock: ClockFile::of(folder).path().to_owned(),
        }
    }

    pub(super) fn run<S: AsRef<str>>(&self, args: &[S]) -> Result<String, SandboxError> {
        self.run_with_input(args, "")
    }

    pub(super) fn run_with_input<S: AsRef<str>>(
        &self,
        args: &[S],
        input: &str,
    ) -> Result<String, SandboxError> {
        let args: Vec<&str> = args.iter().map(AsRef::as_ref).collect();
        let mut child = Command::new(&self.program)
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(&args)
            .env_clear()
            .env(clock::VARIABLE, &self.clock)
            .env("HOME", &self.home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(io("start kubectl"))?;
        if let Some(mut stdin) = child.stdin.take() {
            // If it exits early, its own output explains why.
            let _ = stdin.write_all(input.as_bytes());
        }
        let output = child.wait_with_output().map_err(io("wait for kubectl"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(SandboxError::Kubectl {
            args: args.join(" "),
            stderr: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        })
    }

    /// Applies objects, and takes over fields that other managers own.
    pub(super) fn apply(&self, objects: &[serde_json::Value]) -> Result<(), SandboxError> {
        let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": objects});
        let args = [
            "apply",
            "--server-side",
            "--force-conflicts",
            "--validate=false",
            "-f",
            "-",
        ];
        self.run_with_input(&args, &list.to_string()).map(drop)
    }
}
