//! A cluster around one program: its exit code, its end, and that nothing is left whatever becomes of the run.

use crate::support::kvshoot::{Kvshoot, Output};
use crate::support::process::Running;
use crate::support::provider::{self, Provider, Resource};
use crate::support::proxy::{Phase, Proxy, Reaction};
use crate::support::shoots::Manifest;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(300);
const QUOTA: Resource = Resource("", "v1", "ResourceQuota");

/// A program in a home with a manifest, and with scripts for a run to run.
fn home(kvshoot: Kvshoot) -> Kvshoot {
    let own = env!("CARGO_BIN_EXE_kvshoot");
    let seen = format!(
        "stat -c %a $KUBECONFIG\n\
         echo $KUBECONFIG $KVSHOOT_NAME $KVSHOOT_NAMESPACE $KVSHOOT_API_SERVER\n\
         echo on stderr >&2\n\
         {own} wait $KVSHOOT_NAME --for=ready --timeout 1m >&2 && echo $KVSHOOT_NAME is ready\n"
    );
    kvshoot
        .file("shoot.yaml", &Manifest::small("job").text())
        .file("seen.sh", &seen)
        .file("seven.sh", "exit 7\n")
        .file("killed.sh", "kill -9 $$\n")
        // The shell stays, for the program is to be found by its process.
        .file("long.sh", "echo $$\nexec sleep 600\n")
        .file("deaf.sh", "trap '' INT\necho $$\nexec sleep 600\n")
}

fn start(kvshoot: &Kvshoot, flags: &str, script: &str) -> Running {
    kvshoot.start(&format!(
        "run -f shoot.yaml --generate-name {flags} -- sh {script}"
    ))
}

fn ended(mut running: Running, code: i32) -> Output {
    let output = running.wait_at_most(LIMIT);
    assert_eq!(output.code, code, "{output}");
    output
}

/// The process that a script has told of.
fn told(running: &mut Running) -> Pid {
    running.wait_for(" runs in it", LIMIT);
    let line = running.first_line(LIMIT);
    Pid::from_raw(line.parse().unwrap()).unwrap()
}

/// Three at once, which is also how many see each other's names.
#[test]
fn the_program_s_exit_code_comes_through_and_nothing_is_left() {
    let provider = Provider::new();
    let empty = provider.dump();
    let kvshoot = home(provider.kvshoot());
    let begun = Instant::now();
    let mut seen = start(&kvshoot, "", "seen.sh");
    let seven = start(&kvshoot, "", "seven.sh");
    let killed = start(&kvshoot, "", "killed.sh");
    seen.wait_for(" runs in it", LIMIT);
    println!(
        "from run to the program, three at once: {:?}",
        begun.elapsed()
    );
    let seen = ended(seen, 0);
    let lines: Vec<&str> = seen.out.lines().collect();
    let [mode, variables, ready] = lines[..] else {
        panic!("stdout is the program's alone: {seen}");
    };
    assert_eq!(mode, "600");
    let variables: Vec<&str> = variables.split(' ').collect();
    let [kubeconfig, name, namespace, server] = variables[..] else {
        panic!("{seen}");
    };
    assert!(!std::path::Path::new(kubeconfig).exists(), "{kubeconfig}");
    assert!(name.starts_with("job-") && name.len() == 9, "{name}");
    assert_eq!(namespace, provider.namespace);
    assert!(server.starts_with("https://127."), "{server}");
    assert!(ready.contains(name), "{ready}");
    assert!(seen.err.contains("\non stderr\n"), "{seen}");
    let left = "deleted; nothing is left";
    for output in [seen, ended(seven, 7), ended(killed, 128 + 9)] {
        assert!(output.err.trim_end().ends_with(left), "{output}");
    }
    assert_eq!(provider.dump(), empty);
}

/// As a CI starts them: from processes that know nothing of each other, in one namespace.
#[test]
#[ignore = "twenty control planes take ten minutes of two cores, and 9 GB"]
fn twenty_at_once_end_each_with_its_own_result() {
    const LONGEST: Duration = Duration::from_secs(30 * 60);
    let provider = Provider::new();
    let empty = provider.dump();
    let begun = Instant::now();
    let homes: Vec<Kvshoot> = (0..20)
        .map(|code| home(provider.kvshoot()).file("own.sh", &format!("exit {code}\n")))
        .collect();
    let runs: Vec<Running> = homes.iter().map(|it| start(it, "", "own.sh")).collect();
    for (code, mut run) in (0..).zip(runs) {
        let output = run.wait_at_most(LONGEST);
        assert_eq!(output.code, code, "{output}");
        assert!(
            output.err.trim_end().ends_with("nothing is left"),
            "{output}"
        );
    }
    println!(
        "twenty runs at once, from the first to the last: {:?}",
        begun.elapsed()
    );
    assert_eq!(provider.dump(), empty);
}

/// Each in another stage; then three hours go by on the server's clock, and any gc takes what is left.
#[test]
fn what_a_killed_run_leaves_expires_and_goes_with_the_next_gc() {
    const STAGES: [&str; 5] = [
        "working  Import image",
        "working  Run kube-apiserver",
        "working  Make machine",
        " runs in it",
        "working  Remove StatefulSet etcd",
    ];
    let provider = Provider::new();
    let empty = provider.dump();
    let kvshoot = home(provider.kvshoot());
    let mut runs = STAGES.map(|stage| {
        let script = match stage {
            " runs in it" => "long.sh",
            _ => "seven.sh",
        };
        (stage, start(&kvshoot, "", script))
    });
    std::thread::scope(|scope| {
        for (stage, run) in &mut runs {
            scope.spawn(move || {
                run.wait_for(stage, LIMIT);
                let program = (*stage == " runs in it").then(|| told(run));
                run.signal(Signal::KILL);
                // It has lost who ran it, and would be here long after the test.
                program.map(|it| kill_process(it, Signal::KILL));
                assert_eq!(run.wait_at_most(LIMIT).code, 128 + 9, "{stage}");
            });
        }
    });
    let proxy = Proxy::new(&provider);
    let later = proxy.kvshoot(&provider);
    let dry = later.run("gc --dry-run");
    assert_eq!(
        (dry.code, dry.out.as_str()),
        (0, ""),
        "it is too soon: {dry}"
    );
    proxy.advance_clock(3);
    let dry = later.run("gc --dry-run");
    assert_eq!((dry.code, dry.out.lines().count()), (1, 5), "{dry}");
    let gone = later.run("gc");
    assert_eq!(gone.code, 0, "{gone}");
    assert_eq!(provider.dump(), empty);
}

#[test]
fn the_first_signal_deletes_and_the_second_one_leaves_and_says_how_to_clean_up() {
    let provider = Provider::new();
    let empty = provider.dump();
    let kvshoot = home(provider.kvshoot());
    let mut early = start(&kvshoot, "", "seven.sh");
    let mut late = start(&kvshoot, "", "long.sh");
    let mut twice = start(&kvshoot, "", "deaf.sh");
    early.wait_for("working  Run kube-apiserver", LIMIT);
    early.interrupt();
    told(&mut late);
    late.signal(Signal::TERM);
    let deaf = told(&mut twice);
    twice.interrupt();
    twice.wait_for("Ctrl-C again leaves at once", LIMIT);
    twice.interrupt();
    let twice = ended(twice, 130);
    assert!(kill_process(deaf, Signal::KILL).is_err(), "it has ended");
    for (run, code) in [(early, 130), (late, 143)] {
        let output = ended(run, code);
        let left = "deleted; nothing is left";
        assert!(output.err.trim_end().ends_with(left), "{output}");
    }
    let command = twice
        .err
        .lines()
        .find_map(|it| it.split_once("to clean up: kvshoot "));
    let (_, command) = command.unwrap_or_else(|| panic!("{twice}"));
    assert_ne!(provider.dump(), empty);
    let output = kvshoot.run(command);
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(provider.dump(), empty);
}

#[test]
fn what_failed_is_kept_as_long_as_was_said_and_goes_after_that() {
    let provider = Provider::new();
    let empty = provider.dump();
    let proxy = Proxy::new(&provider);
    let kvshoot = home(proxy.kvshoot(&provider));
    let kept = ended(start(&kvshoot, "--keep-on-failure=4h", "seven.sh"), 7);
    let name = kvshoot.run("list -o name").out;
    let name = name.trim().rsplit('/').next().unwrap();
    for words in [
        format!("shoot {name} is kept until 20"),
        format!("to enter: kvshoot exec {name} -- kubectl get nodes"),
        format!("to delete it: kvshoot delete {name} --yes"),
    ] {
        assert!(kept.err.contains(&words), "{words}\n{kept}");
    }
    let wait = kvshoot.run(&format!("wait {name} --for=ready --timeout 1m"));
    assert_eq!(wait.code, 0, "{wait}");
    proxy.advance_clock(3);
    assert_eq!(kvshoot.run("gc").err, "there is nothing to delete\n");
    proxy.advance_clock(5);
    // Any later run of the namespace does as gc does, before it begins; this one does not begin.
    let next = ended(start(&kvshoot, "--ttl 0s", "seven.sh"), 125);
    assert!(
        next.err.contains(&format!("shoot {name} expired")),
        "{next}"
    );
    assert_eq!(provider.dump(), empty);
}

#[test]
fn a_run_takes_no_shoot_that_is_there_and_deletes_none_that_is_protected() {
    let provider = Provider::new();
    let kvshoot = home(provider.kvshoot());
    provider.assert_applied(&Manifest::small("job"), "created");
    let before = provider.settled_versions();
    let taken = kvshoot.run("run -f shoot.yaml -- true");
    assert_eq!((taken.code, taken.out.as_str()), (125, ""), "{taken}");
    assert!(
        taken.err.contains("there is a shoot job in namespace"),
        "{taken}"
    );
    assert_eq!(provider.settled_versions(), before);
    provider.assert_deleted("job");

    let own = env!("CARGO_BIN_EXE_kvshoot");
    let protect = format!("exec {own} protect $KVSHOOT_NAME --reason demo\n");
    let kvshoot = kvshoot.file("protect.sh", &protect);
    let stays = kvshoot.run("run -f shoot.yaml -- sh protect.sh");
    assert_eq!(stays.code, 12, "{stays}");
    assert!(
        stays.err.contains("shoot job is protected: demo; it stays"),
        "{stays}"
    );
    let _ = kvshoot.run("unprotect job");
    provider.assert_deleted("job");
}

#[test]
fn what_kvshoot_itself_fails_of_is_told_and_leaves_nothing() {
    let provider = Provider::new();
    let count = "count/virtualmachines.kubevirt.io";
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": "none" },
        "spec": { "hard": { count: "0" } },
    });
    provider.create(QUOTA, quota);
    provider.wait_for("the quota to be counted", |it| {
        it.get(QUOTA, "none").unwrap().data["status"]["used"][count].is_string()
    });
    let empty = provider.dump();
    let kvshoot = home(provider.kvshoot()).file("broken.yaml", "kind: Shoot\nspec:\n\tx: 1\n");
    let quota = kvshoot.run("run -f shoot.yaml --artifacts found -- true");
    assert_eq!(quota.code, 125, "{quota}");
    let numbers = "requested: count/virtualmachines.kubevirt.io=1, used: count/virtualmachines.kubevirt.io=0, limited: count/virtualmachines.kubevirt.io=0";
    assert!(quota.err.contains(numbers), "{quota}");
    assert_eq!(provider.dump(), empty);
    let found = std::fs::read_dir(kvshoot.home().join("found")).unwrap();
    let found: Vec<_> = found.map(|it| it.unwrap().path()).collect();
    let [bundle] = found.as_slice() else {
        panic!("{found:?}: {quota}");
    };
    assert!(quota.err.contains("found/job-"), "{quota}");
    assert!(bundle.to_str().unwrap().ends_with(".tar.gz"), "{bundle:?}");

    let missing = kvshoot.run("run -f shoot.yaml --ttl 0s -- true");
    assert_eq!(missing.code, 125, "{missing}");
    assert!(
        missing.err.contains("the shoot is over before it begins"),
        "{missing}"
    );
    for (forge, line) in [
        (
            "GITHUB_ACTIONS",
            "::error file=broken.yaml,line=3,col=1,title=yaml/syntax::tabs disallowed",
        ),
        ("HOME", "broken.yaml:3:1"),
    ] {
        let kvshoot = home(provider.kvshoot())
            .file("broken.yaml", "kind: Shoot\nspec:\n\tx: 1\n")
            .env(forge, "true");
        let broken = kvshoot.run("run -f broken.yaml -- true");
        assert_eq!(broken.code, 125, "{broken}");
        assert!(broken.err.contains(line), "{broken}");
    }
}

/// It was locked, and no more than that.
#[test]
fn a_run_that_was_killed_before_it_made_anything_leaves_nothing() {
    let provider = Provider::new();
    let proxy = Proxy::new(&provider);
    let kvshoot = home(proxy.kvshoot(&provider));
    proxy.script(|seen| match (seen.verb, seen.resource.as_str()) {
        ("create", "configmaps") => Reaction::Kill(Phase::Before),
        _ => Reaction::Forward,
    });
    let run = start(&kvshoot, "", "seven.sh");
    proxy.victim(run.pid());
    let _ = ended(run, 128 + 9);
    assert_eq!(provider.names(provider::LEASE).len(), 1);
    proxy.forward_all();
    let held = kvshoot.run("gc");
    assert_eq!(held.code, 0, "it may still run: {held}");
    proxy.advance_clock(1);
    let gone = kvshoot.run("gc");
    assert_eq!(gone.code, 0, "{gone}");
    assert_eq!(provider.names(provider::LEASE), Vec::<String>::new());
}
