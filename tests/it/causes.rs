//! What blocks a run is told by its deepest cause, for each fault that a sandbox can have.

use crate::kvshoot::{Kvshoot, Output};
use crate::provider::{self, Provider};

/// One after the other, since a fault hits the whole sandbox.
#[test]
fn each_fault_is_told_by_its_deepest_cause_and_the_next_apply_mends_it() {
    let provider = Provider::apart();
    let manifest = std::fs::read_to_string("examples/three-zones.yaml").unwrap();
    let kvshoot = provider.kvshoot().file("shoot.yaml", &manifest);
    a_missing_image_is_told_in_the_importer_s_words(&provider, &kvshoot);
    a_stuck_import_is_told_with_its_percentage(&provider, &kvshoot);
    a_full_zone_is_told_in_the_scheduler_s_words(&provider, &kvshoot);
    machines_that_crash_end_the_run(&provider, &kvshoot);
    a_quota_is_told_with_its_numbers(&provider, &kvshoot);
}

fn a_missing_image_is_told_in_the_importer_s_words(provider: &Provider, kvshoot: &Kvshoot) {
    provider.fail("import-404");
    let output = kvshoot.run("apply -f shoot.yaml --timeout 2m");
    assert_eq!(output.code, 9, "{output}");
    assert!(output.err.contains("404"), "{output}");
    assert_eq!(
        provider.names(provider::VM),
        Vec::<String>::new(),
        "{output}"
    );
    mended(provider, kvshoot);
}

fn a_stuck_import_is_told_with_its_percentage(provider: &Provider, kvshoot: &Kvshoot) {
    provider.fail("import-stuck");
    let output = kvshoot.run("apply -f shoot.yaml --timeout 15s");
    assert_eq!(output.code, 124, "{output}");
    assert!(last_line(&output).contains("12 % imported"), "{output}");
    mended(provider, kvshoot);
}

fn a_full_zone_is_told_in_the_scheduler_s_words(provider: &Provider, kvshoot: &Kvshoot) {
    provider.fail("no-room zone-b");
    let output = kvshoot.run("apply -f shoot.yaml --timeout 30s");
    assert_eq!(output.code, 124, "{output}");
    assert!(
        last_line(&output).contains("nodes are available"),
        "{output}"
    );
    let ready = kvshoot.run("nodes list -o json");
    assert_eq!(
        ready.out.matches("\"ready\": true").count(),
        2,
        "other zones go on: {ready}"
    );
    mended(provider, kvshoot);
}

fn machines_that_crash_end_the_run(provider: &Provider, kvshoot: &Kvshoot) {
    provider.fail("vm-crash shoot--local--three-zones-worker-z2");
    let output = kvshoot.run("apply -f shoot.yaml --timeout 4m");
    assert_eq!(output.code, 9, "{output}");
    assert!(output.err.contains("failed here in this run"), "{output}");
    mended(provider, kvshoot);
}

fn a_quota_is_told_with_its_numbers(provider: &Provider, kvshoot: &Kvshoot) {
    provider.fail("quota count/virtualmachines.kubevirt.io=1");
    let output = kvshoot.run("apply -f shoot.yaml --timeout 1m");
    assert_eq!(output.code, 9, "{output}");
    for word in ["used: ", "requested: ", "limited: "] {
        assert!(output.err.contains(word), "{word} is missing: {output}");
    }
    mended(provider, kvshoot);
}

/// Without the fault, the same command goes on where it was; and delete leaves nothing.
fn mended(provider: &Provider, kvshoot: &Kvshoot) {
    provider.fail("none");
    let output = kvshoot.run("apply -f shoot.yaml --timeout 3m");
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(provider.names(provider::VM).len(), 3, "{output}");
    let output = kvshoot.run("delete three-zones --yes --timeout 2m");
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(provider.names(provider::VM), Vec::<String>::new());
}

fn last_line(output: &Output) -> &str {
    let lines = output.err.lines().filter(|it| !it.is_empty());
    lines
        .rev()
        .find(|it| !it.contains("to go on"))
        .unwrap_or_default()
}
