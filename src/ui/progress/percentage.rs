//! Percentages in reasons.

/// Returns the whole part of the first percentage in a text.
pub(super) fn percent(why: &str) -> Option<u32> {
    let (before, _) = why.split_once('%')?;
    let whole = before.split('.').next()?.trim_end();
    let digits = whole
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(0, |it| it + 1);
    whole[digits..].parse().ok()
}
