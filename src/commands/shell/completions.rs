//! `kvshoot completions`.

use crate::app::completions::{self, CompletionShell};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Zsh};

/// Print or install a shell completion script
///
/// The script calls kvshoot on each TAB. Print or install it again after an update.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct CompletionsArgs {
    /// Shell; with --install, that of SHELL if not given
    #[arg(required_unless_present = "install")]
    shell: Option<Shell>,
    /// Write the script to where bash, zsh or fish looks for it, and print the path; configuration files of the shell are
    /// not changed
    #[arg(long)]
    install: bool,
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
    if args.install {
        let shell = installable(args.shell, context)?;
        return completions::install(shell, &script(printed(shell)), context);
    }
    let shell = args.shell.expect("clap requires it without --install");
    context.ui.data(&script(shell));
    Ok(Exit::Done)
}

fn installable(shell: Option<Shell>, context: &Context) -> Result<CompletionShell, CommandError> {
    let found = match shell {
        None => completions::current_shell(context.config),
        Some(Shell::Bash) => Some(CompletionShell::Bash),
        Some(Shell::Zsh) => Some(CompletionShell::Zsh),
        Some(Shell::Fish) => Some(CompletionShell::Fish),
        Some(Shell::Elvish | Shell::Powershell) => None,
    };
    found.ok_or_else(|| {
        let message = "--install supports bash, zsh and fish";
        CommandError::new(Exit::Usage, message).hint("print the script: kvshoot completions SHELL")
    })
}

fn printed(shell: CompletionShell) -> Shell {
    match shell {
        CompletionShell::Bash => Shell::Bash,
        CompletionShell::Zsh => Shell::Zsh,
        CompletionShell::Fish => Shell::Fish,
    }
}

fn script(shell: Shell) -> String {
    let completer: &dyn EnvCompleter = match shell {
        Shell::Bash => &Bash,
        Shell::Zsh => &Zsh,
        Shell::Fish => &Fish,
        Shell::Elvish => &Elvish,
        Shell::Powershell => &Powershell,
    };
    let mut script = Vec::new();
    completer
        .write_registration("COMPLETE", "kvshoot", "kvshoot", "kvshoot", &mut script)
        .expect("writing to memory");
    if matches!(shell, Shell::Zsh) {
        script.extend_from_slice(AUTOLOADED.as_bytes());
    }
    String::from_utf8_lossy(&script).into_owned()
}
