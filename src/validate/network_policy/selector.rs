//! Label selectors.

use crate::model::{FindingKind, LabelExpression, PodSelector};
use crate::validate::names;
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::rules::one_of;

const OPERATORS: [&str; 4] = ["In", "NotIn", "Exists", "DoesNotExist"];
const CODE: &str = "network-policy/selector";

pub(crate) fn check(selector: &PodSelector, at: &FieldCursor, report: &mut FindingSink) {
    names::check_labels(&at.key("matchLabels"), &selector.match_labels, report);
    let at = &at.key("matchExpressions");
    for (i, it) in selector.match_expressions.iter().enumerate() {
        expression(it, &at.index(i), report);
    }
}

fn expression(it: &LabelExpression, at: &FieldCursor, report: &mut FindingSink) {
    if !it.key.is_empty() && !names::is_qualified(&it.key) {
        let message = format!("{:?} is not a valid label key", it.key);
        report.error(&at.key("key"), FindingKind::Invalid, CODE, message);
    }
    let operator = Some(it.operator.as_str()).filter(|it| !it.is_empty());
    one_of(operator, &OPERATORS, &at.key("operator"), CODE, report);
    let at = &at.key("values");
    match it.operator.as_str() {
        "In" | "NotIn" if it.values.is_empty() => {
            let message = format!("required with operator {}", it.operator);
            report.error(at, FindingKind::Required, CODE, message);
        }
        "Exists" | "DoesNotExist" if !it.values.is_empty() => {
            let message = format!("not allowed with operator {}", it.operator);
            report
                .error(at, FindingKind::Forbidden, CODE, message)
                .hint("use In or NotIn, or remove the values");
        }
        _ => {}
    }
    for (i, value) in it.values.iter().enumerate() {
        if !names::is_label_value(value) {
            let message = format!("{value:?} is not a valid label value");
            report
                .error(&at.index(i), FindingKind::Invalid, CODE, message)
                .hint(names::LABEL_VALUE);
        }
    }
}
