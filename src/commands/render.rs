use super::load::{self, LoadArgs};
use super::{CommandError, Context, Exit, provider};
use crate::plan::observed::Facts;
use crate::plan::render;
use serde_json::Value;

/// Print every object that a first apply would create
#[derive(Debug, clap::Args)]
pub(super) struct RenderArgs {
    #[command(flatten)]
    load: LoadArgs,
    /// How to print them
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    output: Output,
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
    for shoot in &loaded.shoots {
        objects.push(render::lease(shoot, &facts));
        objects.extend(render::first_apply(shoot, &facts));
    }
    if !args.show_secrets {
        objects = objects.iter().map(render::masked).collect();
    }
    context.ui.data(&match args.output {
        Output::Yaml => objects.iter().map(document).collect(),
        Output::Json => list(objects),
    });
    Ok(Exit::Done)
}

fn document(object: &Value) -> String {
    format!(
        "---\n{}",
        serde_yaml::to_string(object).expect("JSON is YAML")
    )
}

fn list(objects: Vec<Value>) -> String {
    let list = serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": objects });
    serde_json::to_string_pretty(&list).expect("a list is JSON") + "\n"
}
