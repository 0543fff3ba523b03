//! Hash of everything that determines an object's content, stored as annotation `kvshoot.io/spec-hash`.

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt;

/// The first 64 bits of a SHA-256 over canonical JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Hash(pub(crate) u64);

impl Hash {
    /// Hashes any value. Keys are sorted first, so their order in a manifest does not matter.
    pub(crate) fn of(value: &impl Serialize) -> Hash {
        // `Value` keeps its keys sorted, structs do not.
        let canonical =
            serde_json::to_value(value).expect("what is hashed has text keys and finite numbers");
        Hash::of_json(&canonical)
    }

    /// Hashes JSON: the same hash as [`Hash::of`], without a copy of the value. Each plan hashes all objects.
    pub(crate) fn of_json(canonical: &Value) -> Hash {
        let digest = Sha256::digest(canonical.to_string());
        Hash(u64::from_be_bytes(
            digest[..8]
                .try_into()
                .expect("SHA-256 has more than eight bytes"),
        ))
    }

    /// Five hexadecimal digits, as used in names.
    pub(crate) fn short(self) -> String {
        format!("{:05x}", self.tag())
    }

    /// The 20 bits that [`Hash::short`] shows: names are as unique as these.
    pub(crate) fn tag(self) -> u64 {
        self.0 >> 44
    }

    /// Returns a hash with this tag, which is unlikely to equal a desired hash.
    pub(crate) fn of_tag(tag: u64) -> Hash {
        Hash(tag << 44)
    }

    /// Returns a different hash with the same tag.
    pub(crate) fn sibling(self) -> Hash {
        Hash(self.0 ^ 1)
    }

    /// Returns None if the text is not such a hash, for example an annotation of another program.
    pub(crate) fn parse(text: &str) -> Option<Hash> {
        let hash = u64::from_str_radix(text, 16).ok().map(Hash);
        // The parser also accepts a sign and capital letters.
        hash.filter(|it| it.to_string() == text)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;
    use std::collections::{BTreeMap, HashMap};

    #[derive(Serialize)]
    struct OneWay {
        cpu: u32,
        memory: &'static str,
    }

    #[derive(Serialize)]
    struct OtherWay {
        memory: &'static str,
        cpu: u32,
    }

    #[test]
    fn the_order_of_fields_does_not_matter() {
        let (cpu, memory) = (2, "8Gi");
        assert_eq!(
            Hash::of(&OneWay { cpu, memory }),
            Hash::of(&OtherWay { memory, cpu })
        );
    }

    #[test]
    fn an_empty_field_is_not_an_absent_one() {
        assert_ne!(Hash::of(&json!({"a": null})), Hash::of(&json!({})));
        assert_ne!(Hash::of(&json!([1, 2])), Hash::of(&json!([2, 1])));
    }

    /// Machines carry it for years: another hash of the same content would replace them all.
    #[test]
    fn a_hash_is_the_same_in_every_version() {
        let value: Value = json!({"machine": {"cpu": 2, "memory": "8Gi"}, "zones": ["a", "b"]});
        assert_eq!(Hash::of(&value).to_string(), "39d3d0462a9a9905");
        assert_eq!(Hash::of_json(&value), Hash::of(&value));
    }

    #[test]
    fn invalid_hashes_are_rejected() {
        for text in [
            "",
            "1",
            "+000000000000001",
            "000000000000000A",
            "000000000000000g",
            "é00000000000000",
        ] {
            assert_eq!(Hash::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_order_of_keys_does_not_matter(map: HashMap<String, i32>) {
            let sorted: BTreeMap<&String, &i32> = map.iter().collect();
            prop_assert_eq!(Hash::of(&map), Hash::of(&sorted));
        }

        #[test]
        fn a_written_hash_is_read_back(number: u64) {
            prop_assert_eq!(Hash::parse(&Hash(number).to_string()), Some(Hash(number)));
        }

        #[test]
        fn names_show_the_first_five_digits(number: u64) {
            let hash = Hash(number);
            prop_assert_eq!(hash.short(), &hash.to_string()[..5]);
            prop_assert_eq!(u64::from_str_radix(&hash.short(), 16), Ok(hash.tag()));
            prop_assert_ne!(hash.sibling(), hash);
            prop_assert_eq!(hash.sibling().tag(), hash.tag());
        }
    }
}
