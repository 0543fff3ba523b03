//! Address ranges.

use std::fmt;
use std::net::IpAddr;

/// An address range such as `100.96.0.0/11`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cidr {
    address: IpAddr,
    pub(crate) length: u8,
}

impl Cidr {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let refuse = || format!("{text:?} is not a valid CIDR range, such as 10.0.0.0/16");
        let (address, length) = text.split_once('/').ok_or_else(refuse)?;
        let address: IpAddr = address.parse().map_err(|_| refuse())?;
        let is_plain = !length.is_empty()
            && length.bytes().all(|b| b.is_ascii_digit())
            && (length == "0" || !length.starts_with('0'));
        let length: u8 = length
            .parse()
            .ok()
            .filter(|_| is_plain)
            .ok_or_else(refuse)?;
        let cidr = Self { address, length };
        if length <= cidr.width() {
            Ok(cidr)
        } else {
            Err(refuse())
        }
    }

    pub(crate) fn is_ipv6(self) -> bool {
        self.address.is_ipv6()
    }

    fn width(self) -> u8 {
        if self.is_ipv6() { 128 } else { 32 }
    }

    fn bits(self) -> u128 {
        match self.address {
            IpAddr::V4(it) => u128::from(u32::from(it)),
            IpAddr::V6(it) => u128::from(it),
        }
    }

    /// Mask of the host bits.
    fn host_bits(self) -> u128 {
        1_u128
            .checked_shl(u32::from(self.width() - self.length))
            .map_or(u128::MAX, |size| size - 1)
    }

    /// The range with all host bits cleared.
    pub(crate) fn canonical(self) -> Self {
        let bits = self.bits() & !self.host_bits();
        let address = match self.address {
            IpAddr::V4(_) => IpAddr::V4(u32::try_from(bits).unwrap_or_default().into()),
            IpAddr::V6(_) => IpAddr::V6(bits.into()),
        };
        Self { address, ..self }
    }

    /// Address with the given number, counted from the first one of the range.
    pub(crate) fn address(self, number: u32) -> IpAddr {
        let bits = self.canonical().bits() + u128::from(number);
        match self.address {
            IpAddr::V4(_) => IpAddr::V4(u32::try_from(bits).unwrap_or(u32::MAX).into()),
            IpAddr::V6(_) => IpAddr::V6(bits.into()),
        }
    }

    pub(crate) fn overlaps(self, other: Self) -> bool {
        let common = self.host_bits() | other.host_bits();
        self.is_ipv6() == other.is_ipv6() && self.bits() & !common == other.bits() & !common
    }
}

impl Cidr {
    /// Returns true if all addresses of the other range are in this one.
    pub(crate) fn contains(self, other: Self) -> bool {
        self.length <= other.length && self.overlaps(other)
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cidr(text: &str) -> Cidr {
        Cidr::parse(text).expect("a range")
    }

    #[test]
    fn canonical_ranges_have_no_host_bits() {
        for (text, expected) in [
            ("10.1.2.3/16", "10.1.0.0/16"),
            ("10.1.2.3/32", "10.1.2.3/32"),
            ("10.1.2.3/0", "0.0.0.0/0"),
            ("2001:db8::1/32", "2001:db8::/32"),
            ("::1/0", "::/0"),
        ] {
            assert_eq!(cidr(text).canonical().to_string(), expected);
        }
    }

    #[test]
    fn addresses_are_counted_from_the_first_of_a_range() {
        for (text, expected) in [
            ("100.64.0.0/13", "100.64.0.10"),
            ("10.0.0.240/28", "10.0.0.250"),
            ("fd00::/108", "fd00::a"),
        ] {
            assert_eq!(cidr(text).address(10).to_string(), expected);
        }
    }

    #[test]
    fn ranges_overlap_if_one_contains_the_other() {
        assert!(cidr("10.0.0.0/8").overlaps(cidr("10.9.0.0/16")));
        assert!(cidr("10.9.0.0/16").overlaps(cidr("0.0.0.0/0")));
        assert!(!cidr("10.0.0.0/16").overlaps(cidr("10.1.0.0/16")));
        assert!(!cidr("0.0.0.0/0").overlaps(cidr("::/0")));
    }

    #[test]
    fn invalid_ranges_are_rejected() {
        for text in [
            "",
            "10.0.0.0",
            "10.0.0.0/",
            "10.0.0.0/33",
            "10.0.0/8",
            "10.0.0.0/08",
            "10.0.0.0/+8",
            "::/129",
        ] {
            Cidr::parse(text).expect_err(text);
        }
    }
}
