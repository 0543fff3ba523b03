//! Checks of the objects of add-ons.

use super::report;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::manifest::{FileSpan, ManifestObjects};
use serde_json::Value;
use std::collections::HashMap;

/// Reports problems, which end the command.
pub(super) fn accept(objects: &ManifestObjects, context: &Context) -> Result<(), CommandError> {
    if objects.problems.is_empty() {
        return Ok(());
    }
    report::report_problems(&objects.problems, &[], &objects.sources, context);
    Err(CommandError::silent(Exit::Manifest))
}

/// An object must be defined once, or two definitions would overwrite each other forever.
pub(super) fn report_duplicates(
    objects: &mut ManifestObjects,
    first: usize,
    known: &mut HashMap<String, FileSpan>,
) {
    for index in first..objects.all.len() {
        let (place, object) = &objects.all[index];
        let (place, identity) = (*place, identity(object));
        if known.insert(identity.clone(), place).is_some() {
            objects.report(
                "addons/twice",
                format!("{identity} is defined more than once"),
                place,
            );
        }
    }
}

/// Formats an object as `DaemonSet.apps kube-system/a`.
fn identity(object: &Value) -> String {
    let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    let version = text(&object["apiVersion"]);
    let group = version.split_once('/').map(|it| format!(".{}", it.0));
    let metadata = &object["metadata"];
    let namespace = metadata["namespace"].as_str().map(|it| format!("{it}/"));
    format!(
        "{}{} {}{}",
        text(&object["kind"]),
        group.unwrap_or_default(),
        namespace.unwrap_or_default(),
        text(&metadata["name"])
    )
}
