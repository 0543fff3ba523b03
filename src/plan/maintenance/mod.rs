//! When `kvshoot keep` updates a shoot, and to which version of Kubernetes.

use crate::model::DailyWindow;
use crate::plan::upgrade::{OfferedVersion, UpgradeStep, newest, offered};
use crate::state::facts::Facts;
use crate::state::record::hibernation::obstacle;
use crate::validate::{ValidShoot, is_expired};
use jiff::Timestamp;
use std::collections::BTreeSet;

/// Seconds at the end of a window in which nothing is begun, as in Gardener.
const RESERVE: i64 = 15 * 60;
/// Seconds between two updates of a shoot without a window.
const DAY: i64 = 24 * 3600;
/// Seconds before a version expires from which it is warned of.
const WARNING: i64 = 30 * DAY;

/// An update of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VersionUpdate {
    /// Full version, such as 1.34.2.
    pub(crate) version: String,
    /// The current version can no longer be chosen.
    pub(crate) is_forced: bool,
}

/// The update that is due at the time of the facts; None if there is none. `last` is when this process last tried one.
///
/// Nothing is updated during a hibernation, and while steps of a rotation or a restore are under way.
pub(crate) fn due_update(
    shoot: &ValidShoot,
    facts: &Facts,
    last: Option<i64>,
) -> Option<VersionUpdate> {
    let record = facts.record.as_ref().filter(|it| !it.leaving)?;
    let is_busy = obstacle(&record.rotation, record.etcd.as_ref()).is_some();
    if record.etcd.is_none() || record.hibernation.enabled || is_busy {
        return None;
    }
    let is_open = next_window(shoot, facts.time, last) == Some(facts.time);
    is_open.then(|| update(shoot, facts.time)).flatten()
}

/// When a shoot may be updated next, in seconds since 1970; None if its manifest has no maintenance. There is one attempt
/// for each window.
pub(crate) fn next_window(shoot: &ValidShoot, now: i64, last: Option<i64>) -> Option<i64> {
    let maintenance = shoot.manifest.spec.maintenance.as_ref()?;
    let window = maintenance.time_window.as_ref();
    let window = window.and_then(DailyWindow::of);
    let Some(window) = window.map(|it| it.shortened(RESERVE)) else {
        return Some(last.map_or(now, |it| now.max(it + DAY)));
    };
    let from = last.map_or(now, |it| now.max(window.after(it)));
    Some(window.next(from))
}

/// The version that a shoot gets at `now`, whatever its window: the newest patch of its minor version if updates are
/// automatic or its version has expired; then also one of the next minor version, if there is no other.
pub(crate) fn update(shoot: &ValidShoot, now: i64) -> Option<VersionUpdate> {
    let maintenance = shoot.manifest.spec.maintenance.as_ref();
    let auto_update = maintenance.and_then(|it| it.auto_update.as_ref());
    let is_automatic = auto_update.is_some_and(|it| it.kubernetes_version);
    let now = Timestamp::from_second(now).ok()?;
    let offers = offered(&shoot.profile, &shoot.kubernetes, now);
    let is_forced = match expiry_of_current(shoot, &offers) {
        Offer::Missing => true,
        Offer::Expires(date) => is_expired(Some(date), now),
        Offer::Unlimited => false,
    };
    if !is_automatic && !is_forced {
        return None;
    }
    let minor = is_forced.then_some(UpgradeStep::NextMinor);
    let steps = std::iter::once(UpgradeStep::Patch).chain(minor);
    let found = steps.into_iter().find_map(|step| best(&offers, step))?;
    Some(VersionUpdate {
        version: found.version.clone(),
        is_forced,
    })
}

/// The next window, and the update in it if there is one, as a clause. None without maintenance.
pub(crate) fn outlook(shoot: &ValidShoot, now: i64) -> Option<String> {
    let next = next_window(shoot, now, None)?;
    let when = match next == now {
        true => "now".to_owned(),
        false => format!("from {}", Timestamp::from_second(next).ok()?),
    };
    Some(match update(shoot, next) {
        Some(update) => format!(
            "{when}: Kubernetes {} to {}",
            shoot.kubernetes, update.version
        ),
        None => format!("{when}: no update"),
    })
}

/// Names of the pools that get the version of the control plane: those that have none of their own in the manifest.
pub(crate) fn following_pools(shoot: &ValidShoot) -> BTreeSet<String> {
    let workers = shoot.manifest.spec.provider.workers.iter();
    let follows = workers.filter(|it| {
        let own = it.kubernetes.as_ref();
        own.is_none_or(|it| it.version.is_none())
    });
    follows.map(|it| it.name.clone()).collect()
}

/// A sentence about a version of Kubernetes that has expired or will within 30 days. Time is in seconds since 1970.
pub(crate) fn expiry_warning(shoot: &ValidShoot, now: i64) -> Option<String> {
    let version = &shoot.kubernetes;
    let time = Timestamp::from_second(now).ok()?;
    let offers = offered(&shoot.profile, version, time);
    let Offer::Expires(date) = expiry_of_current(shoot, &offers) else {
        return None;
    };
    let end: Timestamp = date.parse().ok()?;
    if end.as_second() - WARNING > now {
        return None;
    }
    let verb = if end <= time { "expired" } else { "expires" };
    let next = match (
        &shoot.manifest.spec.maintenance,
        update(shoot, end.as_second()),
    ) {
        (_, None) => "the CloudProfile of the last apply has no version to update to".to_owned(),
        (None, Some(next)) => format!("kvshoot upgrade --to {} updates it", next.version),
        (Some(_), Some(next)) => format!(
            "kvshoot keep then updates it to {} in the maintenance window",
            next.version
        ),
    };
    Some(format!("Kubernetes {version} {verb} at {end}; {next}"))
}

/// The entry of the current version in a CloudProfile.
enum Offer<'a> {
    /// It is not in the profile.
    Missing,
    Expires(&'a str),
    Unlimited,
}

fn expiry_of_current<'a>(shoot: &ValidShoot, offers: &'a [OfferedVersion]) -> Offer<'a> {
    let current = offers.iter().find(|it| it.version == shoot.kubernetes);
    match current.map(|it| it.expires.as_deref()) {
        None => Offer::Missing,
        Some(None) => Offer::Unlimited,
        Some(Some(date)) => Offer::Expires(date),
    }
}

/// The newest version of a step that is neither a preview nor deprecated, else the newest deprecated one.
fn best(offers: &[OfferedVersion], step: UpgradeStep) -> Option<&OfferedVersion> {
    let is_deprecated = |it: &OfferedVersion| it.classification.as_deref() == Some("deprecated");
    let mut supported = offers
        .iter()
        .filter(|it| !is_deprecated(it))
        .filter(|it| it.step == step && it.classification.as_deref() != Some("preview"));
    supported.next_back().or_else(|| newest(offers, step))
}

#[cfg(test)]
mod tests;
