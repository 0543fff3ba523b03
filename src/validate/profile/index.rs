//! An index of a CloudProfile, for lookups in constant time.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use crate::model::{CloudProfile, Limits, MachineImage, MachineType, Region, VolumeType, Zone};

/// An entry of a list with its position.
pub(crate) type IndexEntry<'a, T> = (usize, &'a T);

pub(crate) struct ProfileIndex<'a> {
    pub(crate) profile: &'a CloudProfile,
    pub(crate) machine_types: HashMap<&'a str, IndexEntry<'a, MachineType>>,
    pub(crate) volume_types: HashMap<&'a str, IndexEntry<'a, VolumeType>>,
    pub(crate) images: HashMap<&'a str, IndexEntry<'a, MachineImage>>,
    /// Positions and URL, by image and version.
    pub(crate) urls: HashMap<(&'a str, &'a str), (usize, usize, &'a str)>,
    pub(crate) limits: HashMap<&'a str, &'a Limits>,
    pub(crate) region: Option<IndexEntry<'a, Region>>,
    pub(crate) zones: HashMap<&'a str, IndexEntry<'a, Zone>>,
    /// Pairs of zone and type.
    pub(crate) without_machine_type: HashSet<(&'a str, &'a str)>,
    pub(crate) without_volume_type: HashSet<(&'a str, &'a str)>,
}

impl<'a> ProfileIndex<'a> {
    /// The profile as messages name it: `CloudProfile "sandbox"`.
    pub(crate) fn title(&self) -> String {
        format!("CloudProfile {:?}", self.profile.metadata.name)
    }

    pub(crate) fn new(profile: &'a CloudProfile, region: &str) -> Self {
        let spec = &profile.spec;
        let region = spec
            .regions
            .iter()
            .enumerate()
            .find(|(_, known)| known.name == region);
        let zones = region.map_or(&[][..], |(_, region)| &region.zones);
        let missing = |names: fn(&Zone) -> &Vec<String>| {
            let of_zone = move |zone: &'a Zone| {
                names(zone)
                    .iter()
                    .map(|name| (zone.name.as_str(), name.as_str()))
            };
            zones.iter().flat_map(of_zone).collect()
        };
        Self {
            profile,
            machine_types: by_name(&spec.machine_types, |it| &it.name),
            volume_types: by_name(&spec.volume_types, |it| &it.name),
            images: by_name(&spec.machine_images, |it| &it.name),
            urls: urls(profile),
            limits: limits(profile),
            region,
            zones: by_name(zones, |it| &it.name),
            without_machine_type: missing(|zone| &zone.unavailable_machine_types),
            without_volume_type: missing(|zone| &zone.unavailable_volume_types),
        }
    }
}

/// The first entry of a name wins; duplicates are reported elsewhere.
fn by_name<'a, T>(list: &'a [T], name: fn(&T) -> &String) -> HashMap<&'a str, IndexEntry<'a, T>> {
    let mut map = HashMap::with_capacity(list.len());
    for (i, entry) in list.iter().enumerate() {
        map.entry(name(entry).as_str()).or_insert((i, entry));
    }
    map
}

fn urls(profile: &CloudProfile) -> HashMap<(&str, &str), (usize, usize, &str)> {
    let mut map = HashMap::new();
    for (i, image) in profile
        .spec
        .provider_config
        .machine_images
        .iter()
        .enumerate()
    {
        for (j, version) in image.versions.iter().enumerate() {
            map.entry((image.name.as_str(), version.version.as_str()))
                .or_insert((i, j, version.source_url.as_str()));
        }
    }
    map
}

fn limits(profile: &CloudProfile) -> HashMap<&str, &Limits> {
    let types = profile.spec.provider_config.machine_types.iter();
    types
        .filter_map(|it| Some((it.name.as_str(), it.limits.as_ref()?)))
        .collect()
}

/// Returns true if the date is in the past; an invalid date is reported elsewhere.
pub(crate) fn is_expired(expiration: Option<&str>, now: Timestamp) -> bool {
    expiration
        .and_then(|date| date.parse::<Timestamp>().ok())
        .is_some_and(|date| date <= now)
}

pub(crate) fn is_preview(classification: Option<&str>) -> bool {
    classification == Some("preview")
}

pub(crate) fn is_deprecated(classification: Option<&str>) -> bool {
    classification == Some("deprecated")
}

/// Parts of a CloudProfile's spec that "not found" findings depend on, by code.
const READ_FROM: [(&str, &str); 7] = [
    ("kubernetes/version-not-offered", "kubernetes"),
    ("machine/image-not-offered", "machineImages"),
    ("machine/image-version-not-offered", "machineImages"),
    ("machine/type-not-offered", "machineTypes"),
    ("shoot/region-not-offered", "regions"),
    ("volume/type-not-offered", "volumeTypes"),
    ("zone/not-offered", "regions"),
];

/// The part of the CloudProfile's spec that a finding with this code depends on.
pub(crate) fn read_from(code: &str) -> Option<&'static str> {
    READ_FROM.iter().find(|it| it.0 == code).map(|it| it.1)
}
