//! Every manifest that `init` writes is valid, whatever is chosen from whatever the provider cluster has.

use super::chooser::Chooser;
use super::only_profile;
use super::questions::{GivenValues, profile_draft, shoot_draft};
use crate::app::error::CommandError;
use crate::cluster::{InstancetypeSize, ProviderInventory};
use crate::load::{LoadContext, Loaded, judge};
use crate::manifest::Manifest;
use crate::ui::{Question, Refused};
use jiff::Timestamp;
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

fn now() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

/// The text of a manifest, without a terminal.
fn manifest(given: &GivenValues, inventory: &ProviderInventory) -> Result<String, CommandError> {
    with_answers(given, inventory, &mut Chooser::new(None))
}

fn with_answers(
    given: &GivenValues,
    inventory: &ProviderInventory,
    chooser: &mut Chooser,
) -> Result<String, CommandError> {
    let profile = profile_draft("dev", given, inventory, chooser)?.text();
    chooser.require_complete()?;
    let read = Manifest::parse([("profile".to_owned(), profile.clone().into_bytes())]);
    let read = only_profile(&read).expect("one CloudProfile");
    let shoot = shoot_draft("dev", &read, given, inventory, now(), chooser)?;
    chooser.require_complete()?;
    let commands = ["kvshoot apply -f dev.yaml".to_owned()];
    Ok(format!("{}---\n{profile}", shoot.text(&commands)))
}

fn judged(text: &str) -> Loaded {
    let source = ("dev.yaml".to_owned(), text.as_bytes().to_vec());
    judge(Manifest::parse([source]), &LoadContext::at(now()))
}

/// Problems and warnings.
fn messages(text: &str) -> Vec<String> {
    let loaded = judged(text);
    let problems = loaded.manifest.problems().iter();
    let all = problems.chain(loaded.manifest.warnings());
    all.map(|it| format!("{}: {}", it.path, it.message))
        .collect()
}

/// A provider cluster with two zones, a StorageClass and a network.
fn inventory() -> ProviderInventory {
    let zones = BTreeSet::from(["a".to_owned(), "b".to_owned()]);
    ProviderInventory {
        regions: BTreeMap::from([("lab".to_owned(), zones)]),
        pod_ranges: BTreeSet::from(["10.244.0.0/24".to_owned()]),
        storage_classes: vec!["ceph".to_owned(), "local".to_owned()],
        networks: vec!["lan".to_owned()],
        ..ProviderInventory::default()
    }
}

#[test]
fn without_flags_the_manifest_has_a_node_in_each_zone_and_the_default_storage_class() {
    let text = manifest(&GivenValues::default(), &inventory()).expect("all values have defaults");
    assert_eq!(messages(&text), Vec::<String>::new(), "{text}");
    for line in [
        "        type: small\n",
        "      minimum: 2\n",
        "        type: ceph\n",
        "      - a\n      - b\n",
        "    nodes: 10.244.0.0/16\n",
        "# yaml-language-server: $schema=shoot.schema.json\n",
        "# yaml-language-server: $schema=cloudprofile.schema.json\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!text.contains("sharedNetworks"), "{text}");
}

#[test]
fn fewer_nodes_than_zones_are_in_the_first_zones() {
    let given = GivenValues {
        nodes: Some(1),
        ..GivenValues::default()
    };
    let text = manifest(&given, &inventory()).expect("all values have defaults");
    assert_eq!(messages(&text), Vec::<String>::new(), "{text}");
    assert!(
        text.contains("      zones:\n      - a\n  networking"),
        "{text}"
    );
}

#[test]
fn without_permissions_the_missing_flags_are_named() {
    let inventory = ProviderInventory {
        forbidden: vec!["nodes", "storageclasses"],
        ..ProviderInventory::default()
    };
    let error = manifest(&GivenValues::default(), &inventory).expect_err("no StorageClass");
    let expected = "missing without a terminal: --volume-type, --region, --zones";
    assert_eq!(error.message, expected);
    let given = GivenValues {
        volume_type: Some("ceph".to_owned()),
        region: Some("default".to_owned()),
        zones: vec!["default".to_owned()],
        ..GivenValues::default()
    };
    let text = manifest(&given, &inventory).expect("all values are given");
    assert_eq!(messages(&text), Vec::<String>::new(), "{text}");
}

#[test]
fn answers_of_the_user_are_in_the_manifest() {
    let asked = RefCell::new(Vec::new());
    let ask = |question: &Question| -> Result<String, Refused> {
        asked.borrow_mut().push(question.text.to_owned());
        let answer = match question.text {
            "Number of nodes" => "5",
            "Zones, separated by commas" => "b",
            "Additional networks of the machines, separated by commas" => "lan",
            _ => question.default.unwrap_or_default(),
        };
        (question.check)(answer).expect("a valid answer");
        Ok(answer.to_owned())
    };
    let mut chooser = Chooser::new(Some(&ask));
    let text = with_answers(&GivenValues::default(), &inventory(), &mut chooser);
    let text = text.expect("every question is answered");
    assert_eq!(messages(&text), Vec::<String>::new(), "{text}");
    assert!(text.contains("      minimum: 5\n"), "{text}");
    assert!(
        text.contains("      zones:\n      - b\n  networking"),
        "{text}"
    );
    assert!(text.contains("        - name: lan\n"), "{text}");
    assert_eq!(asked.borrow().len(), 8, "{asked:?}");
}

#[test]
fn values_that_do_not_exist_are_problems_of_the_manifest() {
    let given = GivenValues {
        machine_type: Some("smal".to_owned()),
        ..GivenValues::default()
    };
    let text = manifest(&given, &inventory()).expect("a manifest");
    let messages = messages(&text);
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(messages[0].contains("\"smal\" not found"), "{messages:?}");
}

fn label() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9]([-a-zA-Z0-9_.]{0,8}[a-zA-Z0-9])?"
}

fn object_name() -> impl Strategy<Value = String> {
    "[a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?(\\.[a-z0-9]{1,4})?"
}

fn inventories() -> impl Strategy<Value = ProviderInventory> {
    let zones = prop::collection::btree_set(label(), 1..4);
    let regions = prop::collection::btree_map(label(), zones, 1..3);
    let size = (object_name(), 1_u64..64, 1_u32..256);
    let sizes = prop::collection::vec(size, 0..6);
    let classes = prop::collection::btree_set(object_name(), 1..4);
    let networks = prop::collection::btree_set(object_name(), 0..3);
    let ranges = prop::collection::btree_set((0_u8..=255, 0_u8..=255), 0..4);
    (regions, sizes, classes, networks, ranges).prop_map(
        |(regions, sizes, classes, networks, ranges)| {
            let mut known = BTreeSet::new();
            let sizes = sizes.into_iter().filter(|it| known.insert(it.0.clone()));
            let size = |(name, cpus, memory)| InstancetypeSize {
                name,
                cpus,
                memory: format!("{memory}Gi"),
            };
            ProviderInventory {
                regions,
                architectures: BTreeSet::new(),
                pod_ranges: ranges
                    .into_iter()
                    .map(|(a, b)| format!("10.{a}.{b}.0/24"))
                    .collect(),
                service_address: Some("100.64.0.1".to_owned()),
                storage_classes: classes.into_iter().collect(),
                instancetypes: sizes.map(size).collect(),
                networks: networks.into_iter().collect(),
                forbidden: Vec::new(),
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_combination_of_choices_is_valid(inventory in inventories(), picks in any::<[u8; 16]>()) {
        let picks = RefCell::new(picks.into_iter().cycle());
        let pick = || usize::from(picks.borrow_mut().next().unwrap_or_default());
        let ask = |question: &Question| -> Result<String, Refused> {
            let options = question.options;
            let default = question.default.unwrap_or_default();
            Ok(match options {
                [] => default.to_owned(),
                options => options[pick() % options.len()].clone(),
            })
        };
        let given = GivenValues {
            nodes: Some(u32::try_from(pick()).unwrap_or_default() + 1),
            ..GivenValues::default()
        };
        let mut chooser = Chooser::new(Some(&ask));
        let text = with_answers(&given, &inventory, &mut chooser).expect("every question is answered");
        let messages = messages(&text);
        prop_assert!(messages.is_empty(), "{messages:?}\n{text}");
    }

    #[test]
    fn foreign_names_cannot_add_to_the_manifest(name in any::<String>()) {
        let inventory = ProviderInventory {
            storage_classes: vec![name.clone()],
            ..inventory()
        };
        let text = manifest(&GivenValues::default(), &inventory).expect("a manifest");
        let documents: Vec<serde_yaml::Value> = serde_yaml::Deserializer::from_str(&text)
            .map(|it| serde::Deserialize::deserialize(it).expect("valid YAML"))
            .collect();
        prop_assert_eq!(documents.len(), 2);
        let volume = &documents[0]["spec"]["provider"]["workers"][0]["volume"];
        prop_assert_eq!(volume["type"].as_str(), Some(name.as_str()));
        prop_assert_eq!(documents[0]["spec"].as_mapping().map(serde_yaml::Mapping::len), Some(5));
    }
}
