//! A scalar against the type, format, values and range that the schema wants.

use crate::manifest::problem::{Kind, Problem};
use crate::manifest::scalar::{self, Meaning};
use crate::manifest::schema::Scalar;
use crate::manifest::tree::Style;
use crate::model::{self, FieldPath, nearest};

use super::type_names;

pub(super) fn check(
    text: &str,
    style: Style,
    meaning: Meaning,
    wanted: &Scalar,
) -> Option<Problem> {
    let fits = match meaning {
        Meaning::Text => wanted.text,
        Meaning::Int(_) => wanted.integer || wanted.number,
        Meaning::Float(_) => wanted.number,
        Meaning::Bool(_) => wanted.boolean,
        Meaning::Contested => wanted.text && wanted.number && wanted.boolean,
        Meaning::Null => false,
    };
    if fits {
        out_of_range(meaning, wanted).or_else(|| misspelt(text, wanted))
    } else {
        Some(misfit(text, style, meaning, wanted))
    }
}

fn misfit(text: &str, style: Style, meaning: Meaning, wanted: &Scalar) -> Problem {
    if let Some(problem) = misformed(text, wanted) {
        return problem;
    }
    let found = type_names::of_scalar(text, meaning);
    let wanted_name = type_names::of_wanted(wanted);
    if wanted.text && !wanted.integer && style == Style::Plain {
        let message = format!("{text} without quotes is {found}, where {wanted_name} is wanted");
        return Problem::invalid("schema/unquoted", message)
            .hint(Some(format!("quote it: \"{text}\"")));
    }
    let message = format!("{found} where {wanted_name} is wanted");
    let is_quoted_value = meaning == Meaning::Text
        && style == Style::Quoted
        && is_read_as(scalar::meaning(text), wanted);
    let hint = match meaning {
        _ if is_quoted_value => Some(format!("remove the quotes: {text}")),
        Meaning::Contested if wanted.boolean => Some("write true or false".to_owned()),
        Meaning::Contested if type_names::is_number(text) => {
            Some("write it as a plain decimal number".to_owned())
        }
        _ => None,
    };
    Problem::invalid("schema/type", message).hint(hint)
}

fn misspelt(text: &str, wanted: &Scalar) -> Option<Problem> {
    if wanted.words.is_empty() || wanted.words.iter().any(|word| word == text) {
        return misformed(text, wanted);
    }
    let hint = match nearest(text, wanted.words.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean {meant}?"),
        None => match wanted.words.as_slice() {
            [only] => format!("it has to be {only}"),
            words => format!("one of {}", words.join(", ")),
        },
    };
    let message = format!("{text:?} is not supported");
    let problem = Problem::new(
        FieldPath::root(),
        Kind::NotSupported,
        "schema/word",
        message,
    );
    Some(problem.hint(Some(hint)))
}

fn misformed(text: &str, wanted: &Scalar) -> Option<Problem> {
    let (_, parse) = model::FORMATS
        .iter()
        .find(|(name, _)| Some(*name) == wanted.format.as_deref())?;
    let reason = parse(text).err()?;
    Some(Problem::invalid("schema/format", reason))
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
    Some(Problem::invalid("schema/range", message))
}
