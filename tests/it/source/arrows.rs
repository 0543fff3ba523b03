//! Which room of `src/` may use which, and which effects go through which room.

use super::syntax::{Crate, Module, Segments};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// `commands` may use all rooms; only `main` uses `commands`.
const MAY_USE: [(&str, &[&str]); 20] = [
    ("clock", &[]),
    ("model", &[]),
    ("manifest", &["model"]),
    ("validate", &["model", "backup"]),
    ("state", &["model", "validate"]),
    ("render", &["model", "validate", "state"]),
    ("plan", &["model", "validate", "state", "render"]),
    ("load", &["model", "manifest", "validate", "state"]),
    ("flow", &["state"]),
    ("pki", &[]),
    ("cluster", &["validate", "state", "render", "pki", "clock"]),
    ("config", &["model", "clock"]),
    ("backup", &[]),
    ("storage", &["backup"]),
    ("tcp_server", &[]),
    ("metrics", &["tcp_server"]),
    ("autoscaler", &["pki", "tcp_server", "clock"]),
    ("ui", &["model", "manifest", "state", "flow", "clock"]),
    ("sandbox", &["model", "config", "pki", "clock"]),
    (
        "app",
        &[
            "model",
            "manifest",
            "validate",
            "state",
            "render",
            "plan",
            "load",
            "flow",
            "clock",
            "pki",
            "cluster",
            "config",
            "backup",
            "storage",
            "tcp_server",
            "metrics",
            "autoscaler",
            "ui",
            "sandbox",
        ],
    ),
];

/// Effects, each with the rooms that may have it.
const DOORS: [(&str, &[&str]); 27] = [
    ("kube::Client", &["cluster"]),
    ("kube::Api", &["cluster"]),
    // Talks to S3 servers.
    ("object_store", &["storage"]),
    // And, with the certificates of kube's client, to etcd, which takes a snapshot as a stream.
    // `metrics` and `autoscaler` only answer.
    (
        "hyper_util",
        &["storage", "cluster", "metrics", "autoscaler"],
    ),
    ("hyper::server", &["metrics", "autoscaler"]),
    // Backups of a storage are encrypted and decrypted by `backup`.
    ("age::Encryptor", &["backup"]),
    ("indicatif", &["ui"]),
    ("dialoguer", &["ui"]),
    ("comfy_table", &["ui"]),
    ("miette", &["ui"]),
    ("console", &["ui"]),
    ("std::io::stdout", &["ui"]),
    ("std::io::stderr", &["ui"]),
    // Marks escapes as kvshoot's own; only help that clap has formatted has some outside of `ui`.
    ("crate::ui::signed", &["commands"]),
    // `ui` derives the values of `--output`, `--color` and `--progress`.
    ("clap", &["commands", "ui"]),
    ("std::env", &["config", "main"]),
    (
        "std::fs",
        &["app", "clock", "commands", "config", "sandbox", "storage"],
    ),
    ("tokio::fs", &["app", "config", "sandbox", "storage"]),
    // `config` finds out whether a process still runs.
    ("std::process::Command", &["config", "sandbox"]),
    ("tokio::process", &["app", "sandbox"]),
    ("std::time::SystemTime", &["config", "ui"]),
    // A sandbox's may be ahead of it.
    ("jiff::Timestamp::now", &["clock", "sandbox"]),
    ("crate::clock::now", &["app", "cluster", "config", "ui"]),
    ("std::net::TcpListener", &["cluster", "sandbox"]),
    ("std::net::TcpStream", &["cluster", "sandbox"]),
    ("std::net::UdpSocket", &["cluster", "sandbox"]),
    (
        "tokio::net",
        &["cluster", "tcp_server", "metrics", "autoscaler", "sandbox"],
    ),
];

/// Macros that print; only `ui` prints.
const PRINTING: [&str; 4] = ["print", "println", "eprint", "eprintln"];

#[test]
fn every_arrow_is_in_the_table() {
    let all = library();
    let mut wrong = BTreeSet::new();
    for (path, module) in &all.0 {
        let Some(room) = path.first() else { continue };
        let Some((_, may_use)) = MAY_USE.iter().find(|(name, _)| name == room) else {
            continue;
        };
        for used in module.paths.iter().flat_map(|it| rooms(&all, path, it)) {
            if used != *room && !may_use.contains(&used.as_str()) {
                wrong.insert(format!("{}: {room} uses {used}", module.file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", lines(wrong));
}

#[test]
fn every_effect_goes_through_its_door() {
    let mut wrong = BTreeSet::new();
    for (path, module) in &library().0 {
        let room = path.first().map_or("lib", String::as_str);
        for (name, rooms) in DOORS {
            if !rooms.contains(&room) && uses(module, name) {
                let allowed = rooms.join(", ");
                wrong.insert(format!(
                    "{}: {name} is for {allowed}",
                    module.file.display()
                ));
            }
        }
        if room != "ui"
            && module
                .macros
                .iter()
                .any(|it| PRINTING.contains(&it.as_str()))
        {
            wrong.insert(format!("{}: only ui prints", module.file.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", lines(wrong));
}

#[test]
fn every_room_is_in_the_table() {
    let rooms: BTreeSet<String> = library()
        .0
        .keys()
        .filter_map(|it| it.first().cloned())
        .collect();
    let in_table: BTreeSet<String> = MAY_USE
        .iter()
        .map(|(room, _)| (*room).to_owned())
        .chain(["commands".to_owned()])
        .collect();
    assert_eq!(rooms, in_table);
}

#[test]
fn the_table_in_lib_rs_has_the_same_arrows() {
    let text = fs::read_to_string("src/lib.rs").unwrap();
    for (room, may_use) in MAY_USE {
        let row = text
            .lines()
            .find(|it| it.starts_with(&format!("//! | `{room}` |")));
        let uses = row.and_then(|it| it.trim_end_matches(" |").rsplit(" | ").next());
        let quoted: Vec<String> = may_use.iter().map(|it| format!("`{it}`")).collect();
        let expected = match room {
            "app" => "all but `commands`".to_owned(),
            _ if quoted.is_empty() => "nothing".to_owned(),
            _ => quoted.join(", "),
        };
        assert_eq!(uses, Some(expected.as_str()), "{room}");
    }
}

#[test]
fn effects_are_found_however_they_are_written() {
    let found = |text: &str, name: &str| {
        let all = Crate::from_texts(&[("a", text)]);
        uses(&all.0[&vec!["a".to_owned()]], name)
    };
    assert!(found("use kube::{Api, Client};", "kube::Client"));
    assert!(found("use kube::{config::{A}, Client};", "kube::Client"));
    assert!(!found("use kube::{Api, config::ClientA};", "kube::Client"));
    assert!(found("use std::fs;", "std::fs"));
    assert!(found("use std::{fs::read, io};", "std::fs"));
    assert!(found("fn f() { std::env::var(\"A\"); }", "std::env"));
    assert!(found(
        "use jiff::Timestamp; fn f() { Timestamp::now(); }",
        "jiff::Timestamp::now"
    ));
    assert!(found(
        "use jiff as j; fn f() { j::Timestamp::now(); }",
        "jiff::Timestamp::now"
    ));
    assert!(found("fn f() { vec![tokio::fs::read(a)]; }", "tokio::fs"));
    assert!(!found("fn f() { clap_std::env::var(\"A\"); }", "std::env"));
    assert!(!found("#[cfg(test)] mod tests { use std::fs; }", "std::fs"));
}

fn library() -> Crate {
    Crate::read(Path::new("src/lib.rs"))
}

/// The rooms of a path: the named one, and the one that defines what it names.
fn rooms(all: &Crate, scope: &[String], path: &Segments) -> BTreeSet<String> {
    let named = (path[0] == "crate").then(|| path.get(1).cloned()).flatten();
    let defining = all.definition(scope, path);
    let defining = defining.and_then(|it| it.into_iter().next());
    named.into_iter().chain(defining).collect()
}

/// Whether a module names `name`, a path of another crate, or something below it.
fn uses(module: &Module, name: &str) -> bool {
    let wanted: Vec<&str> = name.split("::").collect();
    let imports: BTreeMap<&str, &Segments> = module.imports();
    module.paths.iter().any(|path| {
        let whole = match imports.get(path[0].as_str()) {
            Some(target) if target[0] != path[0] || target.len() > 1 => {
                [target.as_slice(), &path[1..]].concat()
            }
            _ => path.clone(),
        };
        [path, &whole]
            .iter()
            .any(|it| it.len() >= wanted.len() && it.iter().zip(&wanted).all(|(a, b)| a == b))
    })
}

fn lines(found: BTreeSet<String>) -> String {
    found.into_iter().collect::<Vec<_>>().join("\n")
}
