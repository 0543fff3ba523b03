//! How many machines each zone gets.

/// The first zones take the remainder.
pub(crate) fn spread(total: usize, zones: usize) -> Vec<usize> {
    (0..zones)
        .map(|it| total / zones + usize::from(it < total % zones))
        .collect()
}
