//! What the README says is so: its commands run, its outputs are real, and its tables are those of the program.

use crate::support::kvshoot::Kvshoot;
use crate::support::provider::Provider;
use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

const SET_UP: &str = "cargo run --release -- apply -f examples/three-zones.yaml --sandbox";
const TESTS: &str = "cargo test";

/// A line after a prompt, and what stands below it.
struct Shown {
    command: String,
    code: i32,
    output: Vec<String>,
}

/// Stops the sandbox that the commands start in their own home, however the test ends.
struct Reset<'a>(&'a Kvshoot);

impl Drop for Reset<'_> {
    fn drop(&mut self) {
        let _ = self.0.run("sandbox reset");
    }
}

#[test]
fn every_command_of_the_readme_runs_and_says_what_stands_there() {
    let provider = Provider::new();
    let kvshoot = provider
        .kvshoot()
        .env("XDG_CACHE_HOME", &cache().display().to_string());
    let bin = kvshoot.home().join("bin");
    fs::create_dir(&bin).unwrap();
    symlink(env!("CARGO_BIN_EXE_kvshoot"), bin.join("kvshoot")).unwrap();
    symlink(
        fs::canonicalize("examples").unwrap(),
        kvshoot.home().join("examples"),
    )
    .unwrap();
    let kvshoot = kvshoot.env("PATH", &format!("{}:/usr/bin:/bin", bin.display()));
    let _reset = Reset(&kvshoot);

    let shown = shown();
    assert!(shown.len() > 20, "the README shows no commands");
    for Shown {
        command,
        code,
        output,
    } in shown
    {
        let told = kvshoot.program(Path::new("/bin/sh"), ["-c", &command]);
        assert_eq!(told.code, code, "$ {command}\n{told}");
        let all = format!("{}{}", told.out, told.err).replace(&provider.namespace, "default");
        let lines: HashSet<String> = all.lines().map(shape).collect();
        for line in output {
            let is_there = lines.contains(&shape(&line));
            assert!(is_there, "$ {command}\nREADME: {line}\n{told}");
        }
    }
}

#[test]
fn two_commands_do_all_the_setting_up() {
    let readme = readme();
    let blocks: Vec<&str> = readme.split("```sh\n").skip(1).collect();
    for command in [SET_UP, TESTS] {
        let alone = format!("{command}\n```");
        assert!(blocks.iter().any(|it| it.starts_with(&alone)), "{command}");
    }
}

#[test]
fn the_continuous_integration_runs_the_command_of_the_readme() {
    let script = fs::read_to_string(".ci/run").unwrap();
    assert!(script.lines().any(|it| it.trim().starts_with(TESTS)));
    let mode = fs::metadata(".ci/run").unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111, "it can be run");
}

#[test]
fn the_exit_codes_are_those_of_the_program() {
    let told = Kvshoot::new().run("help exit-codes").out;
    let readme = readme();
    for line in told.lines().skip(1) {
        let (code, meaning) = line.split_once(' ').unwrap();
        let row = format!("\n| {code} | {} |\n", meaning.trim());
        assert!(readme.contains(&row), "{row}");
    }
}

#[test]
fn files_that_the_readme_names_are_there() {
    let readme = readme();
    let links = readme.split("](").skip(1);
    for link in links.filter_map(|it| it.split(')').next()) {
        assert!(
            link.starts_with("https://") || Path::new(link).exists(),
            "{link}"
        );
    }
}

fn readme() -> String {
    fs::read_to_string("README.md").unwrap()
}

/// All that stands in blocks called `console`.
fn shown() -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    for block in readme().split("```console\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                let (command, code) = command
                    .split_once("   # exit code ")
                    .unwrap_or((command, "0"));
                shown.push(Shown {
                    command: command.to_owned(),
                    code: code.parse().unwrap(),
                    output: Vec::new(),
                });
            } else if !line.is_empty() {
                shown.last_mut().unwrap().output.push(line.to_owned());
            }
        }
    }
    shown
}

/// Without times, hashes, addresses and the width of columns.
fn shape(line: &str) -> String {
    let word = |it: &str| match it.contains(|c: char| c.is_ascii_digit()) {
        true => "#".to_owned(),
        false => it.to_owned(),
    };
    let words: Vec<String> = line.split_whitespace().map(word).collect();
    words.join(" ")
}

/// The programs of the sandbox are built once for all.
fn cache() -> PathBuf {
    match std::env::var_os("XDG_CACHE_HOME") {
        Some(folder) => folder.into(),
        None => PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"),
    }
}
