//! Golden volumes: one import for each image, size and class, and clones for the machines.

use super::desired::Golden;
use super::item::{Class, Content, Failure, Key, Kind, Need, Plan, State, Wanted};
use super::names::{self, role};
use super::object::metadata;
use super::observed::{Fact, Facts, Import, Observed};
use super::{Site, present};
use serde_json::{Value, json};

pub(super) fn add(plan: &mut Plan, observed: &Observed, golden: &Golden, record: Need) -> Need {
    let wanted = Wanted {
        key: Key::provider(Kind::Image, golden.name.clone()),
        hash: golden.hash,
        content: Content::Plain,
    };
    let state = present(observed, wanted, |it| match &it.fact {
        Fact::Image(import) => progress(golden, import),
        _ => State::Waiting("the import to begin".into()),
    });
    plan.add(
        observed,
        format!("image/{}", golden.name).into(),
        title(golden),
        [record],
        state,
    )
}

fn title(golden: &Golden) -> String {
    let zone = golden
        .zone
        .as_ref()
        .map(|it| format!(" in zone {it}"))
        .unwrap_or_default();
    format!(
        "Import image {} {} ({} on {}{zone})",
        golden.image, golden.version, golden.size, golden.class
    )
}

fn progress(golden: &Golden, import: &Import) -> State {
    if import.done {
        return State::Done;
    }
    if let Some(words) = &import.failed {
        return State::Failed(Failure::new(
            Class::Infrastructure,
            format!("the import of {} failed: {words}", golden.url),
        ));
    }
    let Some(percent) = import.percent else {
        return State::Waiting(
            import
                .waits
                .as_deref()
                .unwrap_or("the import to begin")
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
    State::Waiting(format!("{percent:.0} % imported{speed}{waits}"))
}

/// The DataVolume: bound at once, since nothing uses it, and kept when it is done.
pub(super) fn object(golden: &Golden, site: &Site, facts: &Facts) -> Value {
    let mut metadata = metadata(site, role::IMAGE, &golden.name, golden.hash);
    let annotations = &mut metadata["annotations"];
    annotations["cdi.kubevirt.io/storage.bind.immediate.requested"] = json!("true");
    annotations["cdi.kubevirt.io/storage.deleteAfterCompletion"] = json!("false");
    annotations[names::IMAGE] = json!(format!("{} {}", golden.image, golden.version));
    if let Some(zone) = &golden.zone {
        annotations[names::ZONE] = json!(zone);
        // CDI hands annotations on to the claim, and a provisioner follows this one to the zone.
        if let Some(host) = facts.hosts.get(zone.as_str()) {
            annotations["volume.kubernetes.io/selected-node"] = json!(&**host);
        }
    }
    json!({
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataVolume",
        "metadata": metadata,
        "spec": {
            "source": { "http": { "url": golden.url } },
            "pvc": claim(&golden.class, &golden.size.to_string()),
        },
    })
}

/// A claim for a disk of one machine.
pub(super) fn claim(class: &str, size: &str) -> Value {
    json!({
        "accessModes": ["ReadWriteOnce"],
        "resources": { "requests": { "storage": size } },
        "storageClassName": class,
    })
}
