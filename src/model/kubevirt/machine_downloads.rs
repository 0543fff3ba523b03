//! The files that machines download if their image lacks them, and the digests that are known.

use crate::model::Version;

/// SHA-256 by URL, as published by the projects, so that a checksum does not come from the same server as its file.
const DIGESTS: &str = include_str!("machine_downloads.txt");

/// Architectures that KubeVirt runs machines of, and Kubernetes has binaries for.
pub(crate) const ARCHITECTURES: [&str; 2] = ["amd64", "arm64"];

const CONTAINERD: &str = "2.2.1";
const RUNC: &str = "1.3.4";
const CNI_PLUGINS: &str = "1.8.0";

pub(crate) struct MachineDownload {
    /// Name by which the join script asks for the file.
    pub(crate) name: &'static str,
    pub(crate) architecture: &'static str,
    /// URL at the project itself.
    pub(crate) url: String,
}

impl MachineDownload {
    /// SHA-256 that this release of kvshoot knows.
    pub(crate) fn known_digest(&self) -> Option<&'static str> {
        let mut known = known();
        known.find(|it| it.0 == self.url).map(|it| it.1)
    }
}

/// The files of a Kubernetes version, for each architecture.
pub(crate) fn machine_downloads(kubernetes: &str) -> impl Iterator<Item = MachineDownload> {
    ARCHITECTURES.into_iter().flat_map(move |architecture| {
        urls(kubernetes, architecture)
            .into_iter()
            .map(move |(name, url)| MachineDownload {
                name,
                architecture,
                url,
            })
    })
}

fn urls(kubernetes: &str, architecture: &str) -> [(&'static str, String); 5] {
    let minor = Version::parse(kubernetes).map_or(0, |it| it.minor().1);
    let github = "https://github.com";
    [
        (
            "kubelet",
            format!("https://dl.k8s.io/release/v{kubernetes}/bin/linux/{architecture}/kubelet"),
        ),
        (
            "containerd",
            format!(
                "{github}/containerd/containerd/releases/download/v{CONTAINERD}/containerd-{CONTAINERD}-linux-{architecture}.tar.gz"
            ),
        ),
        (
            "runc",
            format!("{github}/opencontainers/runc/releases/download/v{RUNC}/runc.{architecture}"),
        ),
        (
            "cni-plugins",
            format!(
                "{github}/containernetworking/plugins/releases/download/v{CNI_PLUGINS}/cni-plugins-linux-{architecture}-v{CNI_PLUGINS}.tgz"
            ),
        ),
        (
            "crictl",
            format!(
                "{github}/kubernetes-sigs/cri-tools/releases/download/v1.{minor}.0/crictl-v1.{minor}.0-linux-{architecture}.tar.gz"
            ),
        ),
    ]
}

/// Kubernetes versions whose checksums are known, from old to new.
pub(crate) fn known_versions() -> Vec<Version> {
    let of_url = |url: &str| {
        let release = url.strip_prefix("https://dl.k8s.io/release/v")?;
        Version::parse(release.split_once('/')?.0)
    };
    let mut versions: Vec<Version> = known().filter_map(|it| of_url(it.0)).collect();
    versions.sort();
    versions.dedup();
    versions
}

/// URLs with their digests.
fn known() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = DIGESTS.lines().filter_map(|it| it.split_once("  "));
    lines.map(|(digest, url)| (url, digest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn downloads_with_a_fixed_version_have_a_digest() {
        for download in machine_downloads("1.34.2") {
            let digest = download.known_digest();
            let is_hex = |it: &&str| it.len() == 64 && it.bytes().all(|b| b.is_ascii_hexdigit());
            assert!(digest.filter(is_hex).is_some(), "{}", download.url);
        }
    }

    #[test]
    fn no_digest_belongs_to_two_files() {
        let urls: BTreeSet<_> = known().map(|it| it.0).collect();
        let digests: BTreeSet<_> = known().map(|it| it.1).collect();
        assert_eq!(urls.len(), DIGESTS.lines().count());
        assert_eq!(digests.len(), urls.len());
    }
}
