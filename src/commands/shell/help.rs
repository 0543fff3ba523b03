//! `kvshoot help`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::ui::{Table, signed};
use clap::Command;

/// Print help on a command or a topic
///
/// Topics: options, exit-codes, environment, control-plane and provider.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct HelpArgs {
    /// Topic or command
    #[arg(value_name = "TOPIC|COMMAND")]
    words: Vec<String>,
}

/// Environment variables without a flag.
const VARIABLES: [(&str, &str); 13] = [
    (
        "KUBECONFIG",
        "kubeconfig files; earlier ones take precedence",
    ),
    ("NO_COLOR", "disable colors"),
    ("CLICOLOR_FORCE", "force colors"),
    ("TERM", "dumb: no colors, no live progress"),
    ("COLUMNS", "width if there is no terminal"),
    (
        "CI, GITHUB_ACTIONS, GITLAB_CI",
        "no live progress, no prompts",
    ),
    (
        "XDG_CONFIG_HOME",
        "configuration directory, with CloudProfiles in kvshoot/profiles/",
    ),
    ("XDG_CACHE_HOME", "cache directory"),
    ("XDG_STATE_HOME", "directory of sandboxes"),
    (
        "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN",
        "credentials for backups in S3",
    ),
    ("AWS_REGION, AWS_DEFAULT_REGION", "region of S3"),
    (
        "AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL",
        "URL of an S3 server other than AWS",
    ),
    (
        "AWS_CA_BUNDLE",
        "file with certificate authorities of the S3 server",
    ),
];

pub(in crate::commands) fn run(
    args: &HelpArgs,
    command: Command,
    context: &Context,
) -> Result<Exit, CommandError> {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    let text = match words.as_slice() {
        ["options"] => options(&command),
        ["exit-codes"] => exit_codes().render(),
        ["environment"] => environment(&command).render(),
        ["control-plane"] => include_str!("../topics/control-plane.txt").to_owned(),
        ["provider"] => include_str!("../topics/provider.txt").to_owned(),
        words => of_command(words, command, context)?,
    };
    context.ui.data(&text);
    Ok(Exit::Done)
}

fn exit_codes() -> Table {
    let mut table = Table::new(["CODE", "MEANING"]);
    for exit in Exit::ALL {
        table.add([exit.code().to_string(), exit.meaning().to_owned()]);
    }
    table
}

/// The options of all commands.
fn options(command: &Command) -> String {
    let options = command.get_arguments().filter(|arg| arg.is_global_set());
    Command::new("kvshoot")
        .disable_help_flag(true)
        .args(options.cloned())
        .help_template("{all-args}")
        .render_long_help()
        .to_string()
}

fn environment(command: &Command) -> Table {
    let mut table = Table::new(["VARIABLE", "MEANING"]);
    let mut flags: Vec<(String, String)> = variables_of(command);
    flags.sort();
    flags.dedup_by(|one, other| one.0 == other.0);
    let others = VARIABLES
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    for (name, meaning) in flags.into_iter().chain(others) {
        table.add([name, meaning]);
    }
    table
}

/// The variables of the flags of a command and its subcommands.
fn variables_of(command: &Command) -> Vec<(String, String)> {
    let own = command.get_arguments().filter_map(|arg| {
        let name = arg.get_env()?.to_string_lossy().into_owned();
        Some((name, format!("--{}: {}", arg.get_long()?, arg.get_help()?)))
    });
    own.chain(command.get_subcommands().flat_map(variables_of))
        .collect()
}

fn of_command(
    words: &[&str],
    mut whole: Command,
    context: &Context,
) -> Result<String, CommandError> {
    whole.build();
    let mut command = &mut whole;
    for word in words {
        command = command.find_subcommand_mut(word).ok_or_else(|| {
            CommandError::new(Exit::Usage, format!("no help topic or command {:?}", words.join(" ")))
                .hint("kvshoot help lists the commands; topics: options, exit-codes, environment, control-plane, provider")
        })?;
    }
    let help = command.render_long_help();
    Ok(match context.ui.style().on {
        true => signed(&help.ansi().to_string()),
        false => help.to_string(),
    })
}
