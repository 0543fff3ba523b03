//! The command of an ephemeral run: its environment, its signals and its exit code.

use crate::app::access::exec::{Access, CredentialStore};
use crate::app::access::process::{self, Signal};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::expiry::now;
use crate::app::run::retry::retry;
use crate::app::signals::Signals;
use crate::cluster::ApiClient;
use crate::render::system::rbac::ADMINS;
use crate::ui::format_duration;
use jiff::Timestamp;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::time::Duration;
use tokio::process::Child;
use tokio::time::{Instant, sleep_until};

/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(30);
/// Time limit for reaching the API server of a cluster that has just become ready.
const ACCESS_TIMEOUT: Duration = Duration::from_secs(120);

/// The command of an ephemeral run.
pub(super) struct EphemeralCommand<'a> {
    pub(super) context: &'a Context,
    pub(super) signals: &'a Signals,
    pub(super) provider: &'a ApiClient,
    /// Technical ID of the shoot.
    pub(super) id: &'a str,
    /// Display name of the shoot.
    pub(super) name: &'a str,
    /// The expiry of the shoot, which also ends the command.
    pub(super) end: Timestamp,
    /// The command inherits the variables that select the provider cluster.
    pub(super) inherits_provider: bool,
    pub(super) command: &'a [OsString],
}

/// The end of the command.
pub(super) struct ProgramEnd {
    pub(super) exit: Exit,
    /// The command exited with code 0.
    pub(super) succeeded: bool,
}

impl ProgramEnd {
    pub(super) fn failed(exit: Exit) -> ProgramEnd {
        ProgramEnd {
            exit,
            succeeded: false,
        }
    }
}

impl EphemeralCommand<'_> {
    pub(super) async fn run(&self) -> Result<ProgramEnd, CommandError> {
        let started = Instant::now();
        let (access, mut child) = self.start().await?;
        let exit = self.wait_for(&mut child).await;
        drop(access);
        let exit = exit?;
        let time = format_duration(started.elapsed());
        match exit {
            Exit::Done => self.print(&format!("command succeeded after {time}")),
            Exit::Child(code) => {
                self.print(&format!("command exited with code {code} after {time}"));
            }
            _ => {}
        }
        Ok(ProgramEnd {
            exit,
            succeeded: exit == Exit::Done,
        })
    }

    async fn start(&self) -> Result<(Access, Child), CommandError> {
        let (provider, id) = (self.provider, self.id);
        let user = format!("kvshoot:run:{}", self.context.run_id);
        let seconds = i64::try_from(self.remaining().as_secs()).unwrap_or(i64::MAX);
        let report = |why: &str| self.print(&format!("retrying to connect: {why}"));
        let connected = retry(ACCESS_TIMEOUT, self.signals, report, async || {
            let certificate = provider.client_certificate(id, &user, &[ADMINS], seconds);
            let certificate = certificate.await.map_err(failed)?;
            let way = provider
                .shoot_endpoint(id, &certificate)
                .await
                .map_err(failed)?;
            let store = CredentialStore::Kubeconfig;
            Access::new(way, id, &certificate, provider, self.context, store)
        });
        let access = self
            .signals
            .or_interrupted("connect to the shoot", connected)
            .await?;
        self.print(&format!("running {}", self.program_name()));
        let variables = self.variables(&access);
        let child = process::spawn(self.command, variables, self.inherits_provider)?;
        Ok((access, child))
    }

    /// The program without its arguments, which may be secret.
    fn program_name(&self) -> String {
        let program = self.command.first();
        program.map_or_else(String::new, |it| it.display().to_string())
    }

    fn variables(&self, access: &Access) -> Vec<(&'static str, OsString)> {
        let namespace = &**self.provider.namespace();
        let mut variables = match self.inherits_provider {
            true => self.context.variables(),
            false => Vec::new(),
        };
        variables.extend(access.variables());
        variables.extend([
            ("KVSHOOT_NAME", self.name.into()),
            ("KVSHOOT_NAMESPACE", OsString::from(namespace)),
            ("KVSHOOT_API_SERVER", access.way.url.as_str().into()),
        ]);
        variables
    }

    /// Time until the shoot expires.
    fn remaining(&self) -> Duration {
        let remaining = self.end.duration_since(now(self.provider));
        Duration::try_from(remaining).unwrap_or_default()
    }

    /// Waits until the command ends, or ends it on a signal or when the shoot expires.
    async fn wait_for(&self, child: &mut Child) -> Result<Exit, CommandError> {
        // The terminal sends signals to the process group, and thus to the child.
        let is_signalled = std::io::stdin().is_terminal();
        let end = Instant::now() + self.remaining();
        let program = self.program_name();
        let exit = tokio::select! {
            ended = child.wait() => return exit_of(ended),
            () = self.signals.first.cancelled() => {
                if !is_signalled {
                    process::send(child, self.signal());
                }
                self.print(&format!("waiting for {program} to exit; press Ctrl-C again to exit now"));
                self.signals.exit()
            }
            () = sleep_until(end) => {
                self.print(&format!("expired, terminating {program}"));
                process::send(child, Signal::TERM);
                Exit::Exec
            }
        };
        tokio::select! {
            _ = child.wait() => {}
            () = sleep_until(Instant::now() + GRACE) => {
                self.print(&format!("{program} did not exit within {}, killing it", format_duration(GRACE)));
                process::send(child, Signal::KILL);
                let _ = child.kill().await;
            }
            () = self.signals.second.cancelled() => {
                process::send(child, Signal::KILL);
                let _ = child.kill().await;
            }
        }
        Ok(exit)
    }

    fn signal(&self) -> Signal {
        match self.signals.exit() {
            Exit::Terminated => Signal::TERM,
            _ => Signal::INT,
        }
    }

    fn print(&self, text: &str) {
        let ui = &self.context.ui;
        ui.status(&format!("shoot {}: {text}", self.name));
    }
}

fn exit_of(ended: std::io::Result<std::process::ExitStatus>) -> Result<Exit, CommandError> {
    let ended = ended.map_err(|error| {
        CommandError::new(Exit::Exec, "cannot wait for the command").cause(error.to_string())
    })?;
    Ok(match process::exit_code(ended) {
        0 => Exit::Done,
        code => Exit::Child(code),
    })
}
