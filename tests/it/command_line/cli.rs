//! The shell around the commands: help, flags, exit codes, and what goes to which stream.

use crate::support::kvshoot::{Kvshoot, Output};
use snapbox::{assert_data_eq, str};

fn check(line: &str) -> String {
    Kvshoot::new().run(line).to_string()
}

#[test]
fn the_exit_codes_are_these() {
    assert_data_eq!(
        check("help exit-codes"),
        str![[r#"
CODE   MEANING
0      done, and nothing is left to do
1      the answer is no: there are changes, it is not ready, something is missing
2      the command line is wrong
3      a manifest is invalid
4      a precondition failed; nothing was changed
5      partly done; the same command goes on
6      another run holds the shoot
7      not found
8      a right is missing in the provider cluster
9      KubeVirt, CDI, storage, quota or the scheduler cannot do it
10     a machine runs, but did not join the shoot
11     delete left something, and named it
12     the shoot is protected, or the question was answered with no
70     a fault of kvshoot itself
124    time was up; the same command goes on
125    exec or run failed itself; the program gives its own code
130    interrupted (SIGINT); the same command goes on
143    terminated (SIGTERM); the same command goes on

"#]]
    );
}

#[test]
fn the_variables_are_these() {
    assert_data_eq!(
        check("help environment"),
        str![[r#"
VARIABLE                        MEANING
KVSHOOT_ALLOW_EXEC              --allow-exec: Let a kubeconfig that stands in a manifest run programs
KVSHOOT_ARTIFACTS               --artifacts: Where to put a bundle of all there is to know when something failed
KVSHOOT_CLUSTER                 --cluster: Cluster of the kubeconfig, instead of that of the context
KVSHOOT_COLOR                   --color: When to use colour
KVSHOOT_CONTEXT                 --context: Context of the kubeconfig
KVSHOOT_KUBECONFIG              --kubeconfig: Kubeconfig of the provider cluster
KVSHOOT_LOG_FILE                --log-file: Log to a file, in detail
KVSHOOT_LOG_FORMAT              --log-format: Format of the log
KVSHOOT_NAMESPACE               --namespace: Namespace of the shoot's objects, instead of that of the context
KVSHOOT_NO_INPUT                --no-input: Ask nothing
KVSHOOT_PROGRESS                --progress: How to tell how it goes
KVSHOOT_QUIET                   --quiet: Print results and errors only
KVSHOOT_SANDBOX                 --sandbox: Take the sandbox as the provider cluster; see `kvshoot sandbox`
KVSHOOT_USER                    --user: User of the kubeconfig, instead of that of the context
KVSHOOT_VERBOSE                 --verbose: Log to standard error; again for more
KUBECONFIG                      kubeconfig files, the first one strongest
NO_COLOR                        no colour
CLICOLOR_FORCE                  colour, terminal or not
TERM                            dumb: no colour, and no live picture
COLUMNS                         width, where no terminal tells it
CI, GITHUB_ACTIONS, GITLAB_CI   no live picture, and no questions
XDG_CONFIG_HOME                 configuration in kvshoot/, CloudProfiles in kvshoot/profiles/
XDG_CACHE_HOME                  what may be lost at any time, in kvshoot/
XDG_STATE_HOME                  sandboxes, in kvshoot/

"#]]
    );
}

#[test]
fn help_on_a_command_is_its_own_help() {
    let kvshoot = Kvshoot::new();
    assert_eq!(kvshoot.run("help version"), kvshoot.run("version --help"));
    assert_eq!(kvshoot.run("help"), kvshoot.run("--help"));
}

#[test]
fn help_shows_no_value_of_the_environment() {
    let kvshoot = Kvshoot::new().env("KVSHOOT_CONTEXT", "secret-place");
    let Output { out, .. } = kvshoot.run("list --help");
    assert!(
        out.contains("KVSHOOT_CONTEXT") && !out.contains("secret-place"),
        "{out}"
    );
}

#[test]
fn a_wrong_command_line_is_exit_code_2() {
    assert_data_eq!(
        check("help of nothing"),
        str![[r#"
------- stderr -------
error: no help on `of nothing`
hint: kvshoot help lists the commands; topics are exit-codes, environment, control-plane and provider
------- exit code 2

"#]]
    );
    assert_data_eq!(
        check("lisst"),
        str![[r#"
------- stderr -------
error: unrecognized subcommand 'lisst'

  tip: some similar subcommands exist: 'ls', 'list'

Usage: kvshoot [OPTIONS] <COMMAND>

For more information, try '--help'.
------- exit code 2

"#]]
    );
    assert_data_eq!(
        check("list --sandbox --context x"),
        str![[r#"
------- stderr -------
error: --sandbox and --context name two provider clusters
------- exit code 2

"#]]
    );
    assert_data_eq!(
        check("version --log-file /nowhere/at/all"),
        str![[r#"
------- stderr -------
error: cannot write the log /nowhere/at/all
  because No such file or directory (os error 2)
------- exit code 2

"#]]
    );
}

#[test]
fn a_typed_flag_outdoes_a_variable() {
    let kvshoot = Kvshoot::new().env("KVSHOOT_SANDBOX", "1");
    let Output { err, .. } = kvshoot.run("version --kubeconfig x");
    assert_eq!(err, "");
}

#[test]
fn flags_of_the_environment_are_read_as_people_write_them() {
    for (value, code) in [("1", 0), ("true", 0), ("0", 0), ("", 0), ("no", 0)] {
        let output = Kvshoot::new().env("KVSHOOT_QUIET", value).run("version");
        assert_eq!(output.code, code, "{value}: {output}");
    }
}

#[test]
fn the_version_is_told_to_people_and_to_programs() {
    assert_data_eq!(
        check("version"),
        str![[r#"
kvshoot 0.1.0

"#]]
    );
    assert_data_eq!(
        check("version -o json"),
        str![[r#"
{
  "version": "0.1.0"
}

"#]]
    );
}

#[test]
fn as_a_plugin_of_kubectl_it_is_called_so() {
    let kvshoot = Kvshoot::new();
    let plugin = kvshoot.home().join("kubectl-kvshoot");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kvshoot"), &plugin).unwrap();
    let output = kvshoot.program(&plugin, ["version", "--bogus"]);
    assert_data_eq!(
        output.to_string(),
        str![[r#"
------- stderr -------
error: unexpected argument '--bogus' found

Usage: kubectl kvshoot version [OPTIONS]

For more information, try '--help'.
------- exit code 2

"#]]
    );
}

#[test]
fn contexts_are_completed_from_every_kubeconfig() {
    let kvshoot = Kvshoot::new()
        .env("KUBECONFIG", "one:none:two")
        .env("COMPLETE", "fish")
        .file("one", "contexts: [{name: prod}, {name: lab}]\n")
        .file("two", "contexts: [{name: lab}, {name: laptop}]\n");
    let output = kvshoot.args(["--", "kvshoot", "list", "--context", "la"]);
    assert_data_eq!(
        output.to_string(),
        str![[r#"
lab
laptop

"#]]
    );
}

#[test]
fn contexts_are_completed_from_the_kubeconfig_of_the_line() {
    let kvshoot = Kvshoot::new()
        .env("COMPLETE", "fish")
        .file("one", "contexts: [{name: lab}]\nusers: [{name: me}]\n");
    let complete = |line: &str| {
        let words = format!("-- kvshoot {line}");
        kvshoot.args(words.split(' ')).to_string()
    };
    assert_eq!(complete("--kubeconfig one list --context l"), "lab\n");
    assert_eq!(complete("list --kubeconfig=one --user m"), "me\n");
    assert_eq!(complete("list --context l"), "");
}

#[test]
fn a_run_told_as_json_ends_with_its_end_though_it_never_began() {
    let Output { code, out, err } = Kvshoot::new().run("apply -f none.yaml --progress json");
    if code == 2 {
        // The flags of apply are not there yet.
        return;
    }
    assert_eq!(out, "");
    let last = err.lines().last().unwrap();
    assert!(last.contains(r#""type":"run.finished""#), "{err}");
    assert!(last.contains(&format!(r#""exit_code":{code}"#)), "{err}");
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let kvshoot = Kvshoot::new();
    let line = format!("{} help | true", env!("CARGO_BIN_EXE_kvshoot"));
    let shell = std::path::Path::new("/bin/sh");
    assert_eq!(kvshoot.program(shell, ["-c", &line]).to_string(), "");
}
