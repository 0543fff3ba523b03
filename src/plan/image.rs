//! Golden volumes: one import for each image, size and class, which machines clone.

use crate::plan::planner::{Planner, present};
use crate::state::action::{Desired, Payload};
use crate::state::desired::ImageVolume;
use crate::state::facts::{ImageImport, ObjectStatus};
use crate::state::failure::{ErrorClass, Failure};
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::plan::{Dependency, ImageItem, ItemKind, ItemState};
use std::sync::Arc;

pub(crate) fn add(
    planner: &mut Planner,
    image_volume: &ImageVolume,
    needs: &Arc<[Dependency]>,
) -> Dependency {
    let observed = planner.observed;
    let wanted = Desired {
        key: ObjectKey::provider(ObjectKind::ImageVolume, image_volume.name.clone()),
        hash: image_volume.hash,
        payload: Payload::Plain,
    };
    let state = present(observed, wanted, |object| match &object.status {
        ObjectStatus::Image(import) => progress(image_volume, import),
        _ => ItemState::Waiting("the import has not started".into()),
    });
    let item = item(image_volume);
    let title = format!("Import {} ({})", item.image, item.size);
    planner.add(ItemKind::Image(item), title, needs.clone(), state)
}

fn item(image_volume: &ImageVolume) -> ImageItem {
    let (image, version) = (&image_volume.image, &image_volume.version);
    let volume = &image_volume.volume;
    let zone = image_volume
        .zone
        .as_ref()
        .map(|zone| format!(" in zone {zone}"));
    ImageItem {
        volume: image_volume.name.clone(),
        image: format!("image {image} {version}").trim_end().to_owned(),
        size: format!(
            "{} on {}{}",
            volume.size,
            volume.class,
            zone.unwrap_or_default()
        ),
    }
}

fn progress(image_volume: &ImageVolume, import: &ImageImport) -> ItemState {
    if import.done {
        return ItemState::Done;
    }
    if let Some(words) = &import.failed {
        return ItemState::Failed(Failure::new(
            ErrorClass::Infrastructure,
            format!(
                "import of {} failed: {words}",
                image_volume.source.display()
            ),
        ));
    }
    let Some(percent) = import.percent else {
        return ItemState::Waiting(
            import
                .waits
                .as_deref()
                .unwrap_or("the import has not started")
                .into(),
        );
    };
    let speed = import
        .speed
        .map(|it| format!(", {} MiB/s", it >> 20))
        .unwrap_or_default();
    let waits = import
        .waits
        .as_ref()
        .map(|it| format!(": {it}"))
        .unwrap_or_default();
    ItemState::Waiting(format!("image import at {percent:.0}%{speed}{waits}"))
}
