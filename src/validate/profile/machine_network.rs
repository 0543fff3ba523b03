//! Proxy and MTU of machines.

use super::downloads::is_url;
use crate::model::{CloudProfile, FindingKind};
use crate::validate::report::{FieldCursor, FindingSink};

/// IPv6 needs 1280 bytes; larger frames than 9000 are not common.
const MTU: std::ops::RangeInclusive<u32> = 1280..=9000;

pub(crate) fn check(profile: &CloudProfile, at: &FieldCursor, report: &mut FindingSink) {
    let config = &profile.spec.provider_config;
    if let Some(mtu) = config.mtu
        && !MTU.contains(&mtu)
    {
        let message = format!(
            "{mtu} is not a valid MTU: expected {} to {}",
            MTU.start(),
            MTU.end()
        );
        report.error(&at.key("mtu"), FindingKind::Invalid, "profile/mtu", message);
    }
    let Some(proxy) = &config.proxy else {
        return;
    };
    let at = &at.key("proxy");
    for (field, url) in [("http", &proxy.http), ("https", &proxy.https)] {
        if url.as_deref().is_some_and(|it| !is_url(it)) {
            let message = "not a valid HTTP URL";
            report
                .error(
                    &at.key(field),
                    FindingKind::Invalid,
                    "profile/proxy",
                    message,
                )
                .hint("for example http://proxy.example.org:3128");
        }
    }
    let hosts = at.key("noProxy");
    for (i, host) in proxy.no_proxy.iter().enumerate() {
        if !is_host(host) {
            let message = format!("{host:?} is not a host, a domain or an address range");
            let at = &hosts.index(i);
            report.error(at, FindingKind::Invalid, "profile/proxy", message);
        }
    }
}

/// Returns true for text without characters that need escaping in a shell script.
fn is_host(text: &str) -> bool {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-._:/[]*".contains(it);
    !text.is_empty() && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use crate::validate::testing::{PROFILE, SHOOT, verdict};

    fn check(field: &str) -> Vec<String> {
        let config = "kind: CloudProfileConfig\n";
        let profile = PROFILE.replace(config, &format!("{config}    {field}\n"));
        assert_ne!(profile, PROFILE);
        let errors = verdict(&format!("{SHOOT}---\n{profile}")).errors;
        errors.iter().map(|it| it.code.to_owned()).collect()
    }

    #[test]
    fn a_proxy_and_an_mtu_that_cannot_be_are_rejected() {
        let none: [&str; 0] = [];
        assert_eq!(check("mtu: 1400"), none);
        assert_eq!(check("mtu: 500"), ["profile/mtu"]);
        let good = "proxy: {http: \"http://u:p@proxy.example.org:3128\", noProxy: [.example.org, 10.0.0.0/8]}";
        assert_eq!(check(good), none);
        assert_eq!(
            check("proxy: {https: proxy.example.org}"),
            ["profile/proxy"]
        );
        assert_eq!(check("proxy: {noProxy: [\"a'b\"]}"), ["profile/proxy"]);
    }
}
