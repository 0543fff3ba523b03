//! One run a shoot at a time, however the runs come together and however they end.

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
/// Sooner than the lock would be free by itself.
const SOON: Duration = Duration::from_secs(15);
const VMS: &str = "virtualmachines.kubevirt.io";
const LEASE: &str = "shoot--local--held";

/// One shoot for all of it, since its control plane takes longer than what is tried here.
struct Locked {
    provider: Provider,
    proxy: Proxy,
    /// By way of the proxy.
    kvshoot: Kvshoot,
    /// How many machines the last manifest has in its first pool.
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

    /// The same, past the proxy.
    fn other(&self) -> Kvshoot {
        let manifest = shoot(self.size).manifest();
        self.provider.kvshoot().file("shoot.yaml", &manifest)
    }

    /// Two machines more are wanted from now on, so that there is something to do.
    fn grow(&mut self) {
        self.size += 2;
        let path = self.kvshoot.home().join("shoot.yaml");
        std::fs::write(path, shoot(self.size).manifest()).unwrap();
    }

    /// Grows until the first machine is asked for, whose answer takes its time.
    fn apply_to_the_first_machine(&mut self, act: Reaction) -> Running {
        self.grow();
        self.proxy
            .script(move |seen| match is_made(seen) && seen.nth == 1 {
                true => act,
                false => Reaction::Forward,
            });
        let running = self.kvshoot.start("apply -f shoot.yaml");
        wait_until(|| self.made() > 0);
        running
    }

    /// Machines that were asked for.
    fn made(&self) -> usize {
        self.proxy.writes().iter().filter(|it| is_made(it)).count()
    }

    fn machines(&self) -> usize {
        self.provider.names(provider::VM).len()
    }

    fn holder(&self) -> String {
        let lease = self.provider.get(provider::LEASE, LEASE).unwrap();
        let holder = lease.data["spec"]["holderIdentity"].as_str();
        holder.unwrap_or_default().to_owned()
    }

    /// The next apply has nothing in its way and does the rest.
    fn goes_on(&self) {
        self.proxy.forward_all();
        let output = self.other().run("apply -f shoot.yaml");
        assert_eq!(output.code, 0, "{output}");
        assert_eq!(self.machines(), self.size);
        assert_user_data(&self.provider);
    }
}

fn is_made(seen: &RecordedRequest) -> bool {
    seen.resource == VMS && seen.verb == "create"
}

/// One after the other, on one shoot.
#[test]
fn one_run_at_a_time_however_they_come_together_and_end() {
    let mut locked = Locked::new();
    of_many_applies_at_once_one_does_the_work(&locked);
    of_two_applies_one_wins_and_the_other_names_it_or_waits(&mut locked);
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        a_signal_ends_a_run_gently_and_the_lock_is_free(&mut locked, signal, code);
    }
    a_signal_is_heard_although_no_answer_comes(&mut locked);
    a_second_signal_leaves_at_once(&mut locked);
    who_waits_for_the_lock_can_be_interrupted(&mut locked);
    nobody_reading_is_no_reason_to_stop_half_way(&mut locked);
    a_run_that_slept_while_another_took_over_writes_nothing_more(&mut locked);
    a_delete_that_is_interrupted_leaves_the_lock_free_and_goes_on(&locked);
}

fn of_two_applies_one_wins_and_the_other_names_it_or_waits(locked: &mut Locked) {
    let mut first = locked.apply_to_the_first_machine(Reaction::Delay(Duration::from_secs(4)));
    let holder = locked.holder();
    assert!(holder.contains("run "), "{holder}");
    let second = locked.other().run("apply -f shoot.yaml");
    assert_eq!(second.code, 6, "{second}");
    assert!(second.err.contains(&holder), "{second}");
    assert!(second.err.contains("--lock-timeout"), "{second}");
    let third = locked.other().run("apply -f shoot.yaml --lock-timeout 3m");
    assert_eq!(third.code, 0, "{third}");
    assert!(third.out.ends_with(" unchanged\n"), "{third}");
    let first = first.wait_at_most(LIMIT);
    assert_eq!(first.code, 0, "{first}");
    assert_eq!(locked.holder(), "");
}

fn of_many_applies_at_once_one_does_the_work(locked: &Locked) {
    let homes: Vec<Kvshoot> = (0..6).map(|_| locked.other()).collect();
    let runs = homes.iter();
    let mut runs: Vec<Running> = runs
        .map(|it| it.start("apply -f shoot.yaml --lock-timeout 3m"))
        .collect();
    let outputs: Vec<_> = runs.iter_mut().map(|it| it.wait_at_most(LIMIT)).collect();
    let said = |text: &str| outputs.iter().filter(|it| it.out.ends_with(text)).count();
    assert!(outputs.iter().all(|it| it.code == 0), "{outputs:?}");
    assert_eq!((said(" created\n"), said(" unchanged\n")), (1, 5));
    assert_user_data(&locked.provider);
}

fn a_run_that_slept_while_another_took_over_writes_nothing_more(locked: &mut Locked) {
    locked.grow();
    // Asleep before any machine is made.
    locked.proxy.script(|seen| match seen.write == 2 {
        true => Reaction::Delay(Duration::from_secs(1)),
        false => Reaction::Forward,
    });
    let mut sleeper = locked.kvshoot.start("apply -f shoot.yaml");
    wait_until(|| locked.proxy.writes().len() >= 2);
    sleeper.signal(Signal::STOP);
    let sent = locked.proxy.writes().len();
    // What the other wants is not what the sleeper does, so that this one has plenty to do when it wakes.
    let more = Small {
        pools: vec![("one", locked.size), ("three", 2)],
        ..Small::new("held")
    };
    let other = locked.provider.kvshoot();
    let other = other.file("shoot.yaml", &more.manifest());
    let other = other.run("apply -f shoot.yaml --lock-timeout 3m");
    assert_eq!(other.code, 0, "{other}");
    let wanted = inventory(&locked.provider);
    sleeper.signal(Signal::CONT);
    let output = sleeper.wait_at_most(LIMIT);
    assert_eq!(output.code, 5, "{output}");
    assert!(output.err.contains("was lost"), "{output}");
    let more = locked.proxy.writes().split_off(sent);
    assert_eq!(more, [], "{output}");
    assert_eq!(inventory(&locked.provider), wanted);
    assert_user_data(&locked.provider);
}

fn a_signal_ends_a_run_gently_and_the_lock_is_free(locked: &mut Locked, signal: Signal, code: i32) {
    let before = locked.machines();
    let mut running = locked.apply_to_the_first_machine(Reaction::Delay(Duration::from_secs(2)));
    running.signal(signal);
    let output = running.wait_at_most(SOON);
    assert_eq!(output.code, code, "{output}");
    let command = "kvshoot apply -f shoot.yaml";
    assert!(output.err.contains(command), "{output}");
    assert_eq!(locked.holder(), "", "{output}");
    // What was on its way was waited for, and nothing was begun after.
    let made = locked.machines() - before;
    assert!(made > 0, "{output}");
    assert_eq!(made, locked.made(), "{output}");
    locked.goes_on();
}

fn a_signal_is_heard_although_no_answer_comes(locked: &mut Locked) {
    let mut running = locked.apply_to_the_first_machine(Reaction::Swallow { forwarded: true });
    running.signal(Signal::INT);
    let output = running.wait_at_most(SOON);
    assert_eq!(output.code, 130, "{output}");
    assert_eq!(locked.holder(), "", "{output}");
    locked.goes_on();
}

fn a_second_signal_leaves_at_once(locked: &mut Locked) {
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
    locked.goes_on();
}

fn who_waits_for_the_lock_can_be_interrupted(locked: &mut Locked) {
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

fn a_delete_that_is_interrupted_leaves_the_lock_free_and_goes_on(locked: &Locked) {
    locked.proxy.script(|seen| match seen.write == 2 {
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

fn nobody_reading_is_no_reason_to_stop_half_way(locked: &mut Locked) {
    locked.grow();
    let program = Path::new(env!("CARGO_BIN_EXE_kvshoot"));
    let mut command = locked
        .other()
        .command(program, ["apply", "-f", "shoot.yaml"]);
    let other = locked.other();
    command.current_dir(other.home());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    // As `head -1` does.
    let mut line = String::new();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    said.read_line(&mut line).unwrap();
    drop(said);
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(0), "after `{line}`");
    assert_eq!(locked.holder(), "");
    assert_eq!(locked.machines(), locked.size);
}
