//! Constraints of versions in the notation of Gardener, which is that of Go's `Masterminds/semver`.

use super::version::Version;
use semver::VersionReq;

/// The most bytes of a constraint: it is read once for each pool.
const MAX_BYTES: usize = 256;

/// Versions such as `>= 1.33.0, < 1.36.0 || ~1.30`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VersionConstraint {
    /// One of them has to match.
    alternatives: Vec<Alternative>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Alternative {
    /// All of them have to match.
    required: Vec<VersionReq>,
    /// None of them may match.
    excluded: Vec<VersionReq>,
}

impl VersionConstraint {
    /// Returns `None` for an invalid constraint.
    pub(crate) fn parse(text: &str) -> Option<VersionConstraint> {
        if text.len() > MAX_BYTES {
            return None;
        }
        let alternatives = text.split("||").map(Alternative::parse);
        let alternatives = alternatives.collect::<Option<_>>()?;
        Some(VersionConstraint { alternatives })
    }

    /// Pre-releases count as the version that they precede, as in Gardener.
    pub(crate) fn matches(&self, version: &Version) -> bool {
        let text = version.to_string();
        let version = semver::Version::parse(&text).expect("three numbers are a version");
        self.alternatives.iter().any(|it| {
            it.required.iter().all(|it| it.matches(&version))
                && !it.excluded.iter().any(|it| it.matches(&version))
        })
    }
}

impl Alternative {
    fn parse(text: &str) -> Option<Alternative> {
        let text = text.replace(',', " ");
        let mut words = text.split_whitespace().peekable();
        let mut alternative = Alternative::default();
        while let Some(word) = words.next() {
            let (operator, version) = split_operator(word);
            let version = match version {
                "" => words.next()?,
                _ => version,
            };
            if operator.is_empty() && words.peek() == Some(&"-") {
                words.next();
                alternative.add(">=", version)?;
                alternative.add("<=", words.next()?)?;
                continue;
            }
            alternative.add(operator, version)?;
        }
        let is_empty = alternative == Alternative::default();
        (!is_empty).then_some(alternative)
    }

    fn add(&mut self, operator: &str, version: &str) -> Option<()> {
        let version = version.strip_prefix('v').unwrap_or(version);
        let has_wildcard = version.contains(['*', 'x', 'X']);
        let request = |operator: &str| VersionReq::parse(&format!("{operator}{version}")).ok();
        // Without an operator, the crate means versions that are compatible; Gardener means this version.
        let exact = || request(if has_wildcard { "" } else { "=" });
        match operator {
            "" | "=" | "==" => self.required.push(exact()?),
            "!=" => self.excluded.push(exact()?),
            "=>" => self.required.push(request(">=")?),
            "=<" => self.required.push(request("<=")?),
            "~>" => self.required.push(request("~")?),
            ">" | "<" | ">=" | "<=" | "~" | "^" => self.required.push(request(operator)?),
            _ => return None,
        }
        Some(())
    }
}

fn split_operator(word: &str) -> (&str, &str) {
    let end = word.find(|it: char| !"=!<>~^".contains(it));
    word.split_at(end.unwrap_or(word.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matching(constraint: &str) -> Vec<&'static str> {
        let constraint = VersionConstraint::parse(constraint).expect("a constraint");
        let versions = [
            "1.30.0", "1.33.0", "1.33.9", "1.34.0", "1.34.2", "1.35.1", "2.0.0",
        ];
        let matches = |it: &&str| constraint.matches(&Version::parse(it).expect("a version"));
        versions.into_iter().filter(matches).collect()
    }

    #[test]
    fn versions_match_by_operator_range_and_alternative() {
        for (constraint, expected) in [
            (">= 1.33.0, < 1.35.0", "1.33.0 1.33.9 1.34.0 1.34.2"),
            (">=1.33 <1.34.2", "1.33.0 1.33.9 1.34.0"),
            (">1.33", "1.34.0 1.34.2 1.35.1 2.0.0"),
            ("<=1.33", "1.30.0 1.33.0 1.33.9"),
            ("=> 1.35, =< 2.x", "1.35.1 2.0.0"),
            ("1.34", "1.34.0 1.34.2"),
            ("v1.34.2", "1.34.2"),
            ("= 1.34.2", "1.34.2"),
            ("1.34.x", "1.34.0 1.34.2"),
            ("*", "1.30.0 1.33.0 1.33.9 1.34.0 1.34.2 1.35.1 2.0.0"),
            ("~1.33", "1.33.0 1.33.9"),
            ("~> 1.34.1", "1.34.2"),
            ("^1.34", "1.34.0 1.34.2 1.35.1"),
            ("1.33 - 1.34.1", "1.33.0 1.33.9 1.34.0"),
            ("^1.33, != 1.34", "1.33.0 1.33.9 1.35.1"),
            ("1.30.0 || 2.x", "1.30.0 2.0.0"),
        ] {
            assert_eq!(matching(constraint).join(" "), expected, "{constraint:?}");
        }
        let before = Version::parse("1.34.0-rc.1").expect("a version");
        let constraint = VersionConstraint::parse(">= 1.34").expect("a constraint");
        assert!(constraint.matches(&before));
    }

    #[test]
    fn invalid_constraints_are_rejected() {
        for text in [
            "", " ", "||", "1.33 ||", "new", ">=", ">= new", "<> 1.33", "1.33 -", "1.2.3.4",
            ">=1.33;",
        ] {
            assert_eq!(VersionConstraint::parse(text), None, "{text:?}");
        }
        let long = "1.33 || ".repeat(100) + "1.34";
        assert_eq!(VersionConstraint::parse(&long), None);
    }
}
