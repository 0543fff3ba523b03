//! Trouble on the wire: the run survives it, makes nothing twice, and says what is the matter when it cannot go on.

use crate::kvshoot::{Kvshoot, Output};
use crate::provider::{self, Provider};
use crate::proxy::{Act, Proxy, Seen, wait_until};
use crate::small::{Small, assert_pairs, there};
use std::collections::HashSet;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(90);
const VMS: &str = "virtualmachines.kubevirt.io";

struct Wire {
    provider: Provider,
    proxy: Proxy,
    kvshoot: Kvshoot,
}

impl Wire {
    fn new(shoot: &Small) -> Wire {
        let provider = Provider::new();
        let proxy = Proxy::new(&provider);
        let kvshoot = proxy.kvshoot(&provider);
        let kvshoot = kvshoot.file("shoot.yaml", &shoot.manifest());
        Wire {
            provider,
            proxy,
            kvshoot,
        }
    }

    fn run(&self, line: &str) -> Output {
        self.kvshoot.start(line).end(LIMIT)
    }

    /// Under `script` apply does its work and delete takes it away; then the next fault may come.
    fn survives(&self, fault: &str, script: impl Fn(&Seen) -> Act + Clone + Send + Sync + 'static) {
        for (line, what) in [("apply -f shoot.yaml", 3), ("delete wire --yes", 0)] {
            self.proxy.script(script.clone());
            let begun = Instant::now();
            let output = self.run(line);
            println!("{fault}: {line}: {:.1?}", begun.elapsed());
            assert_eq!(output.code, 0, "{fault}: {line}\n{output}");
            assert_eq!(self.provider.names(provider::VM).len(), what, "{fault}");
            assert_pairs(&self.provider);
        }
        assert_eq!(there(&self.provider), Vec::<String>::new(), "{fault}");
    }
}

/// One in three writes of each kind, the lease's too. A question about rights meets no conflict.
fn is_struck(seen: &Seen, act: Act) -> bool {
    let is_read = matches!(seen.verb, "get" | "list" | "watch");
    let is_question = seen.resource.contains("rulesreviews");
    !is_read && seen.nth % 3 == 1 && !(is_question && act == Act::Answer(409, None))
}

#[test]
fn errors_that_pass_are_outlived_and_nothing_is_made_twice() {
    let wire = Wire::new(&Small::new("wire"));
    for (fault, act) in [
        ("429", Act::Answer(429, Some(1))),
        ("500", Act::Answer(500, None)),
        ("503", Act::Answer(503, Some(1))),
        ("409", Act::Answer(409, None)),
        ("reset", Act::Reset { forwarded: false }),
        ("reset after", Act::Reset { forwarded: true }),
        ("delay", Act::Delay(Duration::from_millis(700))),
    ] {
        wire.survives(fault, move |seen| match is_struck(seen, act) {
            true => act,
            false => Act::Forward,
        });
    }
}

#[test]
fn an_answer_that_never_comes_is_waited_for_ten_seconds_and_not_for_ever() {
    let wire = Wire::new(&Small::new("wire"));
    for forwarded in [false, true] {
        // The first of each kind: record, network, volume, secret, machine.
        wire.survives("swallowed", move |seen| {
            match seen.write > 0 && seen.verb == "create" && seen.nth == 1 {
                true => Act::Swallow { forwarded },
                false => Act::Forward,
            }
        });
    }
}

#[test]
fn reads_that_fail_are_asked_again() {
    let wire = Wire::new(&Small::new("wire"));
    for act in [
        Act::Answer(429, Some(1)),
        Act::Answer(500, None),
        Act::Reset { forwarded: false },
    ] {
        wire.survives("read", move |seen| {
            let is_read = matches!(seen.verb, "get" | "list" | "watch");
            match is_read && seen.nth == 1 {
                true => act,
                false => Act::Forward,
            }
        });
    }
}

#[test]
fn watches_that_end_or_are_too_old_miss_nothing() {
    let wire = Wire::new(&Small::new("wire"));
    for act in [Act::Answer(410, None), Act::Expired] {
        wire.survives("410", move |seen| {
            match seen.verb == "watch" && seen.nth % 2 == 1 {
                true => act,
                false => Act::Forward,
            }
        });
    }
    // Ended again and again while machines come.
    let proxy = &wire.proxy;
    proxy.calm();
    let mut running = wire.kvshoot.start("apply -f shoot.yaml");
    let output = std::thread::scope(|scope| {
        let ended = scope.spawn(|| running.end(LIMIT));
        while !ended.is_finished() {
            proxy.cut_watches();
            std::thread::sleep(Duration::from_millis(150));
        }
        ended.join().unwrap()
    });
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(wire.provider.names(provider::VM).len(), 3);
}

#[test]
fn an_api_server_that_is_away_for_twenty_seconds_is_waited_for() {
    let wire = Wire::new(&Small::new("wire"));
    wire.proxy.calm();
    let mut running = wire.kvshoot.start("apply -f shoot.yaml");
    wait_until(|| wire.proxy.writes().iter().any(|it| it.resource == VMS));
    wire.proxy.go_away();
    std::thread::sleep(Duration::from_secs(20));
    wire.proxy.come_back(&wire.provider);
    let output = running.end(LIMIT);
    assert_eq!(output.code, 0, "{output}");
    assert!(
        output.err.contains("the API server answers again"),
        "{output}"
    );
    assert_eq!(wire.provider.names(provider::VM).len(), 3);
    assert_pairs(&wire.provider);
    let made = wire.proxy.writes();
    let mut names = HashSet::new();
    for it in made.iter().filter(|it| it.verb == "create") {
        // What was on its way when the server went is sent again, and no third time.
        let first = names.insert((&it.resource, &it.name));
        assert!(first || it.resource == VMS, "{it:?} twice");
    }
}

#[test]
fn what_is_refused_is_not_sent_for_every_machine() {
    let many = Small {
        pools: vec![("many", 30)],
        ..Small::new("wire")
    };
    let wire = Wire::new(&many);
    for (code, exit) in [(422, 9), (403, 8)] {
        wire.proxy
            .script(move |seen| match seen.resource == VMS && seen.write > 0 {
                true => Act::Answer(code, None),
                false => Act::Forward,
            });
        let output = wire.run("apply -f shoot.yaml");
        assert_eq!(output.code, exit, "{output}");
        assert!(output.err.contains("made up by the proxy"), "{output}");
        let sent = wire.proxy.writes();
        let sent = sent.iter().filter(|it| it.resource == VMS).count();
        println!("{code}: sent {sent} times for 30 machines");
        assert!((1..=3).contains(&sent), "sent {sent} times\n{output}");
    }
}

#[test]
fn a_server_that_says_nothing_any_more_hangs_no_run() {
    let wire = Wire::new(&Small::new("wire"));
    let limit = Duration::from_secs(35);
    // At once, in the middle, and while machines start.
    for after in [0, 1, 6] {
        wire.proxy.calm();
        wire.proxy.freeze(after == 0);
        let begun = Instant::now();
        let mut running = wire.kvshoot.start("apply -f shoot.yaml --timeout 20s");
        if after > 0 {
            wait_until(|| wire.proxy.writes().len() >= after);
            wire.proxy.freeze(true);
        }
        let output = running.end(limit.saturating_sub(begun.elapsed()));
        println!(
            "frozen after {after} writes: {:.1?}\n{output}",
            begun.elapsed()
        );
        assert_eq!(output.code, 124, "{output}");
        let says_why = [
            "does not answer",
            "no answer within",
            "cannot look",
            "could not be renewed",
            "no answer from",
        ];
        assert!(
            says_why.iter().any(|it| output.err.contains(it)),
            "{output}"
        );
        wire.proxy.freeze(false);
    }
}
