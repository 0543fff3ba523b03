//! The lock of a shoot: one run at a time, and its release at the end of each run.

use crate::support::kvshoot::Kvshoot;
use crate::support::process::Running;
use crate::support::provider::{self, Provider};
use crate::support::proxy::{Proxy, Reaction, RecordedRequest, wait_until};
use crate::support::small_shoots::{Small, assert_user_data, inventory};
use rustix::process::Signal;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(180);
/// Less than the time after which a lock expires.
const SOON: Duration = Duration::from_secs(15);
const VMS: &str = "virtualmachines.kubevirt.io";
const LEASE: &str = "shoot--local--held";

/// One shoot for all tests, because creating its control plane takes longer than the tests.
struct Locked {
    provider: Provider,
    proxy: Proxy,
    /// Connected through the proxy.
    kvshoot: Kvshoot,
    /// Number of machines in the first pool of the last manifest.
    size: usize,
}

fn shoot(size: usize) -> Small {
    Small {
        pools: vec![("one", size)],
        ..Small::new("held")
    }
}

impl Locked {
    fn new() -> Locked {
        let provider = Provider::new();
        let proxy = Proxy::new(&provider);
        let kvshoot = proxy.kvshoot(&provider);
        Locked {
            provider,
            proxy,
            kvshoot,
            size: 2,
        }
    }

    /// Another client, without the proxy.
    fn other(&self) -> Kvshoot {
        let manifest = shoot(self.size).manifest();
        self.provider.kvshoot().file("shoot.yaml", &manifest)
    }

    /// Adds two machines to the manifest.
    fn grow(&mut self) {
        self.size += 2;
        let path = self.kvshoot.home().join("shoot.yaml");
        std::fs::write(path, shoot(self.size).manifest()).unwrap();
    }

    /// Starts an apply of two more machines, and returns at the request for the first one, with `reaction`.
    fn apply_to_the_first_machine(&mut self, reaction: Reaction) -> Running {
        self.grow();
        self.proxy.script(
            move |request| match is_machine_create(request) && request.nth == 1 {
                true => reaction,
                false => Reaction::Forward,
            },
        );
        let running = self.kvshoot.start("apply -f shoot.yaml");
        wait_until(|| self.creates() > 0);
        running
    }

    /// Number of requests to create machines.
    fn creates(&self) -> usize {
        self.proxy
            .writes()
            .iter()
            .filter(|it| is_machine_create(it))
            .count()
    }

    fn machines(&self) -> usize {
        self.provider.names(provider::VM).len()
    }

    fn holder(&self) -> String {
        let lease = self.provider.get(provider::LEASE, LEASE).unwrap();
        let holder = lease.data["spec"]["holderIdentity"].as_str();
        holder.unwrap_or_default().to_owned()
    }

    /// Asserts what other commands say about the run.
    fn assert_operation(&self, operation: &str, run: &str, state: &str) {
        let list = self.other().run("list");
        assert!(list.out.contains(operation), "{list}");
        let status = self.other().run("status held");
        let line = status.out.lines().find(|it| it.contains("  run  "));
        let line = line.unwrap_or_else(|| panic!("{status}"));
        assert!(line.contains(run) && line.contains(state), "{status}");
        assert!(status.out.contains(operation), "{status}");
    }

    /// Asserts that the next apply succeeds and completes the shoot.
    fn assert_resumes(&self) {
        self.proxy.forward_all();
        let output = self.other().run("apply -f shoot.yaml");
        assert_eq!(output.code, 0, "{output}");
        assert_eq!(self.machines(), self.size);
        assert_user_data(&self.provider);
    }
}

fn is_machine_create(request: &RecordedRequest) -> bool {
    request.resource == VMS && request.verb == "create"
}

/// One after the other, on one shoot.
#[test]
fn only_one_run_at_a_time_changes_a_shoot() {
    let mut locked = Locked::new();
    one_of_many_concurrent_applies_creates_the_shoot(&locked);
    a_second_apply_fails_with_the_holder_of_the_lock_or_waits(&mut locked);
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        a_signal_interrupts_a_run_gracefully_and_releases_the_lock(&mut locked, signal, code);
    }
    a_signal_interrupts_a_run_that_waits_for_a_response(&mut locked);
    a_second_signal_exits_immediately(&mut locked);
    waiting_for_the_lock_can_be_interrupted(&mut locked);
    a_closed_stderr_does_not_stop_a_run(&mut locked);
    a_suspended_run_writes_nothing_after_another_one_took_over(&mut locked);
    an_interrupted_delete_releases_the_lock_and_can_be_resumed(&locked);
}

fn a_second_apply_fails_with_the_holder_of_the_lock_or_waits(locked: &mut Locked) {
    let mut first = locked.apply_to_the_first_machine(Reaction::Delay(Duration::from_secs(4)));
    let holder = locked.holder();
    assert!(holder.contains("run "), "{holder}");
    let second = locked.other().run("apply -f shoot.yaml");
    assert_eq!(second.code, 6, "{second}");
    assert!(second.err.contains(&holder), "{second}");
    assert!(second.err.contains("--lock-timeout"), "{second}");
    locked.assert_operation("Reconcile Processing", "apply by ", " in progress");
    let third = locked.other().run("apply -f shoot.yaml --lock-timeout 3m");
    assert_eq!(third.code, 0, "{third}");
    assert!(third.out.ends_with(" unchanged\n"), "{third}");
    let first = first.wait_at_most(LIMIT);
    assert_eq!(first.code, 0, "{first}");
    assert_eq!(locked.holder(), "");
}

fn one_of_many_concurrent_applies_creates_the_shoot(locked: &Locked) {
    let homes: Vec<Kvshoot> = (0..6).map(|_| locked.other()).collect();
    let runs = homes.iter();
    let mut runs: Vec<Running> = runs
        .map(|it| it.start("apply -f shoot.yaml --lock-timeout 3m"))
        .collect();
    let outputs: Vec<_> = runs.iter_mut().map(|it| it.wait_at_most(LIMIT)).collect();
    let count = |text: &str| outputs.iter().filter(|it| it.out.ends_with(text)).count();
    assert!(outputs.iter().all(|it| it.code == 0), "{outputs:?}");
    assert_eq!((count(" created\n"), count(" unchanged\n")), (1, 5));
    assert_user_data(&locked.provider);
}

fn a_suspended_run_writes_nothing_after_another_one_took_over(locked: &mut Locked) {
    locked.grow();
    // Suspended before it creates a machine.
    locked.proxy.script(|request| match request.write == 2 {
        true => Reaction::Delay(Duration::from_secs(1)),
        false => Reaction::Forward,
    });
    let mut suspended = locked.kvshoot.start("apply -f shoot.yaml");
    wait_until(|| locked.proxy.writes().len() >= 2);
    suspended.signal(Signal::STOP);
    let sent = locked.proxy.writes().len();
    // The other manifest differs, so that the suspended run would have many changes to make.
    let more = Small {
        pools: vec![("one", locked.size), ("three", 2)],
        ..Small::new("held")
    };
    let other = locked.provider.kvshoot();
    let other = other.file("shoot.yaml", &more.manifest());
    let other = other.run("apply -f shoot.yaml --lock-timeout 3m");
    assert_eq!(other.code, 0, "{other}");
    let wanted = inventory(&locked.provider);
    suspended.signal(Signal::CONT);
    let output = suspended.wait_at_most(LIMIT);
    assert_eq!(output.code, 5, "{output}");
    assert!(output.err.contains("was lost"), "{output}");
    let more = locked.proxy.writes().split_off(sent);
    assert_eq!(more, [], "{output}");
    assert_eq!(inventory(&locked.provider), wanted);
    assert_user_data(&locked.provider);
}

fn a_signal_interrupts_a_run_gracefully_and_releases_the_lock(
    locked: &mut Locked,
    signal: Signal,
    code: i32,
) {
    let before = locked.machines();
    let mut running = locked.apply_to_the_first_machine(Reaction::Delay(Duration::from_secs(2)));
    running.signal(signal);
    let output = running.wait_at_most(SOON);
    assert_eq!(output.code, code, "{output}");
    let command = "kvshoot apply -f shoot.yaml";
    assert!(output.err.contains(command), "{output}");
    assert_eq!(locked.holder(), "", "{output}");
    // The run waited for pending requests and started no others.
    let created = locked.machines() - before;
    assert!(created > 0, "{output}");
    assert_eq!(created, locked.creates(), "{output}");
    locked.assert_resumes();
}

fn a_signal_interrupts_a_run_that_waits_for_a_response(locked: &mut Locked) {
    let mut running = locked.apply_to_the_first_machine(Reaction::Swallow { forwarded: true });
    running.signal(Signal::INT);
    let output = running.wait_at_most(SOON);
    assert_eq!(output.code, 130, "{output}");
    assert_eq!(locked.holder(), "", "{output}");
    locked.assert_resumes();
}

fn a_second_signal_exits_immediately(locked: &mut Locked) {
    let mut running = locked.apply_to_the_first_machine(Reaction::Swallow { forwarded: true });
    running.signal(Signal::INT);
    running.wait_for("nterrupt", LIMIT);
    running.signal(Signal::INT);
    let output = running.wait_at_most(Duration::from_secs(5));
    assert_eq!(output.code, 130, "{output}");
    assert!(
        output.err.contains("kvshoot apply -f shoot.yaml"),
        "{output}"
    );
    locked.assert_operation("Reconcile Aborted", "apply by ", " was killed; ");
    locked.assert_resumes();
    let list = locked.other().run("list");
    assert!(list.out.contains(" Succeeded (100%)"), "{list}");
}

fn waiting_for_the_lock_can_be_interrupted(locked: &mut Locked) {
    let mut first = locked.apply_to_the_first_machine(Reaction::Delay(Duration::from_secs(5)));
    let holder = locked.holder();
    let other = locked.other();
    let mut waiting = other.start("apply -f shoot.yaml --lock-timeout 3m");
    waiting.wait_for(&holder, LIMIT);
    waiting.signal(Signal::INT);
    let output = waiting.wait_at_most(Duration::from_secs(5));
    assert_eq!(output.code, 130, "{output}");
    assert!(output.err.contains("nothing was changed"), "{output}");
    assert_eq!(locked.holder(), holder);
    assert_eq!(first.wait_at_most(LIMIT).code, 0);
}

fn an_interrupted_delete_releases_the_lock_and_can_be_resumed(locked: &Locked) {
    locked.proxy.script(|request| match request.write == 2 {
        true => Reaction::Delay(Duration::from_secs(2)),
        false => Reaction::Forward,
    });
    let mut running = locked.kvshoot.start("delete held --yes");
    wait_until(|| locked.proxy.writes().len() >= 2);
    running.signal(Signal::INT);
    let output = running.wait_at_most(SOON);
    assert_eq!(output.code, 130, "{output}");
    assert!(output.err.contains("kvshoot delete held --yes"), "{output}");
    assert_eq!(locked.holder(), "", "{output}");
    let output = locked.other().run("delete held --yes");
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(inventory(&locked.provider), Vec::<String>::new());
    assert_eq!(locked.provider.names(provider::LEASE), Vec::<String>::new());
}

fn a_closed_stderr_does_not_stop_a_run(locked: &mut Locked) {
    locked.grow();
    let program = Path::new(env!("CARGO_BIN_EXE_kvshoot"));
    let mut command = locked
        .other()
        .command(program, ["apply", "-f", "shoot.yaml"]);
    let other = locked.other();
    command.current_dir(other.home());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    // Reads one line and closes the pipe, like `head -1`.
    let mut line = String::new();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    stderr.read_line(&mut line).unwrap();
    drop(stderr);
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(0), "after `{line}`");
    assert_eq!(locked.holder(), "");
    assert_eq!(locked.machines(), locked.size);
}
