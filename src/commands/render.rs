use super::load::{self, LoadArgs};
use super::{CommandError, Context, Exit, provider};
use crate::plan::preview::first_apply;
use crate::render;
use crate::render::images::image as container_image;
use crate::state::facts::Facts;
use crate::state::key::ClusterSide;
use serde_json::Value;
use std::collections::BTreeSet;

/// Print every object that a first apply would create
///
/// What the provider assigns is not known beforehand: addresses stand as 0.0.0.0, and Secrets of keys and certificates
/// are empty. An instancetype or a preference that the provider keeps, or its templates have, stands by its name.
#[derive(Debug, clap::Args)]
pub(super) struct RenderArgs {
    #[command(flatten)]
    load: LoadArgs,
    /// How to print them
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    output: Output,
    /// Print what it would create inside the cluster, instead of in the provider
    #[arg(long)]
    inside: bool,
    /// Print the bytes of Secrets as they are
    #[arg(long)]
    show_secrets: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Output {
    /// One document an object
    Yaml,
    /// A list
    Json,
    /// All container images that the cluster needs, one a line
    Images,
}

/// Stands for the namespace of the context, which is not looked up offline.
const NAMESPACE: &str = "default";

pub(super) fn run(args: &RenderArgs, context: &Context) -> Result<Exit, CommandError> {
    let loaded = load::load(&args.load, provider::around(context, &|_| None)?, context)?;
    let namespace = context.global.namespace.as_deref().unwrap_or(NAMESPACE);
    let facts = Facts {
        namespace: namespace.into(),
        ..Facts::default()
    };
    let mut objects = Vec::new();
    let mut images = BTreeSet::new();
    for shoot in &loaded.shoots {
        let all = first_apply(shoot, &facts);
        all.iter().for_each(|it| find_images(&it.1, &mut images));
        // The runtime of each machine holds pods together by it.
        images.insert(container_image(shoot, "pause"));
        if !args.inside {
            objects.push(render::lease(shoot, &facts));
        }
        let wanted = match args.inside {
            true => ClusterSide::Shoot,
            false => ClusterSide::Provider,
        };
        objects.extend(all.into_iter().filter(|it| it.0 == wanted).map(|it| it.1));
    }
    if !args.show_secrets {
        objects = objects.iter().map(render::masked).collect();
    }
    context.ui.data(&match args.output {
        Output::Yaml => objects.iter().map(document).collect(),
        Output::Json => list(objects),
        Output::Images => images.iter().map(|it| format!("{it}\n")).collect(),
    });
    Ok(Exit::Done)
}

fn document(object: &Value) -> String {
    format!(
        "---\n{}",
        serde_yaml::to_string(object).expect("JSON is YAML")
    )
}

/// Of containers, wherever their pod stands; an image of a machine is no text.
fn find_images(value: &Value, images: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, it)| match it.as_str() {
            Some(image) if name == "image" => drop(images.insert(image.to_owned())),
            _ => find_images(it, images),
        }),
        Value::Array(items) => items.iter().for_each(|it| find_images(it, images)),
        _ => {}
    }
}

fn list(objects: Vec<Value>) -> String {
    let list = serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": objects });
    serde_json::to_string_pretty(&list).expect("a list is JSON") + "\n"
}
