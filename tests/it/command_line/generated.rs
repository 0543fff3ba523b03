//! Completions and manual pages are made from the command line's definition; `SNAPSHOTS=overwrite` writes them.

use crate::support::kvshoot::Kvshoot;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Compares a directory with what it has to hold, or makes it so.
fn check(directory: &str, wanted: BTreeMap<String, String>) {
    let directory = Path::new(directory);
    let overwrite = std::env::var("SNAPSHOTS").is_ok_and(|it| it == "overwrite");
    let mut wrong = Vec::new();
    for (name, text) in &wanted {
        let path = directory.join(name);
        if fs::read_to_string(&path).ok().as_ref() == Some(text) {
            continue;
        }
        match overwrite {
            true => fs::write(path, text).unwrap(),
            false => wrong.push(format!("{} is old", path.display())),
        }
    }
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if wanted.contains_key(&name) || name == KUBECTL {
            continue;
        }
        match overwrite {
            true => fs::remove_file(path).unwrap(),
            false => wrong.push(format!("{} is of no use any more", path.display())),
        }
    }
    let hint = "SNAPSHOTS=overwrite cargo test generated";
    assert!(wrong.is_empty(), "{}\n{hint}", wrong.join("\n"));
}

/// AuditedWrite by hand: it lets kubectl ask for the plugin's completions.
const KUBECTL: &str = "kubectl_complete-kvshoot";

#[test]
fn completions_are_those_of_the_program() {
    let shells = [
        ("bash", "kvshoot.bash"),
        ("zsh", "_kvshoot"),
        ("fish", "kvshoot.fish"),
    ];
    let script = |shell| Kvshoot::new().args(["completions", shell]).out;
    let wanted = shells.map(|(shell, file)| (file.to_owned(), script(shell)));
    check("completions", BTreeMap::from(wanted));
}

#[test]
fn every_command_has_a_manual_page() {
    let pages = tempfile::TempDir::new().unwrap();
    clap_mangen::generate_to(kvshoot::command(), pages.path()).unwrap();
    let mut wanted = BTreeMap::new();
    for entry in fs::read_dir(pages.path()).unwrap() {
        let entry = entry.unwrap();
        let text = fs::read_to_string(entry.path()).unwrap();
        wanted.insert(entry.file_name().into_string().unwrap(), text);
    }
    wanted.insert("kvshoot-exit-codes.7".to_owned(), exit_codes());
    for (topic, about) in [
        ("control-plane", "what runs where, and how to reach it"),
        ("provider", "what a provider cluster must have"),
    ] {
        wanted.insert(format!("kvshoot-{topic}.7"), of_topic(topic, about));
    }
    check("man", wanted);
}

fn title(topic: &str, about: &str) -> String {
    format!(
        ".TH kvshoot-{topic} 7 \"\" \"kvshoot {}\"\n.SH NAME\nkvshoot\\-{} \\- {about}\n",
        env!("CARGO_PKG_VERSION"),
        topic.replace('-', "\\-")
    )
}

/// Headings are not indented, and explanations deeper than what they explain.
fn of_topic(topic: &str, about: &str) -> String {
    let text = Kvshoot::new().run(&format!("help {topic}")).out;
    let mut page = title(topic, about);
    for block in text.replace('-', "\\-").split("\n\n") {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        page += &match block.split_once("\n      ") {
            _ if !block.starts_with(' ') => format!(".SH {}\n", block.trim().to_uppercase()),
            Some((term, rest)) => format!(".TP\n\\fB{}\\fR\n{}\n", term.trim(), words(rest)),
            None => format!(".PP\n{}\n", words(block)),
        };
    }
    page
}

fn exit_codes() -> String {
    let table = Kvshoot::new().run("help exit-codes").out;
    let mut page = title("exit-codes", "what the exit codes of kvshoot mean");
    page += ".SH DESCRIPTION\nNone of them ever changes its meaning.\n";
    for line in table.lines().skip(1) {
        let (code, meaning) = line.split_once(' ').unwrap();
        page += &format!(".TP\n\\fB{code}\\fR\n{}\n", meaning.trim());
    }
    page
}

#[test]
fn kubectl_is_offered_what_the_program_offers() {
    let home = Kvshoot::new().env("KUBECONFIG", "config").file(
        "config",
        "contexts: [{name: prod}, {name: lab}, {name: laptop}]\n",
    );
    fs::create_dir(home.home().join("bin")).unwrap();
    let plugin = home.home().join("bin/kubectl-kvshoot");
    symlink(env!("CARGO_BIN_EXE_kvshoot"), plugin).unwrap();
    let path = format!("{}:/usr/bin:/bin", home.home().join("bin").display());
    let script = fs::canonicalize(Path::new("completions").join(KUBECTL)).unwrap();
    let home = home.env("PATH", &path);

    let output = home.program(&script, ["list", "--context", "la"]);
    assert_eq!(output.to_string(), "lab\nlaptop\n:4\n");
    let output = home.program(&script, ["vers"]);
    assert_eq!(output.to_string(), "version\tPrint the version\n:4\n");
}
