//! Maintenance window, hibernation and add-ons.

use crate::model::{Addons, FindingKind, Hibernation, Maintenance, Shoot, TimeWindow};
use crate::validate::report::{FieldCursor, FindingSink};

const MIN_MINUTES: i32 = 30;
const MAX_MINUTES: i32 = 6 * 60;
const DAY_MINUTES: i32 = 24 * 60;

pub(crate) fn check(shoot: &Shoot, at: &FieldCursor, report: &mut FindingSink) {
    let spec = &shoot.spec;
    if let Some(Maintenance {
        time_window: Some(window),
        ..
    }) = &spec.maintenance
    {
        let at = &at.key("maintenance");
        time_window(window, &at.key("timeWindow"), report);
    }
    if let Some(it) = &spec.hibernation {
        hibernation(it, &at.key("hibernation"), report);
    }
    if let Some(it) = &spec.addons {
        addons(it, spec.purpose.as_deref(), &at.key("addons"), report);
    }
}

fn time_window(window: &TimeWindow, at: &FieldCursor, report: &mut FindingSink) {
    let mut minutes = |name: &str, text: &str| {
        let minutes = minutes_in_utc(text);
        if minutes.is_none() && !text.is_empty() {
            report
                .error(
                    &at.key(name),
                    FindingKind::Invalid,
                    "maintenance/time",
                    format!("{text:?} is not a valid time of day"),
                )
                .hint("write hours, minutes, seconds and time zone, for example 220000+0100");
        }
        minutes
    };
    let begin = minutes("begin", &window.begin);
    let end = minutes("end", &window.end);
    let (Some(begin), Some(end)) = (begin, end) else {
        return;
    };
    let length = (end - begin).rem_euclid(DAY_MINUTES);
    if !(MIN_MINUTES..=MAX_MINUTES).contains(&length) {
        report.error(
            at,
            FindingKind::Forbidden,
            "maintenance/length",
            format!("must be between {MIN_MINUTES} and {MAX_MINUTES} minutes long (is {length})"),
        );
    }
}

/// Parses `HHMMSS+ZZZZ` into minutes in UTC.
fn minutes_in_utc(text: &str) -> Option<i32> {
    let bytes = text.as_bytes();
    let sign = match bytes.get(6)? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    if bytes.len() != 11 {
        return None;
    }
    let part = |from: usize, most: i32| -> Option<i32> {
        let digits = bytes.get(from..from + 2)?;
        let is_number = digits.iter().all(u8::is_ascii_digit);
        let value = std::str::from_utf8(digits).ok()?.parse().ok()?;
        (is_number && value <= most).then_some(value)
    };
    let (hours, minutes, _) = (part(0, 23)?, part(2, 59)?, part(4, 59)?);
    let (zone_hours, zone_minutes) = (part(7, 14)?, part(9, 59)?);
    Some(hours * 60 + minutes - sign * (zone_hours * 60 + zone_minutes))
}

fn hibernation(hibernation: &Hibernation, at: &FieldCursor, report: &mut FindingSink) {
    if hibernation.enabled == Some(true) {
        report
            .error(
                &at.key("enabled"),
                FindingKind::NotSupported,
                "hibernation/not-there",
                "hibernation is not supported yet",
            )
            .hint("remove it, or delete the cluster with `kvshoot delete`");
    }
    let at = &at.key("schedules");
    for (i, schedule) in hibernation.schedules.iter().enumerate() {
        let at = &at.index(i);
        if schedule.start.is_none() && schedule.end.is_none() {
            report
                .error(
                    at,
                    FindingKind::Required,
                    "hibernation/schedule",
                    "start or end is required",
                )
                .hint("write a cron expression, for example 0 20 * * 1-5");
        }
        for (name, cron) in [("start", &schedule.start), ("end", &schedule.end)] {
            if let Some(cron) = cron.as_deref().filter(|it| !is_cron(it)) {
                let message = format!("{cron:?} is not a valid cron expression");
                report
                    .error(
                        &at.key(name),
                        FindingKind::Invalid,
                        "hibernation/cron",
                        message,
                    )
                    .hint("write five fields, for example 0 20 * * 1-5");
            }
        }
    }
    if !hibernation.schedules.is_empty() {
        report.warning(
            at,
            FindingKind::NotSupported,
            "hibernation/schedules-ignored",
            "has no effect: kvshoot does not run in the background",
        );
    }
}

/// Returns true for the five fields of a cron expression: numbers in their ranges, names, lists, ranges and steps.
fn is_cron(text: &str) -> bool {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
    const FIELDS: [(u32, u32, &[&str]); 5] = [
        (0, 59, &[]),
        (0, 23, &[]),
        (1, 31, &[]),
        (1, 12, &MONTHS),
        (0, 7, &DAYS),
    ];
    let fields: Vec<&str> = text.split_whitespace().collect();
    let is_field = |field: &str, (least, most, names): (u32, u32, &[&str])| {
        let number = |text: &str| {
            let name = names.iter().position(|it| text.eq_ignore_ascii_case(it));
            let name = name.and_then(|it| u32::try_from(it).ok());
            let number = name.map(|it| it + least).or_else(|| text.parse().ok());
            number.filter(|it| (least..=most).contains(it))
        };
        field.split(',').all(|part| {
            let (range, step) = match part.split_once('/') {
                Some((range, step)) => (range, step.parse().unwrap_or(0)),
                None => (part, 1),
            };
            let is_range = match range.split_once('-') {
                Some((first, last)) => number(first)
                    .zip(number(last))
                    .is_some_and(|it| it.0 <= it.1),
                None => ["*", "?"].contains(&range) || number(range).is_some(),
            };
            is_range && step > 0
        })
    };
    fields.len() == FIELDS.len()
        && fields
            .iter()
            .zip(FIELDS)
            .all(|(it, field)| is_field(it, field))
}

fn addons(addons: &Addons, purpose: Option<&str>, at: &FieldCursor, report: &mut FindingSink) {
    let dashboard = addons.kubernetes_dashboard.as_ref();
    let ingress = addons.nginx_ingress.as_ref();
    let enabled = [
        (
            "kubernetesDashboard",
            dashboard.is_some_and(|it| it.enabled),
            "kubernetes-dashboard 2.7.0 (2022) is no longer maintained",
        ),
        (
            "nginxIngress",
            ingress.is_some_and(|it| it.enabled),
            "ingress-nginx has not been maintained since March 2026 and gets no security fixes",
        ),
    ];
    for (name, _, state) in enabled.iter().filter(|(_, is_enabled, _)| *is_enabled) {
        let at = &at.key(name);
        let at = &at.key("enabled");
        if purpose.is_some_and(|it| it != "evaluation") {
            report.error(
                at,
                FindingKind::Forbidden,
                "addon/purpose",
                "only allowed for shoots with purpose evaluation",
            );
        } else {
            report.warning(at, FindingKind::NotSupported, "addon/unmaintained", *state);
        }
    }
    let mode = dashboard.and_then(|it| it.authentication_mode.as_deref());
    if let Some(mode) = mode.filter(|it| !["basic", "token"].contains(it)) {
        let at = &at.key("kubernetesDashboard");
        report
            .error(
                &at.key("authenticationMode"),
                FindingKind::NotSupported,
                "addon/authentication-mode",
                format!("unsupported value {mode:?}"),
            )
            .hint("supported values: token");
    } else if mode == Some("basic") {
        let at = &at.key("kubernetesDashboard");
        report
            .error(
                &at.key("authenticationMode"),
                FindingKind::Invalid,
                "addon/authentication-mode",
                "basic authentication was removed in Kubernetes 1.19",
            )
            .hint("use token");
    }
    let policy = ingress.and_then(|it| it.external_traffic_policy.as_deref());
    if let Some(policy) = policy.filter(|it| !["Cluster", "Local"].contains(it)) {
        let at = &at.key("nginxIngress");
        report
            .error(
                &at.key("externalTrafficPolicy"),
                FindingKind::NotSupported,
                "addon/traffic-policy",
                format!("unsupported value {policy:?}"),
            )
            .hint("supported values: Cluster, Local");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cron_expressions_have_five_fields_in_their_ranges() {
        for (text, expected) in [
            ("0 20 * * 1-5", true),
            ("00 08 1,15 jan-MAR sun", true),
            ("*/15 0-23/2 ? * 7", true),
            ("0 25 * * *", false),
            ("60 0 * * *", false),
            ("0 0 0 * *", false),
            ("0 0 * 13 *", false),
            ("0 0 * * 5-1", false),
            ("0 0 * * */0", false),
            ("0 0 * * mon,", false),
            ("0 -1 * * *", false),
            ("@daily", false),
            ("", false),
        ] {
            assert_eq!(is_cron(text), expected, "{text}");
        }
    }

    #[test]
    fn times_of_day_are_converted_to_utc() {
        for (text, expected) in [
            ("220000+0100", Some(21 * 60)),
            ("003000-0130", Some(120)),
            ("240000+0000", None),
            ("2200+0100", None),
            ("220000Z", None),
            ("22000٠+01", None),
        ] {
            assert_eq!(minutes_in_utc(text), expected, "{text}");
        }
    }
}
