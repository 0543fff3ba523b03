//! Tests of the rules: a change to a valid manifest in, lines of `path kind: message` out.

mod autoscaler;
mod machines;
mod network_policies;
mod pools;
mod profiles;
mod shoots;
mod updates;

use super::testing::{PROFILE, SHOOT, read, today, valid_for_tests, verdict};
use super::{Input, ValidationOutcome, validate};

/// Validates the valid Shoot with some texts replaced.
fn check(changes: &[(&str, &str)]) -> String {
    lines(&verdict(&changed(SHOOT, changes)))
}

/// Validates it with changes to the profile.
fn check_profile(changes: &[(&str, &str)]) -> String {
    let yaml = format!("{SHOOT}---\n{}", changed(PROFILE, changes));
    lines(&verdict(&yaml))
}

/// Validates an update of a Shoot from `before`.
fn check_update(before: &[(&str, &str)], now: &[(&str, &str)]) -> String {
    check_update_of_profile(before, now, &[])
}

fn check_update_of_profile(
    before: &[(&str, &str)],
    now: &[(&str, &str)],
    profile: &[(&str, &str)],
) -> String {
    let before = valid_for_tests(&changed(SHOOT, before));
    let (shoot, profile) = read(&format!(
        "{}---\n{}",
        changed(SHOOT, now),
        changed(PROFILE, profile)
    ));
    lines(&validate(&Input {
        shoot: &std::sync::Arc::new(shoot),
        profile: &profile,
        previous: Some(&before.manifest),
        previous_profile: Some(&before.profile),
        now: today(),
    }))
}

fn changed(text: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(text.to_owned(), |text, (old, new)| {
        assert!(text.contains(old), "{old:?} is not in the text");
        text.replacen(old, new, 1)
    })
}

fn lines(verdict: &ValidationOutcome) -> String {
    assert_eq!(verdict.shoot.is_some(), verdict.errors.is_empty());
    let errors = verdict
        .errors
        .iter()
        .map(|it| format!("{} {:?}: {}\n", it.path, it.kind, it.message));
    let warnings = verdict
        .warnings
        .iter()
        .map(|it| format!("warning: {}: {}\n", it.path, it.message));
    errors.chain(warnings).collect()
}

/// Runs each change and compares the findings.
fn table(run: fn(&[(&str, &str)]) -> String, rows: &[(&str, &str, &str)]) {
    for (old, new, expected) in rows {
        assert_eq!(run(&[(old, new)]).trim_end(), *expected, "{new}");
    }
}

#[test]
fn a_valid_manifest_becomes_a_valid_shoot() {
    let shoot = valid_for_tests(SHOOT);
    assert_eq!(shoot.id, "shoot--dev--demo");
    assert_eq!(shoot.kubernetes, "1.34.2");
    assert_eq!(shoot.networking.pods, "100.96.0.0/11");
    let pool = &shoot.pools[0];
    assert_eq!(pool.image.version, "24.04");
    assert_eq!(
        pool.image.source.display(),
        "https://images.example.org/ubuntu-24.04.img"
    );
    assert_eq!(pool.root.class, "standard-rwo");
    assert_eq!(pool.machine_type.cpu_limit, None);
    assert_eq!(shoot.manifest.spec.kubernetes.version, "1.34.2");
}

#[test]
fn most_fields_are_supported() {
    let shoot = valid_for_tests(super::testing::WIDE);
    assert_eq!(shoot.networks.len(), 2);
    assert_eq!(shoot.pools.len(), 2);
    assert_eq!(shoot.pools[1].taints.len(), 1);
    assert_eq!(shoot.pools[1].drain_timeout.as_secs(), 600);
    assert_eq!(
        shoot.pools[0].kubelet.as_ref().and_then(|it| it.max_pods),
        Some(200)
    );
}
