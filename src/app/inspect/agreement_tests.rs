//! One recorded observation, read by every command: two commands never contradict each other.

use super::health;
use super::images::image_rows;
use super::nodes::{NodeRow, node_rows};
use super::pools::pool_rows;
use super::wait::unmet;
use super::wait_condition::parse;
use crate::cluster::testing::{ID, RECORD_UID, causes, listed_facts, observation, observed_facts};
use crate::cluster::{FactsScope, RecordSnapshot};
use crate::load::recorded_shoot;
use crate::plan;
use crate::state::conditions::{self, Condition};
use crate::state::desired;
use crate::state::facts::{Facts, MachinePhase};
use crate::state::names;
use crate::state::observed::Observed;
use crate::state::plan::{Item, ItemState};
use crate::state::record::{PROFILE, SHOOT};
use crate::validate::ValidShoot;
use crate::validate::testing as manifests;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Answers of the commands to one observation.
struct Answers {
    facts: Facts,
    nodes: Vec<NodeRow>,
    /// Ready machines and all machines, as in `pools list`.
    pools: (usize, usize),
    /// Percentage of the image, as in `images list`.
    imported: Option<f32>,
    /// As in `status`.
    conditions: Vec<Condition>,
    /// Unmet conditions of `wait`, in the order of [`WAITS`].
    waits: Vec<Option<String>>,
    /// As in `why`.
    causes: Vec<String>,
    /// As in `plan` and `apply`.
    items: Vec<Item>,
}

const WAITS: [&str; 3] = ["ready", "nodes", "nodes=3"];

pub(super) fn record() -> RecordSnapshot {
    let shoot = manifests::SHOOT.replace("imum: 1", "imum: 3");
    RecordSnapshot {
        namespace: "clusters".into(),
        name: ID.into(),
        uid: RECORD_UID.into(),
        version: "1".into(),
        created: None,
        leaving: false,
        annotations: BTreeMap::new(),
        data: [
            (SHOOT.to_owned(), shoot),
            (PROFILE.to_owned(), manifests::PROFILE.to_owned()),
        ]
        .into(),
    }
}

pub(super) fn shoot() -> ValidShoot {
    let record = record();
    let shoot = recorded_shoot(ID, &record.data, manifests::today());
    shoot.expect("the manifest is valid")
}

fn machine_name(shoot: &ValidShoot, ordinal: u32) -> String {
    let pool = &shoot.pools[0];
    let hash = desired::pool_hash(shoot, pool, &[], None);
    names::machine(&shoot.id, &pool.name, 0, hash, ordinal)
}

/// The observation with the names and hashes of this version of kvshoot.
pub(super) fn recorded(shoot: &ValidShoot) -> Value {
    let pool = &shoot.pools[0];
    let image = desired::image_volume(shoot, &Facts::default(), pool, 0);
    let image = image.expect("the pool has an image of the profile");
    let mut text = observation().to_string().replace("golden", &image.name);
    for ordinal in 0..3 {
        let name = machine_name(shoot, ordinal);
        text = text.replace(&format!("machine-{ordinal}"), &name);
    }
    let mut seen: Value = serde_json::from_str(&text).expect("names are JSON");
    let mut annotate = |side: &str, resource: &str, key: &str, value: String| {
        let objects = seen[side][resource].as_array_mut();
        for object in objects.into_iter().flatten() {
            object["metadata"]["annotations"][key] = json!(value);
        }
    };
    let hash = desired::pool_hash(shoot, pool, &[], None);
    let metadata = desired::pool_metadata(pool);
    annotate(
        "provider",
        "virtualmachines",
        names::SPEC_HASH,
        hash.to_string(),
    );
    annotate(
        "provider",
        "virtualmachines",
        names::POOL_METADATA,
        metadata.clone(),
    );
    annotate("shoot", "nodes", names::POOL_METADATA, metadata);
    annotate(
        "provider",
        "datavolumes",
        names::SPEC_HASH,
        image.hash.to_string(),
    );
    seen
}

fn answers(seen: &Value, shoot: &ValidShoot) -> Answers {
    let record = record();
    let health_facts = listed_facts(seen, FactsScope::HEALTH);
    let node_facts = listed_facts(seen, FactsScope::NODES);
    let input = health::input(&health_facts, &record);
    let conditions = conditions::conditions(&input);
    let wait = |it| unmet(&parse(it).expect("a condition"), &input, &conditions);
    let waits = WAITS.into_iter().map(wait).collect();
    let pools = pool_rows(&node_facts, &record);
    let images = image_rows(&listed_facts(seen, FactsScope::IMAGES), None);
    let facts = observed_facts(seen);
    let observed = Observed {
        facts: facts.clone().into(),
        ..Observed::default()
    };
    Answers {
        nodes: node_rows(&node_facts, None, None),
        pools: (
            pools.iter().map(|it| it.ready).sum(),
            pools.iter().map(|it| it.machines).sum(),
        ),
        imported: images[0].percent,
        waits,
        conditions,
        causes: causes(&facts).iter().map(ToString::to_string).collect(),
        items: plan::plan(shoot, &observed).items,
        facts,
    }
}

impl Answers {
    fn condition(&self, kind: &str) -> &Condition {
        let found = self.conditions.iter().find(|it| it.kind == kind);
        found.expect("the shoot is reachable")
    }

    /// Names of ready machines: each command has the same ones, or as many.
    fn ready_machines(&self) -> Vec<String> {
        let rows = self.nodes.iter().filter(|it| it.ready);
        let ready: Vec<String> = rows.map(|it| it.name.clone()).collect();
        let machines = self.facts.machines();
        let phases = machines
            .iter()
            .filter(|it| it.2.phase == MachinePhase::Ready);
        let phases: Vec<&str> = phases.map(|it| &**it.1).collect();
        assert_eq!(ready, phases, "apply");
        let items = self.items.iter().filter(|it| it.state == ItemState::Done);
        let done =
            items.filter_map(|it| it.title.strip_prefix("Machine ")?.strip_suffix(" is ready"));
        assert_eq!(ready, done.collect::<Vec<_>>(), "plan");
        assert_eq!(self.pools, (ready.len(), machines.len()), "pools");
        let is_explained = |row: &&NodeRow| {
            let mut machines = self.causes.iter().filter(|it| it.starts_with("Machine "));
            machines.any(|it| it.contains(&row.name))
        };
        let explained = row_names(self.nodes.iter().filter(is_explained));
        let unready = row_names(self.nodes.iter().filter(|it| !it.ready));
        assert_eq!(explained, unready, "why: {:?}", self.causes);
        let counted = format!("{} of 3 nodes are ready", ready.len());
        let message = &self.condition("EveryNodeReady").message;
        assert!(message.starts_with(&counted), "status: {message}");
        let all = ready.len() == 3;
        assert_eq!(self.condition("EveryNodeReady").is_true, all, "status");
        let [_, every, three] = &self.waits[..] else {
            unreachable!("three conditions are waited for");
        };
        assert_eq!((every.is_none(), three.is_none()), (all, all), "wait");
        ready
    }

    /// True if every command says that nothing is missing.
    fn is_healthy(&self) -> bool {
        let healthy = self.conditions.iter().all(|it| it.is_true);
        assert_eq!(self.waits[0].is_none(), healthy, "wait for ready");
        assert_eq!(self.causes.is_empty(), healthy, "why: {:?}", self.causes);
        healthy
    }

    /// Asserts that a reason is given by all commands that give reasons of machines.
    fn assert_reason(&self, machine: &str, reason: &str) {
        let row = self.nodes.iter().find(|it| it.name == machine);
        let shown = row.and_then(|it| it.reason.clone()).unwrap_or_default();
        assert_eq!(shown, reason, "nodes list");
        let parts = [machine, reason];
        let messages = self.conditions.iter().map(|it| &it.message);
        assert!(has(messages, &parts), "status: {:?}", self.conditions);
        assert!(has(&self.causes, &parts), "why: {:?}", self.causes);
        let waiting = self.items.iter().filter_map(|item| match &item.state {
            ItemState::Waiting(why) => Some(format!("{}: {why}", item.title)),
            _ => None,
        });
        assert!(has(waiting, &parts), "plan");
        assert!(
            has(self.waits.iter().flatten(), &parts),
            "wait: {:?}",
            self.waits
        );
    }
}

fn row_names<'a>(rows: impl Iterator<Item = &'a NodeRow>) -> Vec<&'a str> {
    rows.map(|it| it.name.as_str()).collect()
}

/// True if one of the texts contains all parts.
fn has(texts: impl IntoIterator<Item = impl AsRef<str>>, parts: &[&str]) -> bool {
    let mut texts = texts.into_iter();
    texts.any(|text| parts.iter().all(|part| text.as_ref().contains(part)))
}

/// The condition of a type in the status of an object.
fn condition<'a>(object: &'a mut Value, kind: &str) -> &'a mut Value {
    let conditions = object["status"]["conditions"].as_array_mut();
    let mut conditions = conditions.into_iter().flatten();
    conditions
        .find(|it| it["type"] == kind)
        .expect("the observation has the condition")
}

#[test]
fn all_commands_agree_on_a_healthy_shoot() {
    let shoot = shoot();
    let answers = answers(&recorded(&shoot), &shoot);
    assert_eq!(answers.ready_machines().len(), 3);
    assert!(answers.is_healthy(), "{:?}", answers.conditions);
    assert_eq!(answers.imported, Some(100.0));
    let first = &answers.nodes[0];
    assert_eq!(
        (first.status.as_str(), first.pool.as_str()),
        ("Ready", "cpu")
    );
}

#[test]
fn all_commands_agree_on_a_node_that_is_not_ready() {
    let shoot = shoot();
    let mut seen = recorded(&shoot);
    let ready = condition(&mut seen["shoot"]["nodes"][1], "Ready");
    ready["status"] = json!("False");
    ready["message"] = json!("container runtime network not ready");
    let answers = answers(&seen, &shoot);
    assert_eq!(answers.ready_machines().len(), 2);
    assert!(!answers.is_healthy());
    let machine = machine_name(&shoot, 1);
    answers.assert_reason(&machine, "container runtime network not ready");
}

/// Its node is still ready: Kubernetes notices the silence of a kubelet after a while.
#[test]
fn all_commands_agree_on_a_machine_that_failed() {
    let shoot = shoot();
    let mut seen = recorded(&shoot);
    let vm = &mut seen["provider"]["virtualmachines"][2];
    vm["status"] = json!({
        "printableStatus": "CrashLoopBackOff",
        "conditions": [
            { "type": "Failure", "status": "True", "message": "guest panicked" },
        ],
    });
    let answers = answers(&seen, &shoot);
    assert_eq!(answers.ready_machines().len(), 2);
    assert!(!answers.is_healthy());
    let machine = machine_name(&shoot, 2);
    let row = answers.nodes.iter().find(|it| it.name == machine);
    assert_eq!(row.map(|it| it.status.as_str()), Some("NotReady"));
    let parts = [machine.as_str(), "guest panicked"];
    let messages = answers.conditions.iter().map(|it| &it.message);
    assert!(has(messages, &parts), "{:?}", answers.conditions);
    assert!(has(&answers.causes, &parts), "{:?}", answers.causes);
    assert!(has(answers.waits.iter().flatten(), &parts));
    assert_eq!(
        row.and_then(|it| it.reason.as_deref()),
        Some("guest panicked")
    );
}

#[test]
fn all_commands_agree_on_a_machine_without_a_node() {
    let shoot = shoot();
    let mut seen = recorded(&shoot);
    let nodes = seen["shoot"]["nodes"].as_array_mut();
    nodes.expect("nodes are listed").remove(0);
    let answers = answers(&seen, &shoot);
    let row = &answers.nodes[0];
    assert_eq!((row.status.as_str(), row.ready), ("Joining", false));
    assert_eq!(answers.pools, (2, 3));
    assert!(!answers.is_healthy());
    let why = "VM running, waiting for node to register";
    assert_eq!(row.reason.as_deref(), Some(why));
    assert!(answers.causes.iter().any(|it| it.contains(why)));
    let nodes = &answers.condition("EveryNodeReady").message;
    assert!(nodes.starts_with("2 of 3 nodes"), "{nodes}");
}

#[test]
fn all_commands_agree_on_an_import_that_waits() {
    let shoot = shoot();
    let mut seen = recorded(&shoot);
    let volume = &mut seen["provider"]["datavolumes"][0];
    volume["status"]["phase"] = json!("Pending");
    volume["status"]["progress"] = json!("N/A");
    let bound = condition(volume, "Bound");
    bound["status"] = json!("False");
    bound["message"] = json!("no storage class");
    let answers = answers(&seen, &shoot);
    assert!(!answers.is_healthy());
    assert_eq!(answers.imported, None);
    let reason = "no storage class";
    let message = &answers.condition("ImagesImported").message;
    assert!(
        message.starts_with("0 of 1") && message.contains(reason),
        "{message}"
    );
    assert!(answers.causes.iter().any(|it| it.contains(reason)));
    let item = answers
        .items
        .iter()
        .find(|it| it.title.starts_with("Import image"));
    let state = item.map(|it| &it.state);
    assert_eq!(state, Some(&ItemState::Waiting(reason.to_owned())));
    // The machines have their disks already.
    assert_eq!(answers.ready_machines().len(), 3);
}

#[test]
fn all_commands_agree_on_a_rollout_that_is_not_complete() {
    for (side, resource, kind) in [
        ("provider", "deployments", "ControlPlaneHealthy"),
        ("provider", "statefulsets", "ControlPlaneHealthy"),
        ("shoot", "deployments", "SystemComponentsHealthy"),
    ] {
        let shoot = shoot();
        let mut seen = recorded(&shoot);
        let status = &mut seen[side][resource][0]["status"];
        status["availableReplicas"] = json!(0);
        let reason = format!("0 of {} pods available", status["replicas"]);
        let answers = answers(&seen, &shoot);
        assert!(!answers.is_healthy(), "{side} {resource}");
        let condition = answers.condition(kind);
        assert!(!condition.is_true && condition.message.contains(&reason));
        assert!(answers.causes.iter().any(|it| it.contains(&reason)));
        assert_eq!(answers.ready_machines().len(), 3);
    }
}
