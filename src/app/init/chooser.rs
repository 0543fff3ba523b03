//! Answers to questions: from flags, from the user, or defaults.

use crate::app::error::{CommandError, Exit};
use crate::ui::{Question, Refused};

/// Asks the user.
pub(super) type Ask<'a> = dyn Fn(&Question) -> Result<String, Refused> + 'a;

/// Collects answers, and the flags that are missing without a terminal.
pub(super) struct Chooser<'a> {
    /// None without a terminal.
    ask: Option<&'a Ask<'a>>,
    missing: Vec<&'static str>,
}

/// A value to choose.
pub(super) struct Choice<'a> {
    pub(super) question: &'a str,
    /// The flag that answers the question.
    pub(super) flag: &'static str,
    /// The value of that flag.
    pub(super) given: Option<&'a str>,
    /// Valid answers; empty if they are not known.
    pub(super) options: &'a [String],
    pub(super) default: Option<&'a str>,
    pub(super) check: &'a dyn Fn(&str) -> Result<(), String>,
}

impl<'a> Chooser<'a> {
    pub(super) fn new(ask: Option<&'a Ask<'a>>) -> Self {
        Chooser {
            ask,
            missing: Vec::new(),
        }
    }

    /// Returns whether there is a user to ask.
    pub(super) fn is_interactive(&self) -> bool {
        self.ask.is_some()
    }

    /// Returns the value of the flag, the answer of the user, or the default. Asks only if there is a choice.
    ///
    /// Without a terminal and a default, the flag is remembered as missing.
    pub(super) fn choose(&mut self, choice: &Choice) -> Result<String, CommandError> {
        if let Some(given) = choice.given {
            return Ok(given.to_owned());
        }
        if let ([only], Some(_)) = (choice.options, choice.default) {
            return Ok(only.clone());
        }
        let check = |answer: &str| is_option(answer, choice).and_then(|()| (choice.check)(answer));
        self.answer(choice, &check)
    }

    /// Like [`Chooser::choose`], for several values.
    pub(super) fn choose_several(
        &mut self,
        choice: &Choice,
        given: &[String],
    ) -> Result<Vec<String>, CommandError> {
        if !given.is_empty() {
            return Ok(given.to_vec());
        }
        if choice.options.len() == 1 && choice.default == choice.options.first().map(String::as_str)
        {
            return Ok(choice.options.to_vec());
        }
        let check = |answer: &str| match Some(answer) == choice.default {
            true => Ok(()),
            false => words(answer)
                .iter()
                .try_for_each(|it| is_option(it, choice)),
        };
        Ok(words(&self.answer(choice, &check)?))
    }

    fn answer(
        &mut self,
        choice: &Choice,
        check: &dyn Fn(&str) -> Result<(), String>,
    ) -> Result<String, CommandError> {
        let Choice {
            options, default, ..
        } = *choice;
        match (self.ask, default) {
            (Some(ask), _) => {
                let check = |answer: &str| match answer {
                    "" => Err("an answer is required".to_owned()),
                    answer => check(answer),
                };
                let question = Question {
                    text: choice.question,
                    options,
                    default,
                    check: &check,
                };
                ask(&question)
                    .map_err(|_| CommandError::new(Exit::Declined, "canceled; nothing was written"))
            }
            (None, Some(default)) => Ok(default.to_owned()),
            (None, None) => {
                self.missing.push(choice.flag);
                Ok(String::new())
            }
        }
    }

    /// Fails if flags are missing.
    pub(super) fn require_complete(&self) -> Result<(), CommandError> {
        if self.missing.is_empty() {
            return Ok(());
        }
        let flags = self.missing.join(", ");
        let message = format!("missing without a terminal: {flags}");
        Err(CommandError::new(Exit::Usage, message))
    }
}

/// Accepts everything; problems are found when the manifest is validated.
pub(super) fn anything(_: &str) -> Result<(), String> {
    Ok(())
}

fn is_option(answer: &str, choice: &Choice) -> Result<(), String> {
    let options = choice.options;
    match options.is_empty() || options.iter().any(|it| it == answer) {
        true => Ok(()),
        false => Err(format!("{answer:?} is not one of {}", options.join(", "))),
    }
}

/// Comma-separated words.
fn words(text: &str) -> Vec<String> {
    let words = text.split(',').map(str::trim);
    words
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice<'a>(options: &'a [String], default: Option<&'a str>) -> Choice<'a> {
        Choice {
            question: "Color",
            flag: "--color",
            given: None,
            options,
            default,
            check: &anything,
        }
    }

    fn options() -> [String; 2] {
        ["red".to_owned(), "green".to_owned()]
    }

    #[test]
    fn without_a_terminal_defaults_are_used_and_missing_flags_are_listed() {
        let mut chooser = Chooser::new(None);
        let chosen = chooser.choose(&choice(&options(), Some("red")));
        assert_eq!(chosen.expect("a default"), "red");
        assert!(chooser.require_complete().is_ok());
        chooser.choose(&choice(&[], None)).expect("remembered");
        let error = chooser.require_complete().expect_err("no default");
        assert_eq!(error.message, "missing without a terminal: --color");
    }

    #[test]
    fn a_flag_answers_before_the_user() {
        let ask = |_: &Question| -> Result<String, Refused> { Err(Refused::Declined) };
        let mut chooser = Chooser::new(Some(&ask));
        let options = options();
        let given = Choice {
            given: Some("blue"),
            ..choice(&options, Some("red"))
        };
        assert_eq!(chooser.choose(&given).expect("given"), "blue");
        let error = chooser.choose(&choice(&options, Some("red")));
        assert_eq!(error.expect_err("declined").exit, Exit::Declined);
    }

    #[test]
    fn a_single_option_is_not_asked_for() {
        let ask = |_: &Question| -> Result<String, Refused> { Err(Refused::Declined) };
        let mut chooser = Chooser::new(Some(&ask));
        let one = ["red".to_owned()];
        let chosen = chooser.choose(&choice(&one, Some("red")));
        assert_eq!(chosen.expect("the only one"), "red");
    }

    #[test]
    fn answers_of_the_user_are_checked() {
        let ask = |question: &Question| -> Result<String, Refused> {
            assert!((question.check)("blue").is_err());
            assert!((question.check)("").is_err());
            assert!((question.check)("red, blue").is_err());
            (question.check)("red,green").expect("both are options");
            Ok("red, green".to_owned())
        };
        let mut chooser = Chooser::new(Some(&ask));
        let options = options();
        let several = chooser.choose_several(&choice(&options, Some("red")), &[]);
        assert_eq!(several.expect("valid"), ["red", "green"]);
    }
}
