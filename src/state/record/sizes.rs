//! Sizes of pools that users decide, within the bounds of the manifest.

use crate::state::desired::{PoolSize, SizesByPool, ZoneSizes};
use crate::validate::PoolSpec;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Why a pool cannot have a size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SizeRefusal {
    /// The manifest has no pool of that name. Holds the names of those that it has.
    Unknown { pool: String, known: Vec<String> },
    /// Minimum and maximum are the same, so the manifest decides the size.
    Fixed { pool: String, size: usize },
    /// The size is outside of the bounds.
    OutOfBounds {
        pool: String,
        size: usize,
        minimum: usize,
        maximum: usize,
    },
}

/// Returns the sizes in the record after those of some pools were decided.
///
/// Sizes of other pools stay, also those of pools that the manifest does not have.
///
/// # Errors
///
/// A pool does not exist, its size is fixed, or the size is outside of its bounds. Asking for the size that a pool has
/// anyway is not refused.
pub(crate) fn scaled(
    pools: &[PoolSpec],
    decided: &SizesByPool,
    wanted: &BTreeMap<String, usize>,
) -> Result<SizesByPool, SizeRefusal> {
    let mut sizes = decided.clone();
    for (name, size) in wanted {
        refuse_outside(find(pools, name)?, *size)?;
        sizes.insert(name.clone(), PoolSize::Total(*size));
    }
    Ok(sizes)
}

/// A machine that a user deletes by name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeletedMachine<'a> {
    pub(crate) pool: &'a str,
    /// Index of its zone in the pool.
    pub(crate) zone: usize,
    pub(crate) uid: &'a str,
}

/// Returns the sizes in the record after a machine was deleted by name: its zone has one less, unless the machine is too
/// much there anyway. A second call for the same machine changes nothing. `existing` are the UIDs of all machines; others
/// are forgotten.
///
/// # Errors
///
/// The pool does not exist, its size is fixed, or it has its minimum.
pub(crate) fn without_machine(
    pools: &[PoolSpec],
    decided: &SizesByPool,
    machine: DeletedMachine,
    existing: &BTreeSet<&str>,
) -> Result<SizesByPool, SizeRefusal> {
    let pool = find(pools, machine.pool)?;
    let before = PoolSize::within_bounds(decided.get(machine.pool), pool);
    let mut targets = before.zone_targets(&pool.zones);
    let total = before.total();
    if before.deletes(machine.uid) {
        return Ok(decided.clone());
    }
    let mut deleted = before.into_deleted();
    if let Some(target) = targets.get_mut(machine.zone).filter(|it| **it > 0) {
        refuse_outside(pool, total - 1)?;
        *target -= 1;
    }
    deleted.retain(|it| existing.contains(it.as_str()));
    deleted.insert(machine.uid.to_owned());
    let mut sizes = decided.clone();
    sizes.insert(machine.pool.to_owned(), in_zones(pool, targets, deleted));
    Ok(sizes)
}

/// Returns the sizes in the record after a number of machines was decided for one zone of a pool.
///
/// # Errors
///
/// The pool does not exist, its size is fixed, or the sum is outside of its bounds.
pub(crate) fn resized_zone(
    pools: &[PoolSpec],
    decided: &SizesByPool,
    name: &str,
    zone: usize,
    size: usize,
) -> Result<SizesByPool, SizeRefusal> {
    let pool = find(pools, name)?;
    let before = PoolSize::within_bounds(decided.get(name), pool);
    let mut targets = before.zone_targets(&pool.zones);
    if let Some(target) = targets.get_mut(zone) {
        *target = size;
    }
    let sizes = targets.iter();
    let total = sizes.fold(0, |sum: usize, it| sum.saturating_add(*it));
    refuse_outside(pool, total)?;
    let mut sizes = decided.clone();
    let size = in_zones(pool, targets, before.into_deleted());
    sizes.insert(name.to_owned(), size);
    Ok(sizes)
}

fn in_zones(pool: &PoolSpec, targets: Vec<usize>, deleted: BTreeSet<String>) -> PoolSize {
    let zones = pool.zones.iter().cloned().zip(targets).collect();
    PoolSize::Zones(ZoneSizes { zones, deleted })
}

fn find<'a>(pools: &'a [PoolSpec], name: &str) -> Result<&'a PoolSpec, SizeRefusal> {
    let pool = pools.iter().find(|it| it.name == name);
    pool.ok_or_else(|| SizeRefusal::Unknown {
        pool: name.to_owned(),
        known: pools.iter().map(|it| it.name.clone()).collect(),
    })
}

fn refuse_outside(pool: &PoolSpec, size: usize) -> Result<(), SizeRefusal> {
    let (minimum, maximum) = (pool.minimum, pool.maximum);
    let name = pool.name.clone();
    match (minimum..=maximum).contains(&size) {
        true => Ok(()),
        false if minimum == maximum => Err(SizeRefusal::Fixed {
            pool: name,
            size: minimum,
        }),
        false => Err(SizeRefusal::OutOfBounds {
            pool: name,
            size,
            minimum,
            maximum,
        }),
    }
}

impl std::error::Error for SizeRefusal {}

impl fmt::Display for SizeRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SizeRefusal::Unknown { pool, known } => {
                write!(f, "pool {pool:?} not found; found: {}", known.join(", "))
            }
            SizeRefusal::Fixed { pool, size } => write!(
                f,
                "pool {pool:?} has a fixed size: minimum and maximum are both {size} in the manifest"
            ),
            SizeRefusal::OutOfBounds {
                pool,
                size,
                minimum,
                maximum,
            } => write!(
                f,
                "pool {pool:?} cannot have {size} machines: the manifest allows {minimum} to {maximum}"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::desired;
    use crate::state::facts::{Facts, ObservedRecord};
    use crate::validate::testing::{SHOOT, valid_for_tests};
    use proptest::prelude::*;

    fn pools(minimum: usize, maximum: usize) -> Vec<PoolSpec> {
        let bounds = format!("minimum: {minimum}\n      maximum: {maximum}\n");
        let text = SHOOT.replacen("minimum: 1\n      maximum: 1\n", &bounds, 1);
        valid_for_tests(&text).pools
    }

    fn of(size: usize) -> BTreeMap<String, usize> {
        [("cpu".to_owned(), size)].into()
    }

    fn decided(size: usize) -> SizesByPool {
        [("cpu".to_owned(), PoolSize::Total(size))].into()
    }

    fn refusal(pools: &[PoolSpec], wanted: &BTreeMap<String, usize>) -> String {
        let refusal = scaled(pools, &decided(1), wanted).expect_err("it is refused");
        refusal.to_string()
    }

    #[test]
    fn sizes_outside_of_the_bounds_are_refused() {
        let wide = pools(1, 5);
        assert_eq!(
            refusal(&wide, &of(6)),
            "pool \"cpu\" cannot have 6 machines: the manifest allows 1 to 5"
        );
        assert!(refusal(&wide, &of(0)).contains("cannot have 0 machines"));
        let other = [("gpu".to_owned(), 1)].into();
        assert_eq!(refusal(&wide, &other), "pool \"gpu\" not found; found: cpu");
    }

    #[test]
    fn the_manifest_owns_a_fixed_size() {
        let fixed = pools(2, 2);
        assert_eq!(
            refusal(&fixed, &of(3)),
            "pool \"cpu\" has a fixed size: minimum and maximum are both 2 in the manifest"
        );
        assert_eq!(scaled(&fixed, &decided(2), &of(2)), Ok(decided(2)));
    }

    #[test]
    fn sizes_of_other_pools_stay() {
        let mut decided = decided(1);
        decided.insert("gone".to_owned(), PoolSize::Total(7));
        let sizes = scaled(&pools(1, 5), &decided, &of(3)).expect("it is within the bounds");
        assert_eq!(sizes["gone"], PoolSize::Total(7));
        assert_eq!(sizes["cpu"], PoolSize::Total(3));
    }

    fn facts(sizes: SizesByPool) -> Facts {
        let sizes = sizes.into_iter();
        let sizes = sizes.map(|(pool, size)| (pool.as_str().into(), size));
        let record = ObservedRecord {
            sizes: sizes.collect(),
            ..ObservedRecord::default()
        };
        Facts {
            record: Some(record),
            ..Facts::default()
        }
    }

    fn delete(sizes: &SizesByPool, zone: usize, uid: &str) -> Result<SizesByPool, SizeRefusal> {
        let machine = DeletedMachine {
            pool: "cpu",
            zone,
            uid,
        };
        let existing = ["a", "b", "c"].into();
        without_machine(&zoned(2, 5), sizes, machine, &existing)
    }

    /// A pool of three zones.
    fn zoned(minimum: usize, maximum: usize) -> Vec<PoolSpec> {
        let mut pools = pools(minimum, maximum);
        pools[0].zones = ["a", "b", "c"].map(str::to_owned).into();
        pools
    }

    fn targets(sizes: &SizesByPool) -> Vec<usize> {
        desired::zone_targets(&facts(sizes.clone()), &zoned(2, 5)[0])
    }

    #[test]
    fn the_zone_of_a_deleted_machine_has_one_less() {
        let one = delete(&decided(4), 1, "a").expect("the pool may be smaller");
        assert_eq!(targets(&one), [2, 0, 1]);
        let text = serde_json::to_string(&one).expect("names and numbers");
        let json = r#"{"cpu":{"zones":{"a":2,"b":0,"c":1},"deleted":["a"]}}"#;
        assert_eq!(text, json);
        assert_eq!(
            serde_json::from_str::<SizesByPool>(json).ok(),
            Some(one.clone())
        );
        assert_eq!(delete(&one, 1, "a"), Ok(one.clone()), "it is deleted once");

        let two = delete(&one, 0, "b").expect("the pool may be smaller");
        assert_eq!(targets(&two), [1, 0, 1]);
        let refused = delete(&two, 2, "c").expect_err("two machines are the minimum");
        assert_eq!(
            refused.to_string(),
            "pool \"cpu\" cannot have 1 machines: the manifest allows 2 to 5"
        );
        let same = delete(&two, 1, "c").expect("the machine is too much in its zone");
        assert_eq!(targets(&same), [1, 0, 1]);
        let balanced = scaled(&zoned(2, 5), &same, &of(4)).expect("it is within the bounds");
        assert_eq!(balanced, decided(4));
    }

    #[test]
    fn machines_that_are_gone_are_forgotten() {
        let one = delete(&decided(5), 0, "gone").expect("the pool may be smaller");
        let two = delete(&one, 0, "b").expect("the pool may be smaller");
        let deleted = two["cpu"].clone().into_deleted();
        assert_eq!(deleted, ["b".to_owned()].into());
    }

    #[test]
    fn sizes_of_zones_end_with_other_zones_or_bounds() {
        let sizes = delete(&decided(4), 1, "a").expect("the pool may be smaller");
        let facts = facts(sizes);
        let mut pool = zoned(2, 5).remove(0);
        pool.zones[2] = "d".to_owned();
        assert_eq!(desired::zone_targets(&facts, &pool), [1, 1, 1]);
        let pool = zoned(4, 5).remove(0);
        assert_eq!(desired::zone_targets(&facts, &pool), [2, 1, 1]);
        assert!(desired::pool_size(&facts, &pool).into_deleted().is_empty());
    }

    proptest! {
        /// Whatever is decided, and whatever bounds a later manifest has, a pool stays within them, and keeps the decided
        /// size as long as they allow it.
        #[test]
        fn a_decided_size_holds_until_the_bounds_exclude_it(
            size in 1..6usize,
            minimum in 1..6usize,
            more in 0..4usize,
        ) {
            let sizes = scaled(&pools(1, 5), &decided(1), &of(size)).expect("it is within the bounds");
            let facts = facts(sizes);
            let maximum = minimum + more;
            let kept = desired::size(&facts, &pools(minimum, maximum)[0]);
            prop_assert!((minimum..=maximum).contains(&kept));
            prop_assert!(kept == size || !(minimum..=maximum).contains(&size));
        }
    }
}
