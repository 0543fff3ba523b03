//! Placement of the machines of a pool, and eviction when a provider node is drained.

use std::collections::HashSet;

use crate::model::{
    AffinityPresets, FindingKind, KubevirtMatcher, MachineLocation, NodeLabelPreset,
    TopologySpread, Worker, WorkerConfig,
};
use crate::validate::names;
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::rules::one_of;

const REGION_LABEL: &str = "topology.kubernetes.io/region";
const ZONE_LABEL: &str = "topology.kubernetes.io/zone";
const PRESETS: [&str; 2] = ["soft", "hard"];
const SPREADS: [&str; 2] = ["DoNotSchedule", "ScheduleAnyway"];
const EVICTIONS: [&str; 2] = ["External", "LiveMigrate"];

pub(crate) fn check(config: &WorkerConfig, at: &FieldCursor, report: &mut FindingSink) {
    if let Some(it) = &config.affinity {
        affinity(it, &at.key("affinity"), report);
    }
    spreads(
        &config.topology_spread_constraints,
        &at.key("topologySpreadConstraints"),
        report,
    );
    one_of(
        config.eviction_strategy.as_deref(),
        &EVICTIONS,
        &at.key("evictionStrategy"),
        "worker-config/eviction-strategy",
        report,
    );
    if let Some(it) = &config.location {
        location(it, &at.key("location"), report);
    }
    if let Some(it) = config.subnet.as_deref().filter(|it| !it.is_empty())
        && !names::is_dns_subdomain(it)
    {
        let message = format!("{it:?} is not a valid subnet name");
        report
            .error(
                &at.key("subnet"),
                FindingKind::Invalid,
                "worker-config/subnet",
                message,
            )
            .hint(names::DNS_LABEL);
    }
    let kinds = [
        "VirtualMachineInstancetype",
        "VirtualMachineClusterInstancetype",
    ];
    matched(
        config.instancetype.as_ref(),
        &kinds,
        &at.key("instancetype"),
        report,
    );
    let kinds = [
        "VirtualMachinePreference",
        "VirtualMachineClusterPreference",
    ];
    matched(
        config.preference.as_ref(),
        &kinds,
        &at.key("preference"),
        report,
    );
}

/// Checks what can never hold together with the zones of the pool: each machine is required to be in one of them.
pub(crate) fn check_zones(
    config: &WorkerConfig,
    pool: &Worker,
    region: &str,
    at: &FieldCursor,
    report: &mut FindingSink,
) {
    let at_affinity = &at.key("affinity");
    let affinity = config.affinity.as_ref();
    let near = affinity.and_then(|it| it.pod_affinity_preset.as_deref());
    if near == Some("hard") && pool.zones.len() > 1 && pool.maximum > 1 {
        let code = "worker-config/affinity-over-zones";
        let message = "machines in several zones cannot be on one host";
        report
            .error(
                &at_affinity.key("podAffinityPreset"),
                FindingKind::Forbidden,
                code,
                message,
            )
            .hint("use soft, or one zone");
    }
    if let Some(hosts) = affinity.and_then(|it| it.node_affinity_preset.as_ref()) {
        hosts_in_zones(
            hosts,
            pool,
            region,
            &at_affinity.key("nodeAffinityPreset"),
            report,
        );
    }
    let at = &at.key("location");
    let Some(location) = &config.location else {
        return;
    };
    let code = "worker-config/location-elsewhere";
    if let Some(own) = location.region.as_deref().filter(|it| *it != region) {
        let message = format!("machines are in region {region:?}, not in {own:?}");
        report
            .error(&at.key("region"), FindingKind::Invalid, code, message)
            .hint(format!("write {region}, or remove it"));
    }
    let other = pool
        .zones
        .iter()
        .find(|it| location.zone.as_ref() != Some(it));
    if let (Some(own), Some(other)) = (location.zone.as_deref(), other) {
        let message = format!("machines are also in zone {other:?}, not only in {own:?}");
        report
            .error(&at.key("zone"), FindingKind::Invalid, code, message)
            .hint("it is a label of all machines of the pool; use one zone, or remove it");
    }
}

/// Checks a hard preset for the labels of region and zone.
fn hosts_in_zones(
    hosts: &NodeLabelPreset,
    pool: &Worker,
    region: &str,
    at: &FieldCursor,
    report: &mut FindingSink,
) {
    let has = |place: &str| hosts.values.is_empty() || hosts.values.iter().any(|it| it == place);
    // Hosts of the place `default` have no such label.
    let fits = |place: &str| place != "default" && has(place);
    let excluded = match hosts.key.as_deref() {
        _ if hosts.type_.as_deref() != Some("hard") => None,
        Some(ZONE_LABEL) => pool.zones.iter().map(String::as_str).find(|it| !fits(it)),
        Some(REGION_LABEL) => Some(region).filter(|it| !fits(it)),
        _ => None,
    };
    if let Some(place) = excluded {
        let code = "worker-config/affinity-without-zone";
        let message = format!("no host fits machines in {place:?}, where the pool has some");
        report
            .error(&at.key("values"), FindingKind::Forbidden, code, message)
            .hint("add it to the values, or remove the preset: zones place the machines");
    }
}

fn affinity(affinity: &AffinityPresets, at: &FieldCursor, report: &mut FindingSink) {
    let code = "worker-config/affinity";
    let near = affinity.pod_affinity_preset.as_deref();
    let apart = affinity.pod_anti_affinity_preset.as_deref();
    one_of(near, &PRESETS, &at.key("podAffinityPreset"), code, report);
    let at_apart = &at.key("podAntiAffinityPreset");
    one_of(apart, &PRESETS, at_apart, code, report);
    if near.is_some() && apart.is_some() {
        report
            .error(
                at_apart,
                FindingKind::Forbidden,
                "worker-config/affinity-twice",
                "cannot be combined with podAffinityPreset",
            )
            .see(&at.key("podAffinityPreset"), "set here")
            .hint("choose one: all machines on one host, or each on a different host");
    }
    let Some(hosts) = &affinity.node_affinity_preset else {
        return;
    };
    let at = &at.key("nodeAffinityPreset");
    one_of(
        hosts.type_.as_deref(),
        &PRESETS,
        &at.key("type"),
        code,
        report,
    );
    let key = hosts.key.as_deref().unwrap_or_default();
    let is_given = hosts.type_.is_some() || !hosts.values.is_empty() || !key.is_empty();
    for (field, is_missing) in [("type", hosts.type_.is_none()), ("key", key.is_empty())] {
        if is_given && is_missing {
            report.error(
                &at.key(field),
                FindingKind::Required,
                code,
                "is required for node affinity",
            );
        }
    }
    if !key.is_empty() && !names::is_qualified(key) {
        let message = format!("{key:?} is not a valid label key");
        report.error(&at.key("key"), FindingKind::Invalid, code, message);
    }
    for (i, value) in hosts.values.iter().enumerate() {
        if !names::is_label_value(value) {
            let message = format!("{value:?} is not a valid label value");
            report
                .error(
                    &at.key("values").index(i),
                    FindingKind::Invalid,
                    code,
                    message,
                )
                .hint(names::LABEL_VALUE);
        }
    }
}

fn spreads(spreads: &[TopologySpread], at: &FieldCursor, report: &mut FindingSink) {
    let code = "worker-config/spread";
    let mut known = HashSet::new();
    for (i, spread) in spreads.iter().enumerate() {
        let at = &at.index(i);
        if spread.max_skew < 1 {
            let message = format!("must be at least 1 (is {})", spread.max_skew);
            report.error(&at.key("maxSkew"), FindingKind::Invalid, code, message);
        }
        let key = spread.topology_key.as_str();
        if !key.is_empty() && !names::is_qualified(key) {
            let message = format!("{key:?} is not a valid label key");
            report.error(&at.key("topologyKey"), FindingKind::Invalid, code, message);
        }
        let when = spread.when_unsatisfiable.as_str();
        let at_when = &at.key("whenUnsatisfiable");
        one_of(
            Some(when).filter(|it| !it.is_empty()),
            &SPREADS,
            at_when,
            code,
            report,
        );
        if !key.is_empty() && !known.insert((key, when)) {
            let message = format!("duplicate constraint {key:?} with {when}");
            report.error(
                &at.key("topologyKey"),
                FindingKind::Duplicate,
                code,
                message,
            );
        }
    }
}

fn location(location: &MachineLocation, at: &FieldCursor, report: &mut FindingSink) {
    for (field, value) in [("region", &location.region), ("zone", &location.zone)] {
        if let Some(value) = value
            && (value.is_empty() || !names::is_label_value(value))
        {
            let message = format!("{value:?} is not a valid label value");
            report
                .error(
                    &at.key(field),
                    FindingKind::Invalid,
                    "worker-config/location",
                    message,
                )
                .hint(names::LABEL_VALUE);
        }
    }
}

fn matched(
    matched: Option<&KubevirtMatcher>,
    kinds: &[&str],
    at: &FieldCursor,
    report: &mut FindingSink,
) {
    let Some(matched) = matched else { return };
    let code = "worker-config/matched";
    if !matched.name.is_empty() && !names::is_dns_subdomain(&matched.name) {
        let message = format!("{:?} is not a valid object name", matched.name);
        report
            .error(&at.key("name"), FindingKind::Invalid, code, message)
            .hint(names::DNS_LABEL);
    }
    one_of(
        matched.kind.as_deref(),
        kinds,
        &at.key("kind"),
        code,
        report,
    );
}
