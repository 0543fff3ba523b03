//! Kubernetes' own conformance tests, and the lists that say which of them run where.

use crate::support::provider::Provider;
use crate::support::shoots::Manifest;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Specs that pass on simulated machines, specs that pass on virtual machines only, and those that are left out.
const LISTS: [&str; 3] = [
    "without-containers.txt",
    "virtual-machines.txt",
    "left-out.txt",
];
/// Conformance tests of the version of Kubernetes that the sandbox runs.
const ALL: usize = 446;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance")
}

/// Names of specs, each with the comment above it.
fn specs(list: &str) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(folder().join(list)).unwrap();
    let mut comment = String::new();
    let mut specs = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("# ") {
            Some(text) => comment = text.to_owned(),
            None if line.is_empty() => comment.clear(),
            None => specs.push((line.to_owned(), comment.clone())),
        }
    }
    specs
}

#[test]
fn each_conformance_test_is_in_one_list_and_those_left_out_have_a_reason() {
    let mut found = BTreeMap::new();
    for list in LISTS {
        for (spec, comment) in specs(list) {
            assert!(spec.starts_with("[sig-"), "{list}: {spec}");
            assert!(spec.contains("[Conformance]"), "{list}: {spec}");
            let needs_reason = list == "left-out.txt";
            assert!(!needs_reason || !comment.is_empty(), "{list}: {spec}");
            let other = found.insert(spec.clone(), list);
            assert_eq!(other, None, "{list}: {spec}");
        }
    }
    assert_eq!(found.len(), ALL);
}

#[test]
fn conformance_tests_have_the_version_of_kubernetes_in_the_sandbox() {
    let version = |path: &str| {
        let text = std::fs::read_to_string(path).unwrap();
        let mut lines = text
            .lines()
            .map(|line| line.trim_start_matches("require ").trim());
        let version = lines.find_map(|line| line.strip_prefix("k8s.io/kubernetes "));
        version.unwrap().to_owned()
    };
    let module = "tests/conformance/go.mod";
    assert_eq!(version(module), version("src/sandbox/programs/k8s/go.mod"));
}

/// `.ci/second-tier conformance` compiles the program before.
#[test]
#[ignore = "second tier: Kubernetes' tests take ten minutes to compile"]
fn conformance_tests_that_need_no_containers_pass_on_simulated_machines() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/conformance");
    let provider = Provider::new();
    let manifest = Manifest::named("conformant");
    provider.assert_applied(&manifest, "created");
    let kvshoot = provider.with_programs(provider.kvshoot_with(&manifest));
    let list = folder().join("without-containers.txt");
    let run = kvshoot.run(&format!(
        "conformance conformant --e2e-test {} --specs {} --report-dir {} --timeout 40m",
        root.join("e2e.test").display(),
        list.display(),
        root.join("simulated").display(),
    ));
    assert_eq!(run.code, 0, "{run}");
    let passed = run
        .out
        .lines()
        .filter(|line| line.starts_with("ok "))
        .count();
    assert_eq!(passed, specs("without-containers.txt").len(), "{run}");
}
