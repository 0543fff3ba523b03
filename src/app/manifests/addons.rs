//! Add-ons: manifests from a directory, or from a URL in the profile, that are applied inside the cluster.

use super::addons_checks::{accept, report_duplicates};
use super::{files, network_manifest};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::manifest::ManifestObjects;
use crate::validate::{ManifestSet, ValidShoot};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Network types that need no add-on: the built-in one, and one that the user installs.
const WITHOUT: [&str; 2] = ["flannel", "none"];
/// The longest name of an add-on that fits into the names and labels derived from it.
const MAX_NAME: usize = 40;

/// Reads add-ons from a directory and from profiles, and adds them to the shoots.
///
/// # Errors
///
/// An add-on cannot be read, or a shoot has no network.
pub(crate) async fn attach(
    directory: Option<&Path>,
    shoots: &mut [ValidShoot],
    context: &Context,
) -> Result<(), CommandError> {
    let addons = read_all(directory, context)?;
    for shoot in shoots {
        shoot.manifest_sets = addons.clone();
        warn_of_policies(shoot, &addons, context);
        let wanted = shoot.networking.type_.as_str();
        let is_given = addons.iter().any(|addon| addon.name == wanted);
        if !is_given && let Some(network) = network_manifest::of(shoot, context).await? {
            shoot.manifest_sets.push(network);
        }
        check_network(shoot)?;
    }
    Ok(())
}

/// Parts of images of programs that enforce NetworkPolicies.
const ENFORCERS: [&str; 6] = [
    "kube-network-policies",
    "kube-router",
    "calico",
    "cilium",
    "antrea",
    "kube-ovn",
];

/// Returns true if add-ons have NetworkPolicies and nothing that enforces them: flannel does not.
fn has_unenforced_policies(addons: &[ManifestSet]) -> bool {
    let objects = || addons.iter().flat_map(|addon| &addon.objects);
    let enforces = |object: &Value| {
        let text = object.to_string();
        object["kind"] == "DaemonSet" && ENFORCERS.iter().any(|it| text.contains(it))
    };
    objects().any(|it| it["kind"] == "NetworkPolicy") && !objects().any(enforces)
}

/// Warns about NetworkPolicies of add-ons that have no effect in a shoot.
pub(crate) fn warn_of_policies(shoot: &ValidShoot, addons: &[ManifestSet], context: &Context) {
    if shoot.networking.type_ == "flannel" && has_unenforced_policies(addons) {
        context.ui.warn(&format!(
            "shoot {}: NetworkPolicies of the add-ons have no effect: flannel does not enforce them",
            shoot.name
        ));
    }
}

/// A cluster has exactly one network: the built-in one, or an add-on named after its type.
fn check_network(shoot: &ValidShoot) -> Result<(), CommandError> {
    let wanted = shoot.networking.type_.as_str();
    let has_addon = shoot.manifest_sets.iter().any(|addon| addon.name == wanted);
    let name = &shoot.name;
    match (WITHOUT.contains(&wanted), has_addon) {
        (true, false) | (false, true) => Ok(()),
        (true, true) => {
            let message = format!(
                "shoot {name}: networking.type {wanted} is built in, but there is also an add-on named {wanted}"
            );
            let hint = "set networking.type to none to install the network yourself";
            Err(CommandError::new(Exit::Manifest, message).hint(hint))
        }
        (false, false) => {
            let message = format!("shoot {name}: no manifests for networking.type {wanted}");
            let hint = format!("pass --addons DIR with {wanted}.yaml or a directory {wanted}");
            Err(CommandError::new(Exit::Manifest, message)
                .hint(hint)
                .hint("or set networking.type to flannel, which is built in, or to none to install a network yourself"))
        }
    }
}

/// Reads every add-on of a directory, if one is given.
///
/// # Errors
///
/// An add-on cannot be read.
pub(crate) fn read_all(
    directory: Option<&Path>,
    context: &Context,
) -> Result<Vec<ManifestSet>, CommandError> {
    directory.map_or(Ok(Vec::new()), |it| read(it, context))
}

/// Reads every add-on of a directory, by name.
fn read(directory: &Path, context: &Context) -> Result<Vec<ManifestSet>, CommandError> {
    let mut objects = ManifestObjects::default();
    let mut known = HashMap::new();
    let mut addons: Vec<ManifestSet> = Vec::new();
    for path in entries(directory)? {
        let name = name_of(&path)?;
        if addons.iter().any(|addon| addon.name == name) {
            let message = format!(
                "{} has more than one add-on named {name}",
                directory.display()
            );
            return Err(CommandError::new(Exit::Manifest, message));
        }
        let first = objects.all.len();
        for (file, bytes) in files::read(std::slice::from_ref(&path), None)? {
            objects.add(file, bytes);
        }
        report_duplicates(&mut objects, first, &mut known);
        let found = objects.all[first..].iter().map(|it| it.1.clone());
        let objects = found.collect();
        addons.push(ManifestSet { name, objects });
    }
    accept(&objects, context)?;
    Ok(addons)
}

/// Files of manifests, and directories; hidden entries are skipped.
fn entries(directory: &Path) -> Result<Vec<PathBuf>, CommandError> {
    let entries = fs::read_dir(directory).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries.map_err(|error| {
        let message = format!("cannot read directory {}", directory.display());
        CommandError::new(Exit::Usage, message).cause(error.to_string())
    })?;
    let mut paths: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    paths.retain(|path| {
        let extension = path.extension().and_then(|it| it.to_str());
        let is_hidden = path
            .file_name()
            .is_some_and(|it| it.to_string_lossy().starts_with('.'));
        let is_manifest = matches!(extension, Some("yaml" | "yml" | "json"));
        !is_hidden && (is_manifest || path.is_dir())
    });
    paths.sort();
    if paths.is_empty() {
        let message = format!("no add-ons in {}", directory.display());
        return Err(CommandError::new(Exit::Usage, message)
            .hint("an add-on is a .yaml, .yml or .json file, or a directory of such files"));
    }
    Ok(paths)
}

/// The name of an add-on, which becomes part of labels and object names.
fn name_of(path: &Path) -> Result<String, CommandError> {
    let name = if path.is_dir() {
        path.file_name()
    } else {
        path.file_stem()
    };
    let name = name
        .map(|it| it.to_string_lossy().into_owned())
        .unwrap_or_default();
    let is_plain = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit();
    let fits = name.len() <= MAX_NAME
        && name.starts_with(is_plain)
        && name.ends_with(is_plain)
        && name.chars().all(|it| is_plain(it) || it == '-');
    if fits {
        return Ok(name);
    }
    let message = format!("{} is not a valid add-on name", path.display());
    Err(CommandError::new(Exit::Manifest, message).hint(format!(
        "use at most {MAX_NAME} lower-case letters, digits and hyphens, for example calico.yaml"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn policies_are_unenforced_unless_an_add_on_enforces_them() {
        let addon = |objects: &[Value]| ManifestSet {
            name: "a".to_owned(),
            objects: objects.to_vec(),
        };
        let policy = json!({ "kind": "NetworkPolicy" });
        let daemon = |image: &str| {
            let containers = json!([{ "image": image }]);
            json!({ "kind": "DaemonSet", "spec": { "template": { "spec": { "containers": containers } } } })
        };
        assert!(!has_unenforced_policies(&[addon(&[daemon("a/b")])]));
        let other = [
            addon(std::slice::from_ref(&policy)),
            addon(&[daemon("a/b")]),
        ];
        assert!(has_unenforced_policies(&other));
        let enforced = [addon(&[policy]), addon(&[daemon("a/kube-router:v2")])];
        assert!(!has_unenforced_policies(&enforced));
    }
}
