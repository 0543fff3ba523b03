//! Confirmation prompts, shown only on an interactive terminal.

use super::printer::Ui;
use crate::state::printable::one_line;
use std::io::{IsTerminal, stdin};

/// Attempts to answer a question before the command ends.
const ATTEMPTS: usize = 5;

/// A question on the terminal.
pub(crate) struct Question<'a> {
    pub(crate) text: &'a str,
    /// Possible answers, for display.
    pub(crate) options: &'a [String],
    /// The answer to an empty line.
    pub(crate) default: Option<&'a str>,
    /// Returns why an answer is not valid.
    pub(crate) check: &'a dyn Fn(&str) -> Result<(), String>,
}

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

    /// Asks a question until the answer is valid.
    pub(crate) fn ask(&self, question: &Question) -> Result<String, Refused> {
        if !self.can_prompt() {
            return Err(Refused::NotInteractive);
        }
        let text = match question.options {
            [] => question.text.to_owned(),
            options => format!("{} ({})", question.text, options.join(", ")),
        };
        for _ in 0..ATTEMPTS {
            let mut input = dialoguer::Input::<String>::new()
                .with_prompt(one_line(&text))
                .allow_empty(true);
            if let Some(default) = question.default {
                input = input.default(one_line(default));
            }
            let answer = input.interact_on(&console::Term::stderr());
            let answer = answer.map_err(|_| Refused::Declined)?;
            // The default may have been cleaned for display.
            let answer = match question.default {
                Some(default) if answer == one_line(default) => default,
                _ => answer.trim(),
            };
            match (question.check)(answer) {
                Ok(()) => return Ok(answer.to_owned()),
                Err(why) => self.warn(&why),
            }
        }
        Err(Refused::Declined)
    }

    /// Reads a complete line. A prompt that reads single keys would hide the cursor, also after Ctrl-C.
    fn prompt(&self, question: &str, is_confirmed: impl Fn(&str) -> bool) -> Result<(), Refused> {
        if !self.can_prompt() {
            return Err(Refused::NotInteractive);
        }
        let answer = dialoguer::Input::<String>::new()
            .with_prompt(one_line(question))
            .allow_empty(true)
            .interact_on(&console::Term::stderr());
        // An error while reading counts as no.
        match answer {
            Ok(answer) if is_confirmed(answer.trim()) => Ok(()),
            Ok(_) | Err(_) => Err(Refused::Declined),
        }
    }
}
