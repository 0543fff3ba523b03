//! Versions of Kubernetes and of images.

use std::cmp::Ordering;
use std::fmt;

/// A version, parsed leniently: `1.34.2`, `18.04`, `v2` and `1.2.3-beta.1+build` are all valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    numbers: [u64; 3],
    before_release: Vec<Identifier>,
}

/// A pre-release identifier. Numbers sort before words, as in Semantic Versioning.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Word(String),
}

impl Version {
    /// Returns `None` for an invalid version.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let (text, build) = text
            .split_once('+')
            .map_or((text, None), |(text, build)| (text, Some(build)));
        let (release, before) = text
            .split_once('-')
            .map_or((text, None), |(release, before)| (release, Some(before)));
        let identifiers = |text: &str| text.split('.').all(is_identifier);
        if !build.is_none_or(identifiers) || !before.is_none_or(identifiers) {
            return None;
        }
        let mut numbers = [0; 3];
        for (i, part) in release.split('.').enumerate() {
            let is_number = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            *numbers.get_mut(i)? = part.parse().ok().filter(|_| is_number)?;
        }
        let before_release = before.map_or_else(Vec::new, |before| {
            let identifier = |part: &str| {
                part.parse()
                    .map_or_else(|_| Identifier::Word(part.to_owned()), Identifier::Number)
            };
            before.split('.').map(identifier).collect()
        });
        Some(Self {
            numbers,
            before_release,
        })
    }

    /// Major and minor version, such as (1, 34).
    pub(crate) fn minor(&self) -> (u64, u64) {
        (self.numbers[0], self.numbers[1])
    }
}

fn is_identifier(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let is_release = |it: &Self| it.before_release.is_empty();
        self.numbers
            .cmp(&other.numbers)
            .then_with(|| is_release(self).cmp(&is_release(other)))
            .then_with(|| self.before_release.cmp(&other.before_release))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        write!(f, "{major}.{minor}.{patch}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        let order = [
            "1.9",
            "1.10.0-alpha.1",
            "1.10.0-alpha.2",
            "1.10.0-rc.1",
            "v1.10",
            "18.4.1",
            "18.10",
            "2303.7.0",
        ];
        for pair in order.windows(2) {
            let parse = |text| Version::parse(text).expect("a version");
            assert!(parse(pair[0]) < parse(pair[1]), "{pair:?}");
        }
        assert_eq!(Version::parse("18.04"), Version::parse("18.4.0"));
    }

    #[test]
    fn invalid_versions_are_rejected() {
        for text in [
            "",
            "v",
            "1.",
            "1.2.3.4",
            "latest",
            "1.2-",
            "1..2",
            "-1",
            "+1",
            "1.2 ",
            "99999999999999999999999",
        ] {
            assert_eq!(Version::parse(text), None, "{text:?}");
        }
    }
}
