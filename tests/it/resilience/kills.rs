//! kill -9 at every write of an apply, a rolling update and a delete: the result is that of an undisturbed run.

use crate::support::audit;
use crate::support::kvshoot::Kvshoot;
use crate::support::provider::{self, Provider};
use crate::support::proxy::{Phase, Proxy, Reaction, wait_until};
use crate::support::shoot_api::ShootApi;
use crate::support::small_shoots::{Small, assert_user_data, inventory};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(180);
/// Limit of killed runs.
const MAX_RUNS: usize = 600;
const PHASES: [Phase; 3] = [Phase::Before, Phase::Unanswered, Phase::Answered];

/// A shoot, the proxy to its provider, and statistics.
struct Walk {
    provider: Provider,
    proxy: Proxy,
    kvshoot: Kvshoot,
    start: Instant,
    kills: usize,
}

impl Walk {
    fn new(manifests: &[(&str, &Small)]) -> Walk {
        let provider = Provider::new();
        let proxy = Proxy::new(&provider);
        let mut kvshoot = proxy.kvshoot(&provider);
        for (file, shoot) in manifests {
            kvshoot = kvshoot.file(file, &shoot.manifest());
        }
        Walk {
            provider,
            proxy,
            kvshoot,
            start: Instant::now(),
            kills: 0,
        }
    }

    /// Runs undisturbed, and returns the number of writes.
    fn run(&self, line: &str) -> usize {
        self.proxy.forward_all();
        let output = self.kvshoot.start(line).wait_at_most(LIMIT);
        assert_eq!(output.code, 0, "{line}\n{output}\n{}", self.trace());
        self.proxy.writes().len()
    }

    /// Asserts that another run writes nothing.
    fn assert_unchanged(&self, line: &str) {
        self.proxy.forward_all();
        let output = self.kvshoot.start(line).wait_at_most(LIMIT);
        let is_unchanged = output.code == 0 && output.out.ends_with(" unchanged\n");
        assert!(is_unchanged, "{line}\n{output}");
        assert_eq!(self.proxy.writes(), []);
    }

    /// Repeats a run and kills it at its first write to either API server, until a run completes. Returns the number of
    /// writes.
    fn walk(&mut self, line: &str) -> usize {
        let before = audit::writes(&self.provider).len();
        let mut writes = 0;
        for phase in PHASES.into_iter().cycle().take(MAX_RUNS) {
            if !self.kill(line, phase) {
                let shoot_writes = audit::writes(&self.provider).split_off(before);
                self.print(line, writes, shoot_writes.len());
                return writes;
            }
            // All requests after that write are blocked, so the number of writes is the same on every computer. Writes to the
            // shoot are concurrent; a run that was killed at one of them has no write here.
            writes += usize::from(phase != Phase::Before && !self.proxy.writes().is_empty());
        }
        panic!(
            "`{line}` is incomplete after {MAX_RUNS} runs\n{}",
            self.trace()
        );
    }

    /// Kills a run at its first write. Returns false if it completed without a write.
    fn kill(&mut self, line: &str, phase: Phase) -> bool {
        self.proxy.script(move |request| match request.write == 1 {
            true => Reaction::Kill(phase),
            false => Reaction::Forward,
        });
        let shoot_writes = audit::writes(&self.provider).len();
        let mut running = self.kvshoot.start(line);
        self.proxy.victim(running.pid());
        let output = running.wait_or_kill(LIMIT, || {
            // Writes to the shoot bypass the proxy: the kill follows the audit event.
            audit::writes(&self.provider).len() > shoot_writes
        });
        let was_killed = output.code == 128 + 9;
        assert!(
            was_killed || output.code == 0,
            "{line}, {phase:?}\n{output}"
        );
        self.kills += usize::from(was_killed);
        was_killed
    }

    fn trace(&self) -> String {
        let line = |it: &crate::support::proxy::RecordedRequest| {
            format!("{} {} {}\n", it.verb, it.resource, it.name)
        };
        self.proxy.writes().iter().map(line).collect()
    }

    fn print(&self, line: &str, writes: usize, shoot_writes: usize) {
        let kills = self.kills;
        let seconds = self.start.elapsed().as_secs();
        println!(
            "{line}: killed at {writes} writes, {shoot_writes} writes to the shoot; {kills} kills, {seconds} s"
        );
    }

    /// Asserts that machines and nodes have the same names, and that no bootstrap token remains.
    fn assert_complete(&self) {
        assert_user_data(&self.provider);
        let api = ShootApi::connect(&self.provider, &self.kvshoot, "cut");
        assert_eq!(api.nodes(), self.provider.names(provider::VM));
        assert_eq!(api.tokens(), Vec::<String>::new());
    }
}

/// On one shoot, because creating its control plane takes longer than the killed runs.
#[test]
fn a_run_killed_at_every_write_is_resumed_and_creates_nothing_twice() {
    let old = Small {
        pools: vec![("one", 1), ("two", 1)],
        ..Small::new("cut")
    };
    let new = Small {
        machine_type: "medium",
        ..old.clone()
    };
    let undisturbed = Walk::new(&[("old.yaml", &old)]);
    let written = undisturbed.run("apply -f old.yaml");
    let wanted = kinds(&undisturbed.provider);
    drop(undisturbed);

    let mut walk = Walk::new(&[("old.yaml", &old), ("new.yaml", &new)]);
    // Without the writes at the end of a run.
    let most = written - written / 10;
    for (line, at_least) in [("apply -f old.yaml", most), ("apply -f new.yaml", 8)] {
        let writes = walk.walk(line);
        assert!(writes >= at_least, "{line}: {writes} writes");
        assert_eq!(kinds(&walk.provider), wanted);
        walk.assert_unchanged(line);
        walk.assert_complete();
    }
    let writes = walk.walk("delete cut --yes --ignore-not-found");
    assert!(writes >= 20, "{writes} writes delete a shoot");
    assert_eq!(inventory(&walk.provider), Vec::<String>::new());
    // The garbage collector deletes the lease with its owner, the record.
    wait_until(|| walk.provider.names(provider::LEASE).is_empty());
}

/// Numbers of objects by kind.
fn kinds(provider: &Provider) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for object in inventory(provider) {
        let (kind, _) = object.split_once(' ').unwrap();
        *kinds.entry(kind.to_owned()).or_default() += 1;
    }
    kinds
}
