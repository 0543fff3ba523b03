//! Questions, which only a person at a terminal is asked.

use super::Ui;
use std::io::{IsTerminal, stdin};

/// Why there is no yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Nobody is there to ask; a flag has to say it.
    NotInteractive,
    /// The person said no, or something else than the name.
    Declined,
}

impl Ui {
    /// Whether a question would reach a person.
    pub(crate) fn can_prompt(&self) -> bool {
        let settings = &self.settings;
        let nobody = settings.no_input || settings.ci || self.json.is_some();
        !nobody && self.err.terminal && stdin().is_terminal()
    }

    /// Asks to type `name`, for what cannot be taken back.
    pub(crate) fn confirm_name(&self, question: &str, name: &str) -> Result<(), Refused> {
        self.ask(question, |answer| answer == name)
    }

    /// Reads a whole line: a prompt that reads keys hides the cursor, and Ctrl-C would leave it so.
    fn ask(&self, question: &str, is_yes: impl Fn(&str) -> bool) -> Result<(), Refused> {
        if !self.can_prompt() {
            return Err(Refused::NotInteractive);
        }
        let answer = dialoguer::Input::<String>::new()
            .with_prompt(question)
            .allow_empty(true)
            .interact_on(&console::Term::stderr());
        // A prompt that broke is no yes.
        match answer {
            Ok(answer) if is_yes(answer.trim()) => Ok(()),
            Ok(_) | Err(_) => Err(Refused::Declined),
        }
    }
}
