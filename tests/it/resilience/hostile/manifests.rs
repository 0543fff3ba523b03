//! Manifests of almost 16 MiB that are deep, repetitive, or no YAML at all.

use super::scene::{BUG, MAX_MEMORY, MAX_SILENCE, measure};
use crate::support::kvshoot::Kvshoot;

/// A little less than the limit of all manifests.
const LENGTH: usize = (16 << 20) - 1024;
const HEAD: &str =
    "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {name: a, namespace: b}\n";

/// `start`, then `piece` as often as it fits.
fn repeated(start: &str, piece: &str) -> String {
    start.to_owned() + &piece.repeat((LENGTH - start.len()) / piece.len())
}

/// `start`, then what `piece` returns for 0, 1, 2, … as often as it fits.
fn counted(start: &str, piece: impl Fn(usize) -> String) -> String {
    let mut text = start.to_owned();
    for number in 0.. {
        let next = piece(number);
        if text.len() + next.len() > LENGTH {
            break;
        }
        text += &next;
    }
    text
}

fn manifests() -> Vec<(&'static str, String)> {
    let spec = |rest: &str| format!("{HEAD}spec: {rest}");
    vec![
        ("nested lists", repeated(&spec(""), "[")),
        ("nested maps", repeated(&spec(""), "{a: ")),
        ("nested block lists", repeated("", "- ")),
        ("nested keys", repeated("", "? ")),
        ("nested merges", repeated(&spec(""), "<<: ")),
        ("tags", repeated(&spec(""), "!!str ")),
        ("directives", repeated("", "%TAG ! tag:x,2000:\n")),
        ("documents", repeated("", "--- {}\n")),
        ("aliases", repeated("a: &a x\nb: [", "*a,")),
        ("anchors", counted("", |it| format!("a{it}: &a{it} x\n"))),
        (
            "merges",
            counted("a: &a {x: 1}\n", |it| format!("b{it}: {{<<: *a}}\n")),
        ),
        ("keys", counted(&spec("\n"), |it| format!("  k{it}: 1\n"))),
        ("a repeated key", repeated(&spec("\n"), "  k: 1\n")),
        (
            "workers",
            repeated(&spec("\n  provider:\n    workers:\n"), "    - {name: a}\n"),
        ),
        (
            "items of a list",
            repeated("kind: List\napiVersion: v1\nitems:\n", "- {kind: Shoot}\n"),
        ),
        ("one scalar", repeated(&spec("'"), "x")),
        ("a block scalar", repeated(&spec("|\n"), "  x\n")),
        ("escapes", repeated(&spec("\""), "\\u202e")),
        ("comments", repeated("", "#")),
        ("spaces", repeated(&spec(""), " ")),
        ("tabs", repeated(&spec(""), "\t")),
        ("carriage returns", repeated(&spec(""), "\r")),
        ("NUL", repeated(&spec(""), "\0")),
    ]
}

#[test]
#[ignore = "second tier: minutes of computing; unit tests have smaller manifests of this kind"]
fn no_manifest_uses_up_the_memory_of_a_command() {
    for (name, text) in manifests() {
        let kvshoot = Kvshoot::new().file("shoot.yaml", &text);
        let done = measure(&kvshoot, "validate -f shoot.yaml");
        let (memory, silence) = (done.memory >> 10, done.silence);
        println!(
            "{name}: {memory} MiB, silent for {silence:.1?}, exit code {:?}",
            done.code
        );
        let start: String = done.text.chars().take(2_000).collect();
        assert!(
            done.code.is_some_and(|it| it != BUG && it != 0),
            "{name}: {start}"
        );
        assert!(done.memory < MAX_MEMORY, "{name}: {memory} MiB: {start}");
        assert!(silence < MAX_SILENCE, "{name}: {silence:?}: {start}");
        assert!(start.contains("shoot.yaml:"), "{name}: {start}");
        assert!(done.text.len() < 1 << 20, "{name}: {start}");
    }
}
