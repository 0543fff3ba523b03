//! The size of a pool, and how many of its machines a rolling update may add or remove.

use super::context::PoolContext;
use crate::model::{Amount, FindingKind, IntOrString, Worker};
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
                format!("is {count}, below 0"),
            );
        }
    }
    let sizes = (
        usize::try_from(minimum).ok()?,
        usize::try_from(maximum).ok()?,
    );
    if maximum < minimum {
        let message = format!("is {maximum}, below the minimum of {minimum}");
        report
            .error(
                at_maximum,
                FindingKind::Forbidden,
                "pool/minimum-above-maximum",
                message,
            )
            .see(at_minimum, "the minimum");
        return None;
    }
    if minimum == 0 && maximum != 0 {
        let message =
            format!("is 0 while the maximum is {maximum}; a pool cannot grow from nothing");
        report
            .error(
                at_minimum,
                FindingKind::Forbidden,
                "pool/scale-from-zero",
                message,
            )
            .see(at_maximum, "the maximum")
            .hint("write 1, or 0 for both");
        return None;
    }
    Some(sizes)
}

/// maxSurge and maxUnavailable.
pub(super) fn bounds(pool: &PoolContext, report: &mut FindingSink) -> Option<(Amount, Amount)> {
    let at_surge = &pool.at.key("maxSurge");
    let at_unavailable = &pool.at.key("maxUnavailable");
    let surge = amount(pool.worker.max_surge.as_ref(), 1, at_surge, report);
    let unavailable = amount(
        pool.worker.max_unavailable.as_ref(),
        0,
        at_unavailable,
        report,
    );
    if let Some(Amount::Percent(percent)) = unavailable
        && percent > 100
    {
        let message = format!("is {percent}%, more than all");
        report.error(
            at_unavailable,
            FindingKind::Invalid,
            "pool/unavailable-above-all",
            message,
        );
        return None;
    }
    let (surge, unavailable) = (surge?, unavailable?);
    // A pool of none is judged as if it had one.
    let machines = usize::try_from(pool.worker.minimum).unwrap_or(0).max(1);
    if surge.rounded_up(machines) == 0 && unavailable.rounded_down(machines) == 0 {
        report
            .error(
                at_unavailable,
                FindingKind::Invalid,
                "pool/no-room-to-roll",
                format!(
                    "comes to 0 of {machines}, and maxSurge too; no machine could ever be replaced"
                ),
            )
            .see(at_surge, "maxSurge")
            .hint("let one of both be at least 1");
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
    const MOST: usize = 1_000_000;
    let told = match given {
        None => return Some(Amount::Number(default)),
        Some(IntOrString::Int(count)) => match usize::try_from(*count) {
            Ok(count) => return Some(Amount::Number(count)),
            Err(_) => format!("is {count}, below 0"),
        },
        Some(IntOrString::String(text)) => {
            let digits = text.strip_suffix('%').unwrap_or_default();
            let is_percent = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            match digits.parse().ok().filter(|it| is_percent && *it <= MOST) {
                Some(percent) => return Some(Amount::Percent(percent)),
                None => format!("{text:?} is neither a count nor a share"),
            }
        }
    };
    report
        .error(at, FindingKind::Invalid, "pool/amount", told)
        .hint("write a count such as 1, or a share such as 25%");
    None
}

/// Nothing moves a pool between its bounds yet; said once, whatever the number of pools.
pub(super) fn autoscaling(workers: &[Worker], at: &FieldCursor, report: &mut FindingSink) {
    let mut wide = workers
        .iter()
        .enumerate()
        .filter(|(_, it)| it.minimum < it.maximum);
    let Some((i, first)) = wide.next() else {
        return;
    };
    let others = match wide.count() {
        0 => String::new(),
        1 => ", and another one".to_owned(),
        more => format!(", and {more} others"),
    };
    let message = format!(
        "pool {} has room to grow{others}, and no autoscaler runs",
        first.name
    );
    report
        .warning(
            &at.index(i).key("maximum"),
            FindingKind::NotSupported,
            "pool/no-autoscaler",
            message,
        )
        .see(&at.index(i).key("minimum"), "what it starts with")
        .hint("a pool starts with its minimum; its size is changed by hand");
}
