//! `kvshoot conformance --e2e-test`, with a script that prints and reports as Kubernetes' tests do.

use crate::support::kvshoot::{Kvshoot, Output};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

const RUN: &str = "[sig-node] Pods should run [Conformance]";
const FAIL: &str = "[sig-node] Pods should fail [Conformance]";
const SLEEP: &str = "[sig-node] Pods should sleep";

/// Lists three tests, and runs two of them or the third one.
const PROGRAM: &str = r#"#!/bin/sh
line=------------------------------
case $1 in --list-tests)
    echo "The following spec names can be used with 'ginkgo run --focus/skip':"
    echo '    pods.go:1: [sig-node] Pods should run [Conformance]'
    echo '    pods.go:2: [sig-node] Pods should fail [Conformance]'
    echo '    pods.go:3: [sig-node] Pods should sleep'
    exit ;;
esac
for option; do
    case $option in --report-dir=*) folder=${option#*=} ;; esac
done
printf '%s\n' "$@" > "$folder/arguments"
kubectl get --raw /readyz > "$folder/readyz"
echo 'on stderr' >&2
case $* in *sleep*)
    trap 'echo cleaned up; exit 1' INT
    printf '%s\n[sig-node] Pods should sleep\n' $line
    echo sleeping > "$folder/state"
    sleep 600 & wait
esac
printf '%s\n[sig-node] Pods should run [Conformance] [sig-node, Conformance]\n• [0.048 seconds]\n' $line
printf '%s\n[sig-node] Pods should fail [Conformance] [sig-node, Conformance]\n• [FAILED] [1.101 seconds]\n' $line
mkdir -p "$folder/ginkgo"
cp report.json "$folder/ginkgo/report.json"
exit 1
"#;

fn report() -> Value {
    let spec = |text: &str, state: &str, failure: Value| {
        json!({
            "ContainerHierarchyTexts": ["[sig-node] Pods"],
            "LeafNodeType": "It",
            "LeafNodeText": text,
            "State": state,
            "RunTime": 48_000_000,
            "Failure": failure,
        })
    };
    let message = json!({ "Message": "expected 1\nfound \u{1b}[31m2" });
    json!([{ "SpecReports": [
        spec("should run [Conformance]", "passed", Value::Null),
        spec("should fail [Conformance]", "failed", message),
        spec("should sleep", "skipped", Value::Null),
    ] }])
}

/// Asserts what a run of a test program does with a cluster.
pub(super) fn assert_runs(kvshoot: Kvshoot, name: &str) -> Kvshoot {
    let kvshoot = kvshoot
        .file("e2e.test", PROGRAM)
        .file("report.json", &report().to_string())
        .file("two.txt", &format!("# Two tests.\n{RUN}\n{FAIL}\n"))
        .file(
            "misspelled.txt",
            &format!("{RUN}\n{}\n", SLEEP.replace("ee", "e")),
        )
        .file("sleep.txt", SLEEP);
    let program = kvshoot.home().join("e2e.test");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    let nodes = kvshoot.run(&format!("wait {name} --for nodes --timeout 5m"));
    assert_eq!(nodes.code, 0, "{nodes}");
    let line = format!("conformance {name} --e2e-test e2e.test --report-dir reports");
    assert_results(&kvshoot, &line);
    assert_refused(&kvshoot.run(&line), 4, "its nodes are simulated");
    let misspelled = kvshoot.run(&format!("{line} --specs misspelled.txt"));
    assert_refused(&misspelled, 2, "misspelled.txt:2: the program has no test");
    assert!(misspelled.err.contains(SLEEP), "{misspelled}");
    let no_program = kvshoot.run(&line.replace("e2e.test", "two.txt"));
    assert_refused(&no_program, 4, "cannot list the tests of ");
    assert_interrupted(&kvshoot, &line);
    kvshoot
}

fn assert_refused(output: &Output, code: i32, why: &str) {
    assert_eq!((output.code, &*output.out), (code, ""), "{output}");
    assert!(output.err.contains(why), "{output}");
}

fn assert_results(kvshoot: &Kvshoot, line: &str) {
    let run = kvshoot.run(&format!("{line} --specs two.txt"));
    assert_eq!(run.code, 1, "{run}");
    let expected = format!(
        "ok       {RUN} (0.048 seconds)\nfailure  {FAIL} (1.101 seconds)\nfailure  {FAIL} expected 1 found \\x1b[31m2\n2 tests in "
    );
    assert!(run.out.starts_with(&expected), "{run}");
    assert!(run.out.ends_with(" s: 1 passed, 1 failed\n"), "{run}");
    let read = |file: &str| fs::read_to_string(kvshoot.home().join("reports").join(file)).unwrap();
    assert_eq!(read("readyz"), "ok");
    let log = read("e2e.log");
    assert!(
        log.contains("on stderr\n") && log.contains("• [FAILED]"),
        "{log}"
    );
    let arguments = read("arguments");
    let focus = "--ginkgo.focus= \\[sig\\-node\\] Pods should run \\[Conformance\\]$\n";
    assert!(arguments.contains(focus), "{arguments}");
    let again = kvshoot.run(&format!("{line} --specs two.txt -o json"));
    let report: Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!(report["checks"][1]["check"], FAIL, "{again}");
    assert_eq!(report["checks"][1]["status"], "failure", "{again}");
}

/// The program cleans up, and the kubeconfig is deleted.
fn assert_interrupted(kvshoot: &Kvshoot, line: &str) {
    let limit = Duration::from_secs(60);
    let mut run = kvshoot.start(&format!("{line} --specs sleep.txt"));
    let state = kvshoot.home().join("reports/state");
    crate::support::proxy::wait_until(|| state.exists());
    run.interrupt();
    let output = run.wait_at_most(limit);
    assert_eq!(output.code, 130, "{output}");
    let log = fs::read_to_string(kvshoot.home().join("reports/e2e.log")).unwrap();
    assert!(log.ends_with("cleaned up\n"), "{log}");
}
