//! The CloudProfile of a provider cluster: machine types, volume types, zones and one image.

use super::yaml::scalar;
use crate::cluster::{InstancetypeSize, ProviderInventory};
use crate::model::{Quantity, known_versions};
use crate::validate::KNOWN_MINORS;
use std::collections::{BTreeMap, BTreeSet};

/// Smallest memory of a node, in bytes.
const MIN_MEMORY: f64 = 2_147_483_648.0;

/// Used if the provider cluster has no instancetypes: name, CPUs and memory.
const MACHINE_TYPES: [(&str, u64, &str); 3] = [
    ("small", 2, "4Gi"),
    ("medium", 4, "8Gi"),
    ("large", 8, "16Gi"),
];

/// An operating system image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ImageDraft {
    name: &'static str,
    version: &'static str,
    url: String,
}

/// The contents of a new CloudProfile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProfileDraft {
    pub(super) name: String,
    /// Newest patch version of each minor version, from new to old.
    pub(super) versions: Vec<String>,
    pub(super) image: ImageDraft,
    pub(super) machine_types: Vec<InstancetypeSize>,
    pub(super) storage_classes: Vec<String>,
    pub(super) regions: BTreeMap<String, BTreeSet<String>>,
}

/// URL of the image that is used by default: Ubuntu 24.04, for the architecture of the nodes.
pub(super) fn default_image(architectures: &BTreeSet<String>) -> String {
    let is_arm = architectures.contains("arm64") && !architectures.contains("amd64");
    let architecture = if is_arm { "arm64" } else { "amd64" };
    format!(
        "https://cloud-images.ubuntu.com/noble/current/noble-server-cloudimg-{architecture}.img"
    )
}

impl ImageDraft {
    pub(super) fn new(url: &str) -> ImageDraft {
        let is_noble = url.starts_with("https://cloud-images.ubuntu.com/noble/");
        let (name, version) = match is_noble {
            true => ("ubuntu", "24.04"),
            false => ("custom", "1.0.0"),
        };
        ImageDraft {
            name,
            version,
            url: url.to_owned(),
        }
    }
}

/// The instancetypes of the provider cluster that are large enough for a node, or the default types.
pub(super) fn machine_types(inventory: &ProviderInventory) -> Vec<InstancetypeSize> {
    let memory = |size: &InstancetypeSize| Quantity::parse(&size.memory).map_or(0.0, |it| it.value);
    let sizes = inventory.instancetypes.iter();
    let sizes: Vec<_> = sizes
        .filter(|it| memory(it) >= MIN_MEMORY)
        .cloned()
        .collect();
    if !sizes.is_empty() {
        return sizes;
    }
    let default = |(name, cpus, memory): (&str, u64, &str)| InstancetypeSize {
        name: name.to_owned(),
        cpus,
        memory: memory.to_owned(),
    };
    MACHINE_TYPES.into_iter().map(default).collect()
}

/// The newest patch version of each supported minor version whose checksums are known, from new to old.
pub(super) fn versions() -> Vec<String> {
    let known = known_versions();
    let mut newest = BTreeMap::new();
    for version in known {
        if KNOWN_MINORS.contains(&version.minor().1) {
            // From old to new.
            newest.insert(version.minor(), version.to_string());
        }
    }
    newest.into_values().rev().collect()
}

impl ProfileDraft {
    /// The manifest, with comments.
    pub(super) fn text(&self) -> String {
        let versions = lines(&self.versions, |it| format!("    - version: {it}\n"));
        let types = lines(&self.machine_types, |machine_type| {
            let name = scalar(&machine_type.name);
            let (cpus, memory) = (
                scalar(&machine_type.cpus.to_string()),
                scalar(&machine_type.memory),
            );
            format!("  - name: {name}\n    cpu: {cpus}\n    memory: {memory}\n")
        });
        let classes = lines(&self.storage_classes, |class| {
            let name = scalar(class);
            format!("  - name: {name}\n    class: {name}\n")
        });
        let regions = self.regions.iter().map(|(region, zones)| {
            let zones = lines(zones, |it| format!("    - name: {}\n", scalar(it)));
            format!("  - name: {}\n    zones:\n{zones}", scalar(region))
        });
        let regions: String = regions.collect();
        let ImageDraft { name, version, url } = &self.image;
        let (version, url) = (scalar(version), scalar(url));
        let profile = scalar(&self.name);
        format!(
            "\
# The CloudProfile lists what Shoots can choose from. `kvshoot explain cloudprofile.spec` describes every field.
# yaml-language-server: $schema=cloudprofile.schema.json
apiVersion: core.gardener.cloud/v1beta1
kind: CloudProfile
metadata:
  name: {profile}
spec:
  type: kubevirt
  kubernetes:
    versions:
{versions}  machineImages:
  - name: {name}
    versions:
    - version: {version}
  # CPU and memory of machines.
  machineTypes:
{types}  # Volume types of machines, and their StorageClasses in the provider cluster.
  volumeTypes:
{classes}  # Values of topology.kubernetes.io/region and topology.kubernetes.io/zone of the provider's nodes; `default` for
  # nodes without the label.
  regions:
{regions}  providerConfig:
    apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1
    kind: CloudProfileConfig
    machineImages:
    - name: {name}
      versions:
      - version: {version}
        # An image with cloud-init. It is imported once for each cluster, and cloned by its machines.
        sourceURL: {url}
"
        )
    }
}

fn lines<T>(items: impl IntoIterator<Item = T>, line: impl Fn(T) -> String) -> String {
    items.into_iter().map(line).collect()
}
