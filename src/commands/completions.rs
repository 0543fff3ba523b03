use super::{CommandError, Context, Exit};
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Zsh};

/// Print the completion script of a shell
#[derive(Debug, clap::Args)]
#[command(after_help = INSTALL)]
pub(super) struct CompletionsArgs {
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

const INSTALL: &str = "\
The script asks kvshoot itself at each TAB. Write it anew after an update:

  bash   kvshoot completions bash > ~/.local/share/bash-completion/completions/kvshoot
  zsh    kvshoot completions zsh > \"${fpath[1]}/_kvshoot\"
  fish   kvshoot completions fish > ~/.config/fish/completions/kvshoot.fish";

/// A function that zsh loads at the first TAB has to answer that TAB, too.
const AUTOLOADED: &str = "
if [ \"${funcstack[1]:-}\" = \"_kvshoot\" ]; then
    _clap_dynamic_completer_kvshoot \"$@\"
fi
";

pub(super) fn run(args: &CompletionsArgs, context: &Context) -> Result<Exit, CommandError> {
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
        .expect("memory takes all");
    if matches!(args.shell, Shell::Zsh) {
        script.extend_from_slice(AUTOLOADED.as_bytes());
    }
    context.ui.data(&String::from_utf8_lossy(&script));
    Ok(Exit::Done)
}
