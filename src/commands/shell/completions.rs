//! `kvshoot completions`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Zsh};

/// Print a shell completion script
///
/// The script calls kvshoot on each TAB. Print it again after an update.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct CompletionsArgs {
    shell: Shell,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
    Elvish,
    Powershell,
}

/// zsh loads the function on the first TAB, and it has to complete that TAB, too.
const AUTOLOADED: &str = "
if [ \"${funcstack[1]:-}\" = \"_kvshoot\" ]; then
    _clap_dynamic_completer_kvshoot \"$@\"
fi
";

pub(in crate::commands) fn run(
    args: &CompletionsArgs,
    context: &Context,
) -> Result<Exit, CommandError> {
    let shell: &dyn EnvCompleter = match args.shell {
        Shell::Bash => &Bash,
        Shell::Zsh => &Zsh,
        Shell::Fish => &Fish,
        Shell::Elvish => &Elvish,
        Shell::Powershell => &Powershell,
    };
    let mut script = Vec::new();
    shell
        .write_registration("COMPLETE", "kvshoot", "kvshoot", "kvshoot", &mut script)
        .expect("writing to memory");
    if matches!(args.shell, Shell::Zsh) {
        script.extend_from_slice(AUTOLOADED.as_bytes());
    }
    context.ui.data(&String::from_utf8_lossy(&script));
    Ok(Exit::Done)
}
