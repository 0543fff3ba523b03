//! From a folder of manifests, or a file that the profile names, to what is applied inside a cluster beside our own.

mod network;

use super::load::{self, files};
use super::{CommandError, Context, Exit};
use crate::manifest::{Objects, Place};
use crate::validate::{Bundle, ValidShoot};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What else is applied inside the cluster.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct AddonsArgs {
    /// Folder of what else is applied inside: each file and each folder in it is an add-on of that name, such as calico.yaml
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    addons: Option<PathBuf>,
}

/// Networks that need no add-on: ours, and that which somebody else sees to.
const WITHOUT: [&str; 2] = ["flannel", "none"];
/// What still fits into the names and labels that are made of it.
const LONGEST: usize = 40;

/// Gives each shoot its add-ons.
///
/// # Errors
///
/// They cannot be read, or a shoot has no network.
pub(super) async fn attach(
    args: &AddonsArgs,
    shoots: &mut [ValidShoot],
    context: &Context,
) -> Result<(), CommandError> {
    let bundles = match &args.addons {
        Some(folder) => read(folder, context)?,
        None => Vec::new(),
    };
    for shoot in shoots {
        shoot.bundles = bundles.clone();
        let wanted = shoot.networking.type_.as_str();
        let is_given = bundles.iter().any(|it| it.name == wanted);
        if !is_given && let Some(network) = network::of(shoot, context).await? {
            shoot.bundles.push(network);
        }
        check_network(shoot)?;
    }
    Ok(())
}

/// A cluster has one network: ours, or an add-on of that name.
fn check_network(shoot: &ValidShoot) -> Result<(), CommandError> {
    let wanted = shoot.networking.type_.as_str();
    let is_brought = shoot.bundles.iter().any(|it| it.name == wanted);
    let name = &shoot.name;
    match (WITHOUT.contains(&wanted), is_brought) {
        (true, false) | (false, true) => Ok(()),
        (true, true) => {
            let message = format!(
                "shoot {name}: networking.type {wanted} is kvshoot's own, and there is an add-on of that name"
            );
            let hint = "set networking.type to none to bring the network yourself";
            Err(CommandError::new(Exit::Manifest, message).hint(hint))
        }
        (false, false) => {
            let message =
                format!("shoot {name}: kvshoot has no manifests of networking.type {wanted}");
            let hint = format!("--addons DIR brings them, as {wanted}.yaml or a folder {wanted}");
            Err(CommandError::new(Exit::Manifest, message)
                .hint(hint)
                .hint("flannel needs nothing else; with none, the network is yours to install"))
        }
    }
}

/// Every add-on of a folder, by name.
fn read(folder: &Path, context: &Context) -> Result<Vec<Bundle>, CommandError> {
    let mut objects = Objects::default();
    let mut known = HashMap::new();
    let mut bundles: Vec<Bundle> = Vec::new();
    for path in entries(folder)? {
        let name = name_of(&path)?;
        if bundles.iter().any(|it| it.name == name) {
            let message = format!("{} has two add-ons {name}", folder.display());
            return Err(CommandError::new(Exit::Manifest, message));
        }
        let first = objects.all.len();
        for (file, bytes) in files::read(std::slice::from_ref(&path), None)? {
            objects.add(file, bytes);
        }
        twice(&mut objects, first, &mut known);
        let found = objects.all[first..].iter().map(|it| it.1.clone());
        let objects = found.collect();
        bundles.push(Bundle { name, objects });
    }
    accept(&objects, context)?;
    Ok(bundles)
}

/// Tells what is wrong, which ends the command.
fn accept(objects: &Objects, context: &Context) -> Result<(), CommandError> {
    if objects.problems.is_empty() {
        return Ok(());
    }
    load::tell_problems((&objects.problems, &[]), &objects.sources, context);
    Err(CommandError::silent(Exit::Manifest))
}

/// An object stands in one place, or two would write over each other for ever.
fn twice(objects: &mut Objects, first: usize, known: &mut HashMap<String, Place>) {
    for index in first..objects.all.len() {
        let (place, object) = &objects.all[index];
        let (place, identity) = (*place, identity(object));
        if known.insert(identity.clone(), place).is_some() {
            objects.tell(
                "addons/twice",
                format!("{identity} stands here again"),
                place,
            );
        }
    }
}

/// As `DaemonSet.apps kube-system/a`.
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

/// Files of manifests, and folders; what is hidden is no add-on.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, CommandError> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries.map_err(|error| {
        let message = format!("cannot read the folder {}", folder.display());
        CommandError::new(Exit::Usage, message).cause(error.to_string())
    })?;
    let mut paths: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    paths.retain(|it| {
        let extension = it.extension().and_then(|it| it.to_str());
        let is_hidden = it
            .file_name()
            .is_some_and(|it| it.to_string_lossy().starts_with('.'));
        let is_manifest = matches!(extension, Some("yaml" | "yml" | "json"));
        !is_hidden && (is_manifest || it.is_dir())
    });
    paths.sort();
    if paths.is_empty() {
        let message = format!("there is no add-on in {}", folder.display());
        return Err(CommandError::new(Exit::Usage, message).hint(
            "files whose names end in .yaml, .yml or .json are add-ons, and folders of them",
        ));
    }
    Ok(paths)
}

/// The name goes into labels and names of objects.
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
    let fits = name.len() <= LONGEST
        && name.starts_with(is_plain)
        && name.ends_with(is_plain)
        && name.chars().all(|it| is_plain(it) || it == '-');
    if fits {
        return Ok(name);
    }
    let message = format!("{} is no name for an add-on", path.display());
    Err(CommandError::new(Exit::Manifest, message).hint(format!(
        "at most {LONGEST} lower-case letters, digits and hyphens, such as calico.yaml"
    )))
}
