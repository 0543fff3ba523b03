use super::load::{self, Around, LoadArgs, Pool};
use super::{CommandError, Context, Exit, provider};
use serde_yaml::Value;

/// Print the pools that Kubermatic's MachineDeployments mean
///
/// They are items of a Shoot's spec.provider.workers. A Shoot and a CloudProfile beside them say which zones there are,
/// and have the pools judged by all rules.
#[derive(Debug, clap::Args)]
pub(super) struct ConvertArgs {
    #[command(flatten)]
    load: LoadArgs,
    /// How to print them
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Output {
    /// A list, as it stands in a Shoot
    Yaml,
    /// The same for programs
    Json,
}

pub(super) fn run(args: &ConvertArgs, context: &Context) -> Result<Exit, CommandError> {
    let around = Around {
        is_alone: true,
        ..provider::around(context, &|_| None)?
    };
    let loaded = load::load(&args.load, around, context)?;
    if loaded.pools.is_empty() {
        return Err(CommandError::new(
            Exit::Manifest,
            "there is no MachineDeployment in the manifests",
        ));
    }
    for pool in loaded.pools.iter().filter(|it| !it.knows_zones) {
        let worker = &pool.worker;
        let zones = worker.zones.join(", ");
        context.ui.warn(&format!(
            "pool {}: the zones of its region are not known, {zones} stands for them; --profile says them",
            worker.name
        ));
    }
    let pools: Vec<Value> = loaded.pools.iter().map(written).collect();
    context.ui.data(&match args.output {
        Output::Yaml => serde_yaml::to_string(&pools).expect("pools are YAML"),
        Output::Json => serde_json::to_string_pretty(&pools).expect("pools are JSON") + "\n",
    });
    Ok(Exit::Done)
}

/// As a person would have written it: in the order of the schema, without what says nothing.
fn written(pool: &Pool) -> Value {
    let mut value = serde_yaml::to_value(&pool.worker).expect("a pool is YAML");
    without_nothing(&mut value);
    value
}

fn without_nothing(value: &mut Value) {
    match value {
        Value::Mapping(fields) => {
            fields.iter_mut().for_each(|(_, it)| without_nothing(it));
            fields.retain(|_, it| !says_nothing(it));
        }
        Value::Sequence(items) => items.iter_mut().for_each(without_nothing),
        _ => {}
    }
}

/// Of the fields of a converted pool: all that is off or empty is so by itself.
fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Sequence(items) => items.is_empty(),
        Value::Mapping(fields) => fields.is_empty(),
        _ => false,
    }
}
