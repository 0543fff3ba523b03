//! What TAB offers of the provider cluster.

use crate::support::kvshoot::Kvshoot;
use crate::support::provider::Provider;
use std::path::Path;
use std::time::{Duration, Instant};

/// The candidates after `line`, flags aside.
fn check(kvshoot: &Kvshoot, line: &str) -> String {
    let words = ["--", "kvshoot"].into_iter().chain(line.split(' '));
    let told = kvshoot.args(words).to_string();
    let lines = told.lines().filter(|it| !it.starts_with("--"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn shoots_pools_and_namespaces_are_offered_with_how_they_are() {
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

    // The shell's own way, through the script that is installed.
    let bash = fish
        .env("COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", "2")
        .env("_CLAP_IFS", "\n");
    let offered = check(&bash, "delete three");
    assert_eq!(offered, "three-zones");
}

#[test]
fn a_provider_that_does_not_answer_offers_nothing_and_holds_nobody_up() {
    // Nobody answers at an address that is kept for documentation.
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
    let begun = Instant::now();
    assert_eq!(check(&kvshoot, "delete "), "");
    assert!(begun.elapsed() < Duration::from_secs(3));
}

#[test]
fn as_a_plugin_of_kubectl_it_calls_itself_so_and_names_itself_in_the_command_that_goes_on() {
    let kvshoot = Kvshoot::new();
    let plugin = kvshoot.home().join("kubectl-kvshoot");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kvshoot"), &plugin).unwrap();
    let help = kvshoot.program(Path::new(&plugin), ["apply", "--help"]);
    assert!(
        help.out.contains("Usage: kubectl kvshoot apply [OPTIONS]"),
        "{help}"
    );
}
