//! `kvshoot images list`.

use super::shoot_summary::{find, format_age};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::provider::connect::connect;
use crate::cluster::{ApiClient, FactsScope, RecordSnapshot};
use crate::state::facts::{self, Facts, ImageImport};
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
        let record = match name {
            Some(name) => Some(find(&provider, name, context).await?),
            None => None,
        };
        rows(&provider, record.as_ref()).await
    })??;
    context.ui.list(output, &images, "no golden volumes found");
    Ok(Exit::Done)
}

/// The golden volumes of a shoot as text, for support bundles.
pub(crate) async fn images_text(
    provider: &ApiClient,
    record: &RecordSnapshot,
) -> Result<String, CommandError> {
    Ok(wide_table(&rows(provider, Some(record)).await?))
}

async fn rows(
    provider: &ApiClient,
    record: Option<&RecordSnapshot>,
) -> Result<Vec<ImageRow>, CommandError> {
    let facts = match record {
        Some(record) => provider.list_facts(record, FactsScope::IMAGES).await,
        None => provider.list_all_images().await,
    };
    Ok(image_rows(&facts.map_err(failed)?, provider.server_time()))
}

/// Includes golden volumes of an earlier shoot of the same name.
pub(super) fn image_rows(facts: &Facts, now: Option<i64>) -> Vec<ImageRow> {
    let objects = facts.objects.iter().chain(&facts.foreign);
    let images = facts::images(objects).into_iter();
    images
        .map(|(name, image)| ImageRow::of(name, image, now))
        .collect()
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ImageRow {
    pub(super) name: String,
    shoot: String,
    image: String,
    pub(super) phase: String,
    /// Progress of the import, 0 to 100.
    pub(super) percent: Option<f32>,
    /// Bytes.
    size: Option<u64>,
    #[serde(skip)]
    age: String,
    /// Seconds since 1970.
    created: Option<i64>,
}

impl ImageRow {
    fn of(name: &str, import: &ImageImport, now: Option<i64>) -> ImageRow {
        let volume = &import.volume;
        ImageRow {
            name: name.to_owned(),
            shoot: parts(&volume.shoot).1.to_owned(),
            image: volume.image.to_string(),
            phase: volume.phase.to_string(),
            percent: match import.done {
                true => Some(100.0),
                false => import.percent,
            },
            size: volume.size,
            age: format_age(volume.created, now),
            created: volume.created,
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
