//! The command line: help, flags, exit codes and output streams.

use crate::support::kvshoot::{Kvshoot, Output};
use snapbox::{assert_data_eq, str};

fn check(line: &str) -> String {
    Kvshoot::new().run(line).to_string()
}

#[test]
fn help_lists_the_exit_codes() {
    assert_data_eq!(
        check("help exit-codes"),
        str![[r#"
CODE   MEANING
0      success
1      negative result: there are changes, not ready, or something is missing
2      invalid command line
3      invalid manifest
4      precondition failed; nothing was changed
5      partly done; run the same command again to resume
6      another run holds the lock of the shoot
7      not found
8      permission denied in the provider cluster
9      KubeVirt, CDI, storage, quota or scheduling failed
10     a machine is running but did not join the cluster
11     delete left objects, and listed them
12     the shoot is protected, or the prompt was declined
70     bug in kvshoot
124    timed out; run the same command again to resume
125    exec or run failed; otherwise they exit with the code of the command
130    interrupted (SIGINT); run the same command again to resume
143    terminated (SIGTERM); run the same command again to resume

"#]]
    );
}

#[test]
fn help_lists_the_environment_variables() {
    assert_data_eq!(
        check("help environment"),
        str![[r#"
VARIABLE                                                      MEANING
KVSHOOT_ALLOW_EXEC                                            --allow-exec: Allow exec credential plugins in kubeconfigs from manifests
KVSHOOT_ALLOW_FILES                                           --allow-files: Allow manifests to name files in this folder (file:// URLs of network manifests); can be repeated
KVSHOOT_ARTIFACTS                                             --artifacts: Directory for the support bundle on failure
KVSHOOT_BACKUPS                                               --from: Directory, or s3://BUCKET/PREFIX, where the backups are
KVSHOOT_CLUSTER                                               --cluster: Cluster in the kubeconfig, overriding that of the context
KVSHOOT_COLOR                                                 --color: When to use colors
KVSHOOT_CONTEXT                                               --context: Context in the kubeconfig
KVSHOOT_KUBECONFIG                                            --kubeconfig: Kubeconfig of the provider cluster
KVSHOOT_LOG_FILE                                              --log-file: Append a detailed log to a file
KVSHOOT_LOG_FORMAT                                            --log-format: Log format
KVSHOOT_NAMESPACE                                             --namespace: Namespace in the provider cluster, overriding that of the context
KVSHOOT_NO_INPUT                                              --no-input: Never prompt
KVSHOOT_PROGRESS                                              --progress: Progress output format
KVSHOOT_QUIET                                                 --quiet: Print results and errors only
KVSHOOT_SANDBOX                                               --sandbox: Use a sandbox as the provider cluster; see `kvshoot sandbox`
KVSHOOT_SANDBOX_MIRROR                                        --mirror: URL of a directory with copies of the release archives
KVSHOOT_USER                                                  --user: User in the kubeconfig, overriding that of the context
KVSHOOT_VERBOSE                                               --verbose: Increase log verbosity (repeatable)
KUBECONFIG                                                    kubeconfig files; earlier ones take precedence
NO_COLOR                                                      disable colors
CLICOLOR_FORCE                                                force colors
TERM                                                          dumb: no colors, no live progress
COLUMNS                                                       width if there is no terminal
CI, GITHUB_ACTIONS, GITLAB_CI                                 no live progress, no prompts
XDG_CONFIG_HOME                                               configuration directory, with CloudProfiles in kvshoot/profiles/
XDG_CACHE_HOME                                                cache directory
XDG_STATE_HOME                                                directory of sandboxes
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN   credentials for backups in S3
AWS_REGION, AWS_DEFAULT_REGION                                region of S3
AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL                         URL of an S3 server other than AWS
AWS_CA_BUNDLE                                                 file with certificate authorities of the S3 server

"#]]
    );
}

#[test]
fn help_with_a_command_prints_the_help_of_the_command() {
    let kvshoot = Kvshoot::new();
    assert_eq!(kvshoot.run("help version"), kvshoot.run("version --help"));
    assert_eq!(kvshoot.run("help"), kvshoot.run("--help"));
}

#[test]
fn help_does_not_show_values_of_environment_variables() {
    let kvshoot = Kvshoot::new().env("KVSHOOT_CONTEXT", "secret-place");
    let Output { out, .. } = kvshoot.run("list --help");
    assert!(
        out.contains("KVSHOOT_CONTEXT") && !out.contains("secret-place"),
        "{out}"
    );
}

#[test]
fn an_invalid_command_line_exits_with_2() {
    assert_data_eq!(
        check("help of nothing"),
        str![[r#"
------- stderr -------
error: no help topic or command "of nothing"
hint: kvshoot help lists the commands; topics: options, exit-codes, environment, control-plane, provider
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
error: --sandbox and --context select different provider clusters
------- exit code 2

"#]]
    );
    assert_data_eq!(
        check("version --log-file /nowhere/at/all"),
        str![[r#"
------- stderr -------
error: cannot write log file /nowhere/at/all
  because No such file or directory (os error 2)
------- exit code 2

"#]]
    );
}

#[test]
fn a_flag_takes_precedence_over_a_variable() {
    let kvshoot = Kvshoot::new().env("KVSHOOT_SANDBOX", "1");
    let Output { err, .. } = kvshoot.run("version --client --kubeconfig x");
    assert_eq!(err, "");
}

#[test]
fn boolean_variables_accept_common_spellings() {
    for (value, code) in [("1", 0), ("true", 0), ("0", 0), ("", 0), ("no", 0)] {
        let output = Kvshoot::new().env("KVSHOOT_QUIET", value).run("version");
        assert_eq!(output.code, code, "{value}: {output}");
    }
}

#[test]
fn the_version_is_printed_as_text_and_as_json() {
    assert_data_eq!(
        check("version"),
        str![[r#"
kvshoot 0.1.0
supported Kubernetes versions: 1.31 to 1.37

"#]]
    );
    assert_data_eq!(
        check("version -o json"),
        str![[r#"
{
  "version": "0.1.0",
  "supportedKubernetes": [
    "1.31",
    "1.32",
    "1.33",
    "1.34",
    "1.35",
    "1.36",
    "1.37"
  ]
}

"#]]
    );
}

#[test]
fn the_version_is_printed_without_a_reachable_provider_cluster() {
    let kvshoot = Kvshoot::with_unreachable_provider();
    let start = std::time::Instant::now();
    let output = kvshoot.run("version");
    assert!(start.elapsed() < std::time::Duration::from_secs(10));
    assert_eq!(output.code, 0, "{output}");
    assert!(output.out.starts_with("kvshoot "), "{output}");
    let warning = "warning: versions of the provider cluster unknown: ";
    assert!(output.err.starts_with(warning), "{output}");
    let client = kvshoot.run("version --client");
    assert_eq!((client.out, &*client.err), (output.out, ""));
}

#[test]
fn usage_of_the_kubectl_plugin_names_kubectl() {
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
fn contexts_are_completed_from_the_kubeconfig_on_the_command_line() {
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
fn json_progress_ends_with_run_finished_even_if_the_run_fails_to_start() {
    let Output { code, out, err } = Kvshoot::new().run("apply -f none.yaml --progress json");
    if code == 2 {
        // The flags of apply do not exist yet.
        return;
    }
    assert_eq!(out, "");
    let last = err.lines().last().unwrap();
    assert!(last.contains(r#""type":"run.finished""#), "{err}");
    assert!(last.contains(&format!(r#""exit_code":{code}"#)), "{err}");
}

#[test]
fn a_closed_stdout_is_not_an_error() {
    let kvshoot = Kvshoot::new();
    let line = format!("{} help | true", env!("CARGO_BIN_EXE_kvshoot"));
    let shell = std::path::Path::new("/bin/sh");
    assert_eq!(kvshoot.program(shell, ["-c", &line]).to_string(), "");
}
