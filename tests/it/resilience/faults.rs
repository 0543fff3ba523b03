//! Network faults: runs survive them, create nothing twice, and report the reason if they fail.

use crate::support::kvshoot::{Kvshoot, Output};
use crate::support::provider::{self, Provider};
use crate::support::proxy::{Proxy, Reaction, RecordedRequest, wait_until};
use crate::support::small_shoots::{Small, assert_user_data, inventory};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(240);
const VMS: &str = "virtualmachines.kubevirt.io";

/// One shoot for all faults, because creating its control plane takes longer than the tests.
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

    /// Asserts that machines are created and deleted despite the faults of `script`.
    fn assert_survives(
        &self,
        fault: &str,
        script: impl Fn(&RecordedRequest) -> Reaction + Clone + Send + Sync + 'static,
    ) {
        for (line, machines) in [("apply -f more.yaml", MORE), ("apply -f less.yaml", LESS)] {
            self.proxy.script(script.clone());
            let start = Instant::now();
            let output = self.run(line);
            println!("{fault}: {line}: {:.1?}", start.elapsed());
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
fn runs_survive_network_faults_and_create_nothing_twice() {
    let wire = Wire::new();
    a_first_apply_succeeds_although_every_third_write_fails(&wire);
    runs_survive_a_mixture_of_errors(&wire);
    requests_without_a_response_time_out_and_are_retried(&wire, &[true]);
    closed_and_expired_watches_miss_nothing(&wire, &[Reaction::Expired]);
    a_rejected_request_is_not_repeated_for_every_machine(&wire);
    delete_succeeds_although_every_third_write_fails(&wire);
}

#[test]
#[ignore = "second tier: each fault on its own, and an API server that does not respond; the first tier mixes faults, unit tests of the flow retry and time out"]
fn runs_survive_each_network_fault_and_create_nothing_twice() {
    let wire = Wire::new();
    a_first_apply_succeeds_although_every_third_write_fails(&wire);
    runs_survive_transient_errors(&wire);
    requests_without_a_response_time_out_and_are_retried(&wire, &[false, true]);
    failed_reads_are_retried(&wire);
    let expired = [Reaction::Answer(410, None), Reaction::Expired];
    closed_and_expired_watches_miss_nothing(&wire, &expired);
    a_run_waits_for_an_api_server_that_is_down_for_twenty_seconds(&wire);
    // At the start, during the writes, and while machines start.
    a_run_times_out_if_the_api_server_stops_responding(&wire, &[0, 1, 3]);
    delete_succeeds_although_every_third_write_fails(&wire);
}

fn a_first_apply_succeeds_although_every_third_write_fails(wire: &Wire) {
    let reaction = Reaction::Answer(503, Some(1));
    wire.proxy
        .script(move |request| match is_affected(request, reaction) {
            true => reaction,
            false => Reaction::Forward,
        });
    let output = wire.run("apply -f less.yaml");
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(wire.machines(), LESS);
    assert_user_data(&wire.provider);
}

fn delete_succeeds_although_every_third_write_fails(wire: &Wire) {
    let reaction = Reaction::Answer(500, None);
    wire.proxy
        .script(move |request| match is_affected(request, reaction) {
            true => reaction,
            false => Reaction::Forward,
        });
    let output = wire.run("delete wire --yes");
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(inventory(&wire.provider), Vec::<String>::new());
}

/// Returns true for one of three writes of each kind, including leases. Access reviews get no conflicts.
fn is_affected(request: &RecordedRequest, reaction: Reaction) -> bool {
    let is_read = matches!(request.verb, "get" | "list" | "watch");
    let reviews = ["rulesreviews", "accessreviews"];
    let is_access_review = reviews.iter().any(|it| request.resource.contains(it));
    !is_read
        && request.nth % 3 == 1
        && !(is_access_review && reaction == Reaction::Answer(409, None))
}

/// Transient errors of writes.
const ERRORS: [(&str, Reaction); 7] = [
    ("429", Reaction::Answer(429, Some(1))),
    ("500", Reaction::Answer(500, None)),
    ("503", Reaction::Answer(503, Some(1))),
    ("409", Reaction::Answer(409, None)),
    ("reset", Reaction::Reset { forwarded: false }),
    ("reset after", Reaction::Reset { forwarded: true }),
    ("delay", Reaction::Delay(Duration::from_millis(700))),
];

/// The affected writes of a run fail one after the other with each error, and the first read of each kind fails.
fn runs_survive_a_mixture_of_errors(wire: &Wire) {
    let next = Arc::new(AtomicUsize::new(0));
    wire.assert_survives("mixture", move |request| {
        let is_read = matches!(request.verb, "get" | "list" | "watch");
        if is_read && request.nth == 1 {
            return Reaction::Answer(500, None);
        }
        // One of the errors is a conflict.
        if !is_affected(request, Reaction::Answer(409, None)) {
            return Reaction::Forward;
        }
        ERRORS[next.fetch_add(1, Ordering::Relaxed) % ERRORS.len()].1
    });
}

fn runs_survive_transient_errors(wire: &Wire) {
    for (fault, reaction) in ERRORS {
        wire.assert_survives(fault, move |request| match is_affected(request, reaction) {
            true => reaction,
            false => Reaction::Forward,
        });
    }
}

fn requests_without_a_response_time_out_and_are_retried(wire: &Wire, cases: &[bool]) {
    for &forwarded in cases {
        // The first create of each kind.
        wire.assert_survives("swallowed", move |request| {
            match request.write > 0 && request.verb == "create" && request.nth == 1 {
                true => Reaction::Swallow { forwarded },
                false => Reaction::Forward,
            }
        });
    }
}

fn failed_reads_are_retried(wire: &Wire) {
    for reaction in [
        Reaction::Answer(429, Some(1)),
        Reaction::Answer(500, None),
        Reaction::Reset { forwarded: false },
    ] {
        wire.assert_survives("read", move |request| {
            let is_read = matches!(request.verb, "get" | "list" | "watch");
            match is_read && request.nth == 1 {
                true => reaction,
                false => Reaction::Forward,
            }
        });
    }
}

fn closed_and_expired_watches_miss_nothing(wire: &Wire, reactions: &[Reaction]) {
    for &reaction in reactions {
        wire.assert_survives("410", move |request| {
            match request.verb == "watch" && request.nth % 2 == 1 {
                true => reaction,
                false => Reaction::Forward,
            }
        });
    }
    // Watches are closed continuously while machines are created.
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

fn a_run_waits_for_an_api_server_that_is_down_for_twenty_seconds(wire: &Wire) {
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
    let writes = wire.proxy.writes();
    let mut names = HashSet::new();
    for it in writes.iter().filter(|it| it.verb == "create") {
        // Only a create that was in progress at the shutdown is sent a second time.
        let first = names.insert((&it.resource, &it.name));
        assert!(first || it.resource == VMS, "{it:?} twice");
    }
    wire.proxy.forward_all();
    assert_eq!(wire.run("apply -f less.yaml").code, 0);
}

fn a_rejected_request_is_not_repeated_for_every_machine(wire: &Wire) {
    for (code, exit) in [(422, 9), (403, 8)] {
        wire.proxy
            .script(move |request| match is_machine_create(request) {
                true => Reaction::Answer(code, None),
                false => Reaction::Forward,
            });
        let output = wire.run("apply -f many.yaml");
        assert_eq!(output.code, exit, "{output}");
        assert!(output.err.contains("injected by the proxy"), "{output}");
        let sent = wire.proxy.writes();
        let sent = sent.iter().filter(|it| is_machine_create(it)).count();
        println!("{code}: sent {sent} times for 30 machines");
        assert!((1..=3).contains(&sent), "sent {sent} times\n{output}");
    }
    wire.proxy.forward_all();
    assert_eq!(wire.run("apply -f less.yaml").code, 0);
}

fn is_machine_create(request: &RecordedRequest) -> bool {
    request.resource == VMS && request.verb == "create"
}

/// The API server stops after this number of writes.
fn a_run_times_out_if_the_api_server_stops_responding(wire: &Wire, cases: &[usize]) {
    let limit = Duration::from_secs(45);
    for &after in cases {
        wire.proxy.forward_all();
        wire.proxy.freeze(after == 0);
        let start = Instant::now();
        let mut running = wire.kvshoot.start("apply -f more.yaml --timeout 20s");
        if after > 0 {
            wait_until(|| wire.proxy.writes().len() >= after);
            wire.proxy.freeze(true);
        }
        let output = running.wait_at_most(limit.saturating_sub(start.elapsed()));
        println!(
            "frozen after {after} writes: {:.1?}\n{output}",
            start.elapsed()
        );
        assert_eq!(output.code, 124, "{output}");
        let reasons = [
            "has not answered for",
            "did not answer in time",
            "cannot observe",
            "no response within",
            "observation failing for",
            "was not renewed in time",
            "connection to",
        ];
        assert!(reasons.iter().any(|it| output.err.contains(it)), "{output}");
        wire.proxy.freeze(false);
        wire.proxy.forward_all();
        assert_eq!(wire.run("apply -f less.yaml").code, 0);
    }
}
