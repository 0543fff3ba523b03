//! Which image the machines of a pool are updated to.

use crate::model::{MachineImage, MachineImageVersion, Shoot, Version};
use crate::validate::{PoolSpec, ValidShoot, has_image, is_deprecated, is_expired, is_preview};
use jiff::Timestamp;
use std::fmt;

/// A newer image for the machines of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ImageUpdate {
    pub(crate) pool: String,
    /// Name of the image.
    pub(crate) image: String,
    pub(crate) from: String,
    pub(crate) to: String,
    /// The current version can no longer be chosen.
    pub(crate) is_forced: bool,
}

/// `image ubuntu of pool cpu from 22.04 to 24.04`.
impl fmt::Display for ImageUpdate {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let ImageUpdate {
            pool,
            image,
            from,
            to,
            ..
        } = self;
        write!(f, "image {image} of pool {pool} from {from} to {to}")
    }
}

/// The images that pools get at `now`, whatever the window: the newest one within the `updateStrategy` of the image if
/// updates are automatic or the current one has expired; then also one beyond it, if there is no other.
pub(super) fn image_updates(
    shoot: &ValidShoot,
    is_automatic: bool,
    now: Timestamp,
) -> Vec<ImageUpdate> {
    let pools = shoot.pools.iter();
    let updates = pools.filter_map(|pool| {
        let (image, current) = entry(shoot, pool)?;
        let is_forced = is_expired(current.expiration_date.as_deref(), now);
        if !is_automatic && !is_forced {
            return None;
        }
        let found = newer(image, current, pool, now)?.best(is_forced)?;
        Some(ImageUpdate {
            pool: pool.name.clone(),
            image: image.name.clone(),
            from: current.version.clone(),
            to: found.version.clone(),
            is_forced,
        })
    });
    updates.collect()
}

/// Pools whose image expires, and the date in the CloudProfile.
pub(super) fn expiring(shoot: &ValidShoot) -> impl Iterator<Item = (&PoolSpec, &str)> {
    shoot.pools.iter().filter_map(|pool| {
        let (_, version) = entry(shoot, pool)?;
        Some((pool, version.expiration_date.as_deref()?))
    })
}

/// The Shoot with the images of updates.
pub(crate) fn with_images(mut shoot: Shoot, updates: &[ImageUpdate]) -> Shoot {
    for worker in &mut shoot.spec.provider.workers {
        let update = updates.iter().find(|it| it.pool == worker.name);
        if let (Some(update), Some(image)) = (update, &mut worker.machine.image) {
            image.version = Some(update.to.clone());
        }
    }
    shoot
}

/// The entries of a pool's image in the CloudProfile; None for an image that the pool itself specifies.
fn entry<'a>(
    shoot: &'a ValidShoot,
    pool: &PoolSpec,
) -> Option<(&'a MachineImage, &'a MachineImageVersion)> {
    let mut images = shoot.profile.spec.machine_images.iter();
    let image = images.find(|it| it.name == pool.image.name)?;
    let mut versions = image.versions.iter();
    let version = versions.find(|it| it.version == pool.image.version)?;
    Some((image, version))
}

/// Versions of an image that are newer than the current one, in order, and that machines of the pool can run.
struct Newer<'a> {
    /// One of patch, minor and major.
    strategy: &'a str,
    current: Version,
    versions: Vec<(Version, &'a MachineImageVersion)>,
}

fn newer<'a>(
    image: &'a MachineImage,
    current: &MachineImageVersion,
    pool: &PoolSpec,
    now: Timestamp,
) -> Option<Newer<'a>> {
    let current = Version::parse(&current.version)?;
    let is_usable = |it: &&MachineImageVersion| {
        !is_expired(it.expiration_date.as_deref(), now)
            && !is_preview(it.classification.as_deref())
            && has_image(it, pool.architecture.as_deref())
            && runs(it, pool.cri.as_deref())
            && it.supports_kubelet(&pool.kubernetes)
    };
    let usable = image.versions.iter().filter(is_usable);
    let known = usable.filter_map(|it| Some((Version::parse(&it.version)?, it)));
    let mut versions: Vec<_> = known.filter(|it| it.0 > current).collect();
    versions.sort_by(|one, other| one.0.cmp(&other.0));
    Some(Newer {
        strategy: image.update_strategy.as_deref().unwrap_or("major"),
        current,
        versions,
    })
}

/// True if an image has a container runtime; one that names none has all.
fn runs(version: &MachineImageVersion, cri: Option<&str>) -> bool {
    let cri = cri.unwrap_or("containerd");
    version.cri.is_empty() || version.cri.iter().any(|it| it.name == cri)
}

impl<'a> Newer<'a> {
    fn best(&self, is_forced: bool) -> Option<&'a MachineImageVersion> {
        let within = self.newest_of(self.group(&self.current));
        let next = self.versions.first().map(|it| self.group(&it.0));
        within.or_else(|| self.newest_of(next.filter(|_| is_forced)?))
    }

    /// Versions of a group are updated to each other by the strategy.
    fn group(&self, version: &Version) -> (u64, u64) {
        let (major, minor) = version.minor();
        match self.strategy {
            "patch" => (major, minor),
            "minor" => (major, 0),
            _ => (0, 0),
        }
    }

    /// The newest version of a group that is not deprecated, else the newest deprecated one.
    fn newest_of(&self, group: (u64, u64)) -> Option<&'a MachineImageVersion> {
        let versions = || {
            let of_group = self.versions.iter().filter(|it| self.group(&it.0) == group);
            of_group.map(|it| it.1)
        };
        let mut supported = versions().filter(|it| !is_deprecated(it.classification.as_deref()));
        supported.next_back().or_else(|| versions().next_back())
    }
}
