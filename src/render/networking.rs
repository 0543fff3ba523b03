//! Addresses of ranges.

use crate::model::Cidr;

/// Returns an address of a valid shoot's range by its index.
pub(crate) fn address(range: &str, number: u32) -> String {
    let range = Cidr::parse(range).expect("validation has read it once");
    range.address(number).to_string()
}
