//! Tests of the README and the pages in `docs/`: commands run, outputs match, manifests are valid, links resolve.
//!
//! Code blocks are tested by their language. The lines of `sh` run in order, as a reader pastes them. In `console`,
//! lines that begin with `$` run, and the lines below are their output. A command that ends in `# exit code N` has
//! to exit with N, all others with 0. `yaml` is parsed, and Shoots in it are validated. `text` is not tested.

use crate::support::kvshoot::Kvshoot;
use crate::support::provider::{Provider, cache};
use serde::Deserialize as _;
use serde_json::Value;
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

const README: &str = "README.md";
const SET_UP: &str = "cargo run -- apply -f examples/three-zones.yaml --sandbox";
const TESTS: &str = "cargo test";
/// The provider cluster of the tests is a sandbox already.
const USE_SANDBOX: [&str; 2] = ["kvshoot sandbox up", "export KVSHOOT_SANDBOX=1"];

/// Pages with commands; each has a test below.
const WITH_COMMANDS: [&str; 7] = [
    README,
    "docs/exit-codes-and-events.md",
    "docs/guide.md",
    "docs/kubermatic.md",
    "docs/manifests.md",
    "docs/provider.md",
    "docs/sandbox.md",
];

/// The words of the glossary, each introduced by the README in italics.
const GLOSSARY: [&str; 11] = [
    "provider cluster",
    "sandbox",
    "shoot",
    "machine",
    "pool",
    "image",
    "golden volume",
    "record",
    "run",
    "item",
    "action",
];

#[test]
fn commands_of_the_readme_run() {
    Checkout::new().run_commands(README);
}

#[test]
#[ignore = "second tier: the first tier runs the README"]
fn commands_of_the_guide_run() {
    Checkout::new().run_commands("docs/guide.md");
}

#[test]
fn commands_of_the_pages_on_manifests_run() {
    let checkout = Checkout::new();
    checkout.run_commands("docs/manifests.md");
    checkout.run_commands("docs/kubermatic.md");
}

#[test]
#[ignore = "second tier: starts a sandbox of its own; the first tier runs the README"]
fn commands_of_the_pages_on_the_provider_cluster_run() {
    let checkout = Checkout::new();
    checkout.run_commands("docs/provider.md");
    checkout.run_commands("docs/sandbox.md");
}

#[test]
#[ignore = "second tier: another cluster; the first tier runs the README, and goldens have the events"]
fn every_event_of_a_run_is_documented() {
    let page = "docs/exit-codes-and-events.md";
    let checkout = Checkout::new();
    checkout.run_commands(page);
    let text = read(page);
    let events = fs::read_to_string(checkout.kvshoot.home().join("events.jsonl")).unwrap();
    let mut types = BTreeSet::new();
    for line in events.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        for field in event.as_object().unwrap().keys() {
            assert!(text.contains(&format!("`{field}`")), "{field}: {line}");
        }
        let name = event["type"].as_str().unwrap();
        assert!(text.contains(&format!("| `{name}` |")), "{line}");
        types.insert(name.to_owned());
    }
    assert!(types.contains("run.started"), "{types:?}");
    assert!(events.lines().last().unwrap().contains("run.finished"));
}

#[test]
fn every_page_with_commands_is_tested() {
    let mut pages: Vec<String> = pages();
    pages.retain(|page| page != "CONTRIBUTING.md" && !steps(page).is_empty());
    pages.sort();
    assert_eq!(pages, WITH_COMMANDS);
}

#[test]
fn two_commands_do_all_the_setting_up() {
    let blocks = blocks(README);
    for command in [SET_UP, TESTS] {
        let is_alone = |block: &Block| block.language == "sh" && block.text.trim() == command;
        assert!(blocks.iter().any(is_alone), "{command}");
    }
}

#[test]
fn the_continuous_integration_runs_the_command_of_the_readme() {
    let script = read(".ci/run");
    assert!(script.lines().any(|line| line.trim().starts_with(TESTS)));
    let mode = fs::metadata(".ci/run").unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111, "not executable");
}

#[test]
fn the_readme_is_short_and_introduces_every_word_of_the_glossary() {
    let readme = read(README);
    let lines = readme.lines().count();
    assert!(lines <= 180, "{lines} lines");
    for word in GLOSSARY {
        assert!(readme.contains(&format!("*{word}*")), "{word}");
    }
}

#[test]
fn the_exit_codes_are_those_of_the_program() {
    let output = Kvshoot::new().run("help exit-codes").out;
    let page = read("docs/exit-codes-and-events.md");
    for line in output.lines().skip(1) {
        let (code, meaning) = line.split_once(' ').unwrap();
        let row = format!("\n| {code} | {} |\n", meaning.trim());
        assert!(page.contains(&row), "{row}");
    }
}

#[test]
fn links_lead_to_files_and_headings_that_exist() {
    for page in pages() {
        let text = read(&page);
        let folder = Path::new(&page).parent().unwrap();
        let links = text.split("](").skip(1);
        for link in links.filter_map(|rest| rest.split(')').next()) {
            if link.starts_with("https://") {
                continue;
            }
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => PathBuf::from(&page),
                path => folder.join(path),
            };
            assert!(target.exists(), "{page}: {link}");
            if !heading.is_empty() {
                let anchors = anchors(&fs::read_to_string(&target).unwrap());
                assert!(anchors.contains(heading), "{page}: {link}");
            }
        }
    }
}

#[test]
fn files_that_the_documentation_names_exist() {
    const FOLDERS: [&str; 5] = ["src/", "tests/", "docs/", "examples/", ".ci/"];
    let mut missing = Vec::new();
    for page in pages() {
        let text = read(&page);
        for word in text.split('`').skip(1).step_by(2) {
            let is_path = FOLDERS.iter().any(|folder| word.starts_with(folder))
                && !word.contains([' ', '*', '<', '{', '\n']);
            if is_path && !Path::new(word).exists() {
                missing.push(format!("{page}: {word}"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn yaml_of_every_page_is_valid() {
    let example = read("examples/three-zones.yaml");
    let (_, profile) = example.split_once("---\n").unwrap();
    for page in pages() {
        let yaml = blocks(&page).into_iter();
        for block in yaml.filter(|block| block.language == "yaml") {
            let text = &block.text;
            for document in serde_yaml::Deserializer::from_str(text) {
                let parsed = serde_yaml::Value::deserialize(document);
                assert!(parsed.is_ok(), "{page}: {parsed:?}\n{text}");
            }
            if !text.contains("kind: Shoot\n") {
                continue;
            }
            let kvshoot = Kvshoot::new()
                .file("shoot.yaml", text)
                .file("profile.yaml", profile);
            let output = match text.contains("kind: CloudProfile\n") {
                true => kvshoot.run("validate -f shoot.yaml"),
                false => kvshoot.run("validate -f shoot.yaml --profile profile.yaml"),
            };
            assert_eq!(output.code, 0, "{page}: {output}");
        }
    }
}

/// A home that looks like a checkout, with kvshoot in its PATH and a namespace of the sandbox as provider cluster.
struct Checkout {
    provider: Provider,
    kvshoot: Kvshoot,
}

impl Checkout {
    fn new() -> Checkout {
        let provider = Provider::new();
        let kvshoot = provider
            .kvshoot()
            .env("XDG_CACHE_HOME", &cache().display().to_string());
        let bin = kvshoot.home().join("bin");
        fs::create_dir(&bin).unwrap();
        symlink(env!("CARGO_BIN_EXE_kvshoot"), bin.join("kvshoot")).unwrap();
        for folder in ["examples", "man", "completions"] {
            let target = fs::canonicalize(folder).unwrap();
            symlink(target, kvshoot.home().join(folder)).unwrap();
        }
        let kvshoot = kvshoot.env("PATH", &format!("{}:/usr/bin:/bin", bin.display()));
        Checkout { provider, kvshoot }
    }

    /// Runs every command of a page, in order and with what was exported above it.
    ///
    /// Commands of cargo are left out: they build the program that is tested here.
    fn run_commands(&self, page: &str) {
        let mut exports = String::new();
        for step in steps(page) {
            let command = &step.command;
            if command.starts_with("cargo ") || USE_SANDBOX.contains(&command.as_str()) {
                continue;
            }
            if command.starts_with("export ") {
                exports.push_str(&format!("{command}\n"));
                continue;
            }
            let script = format!("{exports}{command}");
            let output = self.kvshoot.program(Path::new("/bin/sh"), ["-c", &script]);
            assert_eq!(output.code, step.code, "{page}: $ {command}\n{output}");
            let all = format!("{}{}", output.out, output.err);
            let all = all.replace(&self.provider.namespace, "default");
            let lines: HashSet<String> = all.lines().map(shape).collect();
            for line in step.output {
                let is_printed = lines.contains(&shape(&line));
                assert!(is_printed, "{page}: $ {command}\n{line}\n{output}");
            }
        }
    }
}

impl Drop for Checkout {
    /// Stops the sandbox that commands may have started in this home, however the test ends.
    fn drop(&mut self) {
        let _ = self.kvshoot.run("sandbox reset");
    }
}

/// A fenced code block.
struct Block {
    language: String,
    text: String,
}

/// A command of a page, and what it has to print.
struct Step {
    command: String,
    code: i32,
    output: Vec<String>,
}

/// Every page of the documentation, as a path in the repository.
fn pages() -> Vec<String> {
    let top = [
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
    ];
    let mut pages: Vec<String> = top.map(str::to_owned).to_vec();
    for entry in fs::read_dir("docs").unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path.display().to_string());
        }
    }
    pages
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for line in read(page).lines() {
        if let Some(language) = line.strip_prefix("```") {
            if let Some(block) = open.take() {
                blocks.push(block);
                continue;
            }
            assert!(!language.is_empty(), "{page}: a block without a language");
            open = Some(Block {
                language: language.to_owned(),
                text: String::new(),
            });
        } else if let Some(block) = &mut open {
            block.text.push_str(&format!("{line}\n"));
        }
    }
    assert!(open.is_none(), "{page}: the last block is not closed");
    blocks
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for block in blocks(page) {
        let lines = block.text.lines().filter(|line| !line.trim().is_empty());
        match block.language.as_str() {
            "sh" => steps.extend(lines.map(step)),
            "console" => {
                for line in lines {
                    if let Some(command) = line.strip_prefix("$ ") {
                        steps.push(step(command));
                    } else {
                        let step = steps.last_mut().expect("output belongs to a command");
                        step.output.push(line.to_owned());
                    }
                }
            }
            _ => {}
        }
    }
    steps
}

fn step(line: &str) -> Step {
    let (command, code) = line.split_once("# exit code ").unwrap_or((line, "0"));
    Step {
        command: command.trim().to_owned(),
        code: code.trim().parse().unwrap(),
        output: Vec::new(),
    }
}

/// The anchors of a page's headings, as code hosts make them.
fn anchors(text: &str) -> HashSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let titles = headings.map(|line| line.trim_start_matches('#').trim().to_lowercase());
    let is_kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
    titles
        .map(|title| title.chars().filter(is_kept).collect::<String>())
        .map(|title| title.replace(' ', "-"))
        .collect()
}

/// A line without times, hashes, addresses and the width of columns.
fn shape(line: &str) -> String {
    let word = |word: &str| match word.contains(|letter: char| letter.is_ascii_digit()) {
        true => "#".to_owned(),
        false => word.to_owned(),
    };
    let words: Vec<String> = line.split_whitespace().map(word).collect();
    words.join(" ")
}
