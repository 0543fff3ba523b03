use super::{CommandError, Context, Exit, command};
use crate::ui::Table;

/// Print help on a command or a topic: exit-codes, environment, control-plane, provider
#[derive(Debug, clap::Args)]
pub(super) struct HelpArgs {
    /// A topic, or the words of a command
    #[arg(value_name = "TOPIC|COMMAND")]
    words: Vec<String>,
}

/// Variables that no flag stands for.
const VARIABLES: [(&str, &str); 9] = [
    ("KUBECONFIG", "kubeconfig files, the first one strongest"),
    ("NO_COLOR", "no colour"),
    ("CLICOLOR_FORCE", "colour, terminal or not"),
    ("TERM", "dumb: no colour, and no live picture"),
    ("COLUMNS", "width, where no terminal tells it"),
    (
        "CI, GITHUB_ACTIONS, GITLAB_CI",
        "no live picture, and no questions",
    ),
    (
        "XDG_CONFIG_HOME",
        "configuration in kvshoot/, CloudProfiles in kvshoot/profiles/",
    ),
    (
        "XDG_CACHE_HOME",
        "what may be lost at any time, in kvshoot/",
    ),
    ("XDG_STATE_HOME", "sandboxes, in kvshoot/"),
];

pub(super) fn run(args: &HelpArgs, context: &Context) -> Result<Exit, CommandError> {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    let text = match words.as_slice() {
        ["exit-codes"] => exit_codes().render(),
        ["environment"] => environment().render(),
        ["control-plane"] => include_str!("topics/control-plane.txt").to_owned(),
        ["provider"] => include_str!("topics/provider.txt").to_owned(),
        words => of_command(words, context)?,
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

fn environment() -> Table {
    let mut table = Table::new(["VARIABLE", "MEANING"]);
    let command = command();
    let mut flags: Vec<(String, String)> = variables_of(&command);
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

/// Of the flags of a command and of those below it.
fn variables_of(command: &clap::Command) -> Vec<(String, String)> {
    let own = command.get_arguments().filter_map(|arg| {
        let name = arg.get_env()?.to_string_lossy().into_owned();
        Some((name, format!("--{}: {}", arg.get_long()?, arg.get_help()?)))
    });
    own.chain(command.get_subcommands().flat_map(variables_of))
        .collect()
}

fn of_command(words: &[&str], context: &Context) -> Result<String, CommandError> {
    let mut whole = command();
    whole.build();
    let mut command = &mut whole;
    for word in words {
        command = command.find_subcommand_mut(word).ok_or_else(|| {
            CommandError::new(Exit::Usage, format!("no help on `{}`", words.join(" ")))
                .hint("kvshoot help lists the commands; topics are exit-codes, environment, control-plane and provider")
        })?;
    }
    let help = command.render_long_help();
    Ok(match context.ui.style().on {
        true => help.ansi().to_string(),
        false => help.to_string(),
    })
}
