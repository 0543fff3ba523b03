//! The zones of a pool.

use std::collections::HashSet;

use super::context::{PoolContext, ValidationContext};
use crate::model::FindingKind;
use crate::validate::names;
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::rules::{not_found, some_of};

pub(crate) fn check(context: &ValidationContext, pool: &PoolContext, report: &mut FindingSink) {
    let zones = &pool.worker.zones;
    let at = &pool.at.key("zones");
    if zones.is_empty() {
        let offered = context.index.region.map_or(&[][..], |(_, it)| &it.zones);
        let offered = some_of(offered.iter().map(|it| it.name.as_str()));
        report
            .error(
                at,
                FindingKind::Required,
                "zone/required",
                "at least one zone is required",
            )
            .hint(format!("available: {offered}"));
        return;
    }
    let mut known = HashSet::with_capacity(zones.len());
    for (i, zone) in zones.iter().enumerate() {
        let at = &at.index(i);
        if !known.insert(zone.as_str()) {
            let message = format!("duplicate zone {zone:?}");
            report.error(at, FindingKind::Duplicate, "zone/duplicate", message);
            continue;
        }
        if zone.is_empty() || !names::is_label_value(zone) {
            let message = format!("{zone:?} is not a valid zone name");
            report
                .error(at, FindingKind::Invalid, "zone/name", message)
                .hint(names::LABEL_VALUE);
            continue;
        }
        offered(context, pool, zone, at, report);
    }
}

fn offered(
    context: &ValidationContext,
    pool: &PoolContext,
    zone: &str,
    at: &FieldCursor,
    report: &mut FindingSink,
) {
    // An existing zone of the pool is not validated again.
    if pool
        .before
        .is_some_and(|before| before.zones.iter().any(|it| it == zone))
    {
        return;
    }
    let region = context.input.shoot.spec.region.as_str();
    match context.index.region {
        // An unknown region is reported for spec.region.
        None => {}
        Some((_, it)) if it.zones.is_empty() => {
            let message = format!("region {region:?} has no zones");
            report.error(
                at,
                FindingKind::Invalid,
                "zone/region-without-zones",
                message,
            );
        }
        Some((_, it)) if !context.index.zones.contains_key(zone) => {
            let names = it.zones.iter().map(|it| it.name.as_str());
            let region = format!("region {region:?}");
            not_found(at, "zone/not-offered", "zone", zone, &region, names, report);
        }
        Some(_) => {}
    }
}
