//! Consoles of machines that try to control the terminal or a CI system, or have no end.

use super::fake_api::{Attack, FakeRequest};
use super::scene::{
    BUG, MAX_MEMORY, MAX_SILENCE, Measured, Scene, endless, measure, no_response, slow,
};
use serde_json::json;
use std::io::{self, Write};

const CONSOLE: &str = "nodes console dev machine --tail 4000000000";
const FOLLOW: &str = "nodes console dev machine --follow";
/// A little more than what is kept of a console.
const LENGTH: usize = 11 << 20;

/// Lines that command a terminal, GitHub, GitLab, Azure Pipelines and TeamCity.
const COMMANDS: &str = "\
\x1b]0;title\x07\x1b[2J\u{9b}31m\u{202e}x\u{2028}::y
::set-output name=p::1
   \x1b[31m::add-mask::x
##[group]x and ##[endgroup]
\x1b[0m##vso[task.setvariable variable=p]1
##\x1b[0mteamcity[buildStatus status='SUCCESS']
\rsection_start:1:a[collapsed=true]\r\x1b[0Kx
section_\x07end:1:a\r\x1b[0K
";

fn commands(_: &FakeRequest, out: &mut dyn Write) -> io::Result<()> {
    whole(out, COMMANDS.as_bytes())
}

fn empty_lines(_: &FakeRequest, out: &mut dyn Write) -> io::Result<()> {
    whole(out, &vec![b'\n'; LENGTH])
}

fn one_line(_: &FakeRequest, out: &mut dyn Write) -> io::Result<()> {
    whole(out, &vec![b'x'; LENGTH])
}

fn no_text(_: &FakeRequest, out: &mut dyn Write) -> io::Result<()> {
    whole(
        out,
        &[&[0xff; 99], &b"\n"[..]].concat().repeat(LENGTH / 100),
    )
}

fn invisible(_: &FakeRequest, out: &mut dyn Write) -> io::Result<()> {
    whole(
        out,
        "\u{202e}\u{202e}\u{202e}\n".repeat(LENGTH / 10).as_bytes(),
    )
}

fn without_end(_: &FakeRequest, out: &mut dyn Write) -> io::Result<()> {
    endless(out, || b"a line\n".repeat(1 << 12))
}

/// A response with its end.
fn whole(out: &mut dyn Write, body: &[u8]) -> io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";
    write!(out, "{head}Content-Length: {}\r\n\r\n", body.len())?;
    out.write_all(body)?;
    out.flush()
}

/// A shoot with a machine that has a console.
fn scene() -> Scene {
    let scene = Scene::new();
    let labels = json!({
        "app.kubernetes.io/managed-by": "kvshoot",
        "app.kubernetes.io/part-of": "shoot--local--dev",
        "kubevirt.io": "virt-launcher",
        "vm.kubevirt.io/name": "machine",
    });
    let pod = json!({
        "metadata": { "name": "virt-launcher-machine-x", "labels": labels },
        "spec": { "containers": [{ "name": "guest-console-log" }] },
    });
    scene.fake.create("/api/v1/namespaces/shoots/pods", pod);
    scene
}

fn suffers(scene: &Scene, attack: Attack, line: &str) -> Measured {
    scene.fake.attack(|it| it.is_for("/log"), attack);
    let done = measure(&scene.kvshoot, line);
    let (memory, silence) = (done.memory >> 10, done.silence);
    println!(
        "{line}: {memory} MiB, silent for {silence:.1?}, {:?}",
        done.code
    );
    assert!(done.memory < MAX_MEMORY, "{line}: {memory} MiB");
    assert!(silence < MAX_SILENCE, "{line}: {silence:?}");
    assert!(
        done.code.is_some_and(|it| it != BUG),
        "{line}: {}",
        start(&done)
    );
    done
}

fn start(done: &Measured) -> String {
    done.text.chars().take(2_000).collect()
}

#[test]
fn no_console_commands_a_terminal_or_a_ci_system() {
    let scene = scene();
    for line in [CONSOLE, FOLLOW] {
        let done = suffers(&scene, commands, line);
        assert_eq!(done.code, Some(0), "{}", done.text);
        let shown = &done.text;
        let is_control = |it: char| it.is_control() && !"\n\t".contains(it);
        let is_hidden = |it: char| "\u{202e}\u{2028}".contains(it);
        assert!(
            !shown.contains(is_control) && !shown.contains(is_hidden),
            "{shown:?}"
        );
        for mark in [
            "##[",
            "##vso[",
            "##teamcity[",
            "section_start:",
            "section_end:",
        ] {
            assert!(!shown.contains(mark), "{mark}: {shown}");
        }
        let is_command = |it: &str| it.trim_start().starts_with("::");
        assert!(!shown.lines().any(is_command), "{shown}");
        assert!(shown.contains("set-output name=p::1"), "{shown}");
    }
}

#[test]
fn no_console_uses_up_the_memory_of_a_command() {
    let scene = scene();
    for attack in [empty_lines, one_line, no_text, invisible] {
        let done = suffers(&scene, attack, CONSOLE);
        assert_eq!(done.code, Some(0), "{}", start(&done));
        assert!(done.text.contains("are left out"), "{}", start(&done));
    }
}

#[test]
#[ignore = "second tier: up to its time limit; the first tier has consoles that are too large, and a unit test the reports"]
fn a_console_that_does_not_come_to_its_end_is_reported() {
    let scene = scene();
    for attack in [no_response, slow, without_end] {
        let done = suffers(&scene, attack, CONSOLE);
        assert_eq!(done.code, Some(4), "{}", start(&done));
        assert!(
            done.text.contains("Waiting for http://127.0.0.1:"),
            "{}",
            done.text
        );
    }
    for attack in [empty_lines, one_line, no_text, invisible, without_end] {
        suffers(&scene, attack, FOLLOW);
    }
}
