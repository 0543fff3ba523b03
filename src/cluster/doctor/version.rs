//! Versions of installed products.

/// `v1.33.1-eks` → 1, 33.
pub(crate) fn parsed(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.trim_start_matches('v').split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?;
    let digits = minor.find(|it: char| !it.is_ascii_digit());
    let minor = minor[..digits.unwrap_or(minor.len())].parse().ok()?;
    Some((major, minor))
}
