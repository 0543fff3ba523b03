//! Items of the CloudProfile of the last apply that a shoot still uses.

use crate::model::{CloudProfile, Worker};
use crate::validate::valid_shoot::{PoolImage, PoolSpec};

/// Returns `profile` with the items of `previous` that pools still use and that it no longer has, so that the record of the
/// shoot can be read on its own.
pub(crate) fn with_items_in_use<'a>(
    profile: &CloudProfile,
    previous: &CloudProfile,
    pools: impl Iterator<Item = (&'a PoolSpec, &'a Worker)>,
) -> CloudProfile {
    let mut kept = profile.clone();
    for (pool, worker) in pools {
        machine_type(&mut kept, previous, &pool.machine_type.name);
        image(&mut kept, previous, &pool.image);
        let data = worker.data_volumes.iter().map(|it| &it.type_);
        let volumes = worker.volume.iter().map(|it| &it.type_).chain(data);
        for name in volumes.flatten() {
            let (to, from) = (&mut kept.spec.volume_types, &previous.spec.volume_types);
            add(to, from, |it| it.name == *name);
        }
    }
    kept
}

fn machine_type(kept: &mut CloudProfile, previous: &CloudProfile, name: &str) {
    let (to, from) = (&mut kept.spec, &previous.spec);
    let types = (&mut to.machine_types, &from.machine_types);
    if add(types.0, types.1, |it| it.name == name) {
        let (to, from) = (&mut to.provider_config, &from.provider_config);
        let limits = (&mut to.machine_types, &from.machine_types);
        add(limits.0, limits.1, |it| it.name == name);
    }
}

fn image(kept: &mut CloudProfile, previous: &CloudProfile, image: &PoolImage) {
    let PoolImage { name, version, .. } = image;
    let (to, from) = (&mut kept.spec, &previous.spec);
    add_version(
        (&mut to.machine_images, &from.machine_images),
        |it| it.name == *name,
        |it| &mut it.versions,
        |it| it.version == *version,
    );
    let (to, from) = (&mut to.provider_config, &from.provider_config);
    add_version(
        (&mut to.machine_images, &from.machine_images),
        |it| it.name == *name,
        |it| &mut it.versions,
        |it| it.version == *version,
    );
}

/// Adds the version of an image to a list of images with versions, if it is missing.
fn add_version<I: Clone, V: Clone>(
    (to, from): (&mut Vec<I>, &[I]),
    is_image: impl Fn(&I) -> bool,
    versions: impl Fn(&mut I) -> &mut Vec<V>,
    is_version: impl Fn(&V) -> bool,
) {
    let Some(mut source) = from.iter().find(|it| is_image(it)).cloned() else {
        return;
    };
    let found = versions(&mut source);
    found.retain(&is_version);
    let found = std::mem::take(found);
    if found.is_empty() {
        return;
    }
    let place = to.iter().position(&is_image).unwrap_or_else(|| {
        to.push(source);
        to.len() - 1
    });
    add(versions(&mut to[place]), &found, is_version);
}

/// Adds the item that `is_wanted` accepts, unless the list has one; returns true if it was added.
fn add<T: Clone>(to: &mut Vec<T>, from: &[T], is_wanted: impl Fn(&T) -> bool) -> bool {
    let found = from.iter().find(|it| is_wanted(it));
    let Some(found) = found.filter(|_| !to.iter().any(&is_wanted)) else {
        return false;
    };
    to.push(found.clone());
    true
}
