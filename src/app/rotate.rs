//! `kvshoot rotate`: new roots and keys, in two phases.

use super::apply::RecordExpectation;
use super::context::Context;
use super::error::{CommandError, Exit, failed};
use super::inspect::shoot_summary::find;
use super::lifecycle::recorded::{RecordedRun, last_applied_shoot};
use super::provider::connect::connect;
use super::run::session::RunOptions;
use super::signals::Signals;
use crate::cluster::{ApiClient, RecordSnapshot};
use crate::state::names::{OPERATION, display_name};
use crate::state::record::ROTATION;
use crate::state::record::rotation::{
    Credential, Rotation, RotationOperation, RotationRecord, RotationStep,
};
use serde_json::json;
use std::collections::BTreeSet;

const VERB: &str = "rotate";
const FIND: &str = "find the shoot";

/// Options of `kvshoot rotate`.
#[derive(Debug)]
pub(crate) struct RotateOptions {
    /// Display name of the shoot.
    pub(crate) name: String,
    pub(crate) credentials: BTreeSet<Credential>,
    pub(crate) phase: RotatePhase,
    pub(crate) yes: bool,
    pub(crate) run: RunOptions,
}

/// A form of `kvshoot rotate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RotatePhase {
    Start,
    Complete,
    /// Prints where the rotations are.
    Status,
}

/// Starts or completes rotations, or prints where they are.
pub(crate) fn rotate(options: &RotateOptions, context: &Context) -> Result<Exit, CommandError> {
    context.block_on(async {
        let signals = Signals::listen(Some(options.run.timeout))?;
        let found = async {
            let provider = connect(context).await?;
            let record = find(&provider, &options.name, context).await?;
            Ok((provider, record))
        };
        let (provider, record) = signals.or_interrupted(FIND, found).await?;
        let rotation = rotations(&record)?;
        if options.phase == RotatePhase::Status {
            print(options, &rotation, context);
            return Ok(Exit::Done);
        }
        let operation = RotationOperation {
            credentials: options.credentials.clone(),
            completes: options.phase == RotatePhase::Complete,
        };
        if let Some(refusal) = rotation.refusal(&operation) {
            let start = context.hint_command(&[VERB, &options.name, refusal.credential.name()]);
            let error = CommandError::new(Exit::Precondition, refusal.to_string());
            return Err(error.hint(format!("prepare it: {start} --start")));
        }
        if rotation.is_due(&operation) {
            if operation.completes {
                warn_of_tokens(options, &rotation, context);
                let bundles = warn_of_bundles(options, context, &provider, &record.name);
                signals
                    .or_interrupted("look for users of the old CA", bundles)
                    .await?;
                confirm(options, context)?;
            }
            let wish = operation.to_string();
            // An interrupted run has asked for it already.
            if record.annotations.get(OPERATION) != Some(&wish) {
                let wish = json!({ OPERATION: wish });
                provider.annotate(&record, wish).await.map_err(failed)?;
            }
        }
        let exit = apply(options, context, &signals, &provider, &record).await?;
        if exit == Exit::Done {
            let record = find(&provider, &options.name, context).await?;
            print(options, &rotations(&record)?, context);
        }
        Ok(exit)
    })?
}

/// The rotations in a record.
///
/// # Errors
///
/// They are not readable.
pub(crate) fn rotations(record: &RecordSnapshot) -> Result<RotationRecord, CommandError> {
    let Some(text) = record.data.get(ROTATION) else {
        return Ok(RotationRecord::default());
    };
    serde_json::from_str(text).map_err(|error| {
        let name = display_name(&record.name);
        let message = format!("cannot read {ROTATION} in the record of shoot {name}: {error}");
        CommandError::new(Exit::Precondition, message)
    })
}

/// Time after which a kubelet has renewed the token of each pod: 80 % of the hour that they are valid.
const TOKENS_RENEWED: i64 = 3600;

/// Warns of pods whose tokens are still of the old key. Those of kvshoot's own components were restarted.
fn warn_of_tokens(options: &RotateOptions, rotation: &RotationRecord, context: &Context) {
    let credential = Credential::ServiceAccountKey;
    let chosen = options.credentials.contains(&credential);
    let prepared = rotation
        .rotations
        .get(&credential)
        .and_then(|it| it.prepared);
    let Some(until) = prepared.filter(|_| chosen).map(|it| it + TOKENS_RENEWED) else {
        return;
    };
    if crate::clock::now().as_second() < until {
        let until = time(until);
        context.ui.warn(&format!(
            "pods that started before the rotation may have tokens of the old key until {until}: restart them, or complete the rotation later"
        ));
    }
}

/// Warns of webhooks and API servers in the shoot whose certificates are verified with the old CA only.
async fn warn_of_bundles(
    options: &RotateOptions,
    context: &Context,
    provider: &ApiClient,
    id: &str,
) -> Result<(), CommandError> {
    if !options.credentials.contains(&Credential::Ca) {
        return Ok(());
    }
    match provider.users_of_old_ca(id).await {
        Ok(users) if users.is_empty() => {}
        Ok(users) => {
            context.ui.warn(&format!(
                "these have only the old CA in their caBundle, so that servers with certificates of the new one are not trusted: {}",
                users.join(", ")
            ));
            context.ui.hint(
                "before you complete the rotation, set them to the CAs in ConfigMap kube-root-ca.crt, which every namespace has",
            );
        }
        Err(error) => context.ui.warn(&format!(
            "cannot look for webhooks and APIServices that trust the old CA: {error}"
        )),
    }
    Ok(())
}

/// Old credentials die, so the user types the name of the shoot unless `--yes` is given.
fn confirm(options: &RotateOptions, context: &Context) -> Result<(), CommandError> {
    if options.yes {
        return Ok(());
    }
    let name = &options.name;
    for credential in &options.credentials {
        let text = format!("this will end {}", ends(*credential));
        context.ui.warn(&text);
    }
    let question = format!("Type {name} to complete the rotation");
    let answer = context.ui.confirm_name(&question, name);
    let what = format!("complete the rotation of shoot {name}");
    answer.map_err(|it| CommandError::refused(it, &what, "--yes"))
}

/// Credentials that end with the rotation.
fn ends(credential: Credential) -> &'static str {
    match credential {
        Credential::Ca => {
            "all kubeconfigs and certificates from before the rotation; machines are replaced that do not take the new one in place"
        }
        Credential::EtcdCa => "all certificates of etcd from before the rotation",
        Credential::ServiceAccountKey => {
            "all tokens of service accounts from before the rotation; pods renew theirs within an hour"
        }
        Credential::EncryptionKey => {
            "the old key: backups of etcd from before the rotation need a copy of it"
        }
    }
}

/// Applies the last applied manifest, with the wish in the record.
async fn apply(
    options: &RotateOptions,
    context: &Context,
    signals: &Signals,
    provider: &ApiClient,
    record: &RecordSnapshot,
) -> Result<Exit, CommandError> {
    let shoot = last_applied_shoot(provider, record).await?;
    let run = RecordedRun {
        verb: VERB,
        run: options.run,
        context,
        signals,
        provider,
        expects: RecordExpectation::Any,
    };
    Ok(run.apply(&shoot).await?.exit)
}

fn time(seconds: i64) -> String {
    let time = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    format!("{time:.0}")
}

fn print(options: &RotateOptions, rotation: &RotationRecord, context: &Context) {
    for credential in &options.credentials {
        let line = describe(*credential, rotation.rotations.get(credential));
        context.ui.data(&format!("{line}\n"));
    }
    for credential in &options.credentials {
        if let Some(next) = next_step(*credential, rotation.step(*credential)) {
            let command = context.hint_command(&[VERB, &options.name, credential.name()]);
            context
                .ui
                .hint(&format!("{next}, then run: {command} --complete"));
        }
    }
}

/// A line about the rotation of a credential: its phase, and since when.
pub(crate) fn describe(credential: Credential, rotation: Option<&Rotation>) -> String {
    let Some(it) = rotation else {
        return format!("{credential}: never rotated");
    };
    let since = match it.step {
        RotationStep::Completed => it.completed,
        RotationStep::Prepared => it.prepared,
        _ => Some(it.started),
    };
    let mut line = format!(
        "{credential}: {} since {}",
        it.step.phase(),
        time(since.unwrap_or(it.started))
    );
    if let Some(count) = it.rewritten {
        line += &format!(", {count} stored objects written again");
    }
    line
}

/// Advice for users before they complete the rotation; None unless it is prepared.
pub(crate) fn next_step(
    credential: Credential,
    step: Option<RotationStep>,
) -> Option<&'static str> {
    step.filter(|it| *it == RotationStep::Prepared)?;
    Some(match credential {
        Credential::Ca => "give users new kubeconfigs",
        Credential::ServiceAccountKey => {
            "wait an hour until pods have new tokens, and replace tokens that were stored elsewhere"
        }
        Credential::EtcdCa => "nothing has to be done",
        Credential::EncryptionKey => "make a new backup",
    })
}
