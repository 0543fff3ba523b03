//! "Did you mean" suggestions.

/// Returns the most similar name: equal except for case, or with at most a third of the letters wrong.
pub(crate) fn suggest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    // The distance costs the product of the lengths.
    if name.len() > 100 {
        return None;
    }
    let allowed = (name.len() / 3).max(1);
    let lower = name.to_lowercase();
    names
        .filter(|candidate| candidate.len().abs_diff(name.len()) <= allowed)
        .map(|candidate| {
            (
                strsim::osa_distance(&lower, &candidate.to_lowercase()),
                candidate,
            )
        })
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}
