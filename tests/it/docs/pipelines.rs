//! The examples for CI systems: their commands, run in the sandbox.

use crate::support::kvshoot::{Kvshoot, Output};
use crate::support::provider::Provider;
use serde_yaml::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// A CI runner with the program in its path, the examples, and the kubeconfig of the provider.
fn runner(provider: &Provider, forge: &str) -> Kvshoot {
    let kvshoot = provider.kvshoot().env(forge, "true").env("CI", "true");
    let home = kvshoot.home().to_owned();
    fs::create_dir(home.join("bin")).unwrap();
    symlink(env!("CARGO_BIN_EXE_kvshoot"), home.join("bin/kvshoot")).unwrap();
    symlink(fs::canonicalize("examples").unwrap(), home.join("examples")).unwrap();
    let path = format!("{}:/usr/bin:/bin", home.join("bin").display());
    let test = "test -s \"$KUBECONFIG\" && echo tested in $KVSHOOT_NAME\nexit ${E2E:-0}\n";
    kvshoot
        .file("e2e.sh", test)
        .env("PATH", &path)
        .env("KVSHOOT_NAMESPACE", &provider.namespace)
}

fn sh(runner: &Kvshoot, command: &str) -> Output {
    let output = runner.program(Path::new("/bin/sh"), ["-euc", command]);
    println!("$ {command}\n{output}");
    output
}

fn yaml(path: &str) -> Value {
    serde_yaml::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns the commands of a list of steps, in the format of GitHub or GitLab.
fn commands(steps: &Value) -> Vec<String> {
    let steps = steps.as_sequence().unwrap().iter();
    let command = |it: &Value| it.as_str().or(it["run"].as_str()).map(str::to_owned);
    steps.filter_map(command).collect()
}

#[test]
#[ignore = "second tier: the first tier runs the example for GitLab"]
fn the_github_example_works_and_groups_its_log() {
    let provider = Provider::new();
    let empty = provider.dump();
    let kubeconfig = fs::read_to_string(provider.kubeconfig()).unwrap();
    let runner = runner(&provider, "GITHUB_ACTIONS").env("PROVIDER_KUBECONFIG", &kubeconfig);
    let own = runner.home().join("provider.kubeconfig");
    let runner = runner.env("KUBECONFIG", own.to_str().unwrap());
    let workflow = yaml("examples/ci/github-actions.yaml");
    for (job, steps) in [("e2e", 3), ("clean-up", 2)] {
        let commands = commands(&workflow["jobs"][job]["steps"]);
        assert_eq!(commands.len(), steps);
        for command in commands {
            let output = sh(&runner, &command);
            assert_eq!(output.code, 0, "{output}");
            if command.starts_with("kvshoot run") {
                assert!(output.out.starts_with("tested in minimal-"), "{output}");
                let folds = output.err.matches("::group::").count();
                assert_eq!((folds, output.err.matches("::endgroup::").count()), (2, 2));
            }
        }
    }
    assert_eq!(provider.dump(), empty);
}

#[test]
fn the_gitlab_example_works_and_uploads_a_support_bundle_on_failure() {
    let provider = Provider::new();
    let empty = provider.dump();
    let pipeline = yaml("examples/ci/gitlab-ci.yml");
    let artifacts = pipeline["variables"]["KVSHOOT_ARTIFACTS"].as_str().unwrap();
    let runner = runner(&provider, "GITLAB_CI")
        .env("KVSHOOT_ARTIFACTS", artifacts)
        .env("E2E", "3");
    for job in ["e2e", "clean-up"] {
        for command in commands(&pipeline[job]["script"]) {
            let output = sh(&runner, &command);
            let wanted = if command.starts_with("kvshoot run") {
                3
            } else {
                0
            };
            assert_eq!(output.code, wanted, "{output}");
            let folds = output.err.matches("\x1b[0Ksection_start:").count();
            assert_eq!(folds, wanted as usize, "create, collect, delete: {output}");
        }
    }
    let bundles = fs::read_dir(runner.home().join(artifacts)).unwrap();
    assert_eq!(bundles.count(), 1);
    assert_eq!(provider.dump(), empty);
}

#[test]
#[ignore = "second tier: the first tier runs the example for GitLab"]
fn the_shell_script_exits_with_the_code_of_its_command_and_deletes_the_cluster() {
    let provider = Provider::new();
    let empty = provider.dump();
    let runner = runner(&provider, "CI").env("E2E", "4");
    let output = sh(
        &runner,
        "examples/ci/cluster.sh examples/minimal.yaml sh e2e.sh",
    );
    assert_eq!(output.code, 4, "{output}");
    let wanted = "shoot.core.gardener.cloud/minimal created\ntested in\n./minimal-";
    assert!(output.out.starts_with(wanted), "{output}");
    assert_eq!(provider.dump(), empty);
}
