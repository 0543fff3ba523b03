//! Files to judged manifests: what every command that takes `-f` does first.

pub(super) mod credentials;
pub(super) mod files;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod hostile;
mod judge;
mod pools;
#[cfg(test)]
mod pools_tests;
#[cfg(test)]
mod speed;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use jiff::Timestamp;
use secrecy::SecretString;

use super::{CommandError, Context, Exit};
use crate::manifest::{Manifest, Problem, Source};
use crate::model::{CloudProfile, Counts, Holder, Reference, SecretReference, Shoot, Worker};
use crate::ui::problems;
use crate::validate::ValidShoot;
use crate::validate::machine_deployment::Looked;

/// Which manifests are meant.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct LoadArgs {
    /// File or folder of manifests, or - for standard input; may be given more than once
    #[arg(
        short = 'f',
        long = "filename",
        value_name = "FILE",
        required = true,
        value_hint = clap::ValueHint::AnyPath
    )]
    pub(super) filename: Vec<PathBuf>,
    /// CloudProfile that the cluster chooses from, when it is not among the manifests
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(super) profile: Option<PathBuf>,
}

/// A Shoot as it was applied last, with the profile that it chose from.
pub(super) type Before = (Shoot, CloudProfile);

/// What stands around the manifests that are given.
pub(super) struct Around<'a> {
    /// CloudProfiles of the configuration directory, as name of file and content.
    pub(super) profiles: Vec<(String, Vec<u8>)>,
    /// The record of a shoot, by its technical ID.
    pub(super) before: &'a dyn Fn(&str) -> Option<Before>,
    /// What a value is that a MachineDeployment takes from the provider.
    pub(super) look: &'a dyn Fn(&Reference) -> Looked,
    /// Whether a MachineDeployment may stand without a Shoot.
    pub(super) is_alone: bool,
    /// The day of the judgement.
    pub(super) now: Timestamp,
}

impl Default for Around<'_> {
    fn default() -> Self {
        Self {
            profiles: Vec::new(),
            before: &|_| None,
            look: &|_| Looked::Offline,
            is_alone: false,
            now: Timestamp::now(),
        }
    }
}

/// What was read and judged; `manifest.problems()` has the errors, `manifest.warnings()` the rest.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) manifest: Manifest,
    /// In the order of the files; not all of them when there are errors.
    pub(super) shoots: Vec<ValidShoot>,
    /// What became of the MachineDeployments.
    pub(super) pools: Vec<Pool>,
}

/// The pool that a MachineDeployment means.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) worker: Worker,
    /// Whether its zones are those of a region; else one stands in for them.
    pub(super) knows_zones: bool,
}

impl Loaded {
    pub(super) fn is_valid(&self) -> bool {
        self.manifest.problems().is_empty()
    }

    /// The kubeconfig of the provider cluster, when the Secret that a Shoot's binding leads to is among the documents.
    pub(super) fn kubeconfig(&self, shoot: &Shoot) -> Option<SecretString> {
        let (_, secret) = credentials::secret_of(&self.manifest, shoot)?;
        credentials::kubeconfig(secret).map(SecretString::from)
    }

    /// The Secret that a Shoot's binding leads to, wherever that is.
    pub(super) fn secret_reference(&self, shoot: &Shoot) -> Option<&SecretReference> {
        credentials::binding_of(&self.manifest, shoot).map(|it| &it.secret_ref)
    }

    /// The kubeconfig of the provider cluster that a MachineDeployment holds.
    pub(super) fn kubeconfig_of_machines(&self) -> Option<SecretString> {
        credentials::of_machines(&self.manifest).find_map(|it| match it.counts() {
            Counts::Text(text) => credentials::decoded(&text).map(SecretString::from),
            Counts::There(_) => None,
        })
    }

    /// Name and key of the Secret in which a MachineDeployment says that it is.
    pub(super) fn secret_of_machines(&self) -> Option<(String, String)> {
        credentials::of_machines(&self.manifest).find_map(|it| match it.counts() {
            Counts::There(it) if it.holder == Holder::Secret => Some((it.name, it.key)),
            _ => None,
        })
    }
}

/// Reads and judges; broken manifests are told and end the command.
pub(super) fn load(
    args: &LoadArgs,
    around: Around,
    context: &Context,
) -> Result<Loaded, CommandError> {
    accept(judged(args, around)?, context)
}

/// Reads and judges; what is wrong with the manifests is data.
pub(super) fn judged(args: &LoadArgs, around: Around) -> Result<Loaded, CommandError> {
    Ok(judge::judge(Manifest::parse(texts(args)?), around))
}

/// The manifests as they were written, which can be judged more than once; standard input can be read only once.
pub(super) type Texts = Vec<(String, Vec<u8>)>;

pub(super) fn texts(args: &LoadArgs) -> Result<Texts, CommandError> {
    files::read(&args.filename, args.profile.as_deref())
}

pub(super) fn judge_texts(texts: &Texts, around: Around) -> Loaded {
    judge::judge(Manifest::parse(texts.clone()), around)
}

/// Tells what is wrong, which ends the command, and what is doubtful, which does not.
pub(super) fn accept(loaded: Loaded, context: &Context) -> Result<Loaded, CommandError> {
    tell(&loaded, context);
    if loaded.is_valid() {
        Ok(loaded)
    } else {
        Err(CommandError::silent(Exit::Manifest))
    }
}

/// Every problem with its lines, and how many there are.
pub(super) fn tell(loaded: &Loaded, context: &Context) {
    let manifest = &loaded.manifest;
    let found = (manifest.problems(), manifest.warnings());
    tell_problems(found, manifest.sources(), context);
}

/// The same of whatever was read.
pub(super) fn tell_problems(
    (errors, warnings): (&[Problem], &[Problem]),
    sources: &[Source],
    context: &Context,
) {
    let (style, width) = (context.ui.err_style().on, context.ui.err_width());
    let text = problems::all_as_text(errors, warnings, sources, style, width);
    if !text.is_empty() {
        let errors = errors.iter().map(|it| ("error", it));
        let all = errors.chain(warnings.iter().map(|it| ("warning", it)));
        let values = all.map(|(level, it)| (level, problems::one_as_json(it, sources)));
        context.ui.problems(&text, values);
    }
}
