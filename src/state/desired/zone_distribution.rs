//! Distribution of machines over zones.

/// The first zones take the remainder.
pub(crate) fn spread(total: usize, zones: usize) -> Vec<usize> {
    (0..zones)
        .map(|it| total / zones + usize::from(it < total % zones))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn zones_differ_by_one_at_most_and_the_first_have_more(total in 0..5000usize, zones in 1..20usize) {
            let spread = spread(total, zones);
            prop_assert_eq!(spread.len(), zones);
            prop_assert_eq!(spread.iter().sum::<usize>(), total);
            prop_assert!(spread.is_sorted_by(|one, next| one >= next));
            prop_assert!(spread[0] - spread[zones - 1] <= 1);
        }

        #[test]
        fn no_zone_shrinks_when_there_is_more_to_spread(total in 0..5000usize, zones in 1..20usize) {
            let (less, more) = (spread(total, zones), spread(total + 1, zones));
            prop_assert!(less.iter().zip(&more).all(|(less, more)| less <= more));
        }
    }

    #[test]
    fn the_first_zones_take_the_remainder() {
        assert_eq!(spread(5, 3), [2, 2, 1]);
        assert_eq!(spread(1, 3), [1, 0, 0]);
        assert!(spread(5, 0).is_empty());
    }
}
