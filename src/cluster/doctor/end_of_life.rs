//! Kubernetes versions of shoots that are no longer maintained.

use super::check_result::{CheckResult, passed, warning};
use jiff::Timestamp;
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;
use std::collections::BTreeSet;

/// Minor versions that kvshoot knows, and the day after which Kubernetes publishes no fixes for them.
///
/// Source: <https://kubernetes.io/releases/>.
const END_OF_LIFE: [(u64, Date); 7] = [
    (31, date(2025, 11, 11)),
    (32, date(2026, 2, 28)),
    (33, date(2026, 6, 28)),
    (34, date(2026, 10, 27)),
    (35, date(2027, 2, 28)),
    (36, date(2027, 6, 28)),
    (37, date(2027, 10, 28)),
];

/// One result for all shoots; None without shoots. `minors` are those of shoots, `now` is in seconds since 1970.
pub(crate) fn check_maintenance(minors: &BTreeSet<u64>, now: i64) -> Option<CheckResult> {
    const SUBJECT: &str = "shoot versions";
    let today = Timestamp::from_second(now).unwrap_or_default();
    let today = today.to_zoned(TimeZone::UTC).date();
    let ends = |minor: &u64| END_OF_LIFE.iter().find(|it| it.0 == *minor);
    let ended: Vec<String> = minors
        .iter()
        .filter_map(ends)
        .filter(|(_, end)| *end < today)
        .map(|(minor, end)| format!("Kubernetes 1.{minor} has had no fixes since {end}"))
        .collect();
    if minors.is_empty() {
        return None;
    }
    Some(match ended.is_empty() {
        true => passed(SUBJECT, "maintained"),
        false => CheckResult {
            hint: Some("raise spec.kubernetes.version of the Shoot".to_owned()),
            ..warning(SUBJECT, ended.join("; "))
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::doctor::check_result::CheckStatus;

    fn at(text: &str) -> i64 {
        text.parse::<Timestamp>().expect("a time").as_second()
    }

    #[test]
    fn a_version_past_its_end_is_a_warning() {
        let minors = BTreeSet::from([34, 35]);
        let check = |time| check_maintenance(&minors, at(time)).expect("there are shoots");
        assert_eq!(check("2026-10-27T23:00:00Z").status, CheckStatus::Passed);
        let late = check("2026-10-28T00:00:00Z");
        assert_eq!(late.status, CheckStatus::Warning);
        assert_eq!(
            late.message,
            "Kubernetes 1.34 has had no fixes since 2026-10-27"
        );
        assert_eq!(
            check_maintenance(&BTreeSet::new(), at("2026-10-28T00:00:00Z")),
            None
        );
    }

    #[test]
    fn the_documentation_has_the_same_dates() {
        let page = include_str!("../../../docs/provider.md");
        for (minor, end) in END_OF_LIFE {
            let row = format!("| 1.{minor} | {end} |");
            assert!(page.contains(&row), "{row}");
        }
    }
}
