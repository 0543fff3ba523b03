//! The last line of a run that failed: the root cause that `why` reports.

use crate::support::kvshoot::{Kvshoot, Output};
use crate::support::process::Running;
use crate::support::provider::{self, Provider};
use crate::support::shoots::Manifest;
use serde_json::json;

/// Name of a shoot, fault in its machines, end of the headline, and hint.
const GUEST_FAULTS: [[&str; 4]; 2] = [
    [
        "cutoff",
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
fn the_headline_of_a_timeout_is_the_root_cause_that_why_reports() {
    let provider = Provider::new();
    let manifests = GUEST_FAULTS.map(|[name, ..]| Manifest::small(name));
    for (manifest, [_, fault, ..]) in manifests.iter().zip(GUEST_FAULTS) {
        provider.fail(&format!("{fault} {}", manifest.id()));
    }
    let homes = manifests.each_ref().map(|it| provider.kvshoot_with(it));
    let runs = homes
        .each_ref()
        .map(|it| it.start("apply -f shoot.yaml --timeout 75s"));
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

/// Returns the first line of `why`.
fn first_finding(kvshoot: &Kvshoot, name: &str) -> String {
    let why = kvshoot.run(&format!("why {name}"));
    assert_eq!(why.code, 1, "{why}");
    why.out.lines().next().unwrap_or_default().to_owned()
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
