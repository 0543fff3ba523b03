//! When `kvshoot keep` updates a shoot, and to which version of Kubernetes and of images.

mod confinement;
mod images;

use crate::model::DailyWindow;
use crate::plan::upgrade::{OfferedVersion, UpgradeStep, newest, offered};
use crate::state::facts::Facts;
use crate::state::record::hibernation::obstacle;
use crate::validate::{PoolSpec, ValidShoot, is_deprecated, is_expired};
use jiff::Timestamp;
use std::collections::BTreeSet;
use std::fmt;

pub(crate) use confinement::confinement;
pub(crate) use images::{ImageUpdate, with_images};

/// Seconds at the end of a window in which nothing is begun, as in Gardener.
const RESERVE: i64 = 15 * 60;
/// Seconds between two updates of a shoot without a window.
const DAY: i64 = 24 * 3600;
/// Seconds before a version expires from which it is warned of.
const WARNING: i64 = 30 * DAY;

/// An update of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VersionUpdate {
    /// Full version, such as 1.34.1.
    pub(crate) from: String,
    pub(crate) version: String,
    /// The current version can no longer be chosen.
    pub(crate) is_forced: bool,
}

/// Updates of a shoot in a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Updates {
    pub(crate) kubernetes: Option<VersionUpdate>,
    /// At most one for each pool.
    pub(crate) images: Vec<ImageUpdate>,
}

/// `Kubernetes 1.34.1 to 1.34.2, image ubuntu of pool cpu from 22.04 to 24.04`; or `no update`.
impl fmt::Display for Updates {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let kubernetes = self.kubernetes.iter();
        let kubernetes = kubernetes.map(|it| format!("Kubernetes {} to {}", it.from, it.version));
        let images = self.images.iter().map(ToString::to_string);
        let all: Vec<String> = kubernetes.chain(images).collect();
        match all.is_empty() {
            true => f.write_str("no update"),
            false => f.write_str(&all.join(", ")),
        }
    }
}

/// The updates that are due at the time of the facts; None if there are none. `last` is when this process last tried one.
///
/// Nothing is updated during a hibernation, and while steps of a rotation or a restore are under way.
pub(crate) fn due_updates(shoot: &ValidShoot, facts: &Facts, last: Option<i64>) -> Option<Updates> {
    let record = facts.record.as_ref().filter(|it| !it.leaving)?;
    let is_busy = obstacle(&record.rotation, record.etcd.as_ref()).is_some();
    if record.etcd.is_none() || record.hibernation.enabled || is_busy {
        return None;
    }
    let is_open = next_window(shoot, facts.time, last) == Some(facts.time);
    let updates = is_open.then(|| updates(shoot, facts.time))?;
    (updates.kubernetes.is_some() || !updates.images.is_empty()).then_some(updates)
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

/// The updates of a shoot at `now`, whatever its window.
fn updates(shoot: &ValidShoot, now: i64) -> Updates {
    let is_automatic = shoot.manifest.spec.updates_images();
    let time = Timestamp::from_second(now);
    Updates {
        kubernetes: update(shoot, now),
        images: time.map_or_else(
            |_| Vec::new(),
            |it| images::image_updates(shoot, is_automatic, it),
        ),
    }
}

/// The version that a shoot gets at `now`, whatever its window: the newest patch of its minor version if updates are
/// automatic or its version has expired; then also one of the next minor version, if there is no other.
fn update(shoot: &ValidShoot, now: i64) -> Option<VersionUpdate> {
    let is_automatic = shoot.manifest.spec.updates_kubernetes();
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
        from: shoot.kubernetes.clone(),
        version: found.version.clone(),
        is_forced,
    })
}

/// The next window and the updates in it, as a clause. None without maintenance.
pub(crate) fn outlook(shoot: &ValidShoot, now: i64) -> Option<String> {
    let next = next_window(shoot, now, None)?;
    let when = match next == now {
        true => "now".to_owned(),
        false => format!("from {}", Timestamp::from_second(next).ok()?),
    };
    Some(format!("{when}: {}", updates(shoot, next)))
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

/// Sentences about versions of Kubernetes and of images that have expired or will within 30 days. Time is in seconds
/// since 1970.
pub(crate) fn expiry_warnings(shoot: &ValidShoot, now: i64) -> Vec<String> {
    let images = images::expiring(shoot);
    let images = images.filter_map(|(pool, date)| image_warning(shoot, pool, date, now));
    version_warning(shoot, now)
        .into_iter()
        .chain(images)
        .collect()
}

/// The time of an expiry that has to be warned of, and its verb.
fn near_expiry(date: &str, now: i64) -> Option<(Timestamp, &'static str)> {
    let end: Timestamp = date.parse().ok()?;
    let verb = match end.as_second() <= now {
        true => "expired",
        false => "expires",
    };
    (end.as_second() - WARNING <= now).then_some((end, verb))
}

fn image_warning(shoot: &ValidShoot, pool: &PoolSpec, date: &str, now: i64) -> Option<String> {
    let (end, verb) = near_expiry(date, now)?;
    let updates = updates(shoot, end.as_second());
    let update = updates.images.iter().find(|it| it.pool == pool.name);
    let next = match (&shoot.manifest.spec.maintenance, update) {
        (_, None) => "the CloudProfile of the last apply has no version to update to".to_owned(),
        (None, Some(next)) => format!("set {} in the manifest", next.to),
        (Some(_), Some(next)) => format!(
            "kvshoot keep then updates it to {} in the maintenance window",
            next.to
        ),
    };
    let (name, version) = (&pool.image.name, &pool.image.version);
    let pool = &pool.name;
    Some(format!(
        "image {name} {version} of pool {pool} {verb} at {end}; {next}"
    ))
}

fn version_warning(shoot: &ValidShoot, now: i64) -> Option<String> {
    let version = &shoot.kubernetes;
    let time = Timestamp::from_second(now).ok()?;
    let offers = offered(&shoot.profile, version, time);
    let Offer::Expires(date) = expiry_of_current(shoot, &offers) else {
        return None;
    };
    let (end, verb) = near_expiry(date, now)?;
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
    let mut supported = offers
        .iter()
        .filter(|it| !is_deprecated(it.classification.as_deref()))
        .filter(|it| it.step == step && it.classification.as_deref() != Some("preview"));
    supported.next_back().or_else(|| newest(offers, step))
}

#[cfg(test)]
mod tests;
