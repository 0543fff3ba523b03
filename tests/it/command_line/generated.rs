//! Completions and man pages are generated from the command line; `SNAPSHOTS=overwrite` writes them.

use crate::support::kvshoot::Kvshoot;
use clap::Command;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Compares the files of a directory with the wanted ones, or writes them.
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
            false => wrong.push(format!("{} is outdated", path.display())),
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
            false => wrong.push(format!("{} is no longer generated", path.display())),
        }
    }
    let hint = "SNAPSHOTS=overwrite cargo test generated";
    assert!(wrong.is_empty(), "{}\n{hint}", wrong.join("\n"));
}

/// Written by hand: kubectl calls it for completions of the plugin.
const KUBECTL: &str = "kubectl_complete-kvshoot";

#[test]
fn completions_are_up_to_date() {
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
    let mut command = kvshoot::command();
    command.build();
    let mut wanted = BTreeMap::new();
    add_pages(&command, &[], &mut wanted);
    for (name, page) in &wanted {
        for section in ["EXAMPLES", "EXIT STATUS", "ENVIRONMENT", "SEE ALSO"] {
            assert!(page.contains(section), "{name} has no section {section}");
        }
    }
    wanted.insert("kvshoot-exit-codes.7".to_owned(), exit_codes());
    for (topic, about) in [
        (
            "control-plane",
            "control plane of a cluster, and access to it",
        ),
        ("provider", "prerequisites of a provider cluster"),
    ] {
        wanted.insert(format!("kvshoot-{topic}.7"), of_topic(topic, about));
    }
    check("man", wanted);
}

/// The page of a command, and those of its subcommands.
fn add_pages(command: &Command, parents: &[&str], pages: &mut BTreeMap<String, String>) {
    let path = [parents, &[command.get_name()]].concat();
    let name = path.join("-");
    let mut text = Vec::new();
    let man = clap_mangen::Man::new(command.clone().display_name(name.clone()));
    man.render(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let (before, version) = text
        .split_once(".SH VERSION\n")
        .map_or((text.as_str(), String::new()), |(before, version)| {
            (before, format!(".SH VERSION\n{version}"))
        });
    let before = before.split(".SH EXTRA\n").next().unwrap();
    let page = [
        before,
        &examples(command),
        &exit_status(&path),
        &environment(command),
        &see_also(&path, command),
        &version,
    ]
    .concat();
    pages.insert(format!("{name}.1"), page);
    for subcommand in command.get_subcommands() {
        add_pages(subcommand, &path, pages);
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('-', "\\-")
        .replace('\'', "\\(aq")
}

/// The examples of a command, or the first one of each subcommand.
fn examples(command: &Command) -> String {
    format!(".SH EXAMPLES\n{}", example_lines(command, usize::MAX))
}

fn example_lines(command: &Command, most: usize) -> String {
    if command.has_subcommands() {
        let subcommands = command.get_subcommands();
        return subcommands.map(|it| example_lines(it, 1)).collect();
    }
    let help = command.get_after_long_help().unwrap().to_string();
    let lines: Vec<&str> = help.lines().skip(1).map(str::trim).collect();
    lines
        .chunks(2)
        .take(most)
        .map(|example| {
            let comment = example[0].trim_start_matches("# ");
            format!(
                ".TP\n{}\n.EX\n{}\n.EE\n",
                escaped(comment),
                escaped(example[1])
            )
        })
        .collect()
}

fn exit_status(path: &[&str]) -> String {
    let child = match path.last() {
        Some(&"run" | &"exec") => {
            ".TP\n\\fB125\\fR\nkvshoot itself failed; otherwise, the exit code of the command\n"
        }
        _ => "",
    };
    format!(
        ".SH \"EXIT STATUS\"\n.TP\n\\fB0\\fR\nsuccess\n.TP\n\\fB1\\fR\nnegative result, for example changes or an unhealthy cluster\n.TP\n\\fB2\\fR\ninvalid command line\n{child}.PP\nAll exit codes are listed in \\fBkvshoot\\-exit\\-codes\\fR(7).\n"
    )
}

/// The variables of the flags of a command.
fn environment(command: &Command) -> String {
    let mut lines: Vec<String> = command
        .get_arguments()
        .filter_map(|arg| {
            let name = arg.get_env()?.to_string_lossy().into_owned();
            let flag = escaped(arg.get_long()?);
            Some(format!(
                ".TP\n\\fB{name}\\fR\nDefault of \\fB\\-\\-{flag}\\fR\n"
            ))
        })
        .collect();
    lines.sort();
    format!(
        ".SH ENVIRONMENT\n{}.PP\n\\fBkvshoot help environment\\fR lists all variables.\n",
        lines.concat()
    )
}

fn see_also(path: &[&str], command: &Command) -> String {
    let parents = (1..path.len()).map(|length| format!("{}(1)", path[..length].join("-")));
    let subcommands = command.get_subcommands();
    let subcommands = subcommands.map(|it| format!("{}-{}(1)", path.join("-"), it.get_name()));
    let topics = ["exit-codes", "control-plane", "provider"];
    let topics = topics.map(|topic| format!("kvshoot-{topic}(7)"));
    let pages: Vec<String> = parents.chain(subcommands).chain(topics).collect();
    format!(".SH \"SEE ALSO\"\n{}\n", escaped(&pages.join(", ")))
}

fn title(topic: &str, about: &str) -> String {
    format!(
        ".TH kvshoot-{topic} 7 \"\" \"kvshoot {}\"\n.SH NAME\nkvshoot\\-{} \\- {about}\n",
        env!("CARGO_PKG_VERSION"),
        topic.replace('-', "\\-")
    )
}

/// Headings are not indented; explanations are indented more than their terms.
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
    let mut page = title("exit-codes", "exit codes of kvshoot");
    page += ".SH DESCRIPTION\nExit codes are stable.\n";
    for line in table.lines().skip(1) {
        let (code, meaning) = line.split_once(' ').unwrap();
        page += &format!(".TP\n\\fB{code}\\fR\n{}\n", meaning.trim());
    }
    page
}

#[test]
fn kubectl_completes_the_plugin() {
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
    assert_eq!(
        output.to_string(),
        "version\tPrint the versions of kvshoot and of the provider cluster\n:4\n"
    );
}
