//! `kvshoot render`.

use super::files::ManifestFiles;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::plan::preview::first_apply;
use crate::render;
use crate::render::images::image;
use crate::state::facts::Facts;
use crate::state::json::{to_json, to_yaml};
use crate::state::key::ClusterSide;
use crate::state::printable::one_line;
use serde_json::Value;
use std::collections::BTreeSet;

/// The namespace in rendered objects when none is given; the context is not read offline.
const DEFAULT_NAMESPACE: &str = "default";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RenderFormat {
    /// One document per object.
    Yaml,
    /// A `v1` List.
    Json,
    /// All container images that the cluster needs, one per line.
    Images,
}

#[derive(Debug)]
pub(crate) struct RenderOptions {
    pub(crate) files: ManifestFiles,
    pub(crate) format: RenderFormat,
    /// Prints the objects inside the cluster instead of those in the provider cluster.
    pub(crate) inside: bool,
    pub(crate) show_secrets: bool,
}

/// Prints every object that the first apply would create.
pub(crate) fn render(options: &RenderOptions, context: &Context) -> Result<Exit, CommandError> {
    let loaded = options.files.load_offline(false, context)?;
    let namespace = context.provider.namespace.as_deref();
    let facts = Facts {
        namespace: namespace.unwrap_or(DEFAULT_NAMESPACE).into(),
        ..Facts::default()
    };
    let wanted = match options.inside {
        true => ClusterSide::Shoot,
        false => ClusterSide::Provider,
    };
    let mut objects = Vec::new();
    let mut images = BTreeSet::new();
    for shoot in &loaded.shoots {
        let all = first_apply(shoot, &facts);
        all.iter()
            .for_each(|(_, object)| find_images(object, &mut images));
        // The sandbox image of each pod, which containerd pulls.
        images.insert(image(shoot, "pause"));
        if !options.inside {
            objects.push(render::lease(shoot, &facts));
        }
        let of_side = all.into_iter().filter(|(side, _)| *side == wanted);
        objects.extend(of_side.map(|(_, object)| object));
    }
    if !options.show_secrets {
        objects = objects.iter().map(render::masked).collect();
    }
    context.ui.data(&match options.format {
        RenderFormat::Yaml => objects.iter().map(document).collect(),
        RenderFormat::Json => list(objects),
        RenderFormat::Images => images.iter().map(|image| one_line(image) + "\n").collect(),
    });
    Ok(Exit::Done)
}

fn document(object: &Value) -> String {
    format!("---\n{}", to_yaml(object))
}

/// Collects the images of containers at any depth. The image of a machine is an object, not a text.
fn find_images(value: &Value, images: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            fields
                .iter()
                .for_each(|(name, field)| match field.as_str() {
                    Some(image) if name == "image" => drop(images.insert(image.to_owned())),
                    _ => find_images(field, images),
                });
        }
        Value::Array(items) => items.iter().for_each(|item| find_images(item, images)),
        _ => {}
    }
}

fn list(objects: Vec<Value>) -> String {
    let list = serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": objects });
    to_json(&list)
}
