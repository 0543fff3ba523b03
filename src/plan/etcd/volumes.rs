//! Volumes of etcd that grow: first the claims, then the quota, which restarts the members.

use super::step::{EtcdDecision, EtcdStep};
use crate::render::control_plane::etcd::EtcdSizes;
use crate::state::facts::{EtcdClaim, EtcdStatefulSet, ObservedEtcd};

/// Sizes that the StatefulSet keeps: its claim template cannot be changed, and a database must not become larger than
/// the volume that it has now. `wanted` is in bytes.
pub(crate) fn sizes(wanted: u64, set: Option<&EtcdStatefulSet>, etcd: &ObservedEtcd) -> EtcdSizes {
    let Some(set) = set else {
        return EtcdSizes::default();
    };
    let grows = etcd.claims.values().any(|it| is_small(it, wanted));
    EtcdSizes {
        claim: set.claim_size.clone(),
        quota: (grows && set.quota > 0).then_some(set.quota),
    }
}

/// Expands volumes that are smaller than `wanted` bytes before anything else: their members may need the space. Members
/// do not wait for it.
pub(crate) fn expand(decision: EtcdDecision, wanted: u64, etcd: &ObservedEtcd) -> EtcdDecision {
    let claims = etcd.claims.iter().filter(|it| !it.1.is_leaving);
    let mut claims = claims.filter(|it| *it.0 < decision.shape.replicas);
    let to_expand = claims.clone().find(|it| it.1.requested < wanted);
    let step = match (&decision.step, to_expand) {
        (EtcdStep::Stop(_) | EtcdStep::Record(_), _) => return decision,
        (_, Some((ordinal, _))) => EtcdStep::Expand(*ordinal),
        (EtcdStep::Settled, None) => match claims.find(|it| is_small(it.1, wanted)) {
            Some((ordinal, claim)) => EtcdStep::Wait(waits(*ordinal, claim)),
            None => return decision,
        },
        _ => return decision,
    };
    EtcdDecision { step, ..decision }
}

/// Returns true if the volume of a claim must still grow. One that is not bound yet gets the size that it requests.
fn is_small(claim: &EtcdClaim, wanted: u64) -> bool {
    let size = claim.capacity.unwrap_or(claim.requested);
    !claim.is_leaving && size < wanted
}

fn waits(ordinal: u32, claim: &EtcdClaim) -> String {
    match &claim.resizing {
        Some(why) => format!("volume {ordinal} of etcd is being expanded: {why}"),
        None => format!("volume {ordinal} of etcd is being expanded"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::etcd::check::world::World;
    use crate::plan::etcd::decide;
    use crate::state::facts::EtcdStart;
    use crate::state::record::etcd::EtcdRecord;
    use std::time::Duration;

    const SMALL: u64 = 10 << 30;
    const LARGE: u64 = 20 << 30;

    /// Members whose volumes have the given requests and capacities.
    fn observed(claims: &[(u64, Option<u64>)]) -> ObservedEtcd {
        let world = World::settled(claims.len() as u32, EtcdStart::Sealed);
        let mut etcd = world.observe(Duration::ZERO);
        for ((requested, capacity), claim) in claims.iter().zip(etcd.claims.values_mut()) {
            (claim.requested, claim.capacity) = (*requested, *capacity);
        }
        let set = etcd.stateful_set.as_mut().expect("a StatefulSet");
        (set.quota, set.claim_size) = (4 << 30, Some("10Gi".into()));
        etcd
    }

    fn step(etcd: &ObservedEtcd) -> EtcdStep {
        let record = EtcdRecord {
            incarnation: 1,
            cluster_id: "1".to_owned(),
            revision: 7,
            restore: None,
        };
        let members = etcd.claims.len() as u32;
        expand(decide(members, Some(&record), etcd), LARGE, etcd).step
    }

    /// The quota that the members keep.
    fn quota_of(etcd: &ObservedEtcd) -> Option<u64> {
        let sizes = sizes(LARGE, etcd.stateful_set.as_ref(), etcd);
        assert_eq!(sizes.claim.as_deref(), Some("10Gi"));
        sizes.quota
    }

    #[test]
    fn volumes_are_expanded_one_after_the_other_and_the_quota_follows_the_last() {
        let mut etcd = observed(&[(SMALL, Some(SMALL)); 3]);
        for ordinal in 0..3 {
            assert_eq!(step(&etcd), EtcdStep::Expand(ordinal));
            assert_eq!(quota_of(&etcd), Some(4 << 30));
            etcd.claims.get_mut(&ordinal).expect("a claim").requested = LARGE;
        }
        for ordinal in 0..3 {
            let why = format!("volume {ordinal} of etcd is being expanded");
            assert_eq!(step(&etcd), EtcdStep::Wait(why));
            assert_eq!(quota_of(&etcd), Some(4 << 30));
            etcd.claims.get_mut(&ordinal).expect("a claim").capacity = Some(LARGE);
        }
        assert_eq!((step(&etcd), quota_of(&etcd)), (EtcdStep::Settled, None));
    }

    #[test]
    fn a_full_database_gets_its_space_first() {
        let mut etcd = observed(&[(SMALL, Some(SMALL))]);
        let status = etcd.pods.get_mut(&0).expect("a pod").status.as_mut();
        status.expect("it serves").errors = vec!["memberID:1 alarm:NOSPACE ".into()];
        assert_eq!(step(&etcd), EtcdStep::Expand(0));
        etcd.claims.get_mut(&0).expect("a claim").requested = LARGE;
        assert_eq!(step(&etcd), EtcdStep::FreeSpace(vec![0]));
        // The member runs with the smaller quota still, and would raise the alarm again.
        etcd.pods.get_mut(&0).expect("a pod").revision = "old".into();
        assert_eq!(step(&etcd), EtcdStep::DeletePod(0));
    }

    #[test]
    fn a_wait_for_the_volume_tells_its_condition() {
        let mut etcd = observed(&[(LARGE, Some(SMALL))]);
        etcd.claims.get_mut(&0).expect("a claim").resizing = Some("FileSystemResizePending".into());
        let why = "volume 0 of etcd is being expanded: FileSystemResizePending";
        assert_eq!(step(&etcd), EtcdStep::Wait(why.to_owned()));
    }

    #[test]
    fn volumes_that_leave_or_are_not_bound_are_not_expanded() {
        let mut etcd = observed(&[(LARGE, None)]);
        assert_eq!(step(&etcd), EtcdStep::Settled);
        let claim = etcd.claims.get_mut(&0).expect("a claim");
        (claim.requested, claim.is_leaving) = (SMALL, true);
        assert!(!matches!(step(&etcd), EtcdStep::Expand(_)));
    }
}
