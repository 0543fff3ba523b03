//! `kvshoot init`: a manifest from a CloudProfile, or from what the provider cluster has.

mod chooser;
mod profile;
mod questions;
mod ranges;
mod shoot;
#[cfg(test)]
mod tests;
mod yaml;

pub(crate) use questions::GivenValues;

use super::context::Context;
use super::error::{CommandError, Exit, failed};
use super::manifests::files::{self, ManifestFiles, SourceTexts};
use super::manifests::report::accept;
use super::provider::connect::connect;
use crate::cluster::ProviderInventory;
use crate::load::{LoadContext, judge};
use crate::manifest::{Content, Manifest};
use crate::model::CloudProfile;
use crate::ui::Question;
use chooser::{Choice, Chooser};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Name of the CloudProfile of `--profile-only`.
const PROFILE_NAME: &str = "provider";
/// Suggested name of a cluster.
const SHOOT_NAME: &str = "dev";

/// Options of `kvshoot init`.
#[derive(Debug)]
pub(crate) struct InitOptions {
    /// Name of the shoot, or of the CloudProfile of `profile_only`.
    pub(crate) name: Option<String>,
    /// `-` for standard output; NAME.yaml if None.
    pub(crate) file: Option<PathBuf>,
    pub(crate) force: bool,
    /// A CloudProfile to choose from, instead of the provider cluster.
    pub(crate) profile: Option<PathBuf>,
    pub(crate) profile_only: bool,
    pub(crate) given: GivenValues,
}

/// The CloudProfile to choose from.
struct ProfileSource {
    profile: CloudProfile,
    /// Its manifest, if it is new.
    text: Option<String>,
    inventory: ProviderInventory,
}

/// Writes a manifest of a cluster, or of a CloudProfile.
pub(crate) fn init(options: &InitOptions, context: &Context) -> Result<Exit, CommandError> {
    let ask = |question: &Question| context.ui.ask(question);
    let is_interactive = context.ui.can_prompt();
    let mut chooser = Chooser::new(is_interactive.then_some(&ask));
    let name = name(options, &mut chooser)?;
    chooser.require_complete()?;
    let default = PathBuf::from(format!("{name}.yaml"));
    let file = options.file.clone().unwrap_or_else(|| default.clone());
    let is_new = confirm_overwriting(&file, options, context)?;
    let source = match &options.profile {
        Some(file) => given_profile(file, context)?,
        None => new_profile(&name, options, &mut chooser, context)?,
    };
    if let (Some(text), true) = (&source.text, options.profile_only) {
        let texts = vec![(file.display().to_string(), text.clone().into_bytes())];
        validate(texts, options, context)?;
        write(&file, is_new, text, context)?;
        return Ok(Exit::Done);
    }
    let shoot = questions::shoot_draft(
        &name,
        &source.profile,
        &options.given,
        &source.inventory,
        crate::clock::now(),
        &mut chooser,
    )?;
    chooser.require_complete()?;
    let commands = ["validate", "plan", "apply"];
    // The reader of standard output probably saves it.
    let shown = if is_stdout(&file) { &default } else { &file };
    let commands = commands.map(|it| command(it, shown, options, context));
    let mut text = shoot.text(&commands);
    if let Some(profile) = &source.text {
        text = format!("{text}---\n{profile}");
    }
    let mut texts = vec![(file.display().to_string(), text.clone().into_bytes())];
    if let Some(profile) = &options.profile {
        texts.extend(files::read(&[], Some(profile))?);
    }
    validate(texts, options, context)?;
    write(&file, is_new, &text, context)?;
    if !is_stdout(&file) {
        context.ui.hint(&command("apply", &file, options, context));
    }
    Ok(Exit::Done)
}

fn name(options: &InitOptions, chooser: &mut Chooser) -> Result<String, CommandError> {
    let given = options.name.as_deref();
    if options.profile_only {
        return Ok(given.unwrap_or(PROFILE_NAME).to_owned());
    }
    let default = match chooser.is_interactive() {
        true => Some(SHOOT_NAME),
        false => None,
    };
    chooser.choose(&Choice {
        question: "Name of the cluster",
        flag: "NAME",
        given,
        options: &[],
        default,
        check: &is_shoot_name,
    })
}

/// Checks a name by the rules for Shoots.
fn is_shoot_name(name: &str) -> Result<(), String> {
    let name = yaml::scalar(name);
    let text = format!(
        "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata:\n  name: {name}\n"
    );
    let manifest = Manifest::parse([("name".to_owned(), text.into_bytes())]);
    let loaded = judge(manifest, &LoadContext::at(crate::clock::now()));
    let mut problems = loaded.manifest.problems().iter();
    match problems.find(|it| it.path.to_string() == "metadata.name") {
        Some(problem) => Err(problem.message.clone()),
        None => Ok(()),
    }
}

/// Returns whether the file does not exist.
fn confirm_overwriting(
    file: &Path,
    options: &InitOptions,
    context: &Context,
) -> Result<bool, CommandError> {
    if is_stdout(file) || !file.exists() {
        return Ok(true);
    }
    if !options.force {
        let question = format!("File {} exists. Type yes to overwrite it", file.display());
        let confirmed = context.ui.confirm_name(&question, "yes");
        let what = format!("overwrite {}", file.display());
        confirmed.map_err(|it| CommandError::refused(it, &what, "--force"))?;
    }
    Ok(false)
}

fn given_profile(file: &Path, context: &Context) -> Result<ProfileSource, CommandError> {
    let files = ManifestFiles {
        manifests: vec![file.to_owned()],
        profile: None,
    };
    let loaded = files.load_offline(true, context)?;
    let profile = only_profile(&loaded.manifest).ok_or_else(|| {
        let message = format!("expected one CloudProfile in {}", file.display());
        CommandError::new(Exit::Manifest, message)
    })?;
    Ok(ProfileSource {
        profile,
        text: None,
        inventory: ProviderInventory::default(),
    })
}

fn only_profile(manifest: &Manifest) -> Option<CloudProfile> {
    let mut profiles = manifest
        .documents()
        .filter_map(|(_, content)| match content {
            Content::CloudProfile(profile) => Some(profile),
            _ => None,
        });
    let profile = profiles.next()?;
    profiles.next().is_none().then(|| (**profile).clone())
}

/// Reads the provider cluster, and asks for what it does not publish.
fn new_profile(
    name: &str,
    options: &InitOptions,
    chooser: &mut Chooser,
    context: &Context,
) -> Result<ProfileSource, CommandError> {
    let inventory = context.block_on(async {
        let provider = connect(context).await?;
        provider.inventory().await.map_err(failed)
    })??;
    if !inventory.forbidden.is_empty() {
        let kinds = inventory.forbidden.join(", ");
        context.ui.warn(&format!(
            "not allowed to list {kinds} in the provider cluster; kvshoot doctor --rbac prints the required roles"
        ));
    }
    let draft = questions::profile_draft(name, &options.given, &inventory, chooser)?;
    chooser.require_complete()?;
    let text = draft.text();
    let source = ("CloudProfile".to_owned(), text.clone().into_bytes());
    let loaded = judge(Manifest::parse([source]), &load_context(true));
    let loaded = accept(loaded, context)?;
    Ok(ProfileSource {
        profile: only_profile(&loaded.manifest).expect("the text has one CloudProfile"),
        text: Some(text),
        inventory,
    })
}

/// Reports problems of a manifest, which come from values of flags and answers.
fn validate(
    texts: SourceTexts,
    options: &InitOptions,
    context: &Context,
) -> Result<(), CommandError> {
    let load_context = load_context(options.profile_only);
    accept(judge(Manifest::parse(texts), &load_context), context).map(drop)
}

fn load_context(allow_without_shoot: bool) -> LoadContext {
    LoadContext {
        allow_without_shoot,
        ..LoadContext::at(crate::clock::now())
    }
}

fn write(file: &Path, is_new: bool, text: &str, context: &Context) -> Result<(), CommandError> {
    if is_stdout(file) {
        context.ui.data(text);
        return Ok(());
    }
    let written = match is_new {
        true => create(file, text),
        false => fs::write(file, text),
    };
    written.map_err(|error| {
        let message = format!("cannot write {}", file.display());
        CommandError::new(Exit::Precondition, message).cause(error.to_string())
    })?;
    context.ui.status(&format!("Wrote {}", file.display()));
    Ok(())
}

/// Never replaces a file that was created meanwhile.
fn create(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    let written = file.write_all(text.as_bytes());
    if written.is_err() {
        // An incomplete manifest is of no use.
        let _ = fs::remove_file(path);
    }
    written
}

fn is_stdout(file: &Path) -> bool {
    file == Path::new("-")
}

/// A command line that uses the new manifest.
fn command(verb: &str, file: &Path, options: &InitOptions, context: &Context) -> String {
    let file = file.display().to_string();
    let profile = options.profile.as_ref().map(|it| it.display().to_string());
    let mut words = vec![verb, "-f", &file];
    if let Some(profile) = &profile {
        words.extend(["--profile", profile]);
    }
    context.hint_command(&words)
}
