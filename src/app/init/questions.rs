//! The questions about a new cluster, and their defaults.

use super::chooser::{Choice, Chooser, anything};
use super::profile::{self, ImageDraft, ProfileDraft};
use super::ranges::ranges;
use super::shoot::ShootDraft;
use crate::app::error::CommandError;
use crate::cluster::ProviderInventory;
use crate::model::{CloudProfile, MachineType, Quantity, Region, Version, VolumeType};
use crate::validate::KNOWN_MINORS;
use jiff::Timestamp;
use std::collections::BTreeMap;

/// Smallest machine type that is chosen by default: CPUs and memory in bytes.
const COMFORTABLE: (f64, f64) = (2.0, 4_294_967_296.0);
const GIBIBYTE: f64 = 1_073_741_824.0;
/// Size of the root disk in GiB, if the volume type has no larger minimum.
const ROOT_DISK: f64 = 20.0;
const NO_NETWORKS: &str = "none";

/// Values given by flags.
#[derive(Debug, Clone, Default)]
pub(crate) struct GivenValues {
    pub(crate) image_url: Option<String>,
    pub(crate) image: Option<String>,
    pub(crate) kubernetes: Option<String>,
    pub(crate) machine_type: Option<String>,
    pub(crate) nodes: Option<u32>,
    pub(crate) volume_type: Option<String>,
    pub(crate) volume_size: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) zones: Vec<String>,
    pub(crate) networks: Vec<String>,
    pub(crate) node_range: Option<String>,
}

/// Asks for what a CloudProfile needs and the provider cluster does not publish.
pub(super) fn profile_draft(
    name: &str,
    given: &GivenValues,
    inventory: &ProviderInventory,
    chooser: &mut Chooser,
) -> Result<ProfileDraft, CommandError> {
    let image = profile::default_image(&inventory.architectures);
    let url = chooser.choose(&Choice {
        question: "URL of the operating system image",
        flag: "--image-url",
        given: given.image_url.as_deref(),
        options: &[],
        default: Some(&image),
        check: &anything,
    })?;
    let mut storage_classes = inventory.storage_classes.clone();
    if storage_classes.is_empty() {
        storage_classes.push(chooser.choose(&Choice {
            question: "StorageClass of the machines' disks",
            flag: "--volume-type",
            given: given.volume_type.as_deref(),
            options: &[],
            default: None,
            check: &anything,
        })?);
    }
    let mut regions = inventory.regions.clone();
    if regions.is_empty() {
        let (region, zones) = unknown_zones(given, chooser)?;
        regions = BTreeMap::from([(region, zones.into_iter().collect())]);
    }
    Ok(ProfileDraft {
        name: name.to_owned(),
        versions: profile::versions(),
        image: ImageDraft::new(&url),
        machine_types: profile::machine_types(inventory),
        storage_classes,
        regions,
    })
}

/// Asks for the labels of the provider's nodes, which could not be read.
fn unknown_zones(
    given: &GivenValues,
    chooser: &mut Chooser,
) -> Result<(String, Vec<String>), CommandError> {
    let region = chooser.choose(&Choice {
        question: "Region, the label topology.kubernetes.io/region of the provider's nodes, or default",
        flag: "--region",
        given: given.region.as_deref(),
        options: &[],
        default: None,
        check: &anything,
    })?;
    let zones = Choice {
        question: "Zones, the labels topology.kubernetes.io/zone, separated by commas, or default",
        flag: "--zones",
        given: None,
        options: &[],
        default: None,
        check: &anything,
    };
    Ok((region, chooser.choose_several(&zones, &given.zones)?))
}

/// Asks for the choices that a CloudProfile offers.
pub(super) fn shoot_draft(
    name: &str,
    profile: &CloudProfile,
    given: &GivenValues,
    inventory: &ProviderInventory,
    now: Timestamp,
    chooser: &mut Chooser,
) -> Result<ShootDraft, CommandError> {
    let versions = kubernetes_versions(profile, now);
    let kubernetes = chooser.choose(&Choice {
        question: "Kubernetes version",
        flag: "--kubernetes-version",
        given: given.kubernetes.as_deref(),
        options: &versions,
        default: versions.first().map(String::as_str),
        check: &anything,
    })?;
    let image = image(profile, given, chooser)?;
    let (region, zones) = zones(profile, given, chooser)?;
    let machine_type = machine_type(profile, &region, &zones, given, chooser)?;
    let count = given.nodes.map(|it| it.to_string());
    let nodes = chooser.choose(&Choice {
        question: "Number of nodes",
        flag: "--nodes",
        given: count.as_deref(),
        options: &[],
        default: Some(&zones.len().max(2).to_string()),
        check: &|answer| is_count(answer, zones.len()),
    })?;
    let (volume_type, volume_size) = volume(profile, &region, &zones, given, chooser)?;
    Ok(ShootDraft {
        name: name.to_owned(),
        profile: profile.metadata.name.clone(),
        kubernetes,
        image,
        machine_type,
        nodes: nodes.parse().unwrap_or_default(),
        volume_type,
        volume_size,
        region,
        zones,
        networks: networks(inventory, given, chooser)?,
        ranges: ranges(given.node_range.as_deref(), inventory),
    })
}

/// Minor versions of a profile that can be chosen now, from new to old.
fn kubernetes_versions(profile: &CloudProfile, now: Timestamp) -> Vec<String> {
    let versions = profile.spec.kubernetes.versions.iter();
    let current = versions.filter(|version| {
        let is_preview = version.classification.as_deref() == Some("preview");
        let expires = version
            .expiration_date
            .as_ref()
            .map(|it| it.parse::<Timestamp>());
        !is_preview && !expires.is_some_and(|it| it.is_ok_and(|time| time <= now))
    });
    let minors = current.filter_map(|it| Some(Version::parse(&it.version)?.minor()));
    let mut minors: Vec<_> = minors.filter(|it| KNOWN_MINORS.contains(&it.1)).collect();
    minors.sort_unstable();
    minors.dedup();
    let text = |(major, minor): (u64, u64)| format!("{major}.{minor}");
    minors.into_iter().rev().map(text).collect()
}

/// None for the only image of the profile.
fn image(
    profile: &CloudProfile,
    given: &GivenValues,
    chooser: &mut Chooser,
) -> Result<Option<String>, CommandError> {
    let images: Vec<String> = profile
        .spec
        .machine_images
        .iter()
        .map(|it| it.name.clone())
        .collect();
    if images.len() == 1 && given.image.is_none() {
        return Ok(None);
    }
    let image = chooser.choose(&Choice {
        question: "Machine image",
        flag: "--image",
        given: given.image.as_deref(),
        options: &images,
        default: images.first().map(String::as_str),
        check: &anything,
    })?;
    Ok(Some(image))
}

fn zones(
    profile: &CloudProfile,
    given: &GivenValues,
    chooser: &mut Chooser,
) -> Result<(String, Vec<String>), CommandError> {
    let regions: Vec<&Region> = profile
        .spec
        .regions
        .iter()
        .filter(|it| !it.zones.is_empty())
        .collect();
    let names: Vec<String> = regions.iter().map(|it| it.name.clone()).collect();
    // The first one of those with most zones.
    let largest = regions.iter().rev().max_by_key(|it| it.zones.len());
    let region = chooser.choose(&Choice {
        question: "Region",
        flag: "--region",
        given: given.region.as_deref(),
        options: &names,
        default: largest.map(|it| it.name.as_str()),
        check: &anything,
    })?;
    let found = regions.iter().find(|it| it.name == region);
    let zones = found.map_or(&[][..], |it| &it.zones).iter();
    let zones: Vec<String> = zones.map(|it| it.name.clone()).collect();
    // Each zone needs a node.
    let count = given.nodes.and_then(|it| usize::try_from(it).ok());
    let count = count.unwrap_or(zones.len()).min(zones.len());
    let all = zones[..count].join(",");
    let choice = Choice {
        question: "Zones, separated by commas",
        flag: "--zones",
        given: None,
        options: &zones,
        default: (!zones.is_empty()).then_some(all.as_str()),
        check: &anything,
    };
    Ok((region, chooser.choose_several(&choice, &given.zones)?))
}

fn machine_type(
    profile: &CloudProfile,
    region: &str,
    zones: &[String],
    given: &GivenValues,
    chooser: &mut Chooser,
) -> Result<String, CommandError> {
    let has_gpu =
        |machine_type: &MachineType| machine_type.gpu.as_ref().is_some_and(|it| it.value > 0.0);
    let missing = unavailable(profile, region, zones, |it| &it.unavailable_machine_types);
    let types = profile.spec.machine_types.iter();
    let mut types: Vec<&MachineType> = types
        .filter(|it| it.usable != Some(false) && !has_gpu(it) && !missing.contains(&&it.name))
        .collect();
    types.sort_by(|a, b| {
        size(a)
            .0
            .total_cmp(&size(b).0)
            .then(size(a).1.total_cmp(&size(b).1))
    });
    let fits = |it: &&&MachineType| size(it).0 >= COMFORTABLE.0 && size(it).1 >= COMFORTABLE.1;
    let default = types.iter().find(fits).or(types.last());
    let names: Vec<String> = types.iter().map(|it| it.name.clone()).collect();
    chooser.choose(&Choice {
        question: "Machine type",
        flag: "--machine-type",
        given: given.machine_type.as_deref(),
        options: &names,
        default: default.map(|it| it.name.as_str()),
        check: &anything,
    })
}

fn size(machine: &MachineType) -> (f64, f64) {
    (machine.cpu.value, machine.memory.value)
}

/// Type and size of the root disks.
fn volume(
    profile: &CloudProfile,
    region: &str,
    zones: &[String],
    given: &GivenValues,
    chooser: &mut Chooser,
) -> Result<(String, String), CommandError> {
    let missing = unavailable(profile, region, zones, |it| &it.unavailable_volume_types);
    let types = profile.spec.volume_types.iter();
    let types: Vec<&VolumeType> = types
        .filter(|it| it.usable != Some(false) && !missing.contains(&&it.name))
        .collect();
    let names: Vec<String> = types.iter().map(|it| it.name.clone()).collect();
    let name = chooser.choose(&Choice {
        question: "Volume type of the root disks",
        flag: "--volume-type",
        given: given.volume_type.as_deref(),
        options: &names,
        default: names.first().map(String::as_str),
        check: &anything,
    })?;
    let found = types.iter().find(|it| it.name == name);
    let minimum = found.and_then(|it| it.min_size.as_ref());
    let minimum = minimum.map_or(0.0, |it| (it.value / GIBIBYTE).ceil());
    let default = format!("{}Gi", minimum.max(ROOT_DISK));
    let size = chooser.choose(&Choice {
        question: "Size of the root disks",
        flag: "--volume-size",
        given: given.volume_size.as_deref(),
        options: &[],
        default: Some(&default),
        check: &is_size,
    })?;
    Ok((name, size))
}

/// Names of types that one of the zones does not have.
fn unavailable<'p>(
    profile: &'p CloudProfile,
    region: &str,
    zones: &[String],
    names: fn(&'p crate::model::Zone) -> &'p Vec<String>,
) -> Vec<&'p String> {
    let regions = profile.spec.regions.iter().filter(|it| it.name == region);
    let chosen = regions
        .flat_map(|it| &it.zones)
        .filter(|it| zones.contains(&it.name));
    chosen.flat_map(names).collect()
}

fn networks(
    inventory: &ProviderInventory,
    given: &GivenValues,
    chooser: &mut Chooser,
) -> Result<Vec<String>, CommandError> {
    if inventory.networks.is_empty() {
        return Ok(given.networks.clone());
    }
    let choice = Choice {
        question: "Additional networks of the machines, separated by commas",
        flag: "--networks",
        given: None,
        options: &inventory.networks,
        default: Some(NO_NETWORKS),
        check: &anything,
    };
    let mut networks = chooser.choose_several(&choice, &given.networks)?;
    networks.retain(|it| it != NO_NETWORKS || inventory.networks.contains(it));
    Ok(networks)
}

/// System components need a machine in each zone.
fn is_count(text: &str, zones: usize) -> Result<(), String> {
    match text.parse::<usize>() {
        Ok(count) if (zones.max(1)..=1000).contains(&count) => Ok(()),
        _ => Err(format!(
            "{text:?} is not a number from {} to 1000",
            zones.max(1)
        )),
    }
}

fn is_size(text: &str) -> Result<(), String> {
    let is_whole = text
        .strip_suffix("Gi")
        .is_some_and(|it| it.parse::<u32>().is_ok());
    match is_whole && Quantity::parse(text).is_ok_and(|it| it.value > 0.0) {
        true => Ok(()),
        false => Err(format!(
            "{text:?} is not a whole number of Gi, for example 20Gi"
        )),
    }
}
