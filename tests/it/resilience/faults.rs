//! Trouble on the wire: the run survives it, makes nothing twice, and says what is the matter when it cannot go on.

use crate::support::kvshoot::{Kvshoot, Output};
use crate::support::provider::{self, Provider};
use crate::support::proxy::{Proxy, Reaction, RecordedRequest, wait_until};
use crate::support::small_shoots::{Small, assert_user_data, inventory};
use std::collections::HashSet;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(240);
const VMS: &str = "virtualmachines.kubevirt.io";

/// One shoot for all of it, since its control plane takes longer than what is tried here.
struct Wire {
    provider: Provider,
    proxy: Proxy,
    kvshoot: Kvshoot,
}

/// Machines in `less.yaml` and in `more.yaml`.
const LESS: usize = 2;
const MORE: usize = 4;

fn shoot(pools: Vec<(&'static str, usize)>) -> String {
    let shoot = Small {
        pools,
        ..Small::new("wire")
    };
    shoot.manifest()
}

impl Wire {
    fn new() -> Wire {
        let provider = Provider::new();
        let proxy = Proxy::new(&provider);
        let kvshoot = proxy.kvshoot(&provider);
        let kvshoot = kvshoot
            .file("less.yaml", &shoot(vec![("one", LESS)]))
            .file("more.yaml", &shoot(vec![("one", MORE)]))
            .file("many.yaml", &shoot(vec![("one", LESS), ("many", 30)]));
        Wire {
            provider,
            proxy,
            kvshoot,
        }
    }

    fn run(&self, line: &str) -> Output {
        self.kvshoot.start(line).wait_at_most(LIMIT)
    }

    /// Under `script` machines come and go; then the next fault may come.
    fn survives(
        &self,
        fault: &str,
        script: impl Fn(&RecordedRequest) -> Reaction + Clone + Send + Sync + 'static,
    ) {
        for (line, machines) in [("apply -f more.yaml", MORE), ("apply -f less.yaml", LESS)] {
            self.proxy.script(script.clone());
            let begun = Instant::now();
            let output = self.run(line);
            println!("{fault}: {line}: {:.1?}", begun.elapsed());
            assert_eq!(output.code, 0, "{fault}: {line}\n{output}");
            assert_eq!(self.machines(), machines, "{fault}");
            assert_user_data(&self.provider);
        }
    }

    fn machines(&self) -> usize {
        self.provider.names(provider::VM).len()
    }
}

#[test]
fn trouble_on_the_wire_is_outlived_and_nothing_is_made_twice() {
    let wire = Wire::new();
    a_first_apply_goes_through_although_every_third_write_fails(&wire);
    errors_that_pass_are_outlived(&wire);
    an_answer_that_never_comes_is_waited_for_ten_seconds_and_not_for_ever(&wire);
    reads_that_fail_are_asked_again(&wire);
    watches_that_end_or_are_too_old_miss_nothing(&wire);
    an_api_server_that_is_away_for_twenty_seconds_is_waited_for(&wire);
    what_is_refused_is_not_sent_for_every_machine(&wire);
    a_server_that_says_nothing_any_more_hangs_no_run(&wire);
    a_delete_goes_through_although_every_third_write_fails(&wire);
}

fn a_first_apply_goes_through_although_every_third_write_fails(wire: &Wire) {
    let act = Reaction::Answer(503, Some(1));
    wire.proxy.script(move |seen| match is_struck(seen, act) {
        true => act,
        false => Reaction::Forward,
    });
    let output = wire.run("apply -f less.yaml");
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(wire.machines(), LESS);
    assert_user_data(&wire.provider);
}

fn a_delete_goes_through_although_every_third_write_fails(wire: &Wire) {
    let act = Reaction::Answer(500, None);
    wire.proxy.script(move |seen| match is_struck(seen, act) {
        true => act,
        false => Reaction::Forward,
    });
    let output = wire.run("delete wire --yes");
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(inventory(&wire.provider), Vec::<String>::new());
}

/// One in three writes of each kind, the lease's too. A question about rights meets no conflict.
fn is_struck(seen: &RecordedRequest, act: Reaction) -> bool {
    let is_read = matches!(seen.verb, "get" | "list" | "watch");
    let is_question = seen.resource.contains("rulesreviews");
    !is_read && seen.nth % 3 == 1 && !(is_question && act == Reaction::Answer(409, None))
}

fn errors_that_pass_are_outlived(wire: &Wire) {
    for (fault, act) in [
        ("429", Reaction::Answer(429, Some(1))),
        ("500", Reaction::Answer(500, None)),
        ("503", Reaction::Answer(503, Some(1))),
        ("409", Reaction::Answer(409, None)),
        ("reset", Reaction::Reset { forwarded: false }),
        ("reset after", Reaction::Reset { forwarded: true }),
        ("delay", Reaction::Delay(Duration::from_millis(700))),
    ] {
        wire.survives(fault, move |seen| match is_struck(seen, act) {
            true => act,
            false => Reaction::Forward,
        });
    }
}

fn an_answer_that_never_comes_is_waited_for_ten_seconds_and_not_for_ever(wire: &Wire) {
    for forwarded in [false, true] {
        // The first of each kind: secret, machine.
        wire.survives("swallowed", move |seen| {
            match seen.write > 0 && seen.verb == "create" && seen.nth == 1 {
                true => Reaction::Swallow { forwarded },
                false => Reaction::Forward,
            }
        });
    }
}

fn reads_that_fail_are_asked_again(wire: &Wire) {
    for act in [
        Reaction::Answer(429, Some(1)),
        Reaction::Answer(500, None),
        Reaction::Reset { forwarded: false },
    ] {
        wire.survives("read", move |seen| {
            let is_read = matches!(seen.verb, "get" | "list" | "watch");
            match is_read && seen.nth == 1 {
                true => act,
                false => Reaction::Forward,
            }
        });
    }
}

fn watches_that_end_or_are_too_old_miss_nothing(wire: &Wire) {
    for act in [Reaction::Answer(410, None), Reaction::Expired] {
        wire.survives("410", move |seen| {
            match seen.verb == "watch" && seen.nth % 2 == 1 {
                true => act,
                false => Reaction::Forward,
            }
        });
    }
    // Ended again and again while machines come.
    let proxy = &wire.proxy;
    proxy.forward_all();
    let mut running = wire.kvshoot.start("apply -f more.yaml");
    let output = std::thread::scope(|scope| {
        let ended = scope.spawn(|| running.wait_at_most(LIMIT));
        while !ended.is_finished() {
            proxy.cut_watches();
            std::thread::sleep(Duration::from_millis(150));
        }
        ended.join().unwrap()
    });
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(wire.machines(), MORE);
    proxy.forward_all();
    assert_eq!(wire.run("apply -f less.yaml").code, 0);
}

fn an_api_server_that_is_away_for_twenty_seconds_is_waited_for(wire: &Wire) {
    wire.proxy.forward_all();
    let mut running = wire.kvshoot.start("apply -f more.yaml");
    wait_until(|| wire.proxy.writes().iter().any(|it| it.resource == VMS));
    wire.proxy.shut_down();
    std::thread::sleep(Duration::from_secs(20));
    wire.proxy.restart(&wire.provider);
    let output = running.wait_at_most(LIMIT);
    assert_eq!(output.code, 0, "{output}");
    assert!(
        output.err.contains("the API server answers again"),
        "{output}"
    );
    assert_eq!(wire.machines(), MORE);
    assert_user_data(&wire.provider);
    let made = wire.proxy.writes();
    let mut names = HashSet::new();
    for it in made.iter().filter(|it| it.verb == "create") {
        // What was on its way when the server went is sent again, and no third time.
        let first = names.insert((&it.resource, &it.name));
        assert!(first || it.resource == VMS, "{it:?} twice");
    }
    wire.proxy.forward_all();
    assert_eq!(wire.run("apply -f less.yaml").code, 0);
}

fn what_is_refused_is_not_sent_for_every_machine(wire: &Wire) {
    for (code, exit) in [(422, 9), (403, 8)] {
        wire.proxy.script(move |seen| match is_made(seen) {
            true => Reaction::Answer(code, None),
            false => Reaction::Forward,
        });
        let output = wire.run("apply -f many.yaml");
        assert_eq!(output.code, exit, "{output}");
        assert!(output.err.contains("made up by the proxy"), "{output}");
        let sent = wire.proxy.writes();
        let sent = sent.iter().filter(|it| is_made(it)).count();
        println!("{code}: sent {sent} times for 30 machines");
        assert!((1..=3).contains(&sent), "sent {sent} times\n{output}");
    }
    wire.proxy.forward_all();
    assert_eq!(wire.run("apply -f less.yaml").code, 0);
}

fn is_made(seen: &RecordedRequest) -> bool {
    seen.resource == VMS && seen.verb == "create"
}

fn a_server_that_says_nothing_any_more_hangs_no_run(wire: &Wire) {
    let limit = Duration::from_secs(45);
    // At once, in the middle, and while machines start.
    for after in [0, 1, 3] {
        wire.proxy.forward_all();
        wire.proxy.freeze(after == 0);
        let begun = Instant::now();
        let mut running = wire.kvshoot.start("apply -f more.yaml --timeout 20s");
        if after > 0 {
            wait_until(|| wire.proxy.writes().len() >= after);
            wire.proxy.freeze(true);
        }
        let output = running.wait_at_most(limit.saturating_sub(begun.elapsed()));
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
        wire.proxy.forward_all();
        assert_eq!(wire.run("apply -f less.yaml").code, 0);
    }
}
