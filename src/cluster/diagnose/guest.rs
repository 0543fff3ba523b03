//! Remedies for what a guest reports while it joins the shoot.

use super::cause_chain::Advice;
use crate::cluster::objects::metadata::seconds;

/// Errors of a connection that no one answers.
const UNREACHABLE: [&str; 4] = [
    "i/o timeout",
    "no route to host",
    "network is unreachable",
    "connection timed out",
];

/// Remedy for an error of a kubelet that cannot use its API server, if it is certain.
pub(super) fn guest_advice(message: &str) -> Option<Advice> {
    if let Some(behind) = clock_lag(message) {
        return Some(Advice::Clock {
            behind: format_lag(behind),
        });
    }
    let is_unreachable = UNREACHABLE.iter().any(|it| message.contains(it));
    (message.contains("https://") && is_unreachable).then_some(Advice::Network)
}

/// Seconds by which a clock is behind, from Go's error for a certificate that is not valid yet:
/// `current time 2006-11-27T10:00:00Z is before 2026-11-22T18:00:00Z`.
fn clock_lag(message: &str) -> Option<i64> {
    let (_, times) = message.split_once("not yet valid: current time ")?;
    let (now, rest) = times.split_once(" is before ")?;
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"-:+.".contains(c));
    let start = rest[..end.unwrap_or(rest.len())].trim_end_matches(['.', ':']);
    let lag = seconds(start)? - seconds(now)?;
    (lag > 0).then_some(lag)
}

/// In the largest unit, rounded to at least one.
fn format_lag(seconds: i64) -> String {
    const UNITS: [(i64, &str); 4] = [
        (365 * 86_400, "year"),
        (86_400, "day"),
        (3_600, "hour"),
        (60, "minute"),
    ];
    let of_unit = |(size, _): &&(i64, &str)| seconds >= *size;
    let (size, unit) = UNITS.iter().find(of_unit).unwrap_or(&(1, "second"));
    match (seconds + size / 2) / size {
        1 => format!("1 {unit}"),
        number => format!("{number} {unit}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(now: &str, start: &str) -> Option<Advice> {
        guest_advice(&format!(
            "kubelet: cannot reach https://10.0.0.1:6443: tls: failed to verify certificate: x509: certificate has \
             expired or is not yet valid: current time {now} is before {start}"
        ))
    }

    #[test]
    fn a_clock_that_is_behind_is_reported_in_the_largest_unit() {
        let behind = |text: &str| {
            Some(Advice::Clock {
                behind: text.to_owned(),
            })
        };
        let advice = clock("2006-11-27T18:00:00Z", "2026-11-22T18:00:00Z");
        assert_eq!(advice, behind("20 years"));
        let advice = clock("2026-11-22T15:59:00Z", "2026-11-22T18:00:00Z");
        assert_eq!(advice, behind("2 hours"));
        let advice = clock("2026-11-22T17:58:59Z", "2026-11-22T18:00:00Z: retrying");
        assert_eq!(advice, behind("1 minute"));
    }

    #[test]
    fn a_timeout_on_the_way_to_the_api_server_is_a_problem_of_the_network() {
        let advice = |error: &str| {
            guest_advice(&format!(
                "kubelet: cannot reach https://10.0.0.1:6443: {error}"
            ))
        };
        assert_eq!(advice("i/o timeout"), Some(Advice::Network));
        assert_eq!(advice("no route to host"), Some(Advice::Network));
        assert_eq!(advice("connection refused"), None);
        assert_eq!(guest_advice("i/o timeout on disk vda"), None);
    }

    #[test]
    fn an_expired_certificate_does_not_mean_a_wrong_clock() {
        let expired = "certificate has expired or is not yet valid: current time 2026-11-22T18:00:00Z is after \
                       2026-11-22T17:00:00Z";
        assert_eq!(guest_advice(expired), None);
        assert_eq!(clock("yesterday", "2026-11-22T18:00:00Z"), None);
    }
}
