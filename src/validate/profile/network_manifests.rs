//! Manifests of pod networks in a CloudProfile.

use std::collections::HashSet;

use super::downloads::check_digest;
use crate::model::{CloudProfile, FindingKind};
use crate::validate::report::{FieldCursor, FindingSink};

/// Built-in pod networks.
pub(crate) const OWN: [&str; 2] = ["flannel", "none"];

pub(crate) fn check(profile: &CloudProfile, at: &FieldCursor, report: &mut FindingSink) {
    let at = &at.key("networkManifests");
    let mut known = HashSet::new();
    let manifests = &profile.spec.provider_config.network_manifests;
    for (i, manifest) in manifests.iter().enumerate() {
        let at = &at.index(i);
        let name = manifest.type_.as_str();
        let mut refuse = |kind, message: String| {
            report.error(&at.key("type"), kind, "profile/network", message);
        };
        if OWN.contains(&name) {
            refuse(
                FindingKind::Forbidden,
                format!("network type {name:?} is built in"),
            );
        } else if !is_label(name) {
            let message = "must consist of at most 40 lower-case letters, digits and hyphens";
            refuse(FindingKind::Invalid, message.to_owned());
        } else if !known.insert(name) {
            refuse(
                FindingKind::Duplicate,
                format!("duplicate network type {name:?}"),
            );
        }
        let url = &manifest.url;
        let is_place = |it: &str| !it.is_empty() && !it.contains(char::is_whitespace);
        let is_web = url.strip_prefix("https://").is_some_and(is_place);
        let is_file = url.strip_prefix("file:///").is_some_and(is_place);
        if !is_web && !is_file {
            let message = "must be an https:// or file:/// URL";
            report
                .error(
                    &at.key("url"),
                    FindingKind::Invalid,
                    "profile/network-url",
                    message,
                )
                .hint(
                    "for example https://mirror.example.org/calico.yaml or file:///srv/calico.yaml",
                );
        }
        check_digest(&manifest.digest, &at.key("digest"), report);
    }
}

/// The type becomes part of names and labels.
fn is_label(name: &str) -> bool {
    let is_plain = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit();
    name.len() <= 40
        && name.starts_with(is_plain)
        && name.ends_with(is_plain)
        && name.chars().all(|it| is_plain(it) || it == '-')
}

#[cfg(test)]
mod tests {
    use crate::validate::testing::{PROFILE, SHOOT, verdict};

    fn check(manifests: &str) -> Vec<&'static str> {
        let config = "kind: CloudProfileConfig\n";
        let given = format!("{config}    networkManifests: [{manifests}]\n");
        let profile = PROFILE.replace(config, &given);
        assert_ne!(profile, PROFILE);
        let errors = verdict(&format!("{SHOOT}---\n{profile}")).errors;
        errors.iter().map(|it| it.code).collect()
    }

    #[test]
    fn manifests_of_a_network_are_pinned() {
        let one = |name: &str, url: &str, digest: &str| {
            format!("{{type: \"{name}\", url: \"{url}\", digest: \"{digest}\"}}")
        };
        let good = &"0".repeat(64);
        let web = "https://m.example.org/calico.yaml";
        assert_eq!(check(&one("calico", web, good)), [""; 0]);
        assert_eq!(check(&one("cilium", "file:///a.yaml", good)), [""; 0]);
        for (name, url, digest, code) in [
            ("flannel", web, good.as_str(), "profile/network"),
            ("Calico", web, good, "profile/network"),
            ("calico", "http://m/a", good, "profile/network-url"),
            ("calico", "file://a.yaml", good, "profile/network-url"),
            ("calico", web, "sha256:0", "profile/digest"),
        ] {
            assert_eq!(check(&one(name, url, digest)), [code], "{name} {url}");
        }
        let twice = [one("calico", web, good), one("calico", web, good)].join(", ");
        assert_eq!(check(&twice), ["profile/network"]);
    }
}
