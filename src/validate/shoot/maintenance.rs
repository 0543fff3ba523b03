//! Maintenance window, hibernation and add-ons.

use crate::model::{
    Addons, Cron, DailyWindow, FindingKind, Hibernation, Maintenance, Shoot, TimeWindow,
    seconds_in_utc,
};
use crate::validate::report::{FieldCursor, FindingSink};
use jiff::tz::TimeZone;
use std::collections::HashMap;

const MIN_MINUTES: i64 = 30;
const MAX_MINUTES: i64 = 6 * 60;

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
    for (name, text) in [("begin", &window.begin), ("end", &window.end)] {
        if seconds_in_utc(text).is_none() && !text.is_empty() {
            report
                .error(
                    &at.key(name),
                    FindingKind::Invalid,
                    "maintenance/time",
                    format!("{text:?} is not a valid time of day"),
                )
                .hint("write hours, minutes, seconds and time zone, for example 220000+0100");
        }
    }
    let Some(length) = DailyWindow::of(window).map(DailyWindow::minutes) else {
        return;
    };
    if !(MIN_MINUTES..=MAX_MINUTES).contains(&length) {
        report.error(
            at,
            FindingKind::Forbidden,
            "maintenance/length",
            format!("must be between {MIN_MINUTES} and {MAX_MINUTES} minutes long (is {length})"),
        );
    }
}

fn hibernation(hibernation: &Hibernation, at: &FieldCursor, report: &mut FindingSink) {
    let schedules = &at.key("schedules");
    let mut known = HashMap::new();
    for (i, schedule) in hibernation.schedules.iter().enumerate() {
        let at = &schedules.index(i);
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
            let Some(cron) = cron.as_deref() else {
                continue;
            };
            let at = at.key(name);
            if let Err(why) = Cron::parse(cron) {
                let message = format!("{cron:?} is not a valid cron expression: {why}");
                report
                    .error(&at, FindingKind::Invalid, "hibernation/cron", message)
                    .hint("write five fields, for example 0 20 * * 1-5");
            } else if let Some((first, key)) = known.insert(cron, (i, name)) {
                let first = schedules.index(first);
                let message = format!("{cron:?} is there more than once");
                report
                    .error(&at, FindingKind::Duplicate, "hibernation/cron", message)
                    .see(&first.key(key), "first used here");
            }
        }
        let location = schedule.location.as_deref();
        if let Some(location) = location.filter(|it| TimeZone::get(it).is_err()) {
            let message = format!("{location:?} is not a known time zone");
            report
                .error(
                    &at.key("location"),
                    FindingKind::Invalid,
                    "hibernation/location",
                    message,
                )
                .hint("write for example Europe/Berlin; UTC is the default");
        }
    }
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
            assert_eq!(Cron::parse(text).is_ok(), expected, "{text}");
        }
    }
}
