//! A client that writes to a shoot while something happens to it.

use super::ShootApi;
use super::background::beside;
use crate::support::provider::{CONFIG_MAP, Provider};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Limit for a response, after which a client tries again.
const RESPONSE: Duration = Duration::from_secs(1);

/// A client that writes ConfigMaps, each until it is acknowledged.
pub(crate) struct Writer {
    /// Their names, in this order.
    acknowledged: Vec<String>,
    /// The longest time between two acknowledged writes.
    pub(crate) longest: Duration,
    /// The longest response of the provider's API server in the same time. Nothing happens to that one, so this is how busy
    /// the computer was.
    control: Duration,
}

impl Writer {
    /// Asserts that no write took longer than this on an idle computer. On a busy one, two of the requests that follow one another
    /// until a write succeeds may take as long as the longest one of the provider.
    pub(crate) fn assert_gap(&self, limit: Duration) {
        const REQUESTS: u32 = 2;
        let limit = limit + REQUESTS * self.control;
        assert!(self.longest < limit, "{:.2?}, {limit:.2?}", self.longest);
    }
}

/// Writes during `work`; names begin with `phase`.
pub(crate) fn write_during(api: &ShootApi, phase: &str, work: impl FnOnce()) -> Writer {
    let write = |done: &AtomicBool| {
        let (mut acknowledged, mut longest) = (Vec::new(), Duration::ZERO);
        let mut last = Instant::now();
        let mut number = 0;
        while !done.load(Ordering::Relaxed) {
            let name = format!("{phase}-{number}");
            if api.is_created(CONFIG_MAP, "default", &name, RESPONSE) {
                longest = longest.max(last.elapsed());
                acknowledged.push(name);
                (last, number) = (Instant::now(), number + 1);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        (acknowledged, longest.max(last.elapsed()))
    };
    let mut written = None;
    let control = beside(
        |done| longest_response(api.provider, done),
        || written = Some(beside(write, work)),
    );
    let (acknowledged, longest) = written.unwrap();
    let writer = Writer {
        acknowledged,
        longest,
        control,
    };
    println!(
        "{phase}: {} writes, longest gap {:.2?}; longest response of the provider {control:.2?}",
        writer.acknowledged.len(),
        writer.longest,
    );
    writer
}

fn longest_response(provider: &Provider, done: &AtomicBool) -> Duration {
    let (api, pause) = (provider.api(CONFIG_MAP), Duration::from_millis(100));
    let (mut longest, mut begun) = (Duration::ZERO, Instant::now());
    while !done.load(Ordering::Relaxed) {
        let answered = provider.block_on(api.get_opt("kube-root-ca.crt")).is_ok();
        let elapsed = begun.elapsed();
        std::thread::sleep(pause);
        // A request that fails counts for the next one.
        if answered {
            (longest, begun) = (longest.max(elapsed), Instant::now());
        }
    }
    longest
}

/// Acknowledged writes that a client does not find, or not in the order in which they were acknowledged. None is there twice,
/// since each has a name of its own.
pub(crate) fn lost_or_reordered<'a>(api: &ShootApi, writers: &'a [Writer]) -> Vec<&'a str> {
    let written: BTreeMap<String, u64> = (api.list(CONFIG_MAP).into_iter())
        .filter_map(|it| Some((it.metadata.name?, it.metadata.resource_version?)))
        .map(|(name, version)| (name, version.parse().unwrap()))
        .collect();
    let mut wrong = Vec::new();
    for writer in writers {
        let mut last = 0;
        for name in &writer.acknowledged {
            match written.get(name) {
                Some(revision) if *revision > last => last = *revision,
                _ => wrong.push(name.as_str()),
            }
        }
    }
    println!("{} writes lost or reordered", wrong.len());
    wrong
}
