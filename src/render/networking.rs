//! Addresses of ranges.

use crate::model::Cidr;

/// Returns an address of a valid shoot's range by its index.
pub(crate) fn address(range: &str, number: u32) -> String {
    let range = Cidr::parse(range).expect("validation has read it once");
    range.address(number).to_string()
}

/// Returns whether an address is in a range; false for text that is neither.
pub(crate) fn is_in_range(address: &str, range: &str) -> bool {
    let width = if address.contains(':') { 128 } else { 32 };
    let host = Cidr::parse(&format!("{address}/{width}"));
    host.is_ok_and(|host| Cidr::parse(range).is_ok_and(|it| it.overlaps(host)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_its_own_addresses_only() {
        assert!(is_in_range("100.71.255.255", "100.64.0.0/13"));
        assert!(!is_in_range("100.72.0.0", "100.64.0.0/13"));
        assert!(is_in_range("fd00::7", "fd00::/64"));
        assert!(!is_in_range("fd00::7", "0.0.0.0/0"));
        assert!(!is_in_range("", "0.0.0.0/0"));
    }
}
