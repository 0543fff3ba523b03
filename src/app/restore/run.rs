//! The run that goes through the stages of a restore.

use super::PreparedRestore;
use super::source::title;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::provider::external_objects::external_objects;
use crate::app::run::result::RunResult;
use crate::app::run::session::{RunInfo, Session};
use crate::app::signals::Signals;
use crate::backup::KeyProtection;
use crate::cluster::{CleanedObjects, SecretCopy};
use crate::flow::Outcome;
use crate::state::facts::Facts;
use crate::state::names::is_manifest_secret;
use crate::state::record::etcd::{EtcdRecord, EtcdRestore, RestoreStage};
use crate::state::record::{self, ETCD};
use crate::state::site::Site;
use crate::storage::open_content;
use crate::{plan, render};
use serde_json::{Value, json};

/// Why a restore ends before it is complete.
pub(super) enum Stopped {
    Failed(CommandError),
    /// A stage did not converge.
    Stuck(RunResult),
}

impl From<CommandError> for Stopped {
    fn from(error: CommandError) -> Stopped {
        Stopped::Failed(error)
    }
}

impl PreparedRestore<'_> {
    /// Goes through all stages. Returns what was deleted from the restored objects.
    pub(super) async fn run(&self, signals: &Signals) -> Result<CleanedObjects, CommandError> {
        let session = self.session(signals).await?;
        match self.stages(signals, &session).await {
            Ok(cleaned) => {
                session.unlock(Exit::Done).await;
                Ok(cleaned)
            }
            Err(Stopped::Failed(error)) => {
                session.unlock(error.exit).await;
                Err(error)
            }
            Err(Stopped::Stuck(result)) => Err(CommandError::silent(session.finish(result).await)),
        }
    }

    /// Brings back the Secrets that do not exist, and nothing else.
    pub(super) async fn secrets_only(&self, signals: &Signals) -> Result<Exit, CommandError> {
        if self.record.is_none() {
            let message = format!("shoot {:?} not found", self.shoot.name);
            return Err(CommandError::new(Exit::NotFound, message)
                .hint("without --secrets-only, the whole shoot is restored"));
        }
        let session = self.session(signals).await?;
        let work = async {
            let missing = self.missing_secrets().await?;
            self.create_secrets(&session.facts(), &missing).await?;
            Ok(missing.iter().map(|it| it.name.clone()).collect())
        };
        let created: Result<Vec<String>, CommandError> =
            session.during("bring back the Secrets", work).await;
        match created {
            Ok(created) => {
                session.unlock(Exit::Done).await;
                for name in created {
                    self.context.ui.data(&format!("secret/{name} created\n"));
                }
                Ok(Exit::Done)
            }
            Err(error) => {
                session.unlock(error.exit).await;
                Err(error)
            }
        }
    }

    async fn session<'a>(&'a self, signals: &'a Signals) -> Result<Session<'a>, CommandError> {
        let info = RunInfo {
            verb: "restore",
            shoot: &self.shoot.name,
            id: &self.shoot.id,
            beside: external_objects(&self.shoot, &self.provider),
            resume: Some(self.context.config.command_line()),
            group: None,
        };
        Session::start(
            self.context,
            signals,
            &self.provider,
            self.options.run,
            info,
        )
        .await
    }

    async fn stages(
        &self,
        signals: &Signals,
        session: &Session<'_>,
    ) -> Result<CleanedObjects, Stopped> {
        let begun = self.begin(session);
        let mut restore = session.during("begin the restore", begun).await?;
        if restore.stage == RestoreStage::Reconcile {
            return Ok(CleanedObjects::default());
        }
        if restore.stage == RestoreStage::Receive {
            tokio::select! {
                converged = self.converge(signals, session) => converged?,
                () = self.provider.shorten_terminations(&self.shoot.id) => {}
            }
            restore.stage = RestoreStage::Load;
            let sent = async {
                self.send().await?;
                write(session, restore.clone()).await
            };
            session.during("send the snapshot", sent).await?;
        }
        self.converge(signals, session).await?;
        let cleaned = async {
            let shoot = session.shoot_client().ok_or_else(|| {
                CommandError::new(Exit::Partly, "the shoot's API server is not reachable")
            })?;
            let facts = session.facts();
            let site = Site::of(&self.shoot, &facts);
            let cleaned = shoot.clean_restored(&self.provider, &site).await;
            let cleaned = cleaned.map_err(failed)?;
            restore.stage = RestoreStage::Reconcile;
            write(session, restore).await?;
            Ok(cleaned)
        };
        Ok(session
            .during("clean the restored objects", cleaned)
            .await?)
    }

    /// Writes what must be there before anything stops: record, roots and the stage.
    async fn begin(&self, session: &Session<'_>) -> Result<EtcdRestore, CommandError> {
        let missing = self.missing_secrets().await?;
        let facts = session.facts();
        let known = facts.record.as_ref().and_then(|it| it.etcd.clone());
        let restore = self.next_attempt(&facts, known.as_ref());
        if facts.record.is_none() {
            let etcd = with_restore(known.clone(), restore.clone());
            let mut record = self.new_record(&facts);
            record["data"][ETCD] = encoded(&etcd);
            let created = self.provider.create_record(&self.shoot.id, &record).await;
            created.map_err(failed)?;
            session.wait_for(|it| it.record.is_some()).await;
        }
        self.create_secrets(&session.facts(), &missing).await?;
        if known.and_then(|it| it.restore).as_ref() != Some(&restore) {
            write(session, restore.clone()).await?;
        }
        Ok(restore)
    }

    fn new_record(&self, facts: &Facts) -> Value {
        let wanted = record::wanted(&self.shoot, facts);
        let mut objects = render::objects(&self.shoot, facts, &wanted);
        objects.remove(0)
    }

    /// The attempt that was begun, or a new one: after an error, for another backup, and the first.
    fn next_attempt(&self, facts: &Facts, known: Option<&EtcdRecord>) -> EtcdRestore {
        let begun = known.and_then(|it| it.restore.as_ref());
        let snapshot = self.backup.number();
        let pod = facts.etcd.as_ref().and_then(|it| it.pods.get(&0));
        let has_failed = pod.is_some_and(|it| it.load_error.is_some());
        match begun {
            Some(begun) if begun.snapshot == snapshot && !has_failed => begun.clone(),
            _ => {
                // The record of an earlier release names none.
                let existing = facts.etcd_server().map(|it| it.incarnation);
                let last = begun
                    .map(|it| it.target)
                    .max(known.map(|it| it.incarnation))
                    .max(existing);
                EtcdRestore {
                    backup: title(&self.backup.path),
                    snapshot,
                    target: last.unwrap_or_default() + 1,
                    stage: RestoreStage::Receive,
                }
            }
        }
    }

    /// Secrets of the backup that do not exist.
    async fn missing_secrets(&self) -> Result<Vec<&SecretCopy>, CommandError> {
        if self.backup.index.keys == KeyProtection::Omitted && self.record.is_none() {
            let message =
                "the backup has no keys: it can be restored only while the shoot's Secrets exist";
            return Err(CommandError::new(Exit::Precondition, message)
                .hint("make backups with --recipient, which include the keys"));
        }
        let missing = self
            .provider
            .missing_secrets(&self.shoot.id, &self.backup.secrets);
        let mut missing = missing.await.map_err(failed)?;
        // An existing record has its own manifest.
        missing.retain(|it| self.record.is_none() || !is_manifest_secret(&it.name));
        Ok(missing)
    }

    async fn create_secrets(
        &self,
        facts: &Facts,
        secrets: &[&SecretCopy],
    ) -> Result<(), CommandError> {
        let site = Site::of(&self.shoot, facts);
        for secret in secrets {
            let created = self.provider.create_root_secret(&site, secret).await;
            created.map_err(failed)?;
        }
        Ok(())
    }

    /// Runs the plan of a stage to its end.
    async fn converge(&self, signals: &Signals, session: &Session<'_>) -> Result<(), Stopped> {
        let report = session
            .run(
                |observed| plan::restore(&self.shoot, observed),
                |_| Ok(()),
                |facts, desired| render::objects(&self.shoot, facts, desired),
            )
            .await?;
        match report.outcome {
            Outcome::Converged => Ok(()),
            _ => {
                let resume = session.resume();
                let result = RunResult::of(&report, signals, resume, String::new());
                Err(Stopped::Stuck(result))
            }
        }
    }

    async fn send(&self) -> Result<(), CommandError> {
        let backup = &self.backup;
        let file = backup.index.snapshot();
        let identities = self.identities.as_ref();
        let _waits = self.options.place.waited_for();
        let source = open_content(&self.storage, &backup.path, file, identities).await;
        let source = source.map_err(|error| self.options.place.failed(&error))?;
        let sent = self
            .provider
            .send_snapshot(&self.shoot.id, backup.number(), source);
        sent.await.map_err(failed)
    }
}

/// Writes the stage to the record.
async fn write(session: &Session<'_>, restore: EtcdRestore) -> Result<(), CommandError> {
    let facts = session.facts();
    let known = facts.record.as_ref().and_then(|it| it.etcd.clone());
    let etcd = with_restore(known, restore);
    let data = json!({ ETCD: encoded(&etcd) });
    session.write_record(data).await.map_err(failed)
}

fn with_restore(known: Option<EtcdRecord>, restore: EtcdRestore) -> EtcdRecord {
    let known = known.unwrap_or_else(|| EtcdRecord {
        incarnation: 0,
        cluster_id: String::new(),
        revision: 0,
        restore: None,
    });
    EtcdRecord {
        restore: Some(restore),
        ..known
    }
}

fn encoded(etcd: &EtcdRecord) -> Value {
    serde_json::to_string(etcd)
        .expect("numbers and text")
        .into()
}
