//! Parsing of golden volumes.

use super::types::ParsedVolume;
use crate::cluster::objects::condition::PartialCondition;
use crate::cluster::objects::kubevirt::data_volume::PartialDataVolume;
use crate::state::facts::GoldenVolume;
use crate::state::names;
use std::sync::Arc;

/// CDI retries imports forever; after so many restarts they are reported as failed.
const MAX_RESTARTS: i64 = 3;

pub(super) fn parse_image(volume: &PartialDataVolume) -> ParsedVolume {
    let status = &volume.status;
    let running = volume.condition("Running");
    let bound = volume.condition("Bound").filter(|it| it.is_false());
    let stumbles = running.filter(|it| it.reason == "Error");
    let message =
        |it: Option<&PartialCondition>| -> Option<Arc<str>> { Some(it?.message()?.into()) };
    let gave_up = stumbles.is_some() && status.restart_count >= MAX_RESTARTS;
    let (done, failed) = (status.phase == "Succeeded", status.phase == "Failed");
    let waiting_reason = message(stumbles)
        .or_else(|| message(bound))
        .or_else(|| message(running));
    let failure = message(running)
        .or_else(|| message(bound))
        .unwrap_or_else(|| "the import failed".into());
    ParsedVolume {
        done,
        percent: percent(&status.progress),
        waiting_reason: waiting_reason.filter(|_| !done),
        failed: (!done && (failed || gave_up)).then_some(failure),
        restarts: status.restart_count,
        failed_permanently: failed,
        volume: golden_volume(volume),
    }
}

fn golden_volume(volume: &PartialDataVolume) -> GoldenVolume {
    let metadata = &volume.metadata;
    GoldenVolume {
        shoot: metadata.label(names::PART_OF).unwrap_or_default().into(),
        image: metadata.annotation(names::IMAGE).unwrap_or_default().into(),
        phase: volume.status.phase.as_str().into(),
        size: volume.size().and_then(bytes),
        created: metadata.created(),
    }
}

/// Parses `43.10%`; `N/A` before the import begins.
fn percent(text: &str) -> Option<f32> {
    let number: f32 = text.strip_suffix('%')?.parse().ok()?;
    Some(number.clamp(0.0, 100.0))
}

/// Parses a quantity of storage into bytes; None if invalid.
pub(crate) fn bytes(quantity: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 10] = [
        ("Ki", 1 << 10),
        ("Mi", 1 << 20),
        ("Gi", 1 << 30),
        ("Ti", 1 << 40),
        ("Pi", 1 << 50),
        ("k", 1_000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
        ("T", 1_000_000_000_000),
        ("P", 1_000_000_000_000_000),
    ];
    let (number, unit) = UNITS
        .iter()
        .find_map(|(suffix, unit)| Some((quantity.strip_suffix(suffix)?, *unit)))
        .unwrap_or((quantity, 1));
    match number.parse::<u64>() {
        Ok(number) => number.checked_mul(unit),
        Err(_) => {
            let number = number.parse::<f64>().ok().filter(|it| *it >= 0.0)?;
            Some((number * unit as f64) as u64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_parsed_into_bytes() {
        assert_eq!(bytes("20Gi"), Some(20 << 30));
        assert_eq!(bytes("1.5Ki"), Some(1536));
        assert_eq!(bytes("5G"), Some(5_000_000_000));
        assert_eq!(bytes("1024"), Some(1024));
        assert_eq!(bytes("lots"), None);
    }
}
