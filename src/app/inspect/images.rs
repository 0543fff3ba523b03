//! `kvshoot images list`.

use super::shoot_summary::{find, format_age};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::provider::connect::connect;
use crate::cluster::{ImageSeen, Provider};
use crate::state::names::parts;
use crate::ui::{Format, ListRow, wide_table};
use serde::Serialize;

/// Lists the golden volumes of a shoot, or of all shoots of the namespace.
pub(crate) fn list_images(
    name: Option<&str>,
    output: Format,
    context: &Context,
) -> Result<Exit, CommandError> {
    let images = context.block_on(async {
        let provider = connect(context).await?;
        let id = match name {
            Some(name) => Some(find(&provider, name, context).await?.name),
            None => None,
        };
        rows(&provider, id.as_deref()).await
    })??;
    context.ui.list(output, &images, "no golden volumes found");
    Ok(Exit::Done)
}

/// The golden volumes of a shoot as text, for support bundles.
pub(crate) async fn images_text(provider: &Provider, id: &str) -> Result<String, CommandError> {
    Ok(wide_table(&rows(provider, Some(id)).await?))
}

async fn rows(provider: &Provider, id: Option<&str>) -> Result<Vec<ImageRow>, CommandError> {
    let images = provider.images(id).await.map_err(failed)?;
    let now = provider.server_time();
    Ok(images
        .iter()
        .map(|image| ImageRow::of(image, now))
        .collect())
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct ImageRow {
    name: String,
    shoot: String,
    image: String,
    phase: String,
    /// Progress of the import, 0 to 100.
    percent: Option<f32>,
    /// Bytes.
    size: Option<u64>,
    #[serde(skip)]
    age: String,
    /// Seconds since 1970.
    created: Option<i64>,
}

impl ImageRow {
    fn of(seen: &ImageSeen, now: Option<i64>) -> ImageRow {
        ImageRow {
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
            age: format_age(seen.created, now),
            created: seen.created,
        }
    }
}

impl ListRow for ImageRow {
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
