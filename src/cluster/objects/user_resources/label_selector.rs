//! Label selectors inside of objects.

use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PartialLabelSelector {
    match_labels: BTreeMap<String, String>,
    match_expressions: Vec<LabelRequirement>,
}

#[derive(Debug, Clone, Deserialize)]
struct LabelRequirement {
    key: String,
    operator: String,
    #[serde(default)]
    values: Vec<String>,
}

impl PartialLabelSelector {
    /// An empty selector selects everything. An operator that is not known selects nothing.
    pub(crate) fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        let mut equal = self.match_labels.iter();
        let mut required = self.match_expressions.iter();
        equal.all(|(key, value)| labels.get(key) == Some(value))
            && required.all(|it| it.holds(labels.get(&it.key)))
    }

    /// Returns true if only objects with certain labels are selected.
    pub(crate) fn wants_labels(&self) -> bool {
        let is_positive = |it: &LabelRequirement| matches!(&*it.operator, "In" | "Exists");
        !self.match_labels.is_empty() || self.match_expressions.iter().any(is_positive)
    }
}

impl LabelRequirement {
    fn holds(&self, value: Option<&String>) -> bool {
        match self.operator.as_str() {
            "In" => value.is_some_and(|it| self.values.contains(it)),
            "NotIn" => value.is_none_or(|it| !self.values.contains(it)),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn selects(selector: Value, labels: Value) -> bool {
        let selector: PartialLabelSelector = serde_json::from_value(selector).expect("a selector");
        let labels = serde_json::from_value(labels).expect("labels");
        selector.selects(&labels)
    }

    #[test]
    fn labels_and_expressions_must_all_hold() {
        let web = json!({"app": "web", "tier": "front"});
        assert!(selects(json!({}), json!({})));
        assert!(selects(json!({"matchLabels": {"app": "web"}}), web.clone()));
        assert!(!selects(json!({"matchLabels": {"app": "db"}}), web.clone()));
        for (operator, key, values, expected) in [
            ("In", "app", json!(["db", "web"]), true),
            ("In", "app", json!(["db"]), false),
            ("In", "zone", json!(["a"]), false),
            ("NotIn", "app", json!(["db"]), true),
            ("NotIn", "app", json!(["web"]), false),
            ("NotIn", "zone", json!(["a"]), true),
            ("Exists", "app", json!([]), true),
            ("Exists", "zone", json!([]), false),
            ("DoesNotExist", "app", json!([]), false),
            ("DoesNotExist", "zone", json!([]), true),
            ("Gt", "app", json!(["1"]), false),
        ] {
            let one = json!({"key": key, "operator": operator, "values": values});
            let selector = json!({"matchLabels": {"tier": "front"}, "matchExpressions": [one]});
            assert_eq!(selects(selector, web.clone()), expected, "{operator} {key}");
        }
    }
}
