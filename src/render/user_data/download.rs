//! Downloads for images without Kubernetes binaries: URLs, mirrors and checksums.

use super::join::JoinConfig;
use crate::model::{MachineDownload, machine_downloads};
use crate::validate::ValidShoot;

/// Lines of name, architecture, URL and digest; `-` if only the server can provide the digest.
pub(crate) fn table(join: &JoinConfig) -> String {
    let downloads = machine_downloads(&join.pool.kubernetes);
    downloads.map(|it| line(join.shoot, &it)).collect()
}

fn line(shoot: &ValidShoot, download: &MachineDownload) -> String {
    let given = shoot.profile.spec.provider_config.downloads.as_ref();
    let own = given.and_then(|it| it.digests.get(&download.url));
    let digest = own.map(String::as_str).or_else(|| download.known_digest());
    let mirror = given.and_then(|it| it.mirror.as_deref());
    let url = mirror.map_or_else(|| download.url.clone(), |it| mirrored(it, &download.url));
    let (name, architecture) = (download.name, download.architecture);
    format!("{name} {architecture} {url} {}\n", digest.unwrap_or("-"))
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
    fn a_mirror_contains_the_host_in_its_path() {
        assert_eq!(
            mirrored("https://m.example.org/k8s/", "https://dl.k8s.io/release/a"),
            "https://m.example.org/k8s/dl.k8s.io/release/a"
        );
    }
}
