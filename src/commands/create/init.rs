//! Arguments of `kvshoot init`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::init::{self, GivenValues, InitOptions};
use clap::ValueHint;
use std::path::PathBuf;

/// Write the manifest of a new cluster
///
/// Reads zones, StorageClasses, instancetypes and networks of the provider cluster, asks for the rest on a terminal, and
/// writes a Shoot with a CloudProfile. Without a terminal, flags and defaults answer.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct InitArgs {
    /// Name of the cluster; required without a terminal
    #[arg(id = "new", value_name = "NAME")]
    name: Option<String>,
    /// File to write, or - for standard output [default: NAME.yaml]
    #[arg(short = 'f', long = "filename", value_name = "FILE", value_hint = ValueHint::FilePath)]
    filename: Option<PathBuf>,
    /// Overwrite the file without a prompt
    #[arg(long)]
    force: bool,
    /// Choose from a CloudProfile in a file, instead of from the provider cluster
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "profile_only")]
    profile: Option<PathBuf>,
    /// Write only a CloudProfile of the provider cluster
    #[arg(long)]
    profile_only: bool,
    #[command(flatten)]
    values: ValueArgs,
}

/// Values of the manifest
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Values of the manifest")]
struct ValueArgs {
    /// URL of the operating system image: https://... or docker://... [default: Ubuntu 24.04]
    #[arg(long, value_name = "URL", conflicts_with = "profile")]
    image_url: Option<String>,
    /// Machine image of the CloudProfile
    #[arg(long, value_name = "NAME", requires = "profile")]
    image: Option<String>,
    /// Kubernetes version, for example 1.34
    #[arg(long, value_name = "VERSION")]
    kubernetes_version: Option<String>,
    /// Machine type of the CloudProfile, or instancetype of the provider cluster
    #[arg(long, value_name = "TYPE")]
    machine_type: Option<String>,
    /// Number of nodes [default: one in each zone, at least 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    nodes: Option<u32>,
    /// Volume type of the CloudProfile, or StorageClass of the provider cluster
    #[arg(long, value_name = "TYPE")]
    volume_type: Option<String>,
    /// Size of the root disks [default: 20Gi]
    #[arg(long, value_name = "SIZE")]
    volume_size: Option<String>,
    /// Region: label topology.kubernetes.io/region of the provider's nodes, or default
    #[arg(long, value_name = "REGION")]
    region: Option<String>,
    /// Zones: labels topology.kubernetes.io/zone of the provider's nodes, or default [default: all, or as many as there are nodes]
    #[arg(long, value_name = "ZONES", value_delimiter = ',')]
    zones: Vec<String>,
    /// NetworkAttachmentDefinitions to attach machines to, in addition to the pod network
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    networks: Vec<String>,
    /// Pod network of the provider cluster, where machines get their addresses, for example 10.244.0.0/16
    #[arg(long, value_name = "CIDR")]
    node_range: Option<String>,
}

impl ValueArgs {
    fn values(&self) -> GivenValues {
        GivenValues {
            image_url: self.image_url.clone(),
            image: self.image.clone(),
            kubernetes: self.kubernetes_version.clone(),
            machine_type: self.machine_type.clone(),
            nodes: self.nodes,
            volume_type: self.volume_type.clone(),
            volume_size: self.volume_size.clone(),
            region: self.region.clone(),
            zones: self.zones.clone(),
            networks: self.networks.clone(),
            node_range: self.node_range.clone(),
        }
    }
}

pub(in crate::commands) fn run(args: &InitArgs, context: &Context) -> Result<Exit, CommandError> {
    let options = InitOptions {
        name: args.name.clone(),
        file: args.filename.clone(),
        force: args.force,
        profile: args.profile.clone(),
        profile_only: args.profile_only,
        given: args.values.values(),
    };
    init::init(&options, context)
}
