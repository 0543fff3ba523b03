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

/// Returns the candidates after `line` once there are any: on a busy computer the provider may not respond in time.
fn offered(kvshoot: &Kvshoot, provider: &Provider, line: &str) -> String {
    let mut candidates = String::new();
    provider.wait_for("candidates", |_| {
        candidates = check(kvshoot, line);
        !candidates.is_empty()
    });
    candidates
}

/// Shoots, pools and namespaces are completed, with the status of the shoot `three-zones`.
pub(crate) fn shoots_pools_and_namespaces_are_completed(provider: &Provider) {
    let fish = provider.kvshoot().env("COMPLETE", "fish");
    let shoot = "three-zones\tCreate Succeeded (100%)";
    assert_eq!(offered(&fish, provider, "delete "), shoot);
    assert_eq!(offered(&fish, provider, "nodes list th"), shoot);
    assert_eq!(check(&fish, "delete x"), "");
    assert_eq!(
        offered(&fish, provider, "nodes list --pool "),
        "worker\tsmall, 3 wanted"
    );
    let namespace = provider.namespace.as_str();
    let namespaces = offered(&fish, provider, &format!("list -n {namespace}"));
    assert!(namespaces.lines().any(|it| it == namespace), "{namespaces}");

    // With the protocol of the installed bash script.
    let bash = fish
        .env("COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", "2")
        .env("_CLAP_IFS", "\n");
    assert_eq!(offered(&bash, provider, "delete three"), "three-zones");
}

#[test]
fn completion_is_empty_within_three_seconds_if_the_provider_does_not_respond() {
    let kvshoot = Kvshoot::with_unreachable_provider().env("COMPLETE", "fish");
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

#[test]
fn an_installed_script_completes_in_a_new_bash() {
    let kvshoot = Kvshoot::new().env("SHELL", "/bin/bash");
    let bin = kvshoot.home().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kvshoot"), bin.join("kvshoot")).unwrap();
    let kvshoot = kvshoot.env("PATH", &format!("{}:/usr/bin:/bin", bin.display()));
    let output = kvshoot.run("completions --install");
    assert_eq!((output.code, &*output.out), (0, ""), "{output}");
    let path = ".local/share/bash-completion/completions/kvshoot";
    assert!(kvshoot.home().join(path).exists(), "{output}");
    assert!(!kvshoot.home().join(".bashrc").exists(), "{output}");
    let again = kvshoot.run("completions --install");
    assert!(again.err.contains("is up to date"), "{again}");

    // Without the package bash-completion, the hint names a line for ~/.bashrc.
    let line = output.err.split(": ").last().unwrap().trim();
    let package = "source /usr/share/bash-completion/bash_completion";
    let line = if line.starts_with("source ") {
        line
    } else {
        package
    };
    let kvshoot = kvshoot.file(".bashrc", &format!("{line}\n"));
    let script = "\
_comp_load kvshoot 2>/dev/null || _completion_loader kvshoot 2>/dev/null
COMP_WORDS=(kvshoot vers) COMP_CWORD=1 COMP_TYPE=9
function=$(complete -p kvshoot | sed 's/.*-F \\([^ ]*\\).*/\\1/')
$function kvshoot vers kvshoot
echo \"${COMPREPLY[@]}\"";
    let completed = kvshoot.program(Path::new("/bin/bash"), ["-i", "-c", script]);
    assert_eq!(completed.out.trim(), "version", "{completed}");
}

#[test]
fn scripts_of_zsh_and_fish_are_installed_where_the_shell_finds_them() {
    let kvshoot = Kvshoot::new();
    let zsh = kvshoot.run("completions zsh --install");
    assert!(
        zsh.err
            .contains("fpath=(~/.local/share/zsh/site-functions $fpath)"),
        "{zsh}"
    );
    let path = ".local/share/zsh/site-functions/_kvshoot";
    assert!(kvshoot.home().join(path).exists());
    assert!(!kvshoot.home().join(".zshrc").exists());
    let fish = kvshoot.run("completions fish --install");
    assert_eq!(fish.code, 0, "{fish}");
    let path = ".config/fish/completions/kvshoot.fish";
    assert!(kvshoot.home().join(path).exists());
    let elvish = kvshoot.run("completions elvish --install");
    assert_eq!(elvish.code, 2, "{elvish}");
    let unknown = kvshoot.run("completions --install");
    assert_eq!(unknown.code, 2, "{unknown}");
}
