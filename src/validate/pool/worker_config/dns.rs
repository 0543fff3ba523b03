//! DNS of the machines, which KubeVirt gives to their launcher pods.

use std::net::IpAddr;

use crate::model::{FindingKind, WorkerConfig};
use crate::validate::names::is_dns_subdomain;
use crate::validate::report::{FieldCursor, FindingSink};

const DNS_POLICIES: [&str; 4] = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

pub(super) fn check(config: &WorkerConfig, at: &FieldCursor, report: &mut FindingSink) {
    nameservers(config, &at.key("dnsConfig"), report);
    searches(config, &at.key("dnsConfig"), report);
    let Some(policy) = config.dns_policy.as_deref() else {
        return;
    };
    if !DNS_POLICIES.contains(&policy) {
        report
            .error(
                &at.key("dnsPolicy"),
                FindingKind::Invalid,
                "worker-config/dns-policy",
                format!("unsupported DNS policy {policy:?}"),
            )
            .hint(format!("supported values: {}", DNS_POLICIES.join(", ")));
    }
    if policy != "None" {
        return;
    }
    let at_config = &at.key("dnsConfig");
    match &config.dns_config {
        None => {
            report
                .error(
                    at_config,
                    FindingKind::Required,
                    "worker-config/dns-config",
                    "is required with dnsPolicy None",
                )
                .hint("set at least one nameserver");
        }
        Some(it) if it.nameservers.is_empty() => {
            let message = "is required with dnsPolicy None";
            report.error(
                &at_config.key("nameservers"),
                FindingKind::Required,
                "worker-config/nameservers",
                message,
            );
        }
        Some(_) => {}
    }
}

fn nameservers(config: &WorkerConfig, at: &FieldCursor, report: &mut FindingSink) {
    let given = config.dns_config.iter().flat_map(|it| &it.nameservers);
    let at = &at.key("nameservers");
    for (i, given) in given.enumerate() {
        if given.parse::<IpAddr>().is_err() {
            let message = format!("{given:?} is not a valid IP address");
            report
                .error(
                    &at.index(i),
                    FindingKind::Invalid,
                    "worker-config/nameserver",
                    message,
                )
                .hint("for example 192.0.2.53 or 2001:db8::53");
        }
    }
}

/// Checks search domains and options, whose limits are those of Kubernetes for pods.
fn searches(config: &WorkerConfig, at: &FieldCursor, report: &mut FindingSink) {
    const MAX: usize = 32;
    let at_searches = &at.key("searches");
    let searches = config.dns_config.iter().flat_map(|it| &it.searches);
    for (i, given) in searches.enumerate() {
        let domain = given.strip_suffix('.').unwrap_or(given);
        if !is_dns_subdomain(domain) && given != "." {
            let message = format!("{given:?} is not a valid domain");
            report.error(
                &at_searches.index(i),
                FindingKind::Invalid,
                "worker-config/search-domain",
                message,
            );
        }
    }
    let given = config.dns_config.as_ref();
    if let Some(count) = given.map(|it| it.searches.len()).filter(|it| *it > MAX) {
        let message = format!("must have at most {MAX} items (has {count})");
        let code = "worker-config/search-domain";
        report.error(at_searches, FindingKind::TooLong, code, message);
    }
    let at_options = &at.key("options");
    let options = given.map_or(&[][..], |it| &it.options);
    for (i, option) in options.iter().enumerate() {
        let name = option.name.as_deref().unwrap_or_default();
        let at = &at_options.index(i);
        let at = &at.key("name");
        let code = "worker-config/dns-option";
        if name.is_empty() {
            report.error(at, FindingKind::Required, code, "is required");
        } else if name.contains(|it: char| it.is_whitespace() || it.is_control()) {
            let message = format!("{name:?} is not a valid option");
            report.error(at, FindingKind::Invalid, code, message);
        }
    }
}
