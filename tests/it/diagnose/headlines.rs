//! The last line of a run that failed: the root cause that `why` reports.

use crate::support::kvshoot::{Kvshoot, Output};
use crate::support::process::Running;
use crate::support::provider::{self, Provider};
use crate::support::shoots::Manifest;
use serde_json::json;

/// Name of a shoot, fault in its machines, end of the headline, and hint.
const GUEST_FAULTS: [[&str; 4]; 2] = [
    [
        "stranded",
        "guest-network",
        "i/o timeout",
        "the machine cannot reach its API server",
    ],
    [
        "behind",
        "guest-clock",
        "certificate has expired or is not yet valid",
        "years behind; check NTP and the RTC",
    ],
];

#[test]
#[ignore = "second tier: two runs that time out; the first tier has the headline of a quota, unit tests have the root causes"]
fn the_headline_of_a_timeout_is_the_root_cause_that_why_reports() {
    let provider = Provider::new();
    let manifests = GUEST_FAULTS.map(|[name, ..]| Manifest::small(name));
    for (manifest, [_, fault, ..]) in manifests.iter().zip(GUEST_FAULTS) {
        provider.fail(&format!("{fault} {}", manifest.id()));
    }
    let homes = manifests.each_ref().map(|it| provider.kvshoot_with(it));
    // These runs end as soon as the machines have met their fault, because that takes long on a busy computer.
    let runs = homes.each_ref().map(|it| it.start("apply -f shoot.yaml"));
    for (home, [name, _, cause, _]) in homes.iter().zip(GUEST_FAULTS) {
        provider.wait_for(cause, |_| first_line(&why(home, name)).contains(cause));
    }
    for run in runs {
        run.interrupt();
        let output = run.wait();
        assert_eq!(output.code, 130, "{output}");
    }
    let runs = homes
        .each_ref()
        .map(|it| it.start("apply -f shoot.yaml --timeout 60s"));
    let outputs = runs.map(Running::wait);
    for ((home, output), [name, _, cause, hint]) in homes.iter().zip(outputs).zip(GUEST_FAULTS) {
        assert_eq!(output.code, 124, "{output}");
        let headline = headline(&output);
        assert!(headline.contains("timed out ("), "{headline}: {output}");
        assert!(headline.contains(cause), "{headline}: {output}");
        assert_eq!(
            root_cause_in(&headline),
            first_finding(home, name),
            "{output}"
        );
        assert!(output.err.contains(hint), "{hint}: {output}");
        // The end of the serial console.
        let printed = |line: &str| line.contains("  | ") && line.contains("error: ");
        assert!(output.err.lines().any(printed), "{output}");
    }
    for manifest in &manifests {
        provider.fail(&format!("none {}", manifest.id()));
        provider.assert_deleted(manifest.name());
    }
}

#[test]
fn a_quota_that_is_too_small_ends_a_run_before_it_writes_anything() {
    let provider = Provider::new();
    let kvshoot = provider.kvshoot_with(&Manifest::small("cramped"));
    let quota = json!({
        "metadata": { "name": "compute" },
        "spec": { "hard": { "pods": "2" } },
    });
    provider.create(provider::QUOTA, quota);
    provider.wait_for("the usage of the quota", |provider| {
        let quota = provider.get(provider::QUOTA, "compute");
        quota.is_some_and(|it| it.data["status"]["used"].is_object())
    });
    let output = kvshoot.run("apply -f shoot.yaml --timeout 5m");
    assert_eq!(output.code, 9, "{output}");
    let headline = headline(&output);
    let begin = "ResourceQuota compute: pods used 0, requested ";
    assert!(headline.starts_with(begin), "{headline}: {output}");
    assert!(
        headline.ends_with(", limit 2; nothing was changed"),
        "{headline}"
    );
    assert_eq!(kvshoot.run("why cramped").code, 7);
    // A quota that is large enough changes that.
    let larger = json!({ "spec": { "hard": { "pods": "50" } } });
    provider.patch(provider::QUOTA, "compute", &larger);
    let output = kvshoot.run("apply -f shoot.yaml --timeout 5m");
    assert_eq!(output.code, 0, "{output}");
    provider.assert_deleted("cramped");
}

/// Returns the first line of a `why` that has found something.
fn first_finding(kvshoot: &Kvshoot, name: &str) -> String {
    let why = why(kvshoot, name);
    assert_eq!(why.code, 1, "{why}");
    first_line(&why).to_owned()
}

fn why(kvshoot: &Kvshoot, name: &str) -> Output {
    kvshoot.run(&format!("why {name}"))
}

fn first_line(output: &Output) -> &str {
    output.out.lines().next().unwrap_or_default()
}

/// Returns the last line of a run without its time, hints and log lines.
fn headline(output: &Output) -> String {
    let mut lines = output.err.lines().rev();
    let is_detail = |line: &&str| {
        let words = ["To resume:", "hint:", "  |"];
        !line.is_empty() && !words.iter().any(|it| line.starts_with(it))
    };
    let line = lines.find(is_detail).unwrap_or_default();
    line.split_once("  ").map_or(line, |it| it.1).to_owned()
}

/// Removes the outcome and the progress from a headline.
fn root_cause_in(headline: &str) -> &str {
    match headline.split_once("done): ") {
        Some((_, cause)) => cause,
        None => headline.rsplit_once(" (").map_or(headline, |it| it.0),
    }
}
