//! The shoot of an upgrade: its record, its CloudProfile, and the Shoot with the new version.

use crate::app::apply::RecordExpectation;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::inspect::shoot_summary::find;
use crate::app::lifecycle::recorded::last_applied_shoot;
use crate::app::manifests::files;
use crate::app::manifests::report::accept;
use crate::app::provider::connect::connect;
use crate::app::run::session::RunOptions;
use crate::cluster::{ApiClient, RecordSnapshot};
use crate::load::{LoadContext, judge, last_applied};
use crate::manifest::{Content, Manifest};
use crate::model::{CloudProfile, Shoot};
use crate::plan::maintenance::{ImageUpdate, with_images};
use crate::plan::upgrade::{VersionRefusal, followers, offered, target, upgraded};
use crate::state::json::to_yaml;
use crate::state::record::{PROFILE, manifest_of};
use crate::state::upgrade::UpgradeCheck;
use crate::validate::ValidShoot;
use jiff::Timestamp;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The subcommand.
pub(super) const VERB: &str = "upgrade";

/// Options of `kvshoot upgrade`.
#[derive(Debug)]
pub(crate) struct UpgradeOptions {
    /// Display name of the shoot.
    pub(crate) name: String,
    /// `1.34` or `1.34.2`; the newest patch of the current minor version if None.
    pub(crate) to: Option<String>,
    /// Names of the pools that follow the control plane; all of them if None.
    pub(crate) pools: Option<BTreeSet<String>>,
    /// New images of pools.
    pub(crate) images: Vec<ImageUpdate>,
    pub(crate) ignored: BTreeSet<UpgradeCheck>,
    /// CloudProfile in place of that in the record.
    pub(crate) profile: Option<PathBuf>,
    pub(crate) run: RunOptions,
}

/// The shoot before the upgrade, and its CloudProfile.
pub(super) struct Upgradable {
    pub(super) provider: ApiClient,
    pub(super) record: RecordSnapshot,
    pub(super) before: ValidShoot,
    /// As text, for problems with the lines of the file, with its name.
    profile_text: (String, Vec<u8>),
    pub(super) profile: CloudProfile,
}

/// Reads the record, with the user data that belongs to it.
pub(super) async fn read(
    options: &UpgradeOptions,
    context: &Context,
) -> Result<Upgradable, CommandError> {
    let provider = connect(context).await?;
    let record = find(&provider, &options.name, context).await?;
    let before = last_applied_shoot(&provider, &record).await?;
    let profile_text = match &options.profile {
        None => {
            let text = record.data.get(PROFILE).cloned().unwrap_or_default();
            (
                "the CloudProfile in the record".to_owned(),
                text.into_bytes(),
            )
        }
        Some(path) => {
            let mut read = files::read(&[], Some(path))?;
            read.pop().unwrap_or_default()
        }
    };
    let given = Manifest::parse([profile_text.clone()]);
    let profile = given.documents().find_map(|(_, content)| match content {
        Content::CloudProfile(it) => Some(it.as_ref().clone()),
        _ => None,
    });
    let profile = profile.ok_or_else(|| {
        let message = format!("no CloudProfile in {}", profile_text.0);
        CommandError::new(Exit::Manifest, message)
    })?;
    Ok(Upgradable {
        provider,
        record,
        before,
        profile_text,
        profile,
    })
}

impl Upgradable {
    /// The Shoot with the wanted version, by the rules for manifests.
    pub(super) fn after(
        &self,
        options: &UpgradeOptions,
        context: &Context,
    ) -> Result<ValidShoot, CommandError> {
        let before = &self.before;
        let pools = followers(before, options.pools.as_ref()).map_err(|unknown| {
            let known: Vec<&str> = before.pools.iter().map(|it| it.name.as_str()).collect();
            let found = known.join(", ");
            let message = format!("pool {unknown:?} not found; found: {found}");
            CommandError::new(Exit::Precondition, message)
        })?;
        let now = crate::clock::now();
        let offers = offered(&self.profile, &before.kubernetes, now);
        let version = target(&offers, &before.kubernetes, options.to.as_deref());
        let version = version.map_err(|it| self.refused(&it, options, context))?;
        let shoot = with_images(upgraded(before, &version, &pools), &options.images);
        if shoot == *before.manifest {
            return Ok(before.clone());
        }
        self.judged(&shoot, now, context)
    }

    /// The Shoot by the rules for manifests, which are those of an apply.
    fn judged(
        &self,
        shoot: &Shoot,
        now: Timestamp,
        context: &Context,
    ) -> Result<ValidShoot, CommandError> {
        let text = to_yaml(&manifest_of(shoot)).into_bytes();
        let name = format!("shoot {} with the new version", shoot.metadata.name);
        let manifest = Manifest::parse([(name, text), self.profile_text.clone()]);
        let last = last_applied(&self.record.data).map(|(_, profile)| {
            let before = Shoot::clone(&self.before.manifest);
            (self.before.id.clone(), (before, profile))
        });
        let load_context = LoadContext {
            records: last.into_iter().collect(),
            ..LoadContext::at(now)
        };
        let loaded = accept(judge(manifest, &load_context), context)?;
        let shoot = loaded.shoots.into_iter().next();
        shoot.ok_or_else(|| CommandError::silent(Exit::Manifest))
    }

    fn refused(
        &self,
        refusal: &VersionRefusal,
        options: &UpgradeOptions,
        context: &Context,
    ) -> CommandError {
        let name = &options.name;
        let message = format!("cannot upgrade shoot {name}: {refusal}");
        let list = context.hint_command(&[VERB, name, "--list"]);
        let error = CommandError::new(Exit::Precondition, message);
        let error = error.hint(format!("list the versions: {list}"));
        match (refusal, &options.profile) {
            (VersionRefusal::NotOffered { .. }, None) => {
                error.hint("the record has the CloudProfile of the last apply; pass a newer one with --profile")
            }
            _ => error,
        }
    }

    /// The record must not change between the checks and the run.
    pub(super) fn expectation(&self) -> RecordExpectation {
        RecordExpectation::Unchanged(self.record.spec_hash())
    }
}
