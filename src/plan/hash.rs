//! What decides the content of an object, as a number that stands on it as `kvshoot.io/spec-hash`.

use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fmt;

/// The first 64 bits of a SHA-256 over canonical JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Hash(pub(crate) u64);

impl Hash {
    /// Of any value; keys are sorted first, so the order in a manifest does not matter.
    pub(crate) fn of(value: &impl Serialize) -> Hash {
        // `Value` keeps its keys sorted, structs do not.
        let canonical =
            serde_json::to_value(value).expect("what is hashed has text keys and finite numbers");
        let digest = Sha256::digest(canonical.to_string());
        Hash(u64::from_be_bytes(
            digest[..8]
                .try_into()
                .expect("SHA-256 has more than eight bytes"),
        ))
    }

    /// Five hexadecimal digits, as they stand in names.
    pub(crate) fn short(self) -> String {
        format!("{:05x}", self.tag())
    }

    /// The 20 bits that [`Hash::short`] shows: names are as unique as these.
    pub(crate) fn tag(self) -> u64 {
        self.0 >> 44
    }

    /// None for what is no such hash: another program's annotation, say.
    pub(crate) fn parse(text: &str) -> Option<Hash> {
        (text.len() == 16)
            .then(|| u64::from_str_radix(text, 16).ok().map(Hash))
            .flatten()
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
