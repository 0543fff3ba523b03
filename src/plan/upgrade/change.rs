//! The Shoot of a new version.

use crate::model::{Shoot, WorkerKubernetes};
use crate::validate::ValidShoot;
use std::collections::BTreeSet;

/// The pools that get the version of the control plane: all of them, or those that are named.
///
/// # Errors
///
/// Returns the first name that no pool has.
pub(crate) fn followers<'a>(
    shoot: &'a ValidShoot,
    named: Option<&BTreeSet<String>>,
) -> Result<BTreeSet<&'a str>, String> {
    let pools = || shoot.pools.iter().map(|it| it.name.as_str());
    let Some(named) = named else {
        return Ok(pools().collect());
    };
    let known: BTreeSet<&str> = pools().collect();
    match named.iter().find(|it| !known.contains(it.as_str())) {
        Some(unknown) => Err(unknown.clone()),
        None => Ok(pools().filter(|it| named.contains(*it)).collect()),
    }
}

/// The Shoot with another version of Kubernetes. Pools that follow have no version of their own; all others keep the one
/// that they have.
pub(crate) fn upgraded(before: &ValidShoot, version: &str, followers: &BTreeSet<&str>) -> Shoot {
    let mut shoot = Shoot::clone(&before.manifest);
    version.clone_into(&mut shoot.spec.kubernetes.version);
    for worker in &mut shoot.spec.provider.workers {
        let pool = before.pools.iter().find(|it| it.name == worker.name);
        let own = match followers.contains(worker.name.as_str()) {
            true => None,
            false => pool.map(|it| it.kubernetes.clone()),
        };
        let kubelet = worker.kubernetes.take().and_then(|it| it.kubelet);
        // A pool that has the version of the control plane anyway follows it, as before.
        let own = own.filter(|it| it != version);
        if own.is_some() || kubelet.is_some() {
            worker.kubernetes = Some(Box::new(WorkerKubernetes {
                kubelet,
                version: own,
            }));
        }
    }
    shoot
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::testing::{SHOOT, valid_for_tests};

    fn own_version(shoot: &Shoot) -> Option<&str> {
        let own = shoot.spec.provider.workers[0].kubernetes.as_ref()?;
        own.version.as_deref()
    }

    #[test]
    fn only_pools_that_follow_get_the_new_version() {
        let before = valid_for_tests(SHOOT);
        let all = followers(&before, None).expect("all pools");
        let shoot = upgraded(&before, "1.34.9", &all);
        assert_eq!(shoot.spec.kubernetes.version, "1.34.9");
        assert_eq!(own_version(&shoot), None);

        let none = followers(&before, Some(&BTreeSet::new())).expect("no pool");
        let shoot = upgraded(&before, "1.34.9", &none);
        assert_eq!(own_version(&shoot), Some(before.kubernetes.as_str()));
        // The version that it has anyway.
        let shoot = upgraded(&before, &before.kubernetes, &none);
        assert_eq!(shoot, *before.manifest);
    }

    #[test]
    fn kubelet_settings_of_a_pool_stay() {
        let text = SHOOT.replacen(
            "minimum: 1\n",
            "minimum: 1\n      kubernetes: {kubelet: {maxPods: 50}}\n",
            1,
        );
        let before = valid_for_tests(&text);
        for named in [None, Some(&BTreeSet::new())] {
            let pools = followers(&before, named).expect("pools");
            let shoot = upgraded(&before, "1.34.9", &pools);
            let own = shoot.spec.provider.workers[0].kubernetes.as_ref();
            let kubelet = own.and_then(|it| it.kubelet.as_ref());
            assert_eq!(kubelet.and_then(|it| it.max_pods), Some(50));
        }
    }

    #[test]
    fn an_unknown_pool_is_refused() {
        let before = valid_for_tests(SHOOT);
        let named = BTreeSet::from(["cpu".to_owned(), "gpu".to_owned()]);
        assert_eq!(followers(&before, Some(&named)), Err("gpu".to_owned()));
        let named = BTreeSet::from(["cpu".to_owned()]);
        assert_eq!(followers(&before, Some(&named)), Ok(["cpu"].into()));
    }
}
