//! A scalar against the type, format, values and range that the schema wants.

use crate::manifest::problem::{FindingKind, Problem};
use crate::manifest::scalar::{self, ScalarValue};
use crate::manifest::schema::ScalarSchema;
use crate::manifest::tree::QuoteStyle;
use crate::model::{self, FieldPath, suggest};

use super::type_names;

pub(super) fn check(
    text: &str,
    style: QuoteStyle,
    value: ScalarValue,
    wanted: &ScalarSchema,
) -> Option<Problem> {
    let fits = match value {
        ScalarValue::Text => wanted.text,
        ScalarValue::Int(_) => wanted.integer || wanted.number,
        ScalarValue::Float(_) => wanted.number,
        ScalarValue::Bool(_) => wanted.boolean,
        ScalarValue::Ambiguous => wanted.text && wanted.number && wanted.boolean,
        ScalarValue::Null => false,
    };
    if fits {
        out_of_range(value, wanted).or_else(|| misspelt(text, wanted))
    } else {
        Some(misfit(text, style, value, wanted))
    }
}

fn misfit(text: &str, style: QuoteStyle, value: ScalarValue, wanted: &ScalarSchema) -> Problem {
    if let Some(problem) = misformed(text, wanted) {
        return problem;
    }
    let found = type_names::of_scalar(text, value);
    let wanted_name = type_names::of_wanted(wanted);
    if wanted.text && !wanted.integer && style == QuoteStyle::Plain {
        let message = format!("expected {wanted_name}, found {found}");
        return Problem::invalid("schema/unquoted", message)
            .hint(Some(format!("quote it: \"{text}\"")));
    }
    let message = format!("expected {wanted_name}, found {found}");
    let is_quoted_value = value == ScalarValue::Text
        && style == QuoteStyle::Quoted
        && is_read_as(scalar::resolve(text), wanted);
    let hint = match value {
        _ if is_quoted_value => Some(format!("remove the quotes: {text}")),
        ScalarValue::Ambiguous if wanted.boolean => Some("write true or false".to_owned()),
        ScalarValue::Ambiguous if type_names::is_number(text) => {
            Some("write it as a plain decimal number".to_owned())
        }
        _ => None,
    };
    Problem::invalid("schema/type", message).hint(hint)
}

fn misspelt(text: &str, wanted: &ScalarSchema) -> Option<Problem> {
    if wanted.words.is_empty() || wanted.words.iter().any(|word| word == text) {
        return misformed(text, wanted);
    }
    let hint = match suggest(text, wanted.words.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean {meant:?}?"),
        None => match wanted.words.as_slice() {
            [only] => format!("must be {only:?}"),
            words => format!("supported values: {}", words.join(", ")),
        },
    };
    let message = format!("unsupported value {text:?}");
    let problem = Problem::new(
        FieldPath::root(),
        FindingKind::NotSupported,
        "schema/word",
        message,
    );
    Some(problem.hint(Some(hint)))
}

fn misformed(text: &str, wanted: &ScalarSchema) -> Option<Problem> {
    let (_, parse) = model::FORMATS
        .iter()
        .find(|(name, _)| Some(*name) == wanted.format.as_deref())?;
    let reason = parse(text).err()?;
    let is_quantity = wanted.format.as_deref() == Some("quantity");
    let hint = is_quantity.then(|| quantity_meant(text, *parse)).flatten();
    let hint = hint.map(|it| format!("did you mean {it}?"));
    Some(Problem::invalid("schema/format", reason).hint(hint))
}

/// A quantity without the space or the unit of bytes: `20 Gi` and `20GB`.
fn quantity_meant(text: &str, parse: fn(&str) -> Result<(), String>) -> Option<String> {
    let joined: String = text.split_whitespace().collect();
    let meant = joined.trim_end_matches(['b', 'B']);
    let (number, unit) = meant.split_at(meant.find(|it: char| it.is_ascii_alphabetic())?);
    let binary = match unit.to_ascii_lowercase().as_str() {
        "k" | "ki" => "Ki",
        "m" | "mi" => "Mi",
        "g" | "gi" => "Gi",
        "t" | "ti" => "Ti",
        _ => return None,
    };
    let meant = format!("{number}{binary}");
    (meant != text && parse(&meant).is_ok()).then_some(meant)
}

fn is_read_as(value: ScalarValue, wanted: &ScalarSchema) -> bool {
    match value {
        ScalarValue::Int(_) => wanted.integer || wanted.number,
        ScalarValue::Float(_) => wanted.number,
        ScalarValue::Bool(_) => wanted.boolean,
        _ => false,
    }
}

fn out_of_range(value: ScalarValue, wanted: &ScalarSchema) -> Option<Problem> {
    let ScalarValue::Int(n) = value else {
        return None;
    };
    let below = wanted
        .minimum
        .filter(|least| n < *least)
        .map(|least| format!("must be at least {least} (is {n})"));
    let message = below.or_else(|| {
        wanted
            .maximum
            .filter(|most| n > *most)
            .map(|most| format!("must be at most {most} (is {n})"))
    })?;
    Some(Problem::invalid("schema/range", message))
}
