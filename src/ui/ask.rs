//! Questions, which only a person at a terminal is asked.

use super::Ui;
use std::io::{IsTerminal, stdin};

/// Why there is no yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Nobody is there to ask; a flag has to say it.
    Nobody,
    /// The person said no, or something else than the name.
    Declined,
}

impl Ui {
    /// Whether a question would reach a person.
    pub(crate) fn can_ask(&self) -> bool {
        let settings = &self.settings;
        let nobody = settings.no_input || settings.ci || self.json.is_some();
        !nobody && self.err.terminal && stdin().is_terminal()
    }

    /// Asks for yes or no; no answer is no.
    pub(crate) fn confirm(&self, question: &str) -> Result<(), Refused> {
        self.ask(|| {
            dialoguer::Confirm::new()
                .with_prompt(question)
                .default(false)
                .interact_on_opt(&console::Term::stderr())
                .map(|answer| answer == Some(true))
        })
    }

    /// Asks to type `name`, for what cannot be taken back.
    pub(crate) fn confirm_name(&self, question: &str, name: &str) -> Result<(), Refused> {
        self.ask(|| {
            dialoguer::Input::<String>::new()
                .with_prompt(question)
                .allow_empty(true)
                .interact_text_on(&console::Term::stderr())
                .map(|answer| answer.trim() == name)
        })
    }

    fn ask(&self, question: impl FnOnce() -> dialoguer::Result<bool>) -> Result<(), Refused> {
        if !self.can_ask() {
            return Err(Refused::Nobody);
        }
        // An interrupted or broken prompt is no yes.
        match question() {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(Refused::Declined),
        }
    }
}
