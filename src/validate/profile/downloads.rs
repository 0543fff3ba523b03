//! Download locations of binaries that images lack.

use crate::model::{CloudProfile, DocumentKind, FindingKind, MachineDownload, machine_downloads};
use crate::validate::pool::machine::architecture;
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::valid_shoot::PoolSpec;
use std::collections::BTreeSet;

pub(crate) fn check(profile: &CloudProfile, at: &FieldCursor, report: &mut FindingSink) {
    let Some(downloads) = &profile.spec.provider_config.downloads else {
        return;
    };
    let at = &at.key("downloads");
    if let Some(mirror) = &downloads.mirror
        && !is_url(mirror)
    {
        report
            .error(
                &at.key("mirror"),
                FindingKind::Invalid,
                "profile/mirror",
                "not a valid HTTP URL",
            )
            .hint("for example https://mirror.example.org");
    }
    let at = &at.key("digests");
    for (url, digest) in &downloads.digests {
        check_digest(digest, &at.key(url), report);
    }
}

/// Checks that each file that pools download without TLS has a digest: it could be replaced on its way.
pub(crate) fn check_pools(profile: &CloudProfile, pools: &[PoolSpec], report: &mut FindingSink) {
    let downloads = profile.spec.provider_config.downloads.as_ref();
    let Some((downloads, mirror)) = downloads.and_then(|it| Some((it, it.mirror.as_ref()?))) else {
        return;
    };
    if !mirror.starts_with("http://") {
        return;
    }
    let versions: BTreeSet<&str> = pools.iter().map(|it| it.kubernetes.as_str()).collect();
    let of_pools = |download: &MachineDownload| {
        let architectures = pools.iter().map(|it| it.architecture.as_deref());
        let mut architectures = architectures.map(|it| it.unwrap_or(architecture::DEFAULT));
        architectures.any(|it| it == download.architecture)
    };
    let files = versions.into_iter().flat_map(machine_downloads);
    let without_digest: BTreeSet<String> = files
        .filter(|it| of_pools(it) && it.known_digest().is_none())
        .map(|it| it.url)
        .filter(|url| !downloads.digests.contains_key(url))
        .collect();
    let root = FieldCursor::root(DocumentKind::CloudProfile);
    let spec = root.key("spec");
    let config = spec.key("providerConfig");
    let at = config.key("downloads");
    let at = at.key("mirror");
    for url in without_digest {
        let message = format!("{mirror} without TLS requires a digest of {url}");
        report
            .error(
                &at,
                FindingKind::Forbidden,
                "profile/mirror-digests",
                message,
            )
            .hint("use an https:// URL, or add the SHA-256 digest of the file to digests");
    }
}

pub(crate) fn check_digest(digest: &str, at: &FieldCursor, report: &mut FindingSink) {
    let is_hex = digest.len() == 64 && digest.bytes().all(|it| it.is_ascii_hexdigit());
    if !is_hex || digest.bytes().any(|it| it.is_ascii_uppercase()) {
        let message = "not a valid SHA-256 digest: expected 64 digits 0-9 and a-f";
        report
            .error(at, FindingKind::Invalid, "profile/digest", message)
            .hint("run sha256sum to compute it");
    }
}

/// Returns true for an HTTP URL without characters that need escaping in a shell script.
pub(super) fn is_url(text: &str) -> bool {
    let rest = text
        .strip_prefix("https://")
        .or(text.strip_prefix("http://"));
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-._~:/[]%@+".contains(it);
    rest.is_some_and(|it| !it.is_empty() && it.chars().all(is_plain))
}

#[cfg(test)]
mod tests {
    use crate::validate::testing::{PROFILE, SHOOT, verdict};

    fn check(downloads: &str) -> Vec<String> {
        let config = "kind: CloudProfileConfig\n";
        let profile = PROFILE.replace(config, &format!("{config}    downloads: {downloads}\n"));
        assert_ne!(profile, PROFILE);
        let errors = verdict(&format!("{SHOOT}---\n{profile}")).errors;
        errors.iter().map(|it| it.code.to_owned()).collect()
    }

    #[test]
    fn invalid_download_settings_are_rejected() {
        let good = "0".repeat(64);
        let none: [&str; 0] = [];
        assert_eq!(
            check(&format!(
                "{{mirror: \"https://m.example.org/k8s\", digests: {{\"https://a/b\": \"{good}\"}}}}"
            )),
            none
        );
        assert_eq!(check("{mirror: m.example.org}"), ["profile/mirror"]);
        assert_eq!(check("{mirror: \"https://m a\"}"), ["profile/mirror"]);
        assert_eq!(
            check("{digests: {\"https://a/b\": \"abc\"}}"),
            ["profile/digest"]
        );
    }

    #[test]
    fn each_file_of_a_mirror_without_tls_needs_a_digest() {
        let missing = |version: &str, digests: &str| {
            let config = "kind: CloudProfileConfig\n";
            let downloads = format!(
                "{config}    downloads: {{mirror: \"http://m.a\", digests: {{{digests}}}}}\n"
            );
            let profile = PROFILE.replace(config, &downloads);
            let text = format!("{SHOOT}---\n{profile}").replace("1.34.2", version);
            let errors = verdict(&text).errors.into_iter();
            let errors = errors.filter(|it| it.code == "profile/mirror-digests");
            errors.map(|it| it.message).collect::<Vec<_>>()
        };
        let good = "0".repeat(64);
        assert_eq!(missing("1.34.2", ""), [""; 0]);
        let new = missing("1.34.99", &format!("\"https://a/b\": \"{good}\""));
        let kubelet = "https://dl.k8s.io/release/v1.34.99/bin/linux/amd64/kubelet";
        assert_eq!(
            new,
            [format!(
                "http://m.a without TLS requires a digest of {kubelet}"
            )]
        );
        let digests = format!("\"{kubelet}\": \"{good}\"");
        assert_eq!(missing("1.34.99", &digests), [""; 0]);
    }
}
