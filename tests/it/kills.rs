//! kill -9 at every write of an apply, a roll and a delete: the next run ends where an undisturbed one does.

use crate::kvshoot::Kvshoot;
use crate::provider::{self, Provider};
use crate::proxy::{Act, Phase, Proxy, wait_until};
use crate::small::{Small, assert_pairs, there};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);
const PHASES: [Phase; 3] = [Phase::Before, Phase::Unanswered, Phase::Answered];

/// A shoot, the way to it, and how the walk goes.
struct Walk {
    provider: Provider,
    proxy: Proxy,
    kvshoot: Kvshoot,
    name: &'static str,
    begun: Instant,
    kills: usize,
}

impl Walk {
    fn new(name: &'static str, manifests: &[(&str, &Small)]) -> Walk {
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
            name,
            begun: Instant::now(),
            kills: 0,
        }
    }

    /// Runs undisturbed; gives its writes.
    fn run(&self, line: &str) -> usize {
        self.proxy.calm();
        let output = self.kvshoot.start(line).end(LIMIT);
        assert_eq!(output.code, 0, "{line}\n{output}\n{}", self.trace());
        self.proxy.writes().len()
    }

    /// The same has nothing more to do, and says so.
    fn is_quiet(&self, line: &str) {
        self.proxy.calm();
        let output = self.kvshoot.start(line).end(LIMIT);
        let is_unchanged = output.code == 0 && output.out.ends_with(" unchanged\n");
        assert!(is_unchanged, "{line}\n{output}");
        assert_eq!(self.proxy.writes(), []);
    }

    /// Runs until it is killed at write `number`; says whether it came that far.
    fn kill(&mut self, line: &str, number: usize, phase: Phase) -> bool {
        self.proxy.script(move |seen| match seen.write == number {
            true => Act::Kill(phase),
            false => Act::Forward,
        });
        let mut running = self.kvshoot.start(line);
        self.proxy.victim(running.pid());
        let output = running.end(LIMIT);
        let was_killed = output.code == 128 + 9;
        assert!(
            was_killed || (output.code == 0 && phase != Phase::Before),
            "{line}, write {number} {phase:?}\n{output}"
        );
        self.kills += usize::from(was_killed);
        was_killed
    }

    fn trace(&self) -> String {
        let line = |it: &crate::proxy::Seen| format!("{} {} {}\n", it.verb, it.resource, it.name);
        self.proxy.writes().iter().map(line).collect()
    }

    fn told(&self, writes: usize) {
        let Walk { name, kills, .. } = self;
        let seconds = self.begun.elapsed().as_secs();
        println!("{name}: {writes} writes, {kills} kills, {seconds} s");
        assert!(*kills * 10 >= writes * PHASES.len() * 9, "too few kills");
    }
}

#[test]
fn an_apply_and_a_delete_that_are_killed_at_any_write_are_finished_by_the_next() {
    let shoot = Small::new("cut");
    let mut walk = Walk::new("apply and delete", &[("shoot.yaml", &shoot)]);
    let apply = "apply -f shoot.yaml";
    let delete = "delete cut --yes --ignore-not-found";
    let making = walk.run(apply);
    let wanted = there(&walk.provider);
    let removing = walk.run(delete);
    assert_eq!(there(&walk.provider), Vec::<String>::new());
    for number in 1..=making.max(removing) {
        for phase in PHASES {
            if number <= making {
                walk.kill(apply, number, phase);
            }
            walk.run(apply);
            assert_eq!(there(&walk.provider), wanted, "write {number} {phase:?}");
            assert_pairs(&walk.provider);
            walk.is_quiet(apply);
            if number <= removing {
                walk.kill(delete, number, phase);
            }
            walk.run(delete);
            assert_eq!(there(&walk.provider), Vec::<String>::new());
            // The lease goes with its record, by the garbage collector.
            wait_until(|| walk.provider.names(provider::LEASE).is_empty());
        }
    }
    walk.told(making + removing);
}

#[test]
fn a_roll_that_is_killed_at_any_write_is_finished_by_the_next() {
    let old = Small {
        pools: vec![("one", 1), ("two", 1)],
        ..Small::new("cut")
    };
    let new = Small {
        machine_type: "medium",
        ..old.clone()
    };
    let mut walk = Walk::new("roll", &[("old.yaml", &old), ("new.yaml", &new)]);
    walk.run("apply -f new.yaml");
    let wanted_new = there(&walk.provider);
    walk.run("apply -f old.yaml");
    let wanted_old = there(&walk.provider);
    let writes = walk.run("apply -f new.yaml");
    // From here it goes back and forth.
    let mut is_new = true;
    for number in 1..=writes {
        for phase in PHASES {
            is_new = !is_new;
            let (line, wanted) = match is_new {
                true => ("apply -f new.yaml", &wanted_new),
                false => ("apply -f old.yaml", &wanted_old),
            };
            walk.kill(line, number, phase);
            walk.run(line);
            assert_eq!(there(&walk.provider), *wanted, "write {number} {phase:?}");
            assert_pairs(&walk.provider);
            walk.is_quiet(line);
        }
    }
    walk.told(writes);
}
