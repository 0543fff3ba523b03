//! `kvshoot convert`.

use super::files::ManifestFiles;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::load::ConvertedPool;
use crate::state::json::{to_json, to_yaml};
use serde_yaml::Value;

/// Prints the pools that MachineDeployments are converted to, as YAML or JSON.
pub(crate) fn convert(
    files: &ManifestFiles,
    as_json: bool,
    context: &Context,
) -> Result<Exit, CommandError> {
    let loaded = files.load_offline(true, context)?;
    if loaded.pools.is_empty() {
        return Err(CommandError::new(
            Exit::Manifest,
            "no MachineDeployment in the manifests",
        ));
    }
    for pool in loaded.pools.iter().filter(|pool| !pool.knows_zones) {
        let worker = &pool.worker;
        let zones = worker.zones.join(", ");
        context.ui.warn(&format!(
            "pool {}: the zones of its region are unknown, using {zones} as a placeholder; pass --profile to set them",
            worker.name
        ));
    }
    let pools: Vec<Value> = loaded.pools.iter().map(to_minimal_value).collect();
    context.ui.data(&match as_json {
        false => to_yaml(&pools),
        true => to_json(&pools),
    });
    Ok(Exit::Done)
}

/// Serializes a pool in the order of the schema, without empty fields.
fn to_minimal_value(pool: &ConvertedPool) -> Value {
    let mut value = serde_yaml::to_value(&pool.worker).expect("a pool is YAML");
    remove_empty(&mut value);
    value
}

fn remove_empty(value: &mut Value) {
    match value {
        Value::Mapping(fields) => {
            fields.iter_mut().for_each(|(_, field)| remove_empty(field));
            fields.retain(|_, field| !is_empty(field));
        }
        Value::Sequence(items) => items.iter_mut().for_each(remove_empty),
        _ => {}
    }
}

/// In a converted pool, false and empty are the defaults of all fields.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Sequence(items) => items.is_empty(),
        Value::Mapping(fields) => fields.is_empty(),
        _ => false,
    }
}
