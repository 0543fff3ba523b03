//! SHA-256 of files while they are copied.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt::{self, Display, Formatter};

/// A SHA-256 hash; as text 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Sha256Sum([u8; 32]);

/// Hash and length of the bytes seen so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sha256Digest {
    hasher: Sha256,
    length: u64,
}

impl Sha256Sum {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl Sha256Digest {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.length += bytes.len() as u64;
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    pub(crate) fn sum(&self) -> Sha256Sum {
        Sha256Sum(self.hasher.clone().finalize().into())
    }
}

impl Display for Sha256Sum {
    fn fmt(&self, formatter: &mut Formatter) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl From<Sha256Sum> for String {
    fn from(sum: Sha256Sum) -> String {
        sum.to_string()
    }
}

impl TryFrom<String> for Sha256Sum {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let invalid = "expected 64 lower-case hexadecimal digits";
        let is_digit = |it: u8| it.is_ascii_digit() || (b'a'..=b'f').contains(&it);
        if text.len() != 64 || !text.bytes().all(is_digit) {
            return Err(invalid);
        }
        let mut bytes = [0; 32];
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digits = std::str::from_utf8(digits).map_err(|_| invalid)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| invalid)?;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_the_text_that_sha256sum_prints() {
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let sum = Sha256Sum::of(b"abc");
        assert_eq!(sum.to_string(), text);
        assert_eq!(Sha256Sum::try_from(text.to_owned()), Ok(sum));
        assert!(Sha256Sum::try_from(text.to_uppercase()).is_err());
        assert!(Sha256Sum::try_from(text[1..].to_owned()).is_err());
        assert!(Sha256Sum::try_from("+a".repeat(32)).is_err());
    }

    #[test]
    fn parts_have_the_sum_of_the_whole() {
        let mut digest = Sha256Digest::default();
        digest.update(b"a");
        digest.update(b"");
        digest.update(b"bc");
        assert_eq!((digest.sum(), digest.length()), (Sha256Sum::of(b"abc"), 3));
    }
}
