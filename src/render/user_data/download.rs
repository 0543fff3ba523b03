//! Downloads for images without Kubernetes binaries: URLs, mirrors and checksums.

use super::join::JoinConfig;
use crate::model::Version;
use crate::validate::ValidShoot;
use std::collections::BTreeMap;

/// SHA-256 by URL, as published by the projects, so that a checksum does not come from the same server as its file.
const DIGESTS: &str = include_str!("digests.txt");

const ARCHITECTURES: [&str; 2] = ["amd64", "arm64"];

const CONTAINERD: &str = "2.2.1";
const RUNC: &str = "1.3.4";
const CNI_PLUGINS: &str = "1.8.0";

/// Lines of name, architecture, URL and digest; `-` if only the server can provide the digest.
pub(crate) fn table(join: &JoinConfig) -> String {
    let lines = ARCHITECTURES
        .iter()
        .flat_map(|it| downloads(join.shoot, &join.pool.kubernetes, it));
    lines.collect()
}

fn downloads<'a>(
    shoot: &'a ValidShoot,
    kubernetes: &str,
    architecture: &'a str,
) -> impl Iterator<Item = String> + use<'a> {
    let given = &shoot.profile.spec.provider_config.downloads;
    let known = known();
    urls(kubernetes, architecture)
        .into_iter()
        .map(move |(name, url)| {
            let own = given.as_ref().and_then(|it| it.digests.get(&url));
            let digest = own.map_or_else(
                || known.get(url.as_str()).copied().unwrap_or("-"),
                String::as_str,
            );
            let mirror = given.as_ref().and_then(|it| it.mirror.as_deref());
            let url = mirror.map_or_else(|| url.clone(), |it| mirrored(it, &url));
            format!("{name} {architecture} {url} {digest}\n")
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
    let mut versions: Vec<Version> = known().into_keys().filter_map(of_url).collect();
    versions.sort();
    versions.dedup();
    versions
}

fn known() -> BTreeMap<&'static str, &'static str> {
    let lines = DIGESTS.lines();
    lines
        .filter_map(|it| it.split_once("  "))
        .map(|(digest, url)| (url, digest))
        .collect()
}

/// Keeps host and path of the original URL, the layout that a crawler produces.
fn mirrored(mirror: &str, url: &str) -> String {
    let rest = url.strip_prefix("https://").unwrap_or(url);
    format!("{}/{rest}", mirror.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn downloads_with_a_fixed_version_have_a_digest() {
        let known = known();
        for architecture in ARCHITECTURES {
            for (name, url) in urls("1.34.2", architecture) {
                let digest = known.get(url.as_str());
                let is_hex =
                    |it: &&&str| it.len() == 64 && it.bytes().all(|b| b.is_ascii_hexdigit());
                assert!(digest.filter(is_hex).is_some(), "{name}: {url}");
            }
        }
    }

    #[test]
    fn no_digest_belongs_to_two_files() {
        let known = known();
        let distinct: std::collections::BTreeSet<_> = known.values().collect();
        assert_eq!(distinct.len(), known.len());
        assert_eq!(known.len(), DIGESTS.lines().count());
    }

    #[test]
    fn a_mirror_contains_the_host_in_its_path() {
        assert_eq!(
            mirrored("https://m.example.org/k8s/", "https://dl.k8s.io/release/a"),
            "https://m.example.org/k8s/dl.k8s.io/release/a"
        );
    }
}
