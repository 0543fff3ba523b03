//! The part of a run in which its program runs: what it finds, and how it is made to end.

use super::again::again;
use super::{Ephemeral, code, spoken};
use crate::commands::child::{self, Signal};
use crate::commands::exec::{self, Entry};
use crate::commands::provider::failed;
use crate::commands::ttl::now;
use crate::commands::{CommandError, Exit};
use crate::plan::ADMINS;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::time::Duration;
use tokio::process::Child;
use tokio::time::{Instant, sleep_until};

/// How long a program may take to end when it is told to.
const GRACE: Duration = Duration::from_secs(30);

/// How long the way inside may be shut, on a cluster that was seen to serve a moment ago.
const ENTERING: Duration = Duration::from_secs(120);

/// How the part of the run went that was to be done.
pub(super) struct Ended {
    pub(super) exit: Exit,
    /// The program ran to its end, and was content.
    pub(super) well: bool,
}

impl Ephemeral<'_> {
    pub(super) async fn follow(&self) -> Ended {
        let begun = Instant::now();
        let exit = match self.enter().await {
            Ok((entry, mut child)) => {
                let exit = self.wait_for(&mut child).await;
                drop(entry);
                exit
            }
            Err(error) => Err(error),
        };
        let exit = exit.unwrap_or_else(|error| code(error.tell(&self.context.ui)));
        let program = self.program();
        let took = spoken(begun.elapsed());
        match exit {
            Exit::Done => self.say(&format!("{program} ended well after {took}")),
            Exit::Child(code) => self.say(&format!("{program} ended with {code} after {took}")),
            _ => {}
        }
        Ended {
            exit,
            well: exit == Exit::Done,
        }
    }

    async fn enter(&self) -> Result<(Entry, Child), CommandError> {
        let (provider, id) = (self.provider, self.shoot.id.as_str());
        let user = format!("kvshoot:run:{}", self.context.run_id);
        let seconds = i64::try_from(self.left().as_secs()).unwrap_or(i64::MAX);
        let tell = |why: &str| self.say(&format!("not entered yet: {why}"));
        let entered = again(ENTERING, self.signals, tell, async || {
            let certificate = provider.client_certificate(id, &user, &[ADMINS], seconds);
            let credentials = certificate.await.map_err(failed)?;
            let way = provider
                .shoot_endpoint(id, &credentials)
                .await
                .map_err(failed)?;
            exec::entry(way, id, &credentials)
        });
        let entry = self
            .signals
            .or_interrupted("enter the shoot", entered)
            .await?;
        self.say(&format!("{} runs in it", self.program()));
        let child = child::spawn(&self.args.command, self.variables(&entry))?;
        Ok((entry, child))
    }

    /// Names of commands are no secrets; their arguments may be.
    fn program(&self) -> String {
        let program = self.args.command.first();
        program.map_or_else(String::new, |it| it.display().to_string())
    }

    fn variables(&self, entry: &Entry) -> Vec<(&'static str, OsString)> {
        let mut variables = self.context.global.variables(self.context);
        variables.extend([
            ("KUBECONFIG", entry.file.path().into()),
            ("KVSHOOT_NAME", self.name.as_str().into()),
            (
                "KVSHOOT_NAMESPACE",
                OsString::from(&**self.provider.namespace()),
            ),
            ("KVSHOOT_API_SERVER", entry.way.url.as_str().into()),
        ]);
        variables
    }

    /// How long the shoot may live yet.
    fn left(&self) -> Duration {
        let left = self.end.duration_since(now(self.provider));
        Duration::try_from(left).unwrap_or_default()
    }

    /// Until it has ended by itself, or was made to: by a signal, or because the shoot's life is over.
    async fn wait_for(&self, child: &mut Child) -> Result<Exit, CommandError> {
        // A terminal tells the whole group of processes.
        let is_told = std::io::stdin().is_terminal();
        let end = Instant::now() + self.left();
        let ended = tokio::select! {
            ended = child.wait() => return finished(ended),
            () = self.signals.first.cancelled() => {
                if !is_told {
                    child::pass(child, self.signal());
                }
                let program = self.program();
                self.say(&format!("{program} is waited for; Ctrl-C again leaves at once"));
                self.signals.exit()
            }
            () = sleep_until(end) => {
                let program = self.program();
                self.say(&format!("its life is over, and so is that of {program}"));
                child::pass(child, Signal::TERM);
                Exit::Exec
            }
        };
        tokio::select! {
            _ = child.wait() => {}
            () = sleep_until(Instant::now() + GRACE) => {
                self.say(&format!("{} did not end in {}", self.program(), spoken(GRACE)));
                let _ = child.kill().await;
            }
            () = self.signals.second.cancelled() => {
                let _ = child.kill().await;
            }
        }
        Ok(ended)
    }

    fn signal(&self) -> Signal {
        match self.signals.exit() {
            Exit::Terminated => Signal::TERM,
            _ => Signal::INT,
        }
    }
}

fn finished(ended: std::io::Result<std::process::ExitStatus>) -> Result<Exit, CommandError> {
    let ended = ended.map_err(|error| {
        CommandError::new(Exit::Exec, "cannot wait for the program").cause(error.to_string())
    })?;
    Ok(match child::code(ended) {
        0 => Exit::Done,
        code => Exit::Child(code),
    })
}
