//! Addresses of ranges.

use crate::model::Cidr;

/// An address of a range of a valid shoot, by its number from the first.
pub(crate) fn address(range: &str, number: u32) -> String {
    let range = Cidr::parse(range).expect("validation has read it once");
    range.address(number).to_string()
}
