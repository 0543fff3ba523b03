//! Sizes of pools that users decide, within the bounds of the manifest.

use crate::validate::PoolSpec;
use std::collections::BTreeMap;
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
    decided: &BTreeMap<String, usize>,
    wanted: &BTreeMap<String, usize>,
) -> Result<BTreeMap<String, usize>, SizeRefusal> {
    let mut sizes = decided.clone();
    for (name, size) in wanted {
        let pool = pools.iter().find(|it| it.name == *name);
        let pool = pool.ok_or_else(|| SizeRefusal::Unknown {
            pool: name.clone(),
            known: pools.iter().map(|it| it.name.clone()).collect(),
        })?;
        let (minimum, maximum) = (pool.minimum, pool.maximum);
        let is_allowed = (minimum..=maximum).contains(size);
        if !is_allowed && minimum == maximum {
            return Err(SizeRefusal::Fixed {
                pool: name.clone(),
                size: minimum,
            });
        }
        if !is_allowed {
            return Err(SizeRefusal::OutOfBounds {
                pool: name.clone(),
                size: *size,
                minimum,
                maximum,
            });
        }
        sizes.insert(name.clone(), *size);
    }
    Ok(sizes)
}

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

    fn refusal(pools: &[PoolSpec], wanted: &BTreeMap<String, usize>) -> String {
        let refusal = scaled(pools, &of(1), wanted).expect_err("it is refused");
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
        assert_eq!(scaled(&fixed, &of(2), &of(2)), Ok(of(2)));
    }

    #[test]
    fn sizes_of_other_pools_stay() {
        let mut decided = of(1);
        decided.insert("gone".to_owned(), 7);
        let sizes = scaled(&pools(1, 5), &decided, &of(3)).expect("it is within the bounds");
        assert_eq!(sizes["gone"], 7);
        assert_eq!(sizes["cpu"], 3);
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
            let sizes = scaled(&pools(1, 5), &of(1), &of(size)).expect("it is within the bounds");
            let sizes = sizes.iter().map(|(pool, size)| (pool.as_str().into(), *size));
            let record = ObservedRecord { sizes: sizes.collect(), ..ObservedRecord::default() };
            let facts = Facts { record: Some(record), ..Facts::default() };
            let maximum = minimum + more;
            let kept = desired::size(&facts, &pools(minimum, maximum)[0]);
            prop_assert!((minimum..=maximum).contains(&kept));
            prop_assert!(kept == size || !(minimum..=maximum).contains(&size));
        }
    }
}
