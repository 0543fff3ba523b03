//! Confirmation prompts, shown only on an interactive terminal.

use super::printer::Ui;
use std::io::{IsTerminal, stdin};

/// Reason for a missing confirmation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// No terminal to prompt on; a flag has to confirm.
    NotInteractive,
    /// The user declined or typed something else than the name.
    Declined,
}

impl Ui {
    /// True if a prompt would reach a user.
    pub(crate) fn can_prompt(&self) -> bool {
        let settings = &self.settings;
        let suppressed = settings.no_input || settings.ci || self.json.is_some();
        !suppressed && self.err.terminal && stdin().is_terminal()
    }

    /// Asks the user to type `name` to confirm an irreversible operation.
    pub(crate) fn confirm_name(&self, question: &str, name: &str) -> Result<(), Refused> {
        self.prompt(question, |answer| answer == name)
    }

    /// Reads a complete line. A prompt that reads single keys would hide the cursor, also after Ctrl-C.
    fn prompt(&self, question: &str, is_confirmed: impl Fn(&str) -> bool) -> Result<(), Refused> {
        if !self.can_prompt() {
            return Err(Refused::NotInteractive);
        }
        let answer = dialoguer::Input::<String>::new()
            .with_prompt(question)
            .allow_empty(true)
            .interact_on(&console::Term::stderr());
        // An error while reading counts as no.
        match answer {
            Ok(answer) if is_confirmed(answer.trim()) => Ok(()),
            Ok(_) | Err(_) => Err(Refused::Declined),
        }
    }
}
