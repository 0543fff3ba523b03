//! Download locations of binaries that images lack.

use crate::model::{CloudProfile, FindingKind};
use crate::validate::report::{FieldCursor, FindingSink};

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
    if downloads.digests.is_empty()
        && let Some(mirror) = downloads
            .mirror
            .as_ref()
            .filter(|it| it.starts_with("http://"))
    {
        let message = format!("{mirror} without TLS requires digests");
        report
            .error(
                &at.key("mirror"),
                FindingKind::Forbidden,
                "profile/mirror-digests",
                message,
            )
            .hint("use an https:// URL, or list the SHA-256 digests of the files in digests");
    }
    let at = &at.key("digests");
    for (url, digest) in &downloads.digests {
        check_digest(digest, &at.key(url), report);
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
        assert_eq!(
            check("{mirror: \"http://m.example.org\"}"),
            ["profile/mirror-digests"]
        );
        assert_eq!(
            check(&format!(
                "{{mirror: \"http://m.example.org\", digests: {{\"https://a/b\": \"{good}\"}}}}"
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
}
