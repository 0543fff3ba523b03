//! One run a shoot at a time, however the runs come together and however they end.

use crate::kvshoot::Kvshoot;
use crate::provider::{self, Provider};
use crate::proxy::{Act, Proxy, wait_until};
use crate::running::Running;
use crate::small::{Small, assert_pairs, there};
use rustix::process::Signal;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);
const VMS: &str = "virtualmachines.kubevirt.io";
const LEASE: &str = "shoot--local--held";

struct Locked {
    provider: Provider,
    proxy: Proxy,
    /// By way of the proxy.
    kvshoot: Kvshoot,
}

impl Locked {
    fn new() -> Locked {
        let provider = Provider::new();
        let proxy = Proxy::new(&provider);
        let shoot = Small::new("held").manifest();
        let kvshoot = proxy.kvshoot(&provider).file("shoot.yaml", &shoot);
        Locked {
            provider,
            proxy,
            kvshoot,
        }
    }

    /// The same, past the proxy.
    fn other(&self) -> Kvshoot {
        let shoot = Small::new("held").manifest();
        self.provider.kvshoot().file("shoot.yaml", &shoot)
    }

    /// Applies until the first machine is asked for, whose answer takes its time.
    fn apply_to_the_first_machine(&self, act: Act) -> Running {
        self.proxy.script(move |seen| {
            match seen.resource == VMS && seen.write > 0 && seen.nth == 1 {
                true => act,
                false => Act::Forward,
            }
        });
        let running = self.kvshoot.start("apply -f shoot.yaml");
        self.is_at_machines();
        running
    }

    fn is_at_machines(&self) {
        wait_until(|| self.proxy.writes().iter().any(|it| it.resource == VMS));
    }

    fn holder(&self) -> String {
        let lease = self.provider.get(provider::LEASE, LEASE).unwrap();
        let holder = lease.data["spec"]["holderIdentity"].as_str();
        holder.unwrap_or_default().to_owned()
    }

    /// The next apply has nothing in its way and does the rest.
    fn goes_on(&self) {
        let begun = Instant::now();
        let output = self.other().run("apply -f shoot.yaml");
        assert_eq!(output.code, 0, "{output}");
        assert!(begun.elapsed() < Duration::from_secs(12), "{output}");
        assert_eq!(self.provider.names(provider::VM).len(), 3);
        assert_pairs(&self.provider);
    }
}

#[test]
fn of_two_applies_one_wins_and_the_other_names_it_or_waits() {
    let locked = Locked::new();
    let mut first = locked.apply_to_the_first_machine(Act::Delay(Duration::from_secs(4)));
    let holder = locked.holder();
    assert!(holder.contains("run "), "{holder}");
    let second = locked.other().run("apply -f shoot.yaml");
    assert_eq!(second.code, 6, "{second}");
    assert!(second.err.contains(&holder), "{second}");
    assert!(second.err.contains("--lock-timeout"), "{second}");
    let third = locked.other().run("apply -f shoot.yaml --lock-timeout 60s");
    assert_eq!(third.code, 0, "{third}");
    assert!(third.out.ends_with(" unchanged\n"), "{third}");
    let first = first.end(LIMIT);
    assert_eq!(first.code, 0, "{first}");
    assert_eq!(locked.holder(), "");
}

#[test]
fn of_many_applies_at_once_one_does_the_work() {
    let locked = Locked::new();
    let homes: Vec<Kvshoot> = (0..6).map(|_| locked.other()).collect();
    let runs = homes.iter();
    let mut runs: Vec<Running> = runs
        .map(|it| it.start("apply -f shoot.yaml --lock-timeout 2m"))
        .collect();
    let outputs: Vec<_> = runs.iter_mut().map(|it| it.end(2 * LIMIT)).collect();
    let said = |text: &str| outputs.iter().filter(|it| it.out.ends_with(text)).count();
    assert!(outputs.iter().all(|it| it.code == 0), "{outputs:?}");
    assert_eq!((said(" created\n"), said(" unchanged\n")), (1, 5));
    assert_pairs(&locked.provider);
}

#[test]
fn a_run_that_slept_while_another_took_over_writes_nothing_more() {
    let locked = Locked::new();
    // Asleep before any machine is made.
    locked.proxy.script(|seen| match seen.write == 2 {
        true => Act::Delay(Duration::from_secs(1)),
        false => Act::Forward,
    });
    let mut sleeper = locked.kvshoot.start("apply -f shoot.yaml");
    wait_until(|| locked.proxy.writes().len() >= 2);
    sleeper.signal(Signal::STOP);
    let sent = locked.proxy.writes().len();
    // What the other wants is not what the sleeper does, so that this one has plenty to do when it wakes.
    let more = Small {
        pools: vec![("one", 1), ("three", 2)],
        ..Small::new("held")
    };
    let other = locked.provider.kvshoot();
    let other = other.file("shoot.yaml", &more.manifest());
    let other = other.run("apply -f shoot.yaml --lock-timeout 60s");
    assert_eq!(other.code, 0, "{other}");
    let wanted = there(&locked.provider);
    sleeper.signal(Signal::CONT);
    let output = sleeper.end(Duration::from_secs(15));
    assert_eq!(output.code, 5, "{output}");
    assert!(output.err.contains("was lost"), "{output}");
    let more = locked.proxy.writes().split_off(sent);
    assert_eq!(more, [], "{output}");
    assert_eq!(there(&locked.provider), wanted);
    assert_pairs(&locked.provider);
}

#[test]
fn a_signal_ends_a_run_gently_and_the_lock_is_free() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let locked = Locked::new();
        let mut running = locked.apply_to_the_first_machine(Act::Delay(Duration::from_secs(2)));
        running.signal(signal);
        let output = running.end(Duration::from_secs(10));
        assert_eq!(output.code, code, "{output}");
        let command = "kvshoot apply -f shoot.yaml";
        assert!(output.err.contains(command), "{output}");
        assert_eq!(locked.holder(), "", "{output}");
        // What was on its way was waited for, and nothing was begun after.
        assert!(!locked.provider.names(provider::VM).is_empty(), "{output}");
        let machines = locked.provider.names(provider::VM).len();
        let asked = locked.proxy.writes();
        let asked = asked.iter().filter(|it| it.resource == VMS).count();
        assert_eq!(machines, asked, "{output}");
        locked.goes_on();
    }
}

#[test]
fn a_signal_is_heard_although_no_answer_comes() {
    let locked = Locked::new();
    let mut running = locked.apply_to_the_first_machine(Act::Swallow { forwarded: true });
    running.signal(Signal::INT);
    let output = running.end(Duration::from_secs(13));
    assert_eq!(output.code, 130, "{output}");
    assert_eq!(locked.holder(), "", "{output}");
    locked.goes_on();
}

#[test]
fn a_second_signal_leaves_at_once() {
    let locked = Locked::new();
    let mut running = locked.apply_to_the_first_machine(Act::Swallow { forwarded: true });
    running.signal(Signal::INT);
    running.wait_for("nterrupt", LIMIT);
    running.signal(Signal::INT);
    let output = running.end(Duration::from_secs(2));
    assert_eq!(output.code, 130, "{output}");
    assert!(
        output.err.contains("kvshoot apply -f shoot.yaml"),
        "{output}"
    );
    locked.goes_on();
}

#[test]
fn who_waits_for_the_lock_can_be_interrupted() {
    let locked = Locked::new();
    let mut first = locked.apply_to_the_first_machine(Act::Delay(Duration::from_secs(5)));
    let holder = locked.holder();
    let other = locked.other();
    let mut waiting = other.start("apply -f shoot.yaml --lock-timeout 60s");
    waiting.wait_for(&holder, LIMIT);
    waiting.signal(Signal::INT);
    let output = waiting.end(Duration::from_secs(2));
    assert_eq!(output.code, 130, "{output}");
    assert!(output.err.contains("nothing was changed"), "{output}");
    assert_eq!(locked.holder(), holder);
    assert_eq!(first.end(LIMIT).code, 0);
}

#[test]
fn a_delete_that_is_interrupted_leaves_the_lock_free_and_goes_on() {
    let locked = Locked::new();
    locked.goes_on();
    locked.proxy.script(|seen| match seen.write == 2 {
        true => Act::Delay(Duration::from_secs(2)),
        false => Act::Forward,
    });
    let mut running = locked.kvshoot.start("delete held --yes");
    wait_until(|| locked.proxy.writes().len() >= 2);
    running.signal(Signal::INT);
    let output = running.end(Duration::from_secs(10));
    assert_eq!(output.code, 130, "{output}");
    assert!(output.err.contains("kvshoot delete held --yes"), "{output}");
    assert_eq!(locked.holder(), "", "{output}");
    let output = locked.other().run("delete held --yes");
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(there(&locked.provider), Vec::<String>::new());
    assert_eq!(locked.provider.names(provider::LEASE), Vec::<String>::new());
}

#[test]
fn nobody_reading_is_no_reason_to_stop_half_way() {
    let locked = Locked::new();
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
    assert_eq!(locked.provider.names(provider::VM).len(), 3);
}
