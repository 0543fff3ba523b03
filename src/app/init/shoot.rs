//! The Shoot of a new cluster.

use super::ranges::AddressRanges;
use super::yaml::scalar;

/// The choices for a new Shoot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShootDraft {
    pub(super) name: String,
    /// Name of its CloudProfile.
    pub(super) profile: String,
    /// Major and minor version.
    pub(super) kubernetes: String,
    /// Machine image; the first one of the CloudProfile if None.
    pub(super) image: Option<String>,
    pub(super) machine_type: String,
    /// Number of machines.
    pub(super) nodes: u32,
    pub(super) volume_type: String,
    pub(super) volume_size: String,
    pub(super) region: String,
    pub(super) zones: Vec<String>,
    /// NetworkAttachmentDefinitions that machines are attached to.
    pub(super) networks: Vec<String>,
    pub(super) ranges: AddressRanges,
}

impl ShootDraft {
    /// The manifest, with comments. `commands` are shown at the top.
    pub(super) fn text(&self, commands: &[String]) -> String {
        let ShootDraft { nodes, ranges, .. } = self;
        // The name of the file is part of them, and could end the comment.
        let commands = commands.iter().filter(|it| !it.contains(char::is_control));
        let commands: String = commands.map(|it| format!("#     {it}\n")).collect();
        let image = self.image.as_deref().map_or_else(String::new, |image| {
            format!("        image:\n          name: {}\n", scalar(image))
        });
        let networks = self.networks();
        let zones = list("      - ", &self.zones);
        format!(
            "\
# A cluster, written by `kvshoot init`. Edit it, then:
#
{commands}#
# `kvshoot explain shoot.spec` describes every field. For completion in editors, run
# `kvshoot schema shoot > shoot.schema.json` and `kvshoot schema cloudprofile > cloudprofile.schema.json`.
# yaml-language-server: $schema=shoot.schema.json
apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata:
  name: {name}
spec:
  cloudProfileName: {profile}
  region: {region}
  provider:
    type: kubevirt
{networks}    workers:
    # A pool is a set of identical machines, spread over its zones.
    - name: worker
      machine:
        type: {machine_type}
{image}      minimum: {nodes}
      maximum: {nodes}
      # During changes, one more machine at a time, and never fewer.
      maxSurge: 1
      maxUnavailable: 0
      volume:
        type: {volume_type}
        size: {volume_size}
      zones:
{zones}  networking:
    type: flannel
    # The pod network of the provider cluster, where machines get their addresses.
    nodes: {node_range}
    # Addresses of pods and Services inside the cluster.
    pods: {pod_range}
    services: {service_range}
  kubernetes:
    # Without a patch version: the newest one of the CloudProfile.
    version: {kubernetes}
",
            name = scalar(&self.name),
            profile = scalar(&self.profile),
            region = scalar(&self.region),
            machine_type = scalar(&self.machine_type),
            volume_type = scalar(&self.volume_type),
            volume_size = scalar(&self.volume_size),
            node_range = scalar(&ranges.nodes),
            pod_range = scalar(&ranges.pods),
            service_range = scalar(&ranges.services),
            kubernetes = scalar(&self.kubernetes),
        )
    }

    fn networks(&self) -> String {
        if self.networks.is_empty() {
            return String::new();
        }
        let networks = list("        - name: ", &self.networks);
        format!(
            "    infrastructureConfig:
      apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1
      kind: InfrastructureConfig
      networks:
        # Existing NetworkAttachmentDefinitions of the namespace, in addition to the pod network.
        sharedNetworks:
{networks}"
        )
    }
}

fn list(prefix: &str, items: &[String]) -> String {
    let line = |it: &String| format!("{prefix}{}\n", scalar(it));
    items.iter().map(line).collect()
}
