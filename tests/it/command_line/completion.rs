//! Shell completion with values from the provider cluster.

use crate::support::kvshoot::Kvshoot;
use crate::support::provider::Provider;
use std::path::Path;
use std::time::{Duration, Instant};

/// Returns the candidates after `line`, without flags.
fn check(kvshoot: &Kvshoot, line: &str) -> String {
    let words = ["--", "kvshoot"].into_iter().chain(line.split(' '));
    let output = kvshoot.args(words).to_string();
    let lines = output.lines().filter(|it| !it.starts_with("--"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn shoots_pools_and_namespaces_are_completed_with_their_status() {
    let provider = Provider::new();
    let manifest = std::fs::read_to_string("examples/three-zones.yaml").unwrap();
    let kvshoot = provider.kvshoot().file("shoot.yaml", &manifest);
    let apply = kvshoot.run("apply -f shoot.yaml");
    assert_eq!(apply.code, 0, "{apply}");
    let fish = kvshoot.env("COMPLETE", "fish");
    let shoot = "three-zones\tCreate Succeeded (100%)";
    assert_eq!(check(&fish, "delete "), shoot);
    assert_eq!(check(&fish, "nodes list th"), shoot);
    assert_eq!(check(&fish, "delete x"), "");
    assert_eq!(
        check(&fish, "nodes list --pool "),
        "worker\tsmall, 3 wanted"
    );
    let namespace = provider.namespace.as_str();
    let offered = check(&fish, &format!("list -n {namespace}"));
    assert!(offered.lines().any(|it| it == namespace), "{offered}");

    // With the protocol of the installed bash script.
    let bash = fish
        .env("COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", "2")
        .env("_CLAP_IFS", "\n");
    let offered = check(&bash, "delete three");
    assert_eq!(offered, "three-zones");
}

#[test]
fn completion_is_empty_within_three_seconds_if_the_provider_does_not_respond() {
    // An address that is reserved for documentation, where no server responds.
    let kubeconfig = "\
clusters: [{name: a, cluster: {server: 'https://192.0.2.1:6443'}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
users: [{name: a, user: {token: a}}]
current-context: a
";
    let kvshoot = Kvshoot::new()
        .env("KUBECONFIG", "config")
        .env("COMPLETE", "fish")
        .file("config", kubeconfig);
    let start = Instant::now();
    assert_eq!(check(&kvshoot, "delete "), "");
    assert!(start.elapsed() < Duration::from_secs(3));
}

#[test]
fn help_of_the_kubectl_plugin_names_kubectl() {
    let kvshoot = Kvshoot::new();
    let plugin = kvshoot.home().join("kubectl-kvshoot");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kvshoot"), &plugin).unwrap();
    let help = kvshoot.program(Path::new(&plugin), ["apply", "--help"]);
    assert!(
        help.out.contains("Usage: kubectl kvshoot apply [OPTIONS]"),
        "{help}"
    );
}
