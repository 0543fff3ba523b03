//! `kvshoot run`: exit codes, signals, and cleanup after every kind of failure.

use crate::support::kvshoot::{Kvshoot, Output};
use crate::support::process::Running;
use crate::support::provider::{self, Provider};
use crate::support::proxy::{Phase, Proxy, Reaction, wait_until};
use crate::support::shoots::Manifest;
use rustix::process::{Pid, Signal, kill_process};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(300);

/// Adds a manifest, and scripts to run, to the home directory.
fn with_scripts(kvshoot: Kvshoot) -> Kvshoot {
    let own = env!("CARGO_BIN_EXE_kvshoot");
    let environment = format!(
        "stat -c %a $KUBECONFIG\n\
         echo $KUBECONFIG $KVSHOOT_NAME $KVSHOOT_NAMESPACE $KVSHOOT_API_SERVER\n\
         echo on stderr >&2\n\
         {own} wait $KVSHOOT_NAME --for=ready --timeout 1m >&2 && echo $KVSHOOT_NAME is ready\n\
         exit 7\n"
    );
    kvshoot
        .file("shoot.yaml", &Manifest::small("job").text())
        .file("environment.sh", &environment)
        .file("seven.sh", "exit 7\n")
        .file("none.sh", "exit 0\n")
        .file("killed.sh", "kill -9 $$\n")
        // `exec` keeps the process ID that was printed.
        .file("long.sh", "echo $$\nexec sleep 600\n")
        .file(
            "deaf.sh",
            "trap '' INT\nenv > environment\nsleep 600 &\necho $! > started\necho $$\nwait\nwait\n",
        )
}

fn start(kvshoot: &Kvshoot, flags: &str, script: &str) -> Running {
    kvshoot.start(&format!(
        "run -f shoot.yaml --generate-name {flags} -- sh {script}"
    ))
}

fn wait_with_code(mut running: Running, code: i32) -> Output {
    let output = running.wait_at_most(LIMIT);
    assert_eq!(output.code, code, "{output}");
    output
}

/// Returns the process ID that a script prints.
fn printed_pid(running: &mut Running) -> Pid {
    running.wait_for(": running sh", LIMIT);
    let line = running.first_line(LIMIT);
    Pid::from_raw(line.parse().unwrap()).unwrap()
}

#[test]
fn run_exits_with_the_code_of_the_command_and_deletes_the_cluster() {
    let provider = Provider::new();
    let empty = provider.dump();
    let kvshoot = with_scripts(provider.kvshoot());
    let first = wait_with_code(start(&kvshoot, "--provider-env", "environment.sh"), 7);
    let lines: Vec<&str> = first.out.lines().collect();
    let [mode, variables, ready] = lines[..] else {
        panic!("stdout has more than the output of the command: {first}");
    };
    assert_eq!(mode, "600");
    let variables: Vec<&str> = variables.split(' ').collect();
    let [kubeconfig, name, namespace, server] = variables[..] else {
        panic!("{first}");
    };
    assert!(!std::path::Path::new(kubeconfig).exists(), "{kubeconfig}");
    assert!(name.starts_with("job-") && name.len() == 9, "{name}");
    assert_eq!(namespace, provider.namespace);
    assert!(server.starts_with("https://127."), "{server}");
    assert!(ready.contains(name), "{ready}");
    assert!(first.err.contains("\non stderr\n"), "{first}");
    let deleted = "(0 objects remain)";
    assert!(first.err.trim_end().ends_with(deleted), "{first}");
    assert_eq!(provider.dump(), empty);
}

#[test]
#[ignore = "second tier: three clusters; the first tier runs one of them"]
fn runs_at_the_same_time_exit_each_with_the_code_of_their_command() {
    let provider = Provider::new();
    let empty = provider.dump();
    let kvshoot = with_scripts(provider.kvshoot());
    let cases = [("none.sh", 0), ("seven.sh", 7), ("killed.sh", 128 + 9)];
    let runs = cases.map(|(script, code)| (start(&kvshoot, "", script), code));
    for (run, code) in runs {
        let output = wait_with_code(run, code);
        let deleted = "(0 objects remain)";
        assert!(output.err.trim_end().ends_with(deleted), "{output}");
    }
    assert_eq!(provider.dump(), empty);
}

/// Like jobs of a CI system: independent processes in one namespace.
#[test]
#[ignore = "second tier: twenty control planes take ten minutes of two cores, and 9 GB"]
fn twenty_runs_at_once_exit_each_with_its_own_result() {
    const LONGEST: Duration = Duration::from_secs(30 * 60);
    let provider = Provider::new();
    let empty = provider.dump();
    let start_time = Instant::now();
    let homes: Vec<Kvshoot> = (0..20)
        .map(|code| with_scripts(provider.kvshoot()).file("own.sh", &format!("exit {code}\n")))
        .collect();
    let runs: Vec<Running> = homes.iter().map(|it| start(it, "", "own.sh")).collect();
    for (code, mut run) in (0..).zip(runs) {
        let output = run.wait_at_most(LONGEST);
        assert_eq!(output.code, code, "{output}");
        assert!(
            output.err.trim_end().ends_with("(0 objects remain)"),
            "{output}"
        );
    }
    println!("twenty runs at once: {:?} in total", start_time.elapsed());
    assert_eq!(provider.dump(), empty);
}

#[test]
fn the_cluster_of_a_killed_run_expires_and_gc_deletes_it() {
    killed_runs_expire(["working  Deploy kube-apiserver"]);
}

#[test]
#[ignore = "second tier: five clusters; the first tier kills a run in one of these stages"]
fn the_clusters_of_runs_killed_in_any_stage_expire_and_gc_deletes_them() {
    killed_runs_expire([
        "working  Import image",
        "working  Deploy kube-apiserver",
        "working  Create machine",
        ": running sh",
        "working  Delete StatefulSet etcd",
    ]);
}

/// Each run is killed in another stage. After three hours on the clock of the server, gc deletes the clusters.
fn killed_runs_expire<const RUNS: usize>(stages: [&'static str; RUNS]) {
    let provider = Provider::new();
    let empty = provider.dump();
    let kvshoot = with_scripts(provider.kvshoot());
    let mut runs = stages.map(|stage| {
        let script = match stage {
            ": running sh" => "long.sh",
            _ => "seven.sh",
        };
        (stage, start(&kvshoot, "", script))
    });
    std::thread::scope(|scope| {
        for (stage, run) in &mut runs {
            scope.spawn(move || {
                run.wait_for(stage, LIMIT);
                let program = (*stage == ": running sh").then(|| printed_pid(run));
                run.signal(Signal::KILL);
                // The command has lost its parent and would outlive the test.
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
        "not expired yet: {dry}"
    );
    proxy.advance_clock(3);
    let dry = later.run("gc --dry-run");
    assert_eq!((dry.code, dry.out.lines().count()), (1, RUNS), "{dry}");
    let deleted = later.run("gc");
    assert_eq!(deleted.code, 0, "{deleted}");
    assert_eq!(provider.dump(), empty);
}

#[test]
fn the_first_signal_deletes_the_cluster_and_the_second_one_aborts_with_a_cleanup_hint() {
    let provider = Provider::new();
    let empty = provider.dump();
    let kvshoot = with_scripts(
        provider
            .kvshoot()
            .env("KVSHOOT_KUBECONFIG", &provider.kubeconfig()),
    );
    let mut early = start(&kvshoot, "", "seven.sh");
    let mut twice = start(&kvshoot, "", "deaf.sh");
    early.wait_for("working  Deploy kube-apiserver", LIMIT);
    // As when a connection by ssh drops.
    early.signal(Signal::HUP);
    let deaf = printed_pid(&mut twice);
    let text = |file: &str| std::fs::read_to_string(kvshoot.home().join(file)).unwrap();
    let environment = text("environment");
    for variable in [
        "KVSHOOT_CONTEXT=",
        "KVSHOOT_KUBECONFIG=",
        &provider.kubeconfig(),
    ] {
        assert!(!environment.contains(variable), "{environment}");
    }
    assert!(environment.contains("KVSHOOT_NAME=job-"), "{environment}");
    let started: i32 = text("started").trim().parse().unwrap();
    twice.interrupt();
    twice.wait_for("press Ctrl-C again to exit now", LIMIT);
    twice.interrupt();
    let twice = wait_with_code(twice, 130);
    assert!(
        kill_process(deaf, Signal::KILL).is_err(),
        "the command is still running"
    );
    let started = format!("/proc/{started}/stat");
    wait_until(|| match std::fs::read_to_string(&started) {
        // A zombie has ended; its new parent collects it when it likes.
        Ok(stat) => stat.contains(") Z "),
        Err(_) => true,
    });
    let early = wait_with_code(early, 143);
    let deleted = "(0 objects remain)";
    assert!(early.err.trim_end().ends_with(deleted), "{early}");
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
#[ignore = "second tier: another cluster; the first tier interrupts a run before its command starts"]
fn a_signal_ends_the_command_and_deletes_the_cluster() {
    let provider = Provider::new();
    let empty = provider.dump();
    let kvshoot = with_scripts(provider.kvshoot());
    let mut late = start(&kvshoot, "", "long.sh");
    printed_pid(&mut late);
    late.signal(Signal::TERM);
    let late = wait_with_code(late, 143);
    let deleted = "(0 objects remain)";
    assert!(late.err.trim_end().ends_with(deleted), "{late}");
    assert_eq!(provider.dump(), empty);
}

#[test]
#[ignore = "second tier: the first tier has expired clusters of killed runs"]
fn keep_on_failure_keeps_the_cluster_for_its_duration_and_gc_deletes_it_afterwards() {
    let provider = Provider::new();
    let empty = provider.dump();
    let proxy = Proxy::new(&provider);
    let kvshoot = with_scripts(proxy.kvshoot(&provider));
    let kept = wait_with_code(start(&kvshoot, "--keep-on-failure=4h", "seven.sh"), 7);
    let name = kvshoot.run("list -o name").out;
    let name = name.trim().rsplit('/').next().unwrap();
    for words in [
        format!("keeping shoot {name} until 20"),
        format!("to access it: kvshoot exec {name} -- kubectl get nodes"),
        format!("to delete it: kvshoot delete {name} --yes"),
    ] {
        assert!(kept.err.contains(&words), "{words}\n{kept}");
    }
    let wait = kvshoot.run(&format!("wait {name} --for=ready --timeout 1m"));
    assert_eq!(wait.code, 0, "{wait}");
    proxy.advance_clock(3);
    assert_eq!(kvshoot.run("gc").err, "nothing to delete\n");
    proxy.advance_clock(5);
    // Each run deletes expired clusters of the namespace first; this one then fails.
    let next = wait_with_code(start(&kvshoot, "--ttl 0s", "seven.sh"), 125);
    assert!(
        next.err.contains(&format!("shoot {name} expired")),
        "{next}"
    );
    assert_eq!(provider.dump(), empty);
}

#[test]
fn run_does_not_delete_a_protected_shoot_and_refuses_an_existing_one() {
    let provider = Provider::new();
    let kvshoot = with_scripts(provider.kvshoot());
    let own = env!("CARGO_BIN_EXE_kvshoot");
    let protect = format!("exec {own} protect $KVSHOOT_NAME --reason demo\n");
    let kvshoot = kvshoot.file("protect.sh", &protect);
    let refused = kvshoot.run("run -f shoot.yaml --provider-env -- sh protect.sh");
    assert_eq!(refused.code, 12, "{refused}");
    assert!(
        refused
            .err
            .contains("shoot job is protected: demo; not deleted"),
        "{refused}"
    );

    let before = provider.settled_contents();
    let refused = kvshoot.run("run -f shoot.yaml -- true");
    assert_eq!((refused.code, refused.out.as_str()), (125, ""), "{refused}");
    assert!(
        refused
            .err
            .contains("shoot \"job\" already exists in namespace"),
        "{refused}"
    );
    assert_eq!(provider.settled_contents(), before);
    let _ = kvshoot.run("unprotect job");
    provider.assert_deleted("job");
}

#[test]
fn failures_of_run_itself_exit_with_125_and_delete_all_objects() {
    let provider = Provider::new();
    provider.create_vm_quota("none", 1);
    // A quota that this shoot alone exceeds is reported before anything is created.
    provider.create_other_vm("other");
    provider.wait_for("the quota to be used", |it| it.counted_vms("none") == "1");
    let empty = provider.dump();
    let kvshoot =
        with_scripts(provider.kvshoot()).file("broken.yaml", "kind: Shoot\nspec:\n\tx: 1\n");
    let quota = kvshoot.run("run -f shoot.yaml --artifacts found -- true");
    assert_eq!(quota.code, 125, "{quota}");
    let numbers = "requested: count/virtualmachines.kubevirt.io=1, used: count/virtualmachines.kubevirt.io=1, limited: count/virtualmachines.kubevirt.io=1";
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
    assert!(missing.err.contains("is in the past"), "{missing}");
    for (forge, line) in [
        (
            "GITHUB_ACTIONS",
            "::error file=broken.yaml,line=3,col=1,title=yaml/syntax::tabs disallowed",
        ),
        ("HOME", "broken.yaml:3:1"),
    ] {
        let kvshoot = with_scripts(provider.kvshoot())
            .file("broken.yaml", "kind: Shoot\nspec:\n\tx: 1\n")
            .env(forge, "true");
        let broken = kvshoot.run("run -f broken.yaml -- true");
        assert_eq!(broken.code, 125, "{broken}");
        assert!(broken.err.contains(line), "{broken}");
    }
}

/// Only the lease exists.
#[test]
fn gc_deletes_the_lease_of_a_run_that_was_killed_before_it_created_anything() {
    let provider = Provider::new();
    let proxy = Proxy::new(&provider);
    let kvshoot = with_scripts(proxy.kvshoot(&provider));
    proxy.script(|request| match (request.verb, request.resource.as_str()) {
        ("create", "configmaps") => Reaction::Kill(Phase::Before),
        _ => Reaction::Forward,
    });
    let run = start(&kvshoot, "", "seven.sh");
    proxy.victim(run.pid());
    let _ = wait_with_code(run, 128 + 9);
    assert_eq!(provider.names(provider::LEASE).len(), 1);
    proxy.forward_all();
    let held = kvshoot.run("gc");
    assert_eq!(held.code, 0, "the run may still be alive: {held}");
    proxy.advance_clock(1);
    let deleted = kvshoot.run("gc");
    assert_eq!(deleted.code, 0, "{deleted}");
    assert_eq!(provider.names(provider::LEASE), Vec::<String>::new());
}
