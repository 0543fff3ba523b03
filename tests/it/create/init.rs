//! Manifests that `init` writes.

use crate::support::kvshoot::Kvshoot;
use crate::support::provider::{self, Provider};
use std::path::Path;

const THREE_ZONES: &str = "examples/three-zones.yaml";

/// The CloudProfile of an example.
fn profile() -> String {
    let example = std::fs::read_to_string(THREE_ZONES).unwrap();
    let (_, profile) = example.split_once("---\n").unwrap();
    profile.to_owned()
}

#[test]
fn a_new_manifest_is_applied_unchanged() {
    let provider = Provider::new();
    let kvshoot = provider.kvshoot();
    let init = kvshoot.run("init dev --nodes 2");
    assert_eq!((init.code, &*init.out), (0, ""), "{init}");
    // A slow server is named before it.
    let wrote = init.err.lines().any(|it| it == "Wrote dev.yaml");
    assert!(wrote, "{init}");
    let apply = kvshoot.run("apply -f dev.yaml");
    let created = "shoot.core.gardener.cloud/dev created\n";
    assert_eq!((apply.code, &*apply.out), (0, created), "{apply}");
    assert_eq!(provider.names(provider::VM).len(), 2);
    // A node that was ready may be tainted for a moment: controllers of Kubernetes read from caches.
    let wait = kvshoot.run("wait dev --timeout 2m");
    assert_eq!(wait.code, 0, "{wait}");
    let delete = kvshoot.run("delete dev --yes");
    assert_eq!(delete.code, 0, "{delete}");
}

#[test]
fn a_new_profile_offers_what_the_provider_cluster_has() {
    let provider = Provider::new();
    let kvshoot = provider.kvshoot();
    let init = kvshoot.run("init --profile-only -f profile.yaml");
    assert_eq!(init.code, 0, "{init}");
    let text = std::fs::read_to_string(kvshoot.home().join("profile.yaml")).unwrap();
    for line in [
        "  name: provider\n",
        "  - name: standard\n",
        "    - name: zone-a\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let shoot = kvshoot.run("init dev --profile profile.yaml --zones zone-b -f -");
    assert_eq!(shoot.code, 0, "{shoot}");
    assert!(
        shoot.out.contains("cloudProfileName: provider\n"),
        "{shoot}"
    );
    assert!(
        shoot.out.contains("      zones:\n      - zone-b\n"),
        "{shoot}"
    );
    let kvshoot = kvshoot.file("dev.yaml", &shoot.out);
    let validate = kvshoot.run("validate -f dev.yaml --profile profile.yaml");
    assert_eq!((validate.code, &*validate.err), (0, ""), "{validate}");
}

#[test]
fn without_a_terminal_the_missing_flags_are_named() {
    let kvshoot = Kvshoot::new().file("profile.yaml", &profile());
    let output = kvshoot.run("init --profile profile.yaml");
    assert_eq!(output.code, 2, "{output}");
    let expected = "error: missing without a terminal: NAME\n";
    assert_eq!(output.err, expected);
}

#[test]
fn an_existing_file_is_only_overwritten_with_force() {
    let kvshoot = Kvshoot::new()
        .file("profile.yaml", &profile())
        .file("dev.yaml", "mine\n");
    let refused = kvshoot.run("init dev --profile profile.yaml");
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.err.contains("pass --force to confirm"), "{refused}");
    let path = kvshoot.home().join("dev.yaml");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine\n");
    let forced = kvshoot.run("init dev --profile profile.yaml --force");
    assert_eq!(forced.code, 0, "{forced}");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("kind: Shoot\n"), "{text}");
}

#[test]
fn values_that_are_not_valid_are_reported_and_nothing_is_written() {
    let kvshoot = Kvshoot::new().file("profile.yaml", &profile());
    let output = kvshoot.run("init Dev --profile profile.yaml --machine-type smal -f x.yaml");
    assert_eq!(output.code, 3, "{output}");
    assert!(
        output.err.contains("\"Dev\" is not a valid DNS label"),
        "{output}"
    );
    assert!(output.err.contains("did you mean \"small\"?"), "{output}");
    assert!(!kvshoot.home().join("x.yaml").exists());
}

/// `script` runs the program on a terminal of its own.
#[test]
fn on_a_terminal_questions_are_asked_until_the_answers_are_valid() {
    let own = env!("CARGO_BIN_EXE_kvshoot");
    let answers = "Dev\ndev\n\nzone-a,zone-c\nhuge\nmedium\n0\n4\n\n";
    let session =
        format!("printf '{answers}' | script -qec '{own} init --profile profile.yaml' /dev/null",);
    let kvshoot = Kvshoot::new()
        .env("TERM", "xterm")
        .file("profile.yaml", &profile());
    let output = kvshoot.program(Path::new("/bin/sh"), ["-c", &session]);
    assert_eq!(output.code, 0, "{output}");
    for problem in [
        "\"Dev\" is not a valid DNS label",
        "\"huge\" is not one of small, medium",
        "\"0\" is not a number from 2 to 1000",
    ] {
        assert!(output.out.contains(problem), "{problem}: {output}");
    }
    let text = std::fs::read_to_string(kvshoot.home().join("dev.yaml")).unwrap();
    for line in [
        "      - zone-a\n      - zone-c\n",
        "        type: medium\n",
        "      minimum: 4\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}
