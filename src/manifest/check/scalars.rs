//! Scalars against what is wanted of them.

use crate::model::{self, FieldPath, nearest};

use super::Walk;
use super::type_mismatch::name_of;
use crate::manifest::problem::{Kind, Problem};
use crate::manifest::scalar::{self, Meaning};
use crate::manifest::schema::Scalar;
use crate::manifest::tree::{NodeId, Style};

impl Walk<'_> {
    pub(super) fn scalar(&mut self, id: NodeId, key: NodeId, wanted: &Scalar) {
        let Some((text, style)) = self.tree.text(self.source, id) else {
            return;
        };
        let meaning = self.tree.meaning(self.source, id).unwrap_or(Meaning::Text);
        let fits = match meaning {
            Meaning::Text => wanted.text,
            Meaning::Int(_) => wanted.integer || wanted.number,
            Meaning::Float(_) => wanted.number,
            Meaning::Bool(_) => wanted.boolean,
            Meaning::Contested => wanted.text && wanted.number && wanted.boolean,
            Meaning::Null => false,
        };
        let problem = if fits {
            out_of_range(meaning, wanted).or_else(|| self.misspelt(text, wanted))
        } else {
            Some(self.misfit(id, text, style, meaning, wanted))
        };
        if let Some(problem) = problem {
            let place = if self.place(id).start == self.place(id).end {
                self.place(key)
            } else {
                self.place(id)
            };
            self.tell(id, problem.at(place));
        }
    }

    fn misfit(
        &self,
        id: NodeId,
        text: &str,
        style: Style,
        meaning: Meaning,
        wanted: &Scalar,
    ) -> Problem {
        let wanted_name = name_of(wanted);
        if let Some(reason) = self.misformed(text, wanted) {
            return reason;
        }
        if wanted.text && !wanted.integer && style == Style::Plain {
            let message = format!(
                "{text} without quotes is {}, where {wanted_name} is wanted",
                self.called(id)
            );
            return Problem::new(FieldPath::root(), Kind::Invalid, "schema/unquoted", message)
                .hint(Some(format!("quote it: \"{text}\"")));
        }
        let message = format!("{} where {wanted_name} is wanted", self.called(id));
        let unquoted = meaning == Meaning::Text
            && style == Style::Quoted
            && is_read_as(scalar::meaning(text), wanted);
        let hint = match meaning {
            _ if unquoted => Some(format!("remove the quotes: {text}")),
            Meaning::Contested if wanted.boolean => Some("write true or false".to_owned()),
            Meaning::Contested if self.called(id).contains("number") => {
                Some("write it as a plain decimal number".to_owned())
            }
            _ => None,
        };
        Problem::new(FieldPath::root(), Kind::Invalid, "schema/type", message).hint(hint)
    }

    fn misspelt(&self, text: &str, wanted: &Scalar) -> Option<Problem> {
        if !wanted.words.is_empty() && !wanted.words.iter().any(|word| word == text) {
            let only =
                || (wanted.words.len() == 1).then(|| format!("it has to be {}", wanted.words[0]));
            let hint = nearest(text, wanted.words.iter().map(String::as_str)).map_or_else(
                || only().unwrap_or_else(|| format!("one of {}", wanted.words.join(", "))),
                |meant| format!("did you mean {meant}?"),
            );
            let message = format!("{text:?} is not supported");
            return Some(
                Problem::new(
                    FieldPath::root(),
                    Kind::NotSupported,
                    "schema/word",
                    message,
                )
                .hint(Some(hint)),
            );
        }
        self.misformed(text, wanted)
    }

    fn misformed(&self, text: &str, wanted: &Scalar) -> Option<Problem> {
        let (_, parses) = model::FORMATS
            .iter()
            .find(|(name, _)| Some(*name) == wanted.format.as_deref())?;
        let reason = parses(text).err()?;
        Some(Problem::new(
            FieldPath::root(),
            Kind::Invalid,
            "schema/format",
            reason,
        ))
    }
}

fn is_read_as(meaning: Meaning, wanted: &Scalar) -> bool {
    match meaning {
        Meaning::Int(_) => wanted.integer || wanted.number,
        Meaning::Float(_) => wanted.number,
        Meaning::Bool(_) => wanted.boolean,
        _ => false,
    }
}

fn out_of_range(meaning: Meaning, wanted: &Scalar) -> Option<Problem> {
    let Meaning::Int(n) = meaning else {
        return None;
    };
    let below = wanted
        .minimum
        .filter(|least| n < *least)
        .map(|least| format!("is {n}, below {least}"));
    let message = below.or_else(|| {
        wanted
            .maximum
            .filter(|most| n > *most)
            .map(|most| format!("is {n}, above {most}"))
    })?;
    Some(Problem::new(
        FieldPath::root(),
        Kind::Invalid,
        "schema/range",
        message,
    ))
}
