//! Names and texts of others that try to command a shell, a terminal or a CI system.

use crate::support::kvshoot::Kvshoot;
use serde_json::json;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Names that run a command if a shell reads them, or hide something.
const NAMES: [&str; 14] = [
    "$(touch PWNED)",
    "`touch PWNED`",
    "x;touch PWNED",
    "x\ntouch PWNED",
    "--kubeconfig=x",
    "{a,b}",
    "=touch",
    "~root",
    "x*",
    "!!",
    "x&touch PWNED",
    "x\u{2028}touch PWNED",
    "x\u{1b}]0;title\u{7}",
    "x\u{202e}y",
];

/// Time for a shell on a busy computer.
const LIMIT: Duration = Duration::from_secs(60);
const PROMPT: &str = "ready>";

/// A shell on a terminal.
struct Shell {
    child: Child,
    /// Everything that was shown so far.
    shown: Arc<Mutex<Vec<u8>>>,
}

impl Shell {
    fn start(kvshoot: &Kvshoot, shell: &str) -> Shell {
        let script = Path::new("/usr/bin/script");
        let mut child = kvshoot
            .command(script, ["-qec", shell, "/dev/null"])
            .spawn()
            .unwrap();
        let mut output = child.stdout.take().unwrap();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let all = shown.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = output.read(&mut buffer) {
                all.lock().unwrap().extend_from_slice(&buffer[..length]);
            }
        });
        Shell { child, shown }
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    fn wait_for(&self, what: &str, mut is_shown: impl FnMut(&str) -> bool) {
        let begun = Instant::now();
        while !is_shown(&self.shown()) {
            let shown = self.shown();
            assert!(begun.elapsed() < LIMIT, "{what} was not shown:\n{shown:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Completes `line` to a name with `expected`, and runs it. Returns what was shown.
    fn complete_and_run(mut self, line: &str, expected: &str) -> String {
        let mut input = self.child.stdin.take().unwrap();
        self.wait_for(PROMPT, |it| it.contains(PROMPT));
        input.write_all(line.as_bytes()).unwrap();
        let mut tabs = 0;
        let begun = Instant::now();
        self.wait_for(expected, |it| {
            // Completion offers nothing where it takes too long, and the user presses TAB again.
            let due = begun.elapsed().as_secs() / 2;
            if due >= tabs {
                tabs = due + 1;
                input.write_all(b"\t").unwrap();
            }
            it.contains(expected)
        });
        let prompts = self.shown().matches(PROMPT).count();
        input.write_all(b"\n").unwrap();
        self.wait_for("the next prompt", |it| it.matches(PROMPT).count() > prompts);
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.shown()
    }
}

/// A home with installed completions, a kubeconfig with the contexts, and a folder with the files.
fn home(contexts: &[&str], files: &[&str]) -> Kvshoot {
    let kvshoot = Kvshoot::new();
    let bin = kvshoot.home().join("bin");
    std::fs::create_dir(&bin).unwrap();
    symlink(env!("CARGO_BIN_EXE_kvshoot"), bin.join("kvshoot")).unwrap();
    let contexts: Vec<_> = contexts.iter().map(|it| json!({"name": it})).collect();
    let config = json!({"apiVersion": "v1", "kind": "Config", "contexts": contexts});
    let kvshoot = kvshoot
        .env("PATH", &format!("{}:/usr/bin:/bin", bin.display()))
        .env("TERM", "xterm")
        .env("KUBECONFIG", "config")
        .file("config", &config.to_string())
        .file(
            ".bashrc",
            &format!("source <(kvshoot completions bash)\nPS1='{PROMPT} '\n"),
        )
        .file(
            ".zshrc",
            &format!("autoload -Uz compinit; compinit -u; source <(kvshoot completions zsh)\nPS1='{PROMPT} '\n"),
        )
        .file(
            ".config/fish/config.fish",
            &format!("kvshoot completions fish | source\nfunction fish_prompt; echo -n '{PROMPT} '; end\n"),
        );
    let folder = kvshoot.home().join("manifests");
    std::fs::create_dir(&folder).unwrap();
    for file in files {
        std::fs::write(folder.join(file), "").unwrap();
    }
    kvshoot
}

fn shells() -> [&'static str; 3] {
    ["bash -i", "zsh -i", "fish -i"]
}

fn is_installed(shell: &str) -> bool {
    let program = shell.split(' ').next().unwrap();
    Path::new("/usr/bin").join(program).exists()
}

#[test]
fn a_completion_offers_plain_names_only_and_runs_nothing_in_any_shell() {
    let contexts = [NAMES.as_slice(), &["admin@good.example:6443"]].concat();
    let files = [NAMES.as_slice(), &["plain_shoot-1.yaml"]].concat();
    for shell in shells().into_iter().filter(|it| is_installed(it)) {
        for (line, expected) in [
            ("kvshoot list --context ", "good.example"),
            ("kvshoot validate -f manifests/pl", "plain_shoot-1"),
        ] {
            let kvshoot = home(&contexts, &files);
            let shown = Shell::start(&kvshoot, shell).complete_and_run(line, expected);
            let is_attacked = kvshoot.home().join("PWNED").exists()
                || shown.contains("\u{1b}]0;title")
                || shown.contains('\u{202e}');
            assert!(!is_attacked, "{shell}: {line}\n{shown:?}");
        }
    }
}

#[test]
fn candidates_are_plain_names_only() {
    // In a folder, a name may begin with a hyphen, or with an equals sign.
    for name in NAMES {
        let file = name.trim_start_matches("--kubeconfig=").replace('x', " x");
        let file = file.replace("=touch", " x");
        for shell in ["fish", "zsh", "elvish"] {
            let kvshoot = home(&[name], &[&file]).env("COMPLETE", shell);
            for line in [["list", "--context", ""], ["validate", "-f", "manifests/"]] {
                let words = ["--", "kvshoot"].into_iter().chain(line);
                let offered = kvshoot.args(words);
                let offered: Vec<&str> = offered
                    .out
                    .lines()
                    .filter(|it| !it.starts_with("--h"))
                    .collect();
                assert_eq!(offered, [""; 0], "{shell} {name:?}");
            }
        }
    }
}

#[test]
fn file_names_start_no_workflow_command() {
    let name = "a\n::set-output name=p::1\n\u{1b}]0;title\u{7}##[add-mask]x.yaml";
    let kvshoot = home(&["x"], &[name]).env("GITHUB_ACTIONS", "true");
    for line in [
        "validate -f manifests",
        "validate -o json -f manifests",
        "render -f manifests",
    ] {
        let output = kvshoot.run(line);
        let printed = output.to_string();
        assert!(
            !printed.contains('\u{1b}') && !printed.contains("##["),
            "{line}: {printed}"
        );
        // Those of kvshoot itself annotate a line of a file.
        let commands = printed
            .lines()
            .filter(|it| it.trim_start().starts_with("::"));
        let foreign = commands
            .filter(|it| !it.starts_with("::error file=") && !it.starts_with("::error title="));
        assert_eq!(foreign.collect::<Vec<_>>(), [""; 0], "{line}");
    }
    let output = kvshoot.args(["list", "--\u{1b}]0;title\u{7}\n::set-output name=p::1"]);
    let printed = output.to_string();
    assert!(
        !printed.contains('\u{1b}') && !printed.contains("\n::"),
        "{printed}"
    );
}
