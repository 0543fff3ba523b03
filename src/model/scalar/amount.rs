//! Counts and percentages.

use serde::Serialize;

/// A number of machines, or a percentage of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Amount {
    Number(usize),
    Percent(usize),
}

impl Amount {
    /// Rounds up, as Kubernetes does for maxSurge.
    pub(crate) fn rounded_up(self, total: usize) -> usize {
        match self {
            Amount::Number(it) => it,
            Amount::Percent(it) => (total * it).div_ceil(100),
        }
    }

    /// Rounds down, as Kubernetes does for maxUnavailable; at most `total`.
    pub(crate) fn rounded_down(self, total: usize) -> usize {
        match self {
            Amount::Number(it) => it.min(total),
            Amount::Percent(it) => (total * it / 100).min(total),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Amount;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn percentages_are_rounded_in_favour_of_availability(percent in 0..=100usize, total in 0..5000usize) {
            let share = Amount::Percent(percent);
            let (up, down) = (share.rounded_up(total), share.rounded_down(total));
            prop_assert!(up * 100 >= total * percent && total * percent >= down * 100);
            prop_assert!(up - down <= 1 && up <= total);
            prop_assert_eq!(up == down, total * percent % 100 == 0);
        }

        /// Validation relies on this: a percentage above zero lets an update begin at any size.
        #[test]
        fn a_percentage_of_surge_is_at_least_one(percent in 1..=100usize, total in 1..5000usize) {
            prop_assert!(Amount::Percent(percent).rounded_up(total) >= 1);
        }

        #[test]
        fn at_most_all_machines_are_unavailable(number in 0..5000usize, total in 0..5000usize) {
            prop_assert_eq!(Amount::Number(number).rounded_up(total), number);
            prop_assert_eq!(Amount::Number(number).rounded_down(total), number.min(total));
            prop_assert!(Amount::Percent(number).rounded_down(total) <= total);
        }
    }
}
