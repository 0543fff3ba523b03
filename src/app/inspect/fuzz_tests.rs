//! Answers of API servers with other values in a few places, as every command and every plan reads them.

use super::agreement_tests::{record, recorded, shoot};
use super::health;
use super::images::image_rows;
use super::nodes::node_rows;
use super::pools::pool_rows;
use crate::cluster::testing::{causes, readable_facts};
use crate::fuzz::fuzz_json;
use crate::plan;
use crate::state::conditions;
use crate::state::names::REPAIRS;
use crate::state::observed::Observed;
use crate::state::record::hibernation::HIBERNATION;
use serde_json::json;
use std::sync::Arc;

/// A plan takes longer than the reading of an object.
const ROUNDS: u64 = 150;

#[test]
fn no_fuzzed_answer_causes_a_panic_or_a_hang_of_a_command() {
    let shoot = shoot();
    let mut seed = recorded(&shoot);
    let time = seed["time"].as_i64().expect("seconds");
    let stored = &mut seed["provider"]["configmaps"][0];
    stored["metadata"]["annotations"][REPAIRS] = json!("1767225600,1767225660");
    stored["data"][HIBERNATION] = json!(r#"{"enabled":true,"since":1,"began":2,"lastTrigger":3}"#);
    fuzz_json(ROUNDS, &seed, |seen, _| {
        let record = record();
        let facts = readable_facts(seen, time);
        let input = health::input(&facts, &record);
        let _ = conditions::conditions(&input);
        let _ = node_rows(&facts, None, None);
        let _ = pool_rows(&facts, &record);
        let _ = image_rows(&facts, None);
        let _: Vec<String> = causes(&facts).iter().map(ToString::to_string).collect();
        let observed = Observed {
            facts: Arc::new(facts),
            ..Observed::default()
        };
        let plan = plan::plan(&shoot, &observed);
        assert!(!plan.items.is_empty());
    });
}
