//! `kvshoot validate`.

use super::addons;
use super::files::{ManifestFiles, OfflineScope};
use super::report::report;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::load::{FetchedValues, Loaded};
use crate::manifest::Content;
use crate::state::json::to_json_line;
use crate::state::printable::one_line;
use crate::ui::problems;
use std::path::Path;

/// Checks manifests without a cluster, and prints the problems as text or as JSON.
pub(crate) fn validate(
    files: &ManifestFiles,
    addons: Option<&Path>,
    as_json: bool,
    context: &Context,
) -> Result<Exit, CommandError> {
    let addons = addons::read_all(addons, context)?;
    let scope = OfflineScope {
        values: FetchedValues::Skipped,
        allow_without_shoot: false,
        addons: Some(addons.iter().map(|it| it.name.clone()).collect()),
    };
    let loaded = files.judge_offline(scope, context)?;
    let shoots = loaded.shoots.iter();
    shoots.for_each(|shoot| addons::warn_of_policies(shoot, &addons, context));
    if as_json {
        let manifest = &loaded.manifest;
        let (errors, warnings) = (manifest.problems(), manifest.warnings());
        let json = problems::json(errors, warnings, manifest.sources());
        context.ui.data(&to_json_line(&json));
    } else {
        report(&loaded, context);
        if loaded.is_valid() {
            context.ui.data(&names(&loaded));
        }
    }
    let exit = match loaded.is_valid() {
        true => Exit::Done,
        false => Exit::Manifest,
    };
    // The process is about to end: freeing a million nodes would only take time.
    std::mem::forget(loaded);
    Ok(exit)
}

/// One line for each document, named as kubectl names objects.
fn names(loaded: &Loaded) -> String {
    let line = |content: &Content| {
        let (kind, name) = match content {
            Content::Shoot(it) => ("shoot.core.gardener.cloud", &it.metadata.name),
            Content::CloudProfile(it) => ("cloudprofile.core.gardener.cloud", &it.metadata.name),
            Content::SecretBinding(it) => ("secretbinding.core.gardener.cloud", &it.metadata.name),
            Content::CredentialsBinding(it) => (
                "credentialsbinding.security.gardener.cloud",
                &it.metadata.name,
            ),
            Content::Secret(it) => ("secret", &it.metadata.name),
            Content::MachineDeployment(it) => {
                ("machinedeployment.cluster.k8s.io", &it.metadata.name)
            }
        };
        format!("{kind}/{} valid\n", one_line(name))
    };
    let documents = loaded.manifest.documents();
    documents.map(|(_, content)| line(content)).collect()
}
