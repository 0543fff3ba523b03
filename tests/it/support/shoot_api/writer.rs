//! A client that writes to a shoot while something happens to it.

use super::ShootApi;
use super::background::beside;
use crate::support::provider::CONFIG_MAP;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Limit for a response, after which a client tries again.
const RESPONSE: Duration = Duration::from_secs(1);

/// A client that writes ConfigMaps, each until it is acknowledged.
pub(crate) struct Writer {
    pub(crate) acknowledged: BTreeSet<String>,
    /// The longest time between two acknowledged writes.
    pub(crate) longest: Duration,
}

/// Writes during `work`; names begin with `phase`.
pub(crate) fn write_during(api: &ShootApi, phase: &str, work: impl FnOnce()) -> Writer {
    let write = |done: &AtomicBool| {
        let mut writer = Writer {
            acknowledged: BTreeSet::new(),
            longest: Duration::ZERO,
        };
        let mut last = Instant::now();
        let mut number = 0;
        while !done.load(Ordering::Relaxed) {
            let name = format!("{phase}-{number}");
            if api.is_created(CONFIG_MAP, "default", &name, RESPONSE) {
                writer.longest = writer.longest.max(last.elapsed());
                writer.acknowledged.insert(name);
                (last, number) = (Instant::now(), number + 1);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        writer.longest = writer.longest.max(last.elapsed());
        writer
    };
    let writer = beside(write, work);
    println!(
        "{phase}: {} writes, longest gap {:.2?}",
        writer.acknowledged.len(),
        writer.longest
    );
    writer
}

/// Acknowledged writes that a client does not find.
pub(crate) fn lost<'a>(api: &ShootApi, writers: &'a [Writer]) -> Vec<&'a str> {
    let written: BTreeSet<String> = (api.list(CONFIG_MAP).into_iter())
        .filter_map(|it| it.metadata.name)
        .collect();
    let acknowledged = writers.iter().flat_map(|it| &it.acknowledged);
    let lost = acknowledged.filter(|it| !written.contains(*it));
    let lost: Vec<&str> = lost.map(String::as_str).collect();
    println!("{} writes lost", lost.len());
    lost
}
