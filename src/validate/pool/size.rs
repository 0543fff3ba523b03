//! The size of a pool, and how many of its machines a rolling update may add or remove.

use super::context::PoolContext;
use super::update_strategy;
use crate::model::{Amount, FindingKind, IntOrString};
use crate::validate::report::{FieldCursor, FindingSink};

pub(super) fn size(pool: &PoolContext, report: &mut FindingSink) -> Option<(usize, usize)> {
    let (minimum, maximum) = (pool.worker.minimum, pool.worker.maximum);
    let at_minimum = &pool.at.key("minimum");
    let at_maximum = &pool.at.key("maximum");
    for (at, count) in [(at_minimum, minimum), (at_maximum, maximum)] {
        if count < 0 {
            report.error(
                at,
                FindingKind::Invalid,
                "pool/negative",
                format!("must be at least 0 (is {count})"),
            );
        }
    }
    let sizes = (
        usize::try_from(minimum).ok()?,
        usize::try_from(maximum).ok()?,
    );
    if maximum < minimum {
        let message = format!("must be at least {minimum}, the minimum (is {maximum})");
        report
            .error(
                at_maximum,
                FindingKind::Forbidden,
                "pool/minimum-above-maximum",
                message,
            )
            .see(at_minimum, "minimum");
        return None;
    }
    Some(sizes)
}

/// maxSurge and maxUnavailable.
pub(super) fn bounds(pool: &PoolContext, report: &mut FindingSink) -> Option<(Amount, Amount)> {
    let at_surge = &pool.at.key("maxSurge");
    let at_unavailable = &pool.at.key("maxUnavailable");
    let is_in_place = update_strategy::is_in_place(pool.worker);
    let (surge, unavailable) = match is_in_place {
        true => (0, 1),
        false => (1, 0),
    };
    let surge = amount(pool.worker.max_surge.as_ref(), surge, at_surge, report);
    let given = pool.worker.max_unavailable.as_ref();
    let unavailable = amount(given, unavailable, at_unavailable, report);
    if let Some(Amount::Percent(percent)) = unavailable
        && percent > 100
    {
        let message = format!("must be at most 100% (is {percent}%)");
        report.error(
            at_unavailable,
            FindingKind::Invalid,
            "pool/unavailable-above-all",
            message,
        );
        return None;
    }
    let (surge, unavailable) = (surge?, unavailable?);
    // An empty pool is validated as if it had one machine.
    let machines = usize::try_from(pool.worker.minimum).unwrap_or(0).max(1);
    if surge.rounded_up(machines) == 0 && unavailable.rounded_down(machines) == 0 {
        report
            .error(
                at_unavailable,
                FindingKind::Invalid,
                "pool/no-room-to-roll",
                format!(
                    "maxUnavailable and maxSurge are both 0 of {machines}: a rolling update cannot replace any machine"
                ),
            )
            .see(at_surge, "maxSurge")
            .hint("set one of them to at least 1");
        return None;
    }
    if is_in_place && unavailable.rounded_down(machines) == 0 {
        let message =
            format!("must be at least 1 of {machines}: AutoInPlaceUpdate restarts machines");
        report
            .error(
                at_unavailable,
                FindingKind::Invalid,
                "pool/no-room-to-restart",
                message,
            )
            .see(&pool.at.key("updateStrategy"), "updateStrategy");
        return None;
    }
    Some((surge, unavailable))
}

fn amount(
    given: Option<&IntOrString>,
    default: usize,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> Option<Amount> {
    const MAX: usize = 1_000_000;
    let message = match given {
        None => return Some(Amount::Number(default)),
        Some(IntOrString::Int(count)) => match usize::try_from(*count) {
            Ok(count) => return Some(Amount::Number(count)),
            Err(_) => format!("must be at least 0 (is {count})"),
        },
        Some(IntOrString::String(text)) => {
            if text.parse::<u32>().is_ok() {
                let message = format!("{text:?} is a string, not a number");
                report
                    .error(at, FindingKind::Invalid, "pool/amount", message)
                    .hint(format!("remove the quotes: {text}"));
                return None;
            }
            let digits = text.strip_suffix('%').unwrap_or_default();
            let is_percent = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            match digits.parse().ok().filter(|it| is_percent && *it <= MAX) {
                Some(percent) => return Some(Amount::Percent(percent)),
                None => format!("{text:?} is neither a number nor a percentage"),
            }
        }
    };
    report
        .error(at, FindingKind::Invalid, "pool/amount", message)
        .hint("write a number such as 1, or a percentage such as 25%");
    None
}
