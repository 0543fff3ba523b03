//! Tests of updates and their times.

use super::*;
use crate::model::{Shoot, read_yaml};
use crate::plan::finished;
use crate::state::facts::ObservedRecord;
use crate::state::record::hibernation::HibernationRecord;
use crate::validate::testing::{SHOOT, valid_for_tests};
use std::sync::Arc;

const AUTOMATIC: &str = "autoUpdate: {kubernetesVersion: true}";
const WINDOW: &str = "timeWindow: {begin: 220000+0100, end: 230000+0100}";

/// A shoot with these offered versions; its own is the first one.
fn shoot(maintenance: &str, versions: &str) -> ValidShoot {
    let text = SHOOT.replace(
        "  region:",
        &format!("  maintenance: {{{maintenance}}}\n  region:"),
    );
    let mut shoot = valid_for_tests(&text);
    let versions: Vec<_> = read_yaml(versions).expect("versions");
    shoot.profile.spec.kubernetes.versions = versions;
    shoot.kubernetes = "1.34.2".to_owned();
    shoot
}

fn at(time: &str) -> i64 {
    let time: Timestamp = time.parse().expect("a time");
    time.as_second()
}

/// The version that a shoot gets in July, and whether that is forced.
fn updated(maintenance: &str, versions: &str) -> Option<(String, bool)> {
    let shoot = shoot(maintenance, versions);
    let update = update(&shoot, at("2026-07-01T00:00:00Z"));
    update.map(|it| (it.version, it.is_forced))
}

fn to(version: &str, is_forced: bool) -> Option<(String, bool)> {
    Some((version.to_owned(), is_forced))
}

#[test]
fn the_newest_patch_that_is_supported_is_installed() {
    let all = "
- version: 1.34.2
- version: 1.34.3
- {version: 1.34.4, expirationDate: 2027-01-01T00:00:00Z}
- {version: 1.34.5, classification: deprecated}
- {version: 1.34.6, expirationDate: 2026-01-01T00:00:00Z}
- {version: 1.34.7, classification: preview}
- version: 1.35.0
";
    assert_eq!(updated(AUTOMATIC, all), to("1.34.4", false));
    assert_eq!(updated("autoUpdate: {kubernetesVersion: false}", all), None);
    assert_eq!(updated(WINDOW, all), None);
    let deprecated = "[{version: 1.34.2}, {version: 1.34.3, classification: deprecated}]";
    assert_eq!(updated(AUTOMATIC, deprecated), to("1.34.3", false));
    let next_minor = "[{version: 1.34.2}, {version: 1.35.0}]";
    assert_eq!(updated(AUTOMATIC, next_minor), None);
}

#[test]
fn an_expired_version_is_replaced_in_any_case_by_one_minor_version_at_most() {
    let expired = |others: &str| {
        format!("[{{version: 1.34.2, expirationDate: \"2026-06-30T00:00:00Z\"}}{others}]")
    };
    let patch = expired(", {version: 1.34.3}, {version: 1.35.0}");
    assert_eq!(updated(WINDOW, &patch), to("1.34.3", true));
    assert_eq!(updated(AUTOMATIC, &patch), to("1.34.3", true));
    let minor = expired(", {version: 1.35.0}, {version: 1.35.1}, {version: 1.36.0}");
    assert_eq!(updated(WINDOW, &minor), to("1.35.1", true));
    let later = expired(", {version: 1.36.0}");
    assert_eq!(updated(WINDOW, &later), None);
    // A version that is not in the profile counts as expired.
    assert_eq!(updated(WINDOW, "[{version: 1.34.3}]"), to("1.34.3", true));
}

#[test]
fn there_is_one_attempt_in_each_window() {
    let shoot = shoot(WINDOW, "[{version: 1.34.2}]");
    let next = |now: &str, last: Option<&str>| {
        let next = next_window(&shoot, at(now), last.map(at)).expect("it has maintenance");
        Timestamp::from_second(next).expect("in range").to_string()
    };
    let (noon, begin, end) = (
        "2026-07-01T12:00:00Z",
        "2026-07-01T21:00:00Z",
        "2026-07-01T21:45:00Z",
    );
    let tomorrow = "2026-07-02T21:00:00Z";
    assert_eq!(next(noon, None), begin);
    assert_eq!(next(begin, None), begin);
    assert_eq!(next(end, None), end);
    // The last quarter of an hour is for what was begun.
    assert_eq!(next("2026-07-01T21:45:01Z", None), tomorrow);
    assert_eq!(next(end, Some(begin)), tomorrow);
    assert_eq!(next(tomorrow, Some(begin)), tomorrow);
    // An attempt outside of a window, by a changed manifest, does not count.
    assert_eq!(next(begin, Some(noon)), begin);
}

#[test]
fn without_a_window_there_is_one_attempt_each_day() {
    let automatic = shoot(AUTOMATIC, "[{version: 1.34.2}]");
    assert_eq!(next_window(&automatic, 100, None), Some(100));
    assert_eq!(next_window(&automatic, 100, Some(50)), Some(50 + DAY));
    assert_eq!(next_window(&automatic, 2 * DAY, Some(50)), Some(2 * DAY));
    assert_eq!(next_window(&valid_for_tests(SHOOT), 100, None), None);
}

/// The version of an update that is due for a finished shoot.
fn due(time: &str, change: impl Fn(&mut ObservedRecord)) -> Option<String> {
    let maintenance = format!("{AUTOMATIC}, {WINDOW}");
    let shoot = shoot(&maintenance, "[{version: 1.34.2}, {version: 1.34.3}]");
    let mut observed = finished(&shoot);
    let facts = Arc::make_mut(&mut observed.facts);
    facts.time = at(time);
    change(facts.record.as_mut().expect("it is complete"));
    due_updates(&shoot, facts, None)?
        .kubernetes
        .map(|it| it.version)
}

#[test]
fn an_update_is_due_in_its_window_unless_something_else_is_under_way() {
    let within = "2026-07-01T21:10:00Z";
    let none = |_: &mut ObservedRecord| {};
    assert_eq!(due(within, none).as_deref(), Some("1.34.3"));
    assert_eq!(due("2026-07-01T20:59:59Z", none), None);
    assert_eq!(due(within, |it| it.leaving = true), None);
    assert_eq!(due(within, |it| it.etcd = None), None);
    let hibernates = |it: &mut ObservedRecord| {
        it.hibernation = HibernationRecord::default().decided(true, 1);
    };
    assert_eq!(due(within, hibernates), None);
}

#[test]
fn an_expiry_is_warned_of_30_days_before() {
    let versions =
        "[{version: 1.34.2, expirationDate: \"2026-06-30T00:00:00Z\"}, {version: 1.34.3}]";
    let warning = |maintenance: &str, time: &str| {
        expiry_warnings(&shoot(maintenance, versions), at(time)).join("\n")
    };
    assert_eq!(warning(WINDOW, "2026-05-30T00:00:00Z"), "");
    assert_eq!(
        warning(WINDOW, "2026-05-31T00:00:00Z"),
        "Kubernetes 1.34.2 expires at 2026-06-30T00:00:00Z; kvshoot keep then updates it to 1.34.3 in the maintenance window"
    );
    assert!(warning(WINDOW, "2026-07-01T00:00:00Z").contains("expired at"));
}

#[test]
fn the_outlook_names_the_next_window_and_its_update() {
    let of = |maintenance: &str, time: &str| {
        let shoot = shoot(maintenance, "[{version: 1.34.2}, {version: 1.34.3}]");
        outlook(&shoot, at(time)).unwrap_or_default()
    };
    let both = format!("{AUTOMATIC}, {WINDOW}");
    assert_eq!(
        of(&both, "2026-07-01T12:00:00Z"),
        "from 2026-07-01T21:00:00Z: Kubernetes 1.34.2 to 1.34.3"
    );
    let within = "2026-07-01T21:10:00Z";
    assert_eq!(of(&both, within), "now: Kubernetes 1.34.2 to 1.34.3");
    assert_eq!(of(WINDOW, within), "now: no update");
    assert_eq!(outlook(&valid_for_tests(SHOOT), 0), None);
}

#[test]
fn pools_with_a_version_of_their_own_keep_it() {
    assert_eq!(
        following_pools(&valid_for_tests(SHOOT)),
        ["cpu".to_owned()].into()
    );
    let own = SHOOT.replacen(
        "minimum: 1\n",
        "minimum: 1\n      kubernetes: {version: 1.33.5}\n",
        1,
    );
    assert_eq!(following_pools(&valid_for_tests(&own)), [].into());
}

const IMAGES: &str = "autoUpdate: {kubernetesVersion: false, machineImageVersion: true}";

/// A shoot with these versions of its image; its own is 22.04.1.
fn shoot_with_images(maintenance: &str, strategy: &str, versions: &str) -> ValidShoot {
    let mut shoot = shoot(maintenance, "[{version: 1.34.2}]");
    shoot.pools[0].image.version = "22.04.1".to_owned();
    let name = shoot.pools[0].image.name.clone();
    let images = format!("[{{name: {name}, updateStrategy: {strategy}, versions: {versions}}}]");
    shoot.profile.spec.machine_images = read_yaml(&images).expect("images");
    shoot
}

/// The version of the image that a shoot gets in July, and whether that is forced.
fn image(maintenance: &str, strategy: &str, versions: &str) -> Option<(String, bool)> {
    let shoot = shoot_with_images(maintenance, strategy, versions);
    let updates = updates(&shoot, at("2026-07-01T00:00:00Z"));
    let update = updates.images.into_iter().next();
    update.map(|it| (it.to, it.is_forced))
}

#[test]
fn the_newest_image_within_its_strategy_is_installed() {
    let all = "[{version: 22.04.1}, {version: 22.04.2}, {version: 22.04.3, classification: deprecated}, \
        {version: 22.5.0}, {version: 24.04.0}, {version: 24.04.1, expirationDate: \"2026-01-01T00:00:00Z\"}, \
        {version: 24.04.2, classification: preview}, {version: 24.04.3, architectures: [arm64]}, {version: 18.04.0}, \
        {version: 24.04.4, kubeletVersionConstraint: \">= 1.35\"}]";
    for (strategy, expected) in [
        ("patch", "22.04.2"),
        ("minor", "22.5.0"),
        ("major", "24.04.0"),
    ] {
        assert_eq!(
            image(IMAGES, strategy, all),
            to(expected, false),
            "{strategy}"
        );
        assert_eq!(image(WINDOW, strategy, all), None, "{strategy}");
    }
    let deprecated = "[{version: 22.04.1}, {version: 22.04.3, classification: deprecated}]";
    assert_eq!(image(IMAGES, "patch", deprecated), to("22.04.3", false));
    assert_eq!(
        image(IMAGES, "patch", "[{version: 22.04.1}, {version: 24.04.0}]"),
        None
    );
    // An image that the pool itself specifies.
    assert_eq!(image(IMAGES, "major", "[{version: 24.04.0}]"), None);
}

#[test]
fn an_expired_image_is_replaced_in_any_case_by_the_nearest_beyond_its_strategy() {
    let expired = |others: &str| {
        format!("[{{version: 22.04.1, expirationDate: \"2026-06-30T00:00:00Z\"}}{others}]")
    };
    let within = expired(", {version: 22.04.2}, {version: 24.04.0}");
    assert_eq!(image(WINDOW, "patch", &within), to("22.04.2", true));
    let beyond =
        expired(", {version: 23.04.0}, {version: 23.04.1}, {version: 23.10.0}, {version: 24.04.0}");
    assert_eq!(image(WINDOW, "patch", &beyond), to("23.04.1", true));
    assert_eq!(image(WINDOW, "minor", &beyond), to("23.10.0", true));
    assert_eq!(image(WINDOW, "major", &beyond), to("24.04.0", true));
    assert_eq!(image(WINDOW, "major", &expired("")), None);
}

#[test]
fn updates_of_images_change_the_manifest_and_are_announced() {
    let versions =
        "[{version: 22.04.1, expirationDate: \"2026-07-10T00:00:00Z\"}, {version: 24.04.0}]";
    let shoot = shoot_with_images(IMAGES, "major", versions);
    let now = at("2026-07-01T00:00:00Z");
    let found = updates(&shoot, now);
    assert_eq!(
        found.to_string(),
        "image ubuntu of pool cpu from 22.04.1 to 24.04.0"
    );
    assert_eq!(
        expiry_warnings(&shoot, now),
        [
            "image ubuntu 22.04.1 of pool cpu expires at 2026-07-10T00:00:00Z; kvshoot keep then updates it to 24.04.0 in the maintenance window"
        ]
    );
    let changed = with_images(Shoot::clone(&shoot.manifest), &found.images);
    let image = changed.spec.provider.workers[0].machine.image.as_ref();
    assert_eq!(image.and_then(|it| it.version.as_deref()), Some("24.04.0"));
}
