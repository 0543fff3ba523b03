//! `kvshoot get`.

use super::shoot_summary::{ShootSummary, find};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::provider::connect::connect;
use crate::model::read_yaml;
use crate::state::printable::visible;
use crate::state::record::SHOOT;
use crate::ui::Format;

/// Prints a shoot; as YAML and JSON, its last applied manifest.
pub(crate) fn get(name: &str, output: Format, context: &Context) -> Result<Exit, CommandError> {
    let (provider, record) = context.block_on(async {
        let provider = connect(context).await?;
        let record = find(&provider, name, context).await?;
        let record = match output {
            Format::Json | Format::Yaml => {
                provider.complete_record(record).await.map_err(failed)?
            }
            _ => record,
        };
        Ok::<_, CommandError>((provider, record))
    })??;
    let manifest = record.data.get(SHOOT).map(String::as_str);
    let manifest = manifest.unwrap_or_default();
    match output {
        // Its text as it was applied, if all of it can be printed.
        Format::Yaml if visible(manifest) == manifest => context.ui.data(manifest),
        Format::Json | Format::Yaml => {
            let value: serde_json::Value = read_yaml(manifest).map_err(|error| {
                CommandError::new(Exit::Precondition, "cannot read the manifest in the record")
                    .cause(error.to_string())
            })?;
            context.ui.value(output, &value);
        }
        table => {
            let summary = ShootSummary::of(&record, provider.server_time());
            context.ui.item(table, &summary);
        }
    }
    Ok(Exit::Done)
}
