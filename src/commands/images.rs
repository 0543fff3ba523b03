use super::provider::{self, failed};
use super::shoots::{only, shown_age};
use super::{CommandError, Context, Exit, complete};
use crate::cluster::{ApiClient, ImageSnapshot};
use crate::plan::names::parts;
use crate::ui::{Format, Row, wide};
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;

/// Work with the golden volumes of a cluster
#[derive(Debug, clap::Args)]
pub(super) struct ImagesArgs {
    #[command(subcommand)]
    command: ImagesCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ImagesCommand {
    List(ListArgs),
}

/// List golden volumes, with how far their imports are
#[derive(Debug, clap::Args)]
#[command(visible_alias = "ls")]
struct ListArgs {
    /// Name of the shoot; all of the namespace when absent
    #[arg(add = ArgValueCompleter::new(complete::shoots))]
    name: Option<String>,
    /// How to print them
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(super) fn run(args: &ImagesArgs, context: &Context) -> Result<Exit, CommandError> {
    let ImagesCommand::List(args) = &args.command;
    let images = context.block_on(async {
        let provider = provider::connect(context).await?;
        let id = match &args.name {
            Some(name) => Some(only(&provider, Some(name)).await?.name),
            None => None,
        };
        let seen = provider.images(id.as_deref()).await.map_err(failed)?;
        let now = provider.server_time();
        Ok::<_, CommandError>(seen.iter().map(|it| Image::of(it, now)).collect::<Vec<_>>())
    })??;
    context
        .ui
        .list(args.output, &images, "there are no golden volumes");
    Ok(Exit::Done)
}

/// As a person reads it.
pub(super) async fn told(provider: &ApiClient, id: &str) -> Result<String, CommandError> {
    let seen = provider.images(Some(id)).await.map_err(failed)?;
    let now = provider.server_time();
    let images: Vec<_> = seen.iter().map(|it| Image::of(it, now)).collect();
    Ok(wide(&images))
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Image {
    name: String,
    shoot: String,
    image: String,
    phase: String,
    /// Of the import, 0 to 100.
    percent: Option<f32>,
    /// In bytes.
    size: Option<u64>,
    #[serde(skip)]
    age: String,
    /// Seconds since 1970.
    created: Option<i64>,
}

impl Image {
    fn of(seen: &ImageSnapshot, now: Option<i64>) -> Image {
        Image {
            name: seen.name.to_string(),
            shoot: parts(&seen.shoot).1.to_owned(),
            image: seen.image.to_string(),
            phase: seen.phase.to_string(),
            percent: if seen.import.done {
                Some(100.0)
            } else {
                seen.import.percent
            },
            size: seen.size,
            age: shown_age(seen.created, now),
            created: seen.created,
        }
    }
}

impl Row for Image {
    fn headers() -> &'static [&'static str] {
        &["NAME", "SHOOT", "IMAGE", "PHASE", "IMPORTED", "SIZE", "AGE"]
    }

    fn cells(&self) -> Vec<String> {
        let percent = self
            .percent
            .map(|it| format!("{it:.0}%"))
            .unwrap_or_default();
        let size = self
            .size
            .map(|it| format!("{}Gi", it >> 30))
            .unwrap_or_default();
        let cells = [
            &self.name,
            &self.shoot,
            &self.image,
            &self.phase,
            &percent,
            &size,
            &self.age,
        ];
        cells.map(String::clone).to_vec()
    }

    fn name(&self) -> String {
        format!("datavolume.cdi.kubevirt.io/{}", self.name)
    }
}
