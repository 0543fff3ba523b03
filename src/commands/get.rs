use super::shoots::{Summary, find};
use super::{CommandError, Context, Exit, complete, provider};
use crate::state::record::SHOOT;
use crate::ui::Format;
use clap_complete::engine::ArgValueCompleter;

/// Print a cluster as it was applied
#[derive(Debug, clap::Args)]
pub(super) struct GetArgs {
    /// Name of the shoot; PROJECT/NAME outside the project `local`
    #[arg(add = ArgValueCompleter::new(complete::shoots))]
    name: String,
    /// How to print it; yaml and json give the manifest
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(super) fn run(args: &GetArgs, context: &Context) -> Result<Exit, CommandError> {
    let (provider, record) = context.block_on(async {
        let provider = provider::connect(context).await?;
        let record = find(&provider, &args.name).await?;
        Ok::<_, CommandError>((provider, record))
    })??;
    let manifest = record
        .data
        .get(SHOOT)
        .map(String::as_str)
        .unwrap_or_default();
    match args.output {
        Format::Yaml => context.ui.data(manifest),
        Format::Json => {
            let value: serde_json::Value = serde_yaml::from_str(manifest).map_err(|error| {
                CommandError::new(Exit::Precondition, "the record's manifest cannot be read")
                    .cause(error.to_string())
            })?;
            context.ui.value(Format::Json, &value);
        }
        table => context
            .ui
            .item(table, &Summary::of(&record, provider.server_time())),
    }
    Ok(Exit::Done)
}
