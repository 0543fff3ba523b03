//! Resolution of type names, and the lifecycle of the shoot's own types.

use super::*;
use crate::plan::{delete, plan_of_machines};
use crate::render::instancetype::matcher;
use crate::state::action::Action;
use crate::state::desired::instancetypes::{PREFERENCE, is_missing, resolve, wanted_of};
use crate::state::facts::{
    Facts, MachinePhase, ObjectStatus, ObservedMachine, ObservedObject, ObservedRecord,
};
use crate::state::failure::ErrorClass;
use crate::state::key::ObjectKind;
use crate::state::names;
use crate::state::observed::Observed;
use crate::state::plan::Plan;
use crate::state::prerequisite::{Lookup, Prerequisite, PrerequisiteKind};
use crate::state::testing::{self, machine};
use crate::validate::testing::{PROFILE, SHOOT, valid_for_tests};
use serde_json::json;

const ID: &str = "shoot--dev--demo";

/// A shoot with one pool that names these types, and a profile with additional fields.
fn shoot(named: &str, profile: &str) -> ValidShoot {
    let api = "kubevirt.provider.extensions.gardener.cloud/v1alpha1";
    let config = format!("providerConfig: {{apiVersion: {api}, kind: WorkerConfig, {named}}}");
    let shoot = SHOOT.replace(
        "      minimum: 1\n",
        &format!("      minimum: 1\n      {config}\n"),
    );
    assert_ne!(shoot, SHOOT);
    let more = format!("    {profile}\n    machineImages:");
    let profile = match profile {
        "" => PROFILE.to_owned(),
        _ => PROFILE.replace("    machineImages:", &more),
    };
    valid_for_tests(&format!("{shoot}---\n{profile}"))
}

fn prerequisite(family: PrerequisiteKind, kind: Option<&str>, name: &str) -> Prerequisite {
    Prerequisite {
        prerequisite_kind: family,
        kind: kind.map(Arc::from),
        name: name.into(),
    }
}

fn there(kind: &str) -> Lookup {
    Lookup::Found(kind.into())
}

fn spec(text: &str) -> Arc<Value> {
    Arc::new(json!({ "text": text }))
}

const OWN: &str = "VirtualMachineInstancetype";
const SHARED: &str = "VirtualMachineClusterInstancetype";

fn object(hash: Hash) -> ObservedObject {
    ObservedObject {
        hash,
        ..testing::object(ObjectStatus::None)
    }
}

#[test]
fn types_resolve_to_the_namespace_then_templates_then_standard_types_then_the_cluster() {
    let shoot = shoot("instancetype: {name: a}", "");
    let with_copy = |name: &str| {
        let key = ObjectKey::provider(ObjectKind::Instancetype, format!("{ID}-{name}"));
        [(key, object(Hash(1)))].into()
    };
    let standard = || {
        ResolvedType::Owned(Arc::new(
            json!({ "cpu": { "guest": 4 }, "memory": { "guest": "16Gi" } }),
        ))
    };
    let theirs = |kind: &str| ResolvedType::External(Some(kind.into()));
    for (kind, name, found, has_copy, wanted) in [
        (None, "standard-4", Some(there(OWN)), true, theirs(OWN)),
        (
            None,
            "standard-4",
            Some(Lookup::Template(spec("a"))),
            true,
            ResolvedType::Owned(spec("a")),
        ),
        (None, "standard-4", Some(there(SHARED)), false, standard()),
        (
            Some(OWN),
            "standard-4",
            Some(Lookup::NotFound),
            false,
            standard(),
        ),
        (None, "standard-4", None, false, standard()),
        (
            None,
            "other",
            Some(Lookup::Template(spec("b"))),
            false,
            ResolvedType::Owned(spec("b")),
        ),
        (None, "other", Some(there(SHARED)), false, theirs(SHARED)),
        // The template was deleted, or the standard types disabled: existing copies stay.
        (
            None,
            "other",
            Some(there(SHARED)),
            true,
            ResolvedType::Retained,
        ),
        (
            None,
            "other",
            Some(Lookup::NotFound),
            true,
            ResolvedType::Retained,
        ),
        (
            None,
            "other",
            Some(Lookup::NotFound),
            false,
            ResolvedType::NotFound,
        ),
        // The kind selects the cluster-wide type.
        (
            Some(SHARED),
            "standard-4",
            Some(there(SHARED)),
            true,
            theirs(SHARED),
        ),
        (
            Some(SHARED),
            "standard-4",
            Some(Lookup::NotFound),
            true,
            ResolvedType::NotFound,
        ),
        // Not looked up.
        (None, "other", None, false, ResolvedType::External(None)),
        (Some(SHARED), "standard-4", None, false, theirs(SHARED)),
    ] {
        let prerequisite = prerequisite(PrerequisiteKind::Instancetype, kind, name);
        let facts = Facts {
            objects: if has_copy { with_copy(name) } else { [].into() },
            prerequisites: found
                .into_iter()
                .map(|it| (prerequisite.clone(), it))
                .collect(),
            ..Facts::default()
        };
        assert_eq!(
            resolve(&shoot, &facts, &prerequisite),
            wanted,
            "{prerequisite:?} {facts:?}"
        );
    }
}

#[test]
fn standard_types_are_kubermatics_unless_disabled() {
    let facts = Facts::default();
    let means = |shoot: &ValidShoot, family, name| match resolve(
        shoot,
        &facts,
        &prerequisite(family, None, name),
    ) {
        ResolvedType::Owned(spec) => spec.to_string(),
        other => format!("{other:?}"),
    };
    let plain = shoot("instancetype: {name: a}", "");
    let off = "disableDefaultInstanceTypes: true";
    let off = shoot(
        "instancetype: {name: a}",
        &format!("{off}\n    disableDefaultPreferences: true"),
    );
    for (family, name, wanted) in [
        (
            PrerequisiteKind::Instancetype,
            "standard-2",
            r#"{"cpu":{"guest":2},"memory":{"guest":"8Gi"}}"#,
        ),
        (
            PrerequisiteKind::Instancetype,
            "standard-8",
            r#"{"cpu":{"guest":8},"memory":{"guest":"32Gi"}}"#,
        ),
        (
            PrerequisiteKind::Preference,
            PREFERENCE,
            r#"{"cpu":{"preferredCPUTopology":"preferSockets"}}"#,
        ),
        (PrerequisiteKind::Preference, "standard-2", "External(None)"),
    ] {
        assert_eq!(means(&plain, family, name), wanted);
        assert_eq!(means(&off, family, name), "External(None)");
    }
}

/// Facts with a record, changed by `change`.
fn observed(change: impl FnOnce(&mut Facts)) -> Observed {
    let mut facts = Facts {
        namespace: "ns".into(),
        record: Some(ObservedRecord {
            name: ID.into(),
            uid: "record".into(),
            ..ObservedRecord::default()
        }),
        ..Facts::default()
    };
    change(&mut facts);
    Observed {
        facts: facts.into(),
        ..Observed::default()
    }
}

/// The items of types in a plan whose record is up to date.
fn planned(shoot: &ValidShoot, mut observed: Observed) -> Vec<String> {
    let hash = crate::state::record::wanted(shoot, &observed.facts).hash;
    let facts = Arc::make_mut(&mut observed.facts);
    facts.record.iter_mut().for_each(|it| it.hash = hash);
    lines(&plan_of_machines(shoot, &observed))
}

fn lines(plan: &Plan) -> Vec<String> {
    let is_of_types = |item: &&crate::state::plan::Item| {
        item.title.contains(" instancetype ") || item.title.contains(" preference ")
    };
    let told = |state: &ItemState| match state {
        ItemState::Due(Action::Apply(it)) => format!("apply {}", it.key),
        ItemState::Due(Action::Delete(it)) => format!("delete {}", it.key),
        ItemState::Failed(failure) => failure.message.clone(),
        other => format!("{other:?}"),
    };
    let items = plan.items.iter().filter(is_of_types);
    items
        .map(|it| format!("{}: {}", it.title, told(&it.state)))
        .collect()
}

const NAMED: &str = "instancetype: {name: standard-2}, preference: {name: sockets-advantage}";

#[test]
fn types_of_a_pool_are_created_before_its_machines() {
    let shoot = shoot(NAMED, "");
    let plan = planned(&shoot, observed(|_| {}));
    let wanted = [
        "Apply instancetype standard-2: apply VirtualMachineInstancetype shoot--dev--demo-standard-2",
        "Apply preference sockets-advantage: apply VirtualMachinePreference shoot--dev--demo-sockets-advantage",
    ];
    assert_eq!(plan, wanted);
    let observed = observed(|_| {});
    let plan = plan_of_machines(&shoot, &observed);
    let machine = plan.items.iter().find(|it| it.id.0.starts_with("machine/"));
    let needs = machine.expect("a place").needs.iter();
    let needs: Vec<&str> = needs.map(|it| &*plan.item(*it).id.0).collect();
    assert!(
        needs.contains(&"instancetype/shoot--dev--demo-standard-2"),
        "{needs:?}"
    );
    let pool = &shoot.pools[0];
    assert_eq!(
        matcher(&shoot, &observed.facts, pool, PrerequisiteKind::Preference),
        Some(
            json!({ "kind": "VirtualMachinePreference", "name": "shoot--dev--demo-sockets-advantage" })
        )
    );
}

#[test]
fn without_permission_to_list_types_only_owned_types_fail() {
    let blind = |named: &str| {
        let observed = observed(|facts| {
            let why = Failure::new(ErrorClass::NotAllowed, "not allowed to list them");
            facts.unreadable.insert(ObjectKind::Instancetype, why);
        });
        planned(&shoot(named, ""), observed)
    };
    assert_eq!(
        blind("instancetype: {name: standard-8}"),
        [
            "Apply instancetype standard-8: instancetype standard-8 cannot be created: not allowed to list them"
        ]
    );
    let kind = "VirtualMachineClusterInstancetype";
    let theirs = blind(&format!("instancetype: {{name: standard-8, kind: {kind}}}"));
    assert_eq!(theirs, ["Check instancetype standard-8: Done"]);
}

/// Adds a machine of the pool that was created with the copy of standard-2.
fn with_machine(shoot: &ValidShoot, facts: &mut Facts) {
    let hash = crate::state::desired::pool_hash(shoot, &shoot.pools[0], &[], None);
    let name: Arc<str> = names::machine(ID, &shoot.pools[0].name, 0, hash, 0).into();
    let machine = ObservedMachine {
        hash,
        types: [format!("{OWN} {ID}-standard-2").into()].into(),
        ..machine(MachinePhase::Ready)
    };
    let pool = facts.machines.entry(shoot.pools[0].name.as_str().into());
    pool.or_default().insert(name, machine);
    let key = ObjectKey::provider(ObjectKind::Instancetype, format!("{ID}-standard-2"));
    facts.objects.insert(key, object(Hash(1)));
}

#[test]
fn a_copied_type_is_deleted_after_its_last_machine() {
    let two = shoot("instancetype: {name: standard-2}", "");
    let applied = "Apply instancetype standard-2: apply VirtualMachineInstancetype shoot--dev--demo-standard-2";
    assert_eq!(
        planned(&two, observed(|it| with_machine(&two, it))),
        [applied]
    );

    // An object of that name now exists in the namespace: no machine is replaced, and their copy stays.
    let somebodys = observed(|facts| {
        with_machine(&two, facts);
        let prerequisite = prerequisite(PrerequisiteKind::Instancetype, None, "standard-2");
        facts.prerequisites.insert(prerequisite, there(OWN));
    });
    assert_eq!(
        planned(&two, somebodys),
        ["Check instancetype standard-2: Done"]
    );

    let four = shoot("instancetype: {name: standard-4}", "");
    let remove = "Delete instancetype shoot--dev--demo-standard-2";
    let rolls = planned(&four, observed(|it| with_machine(&two, it)));
    assert_eq!(rolls.last().unwrap(), &format!("{remove}: Blocked"));
    let gone = planned(
        &four,
        observed(|facts| {
            with_machine(&two, facts);
            facts.machines.clear();
        }),
    );
    let delete = "delete VirtualMachineInstancetype shoot--dev--demo-standard-2";
    assert_eq!(gone.last().unwrap(), &format!("{remove}: {delete}"));
}

#[test]
fn deleting_a_shoot_deletes_its_types_after_its_machines() {
    let two = shoot("instancetype: {name: standard-2}", "");
    let remove = "Delete instancetype shoot--dev--demo-standard-2";
    let whole = observed(|it| with_machine(&two, it));
    assert_eq!(
        lines(&delete(&whole, false)),
        [format!("{remove}: Blocked")]
    );
    let empty = observed(|facts| {
        with_machine(&two, facts);
        facts.machines.clear();
    });
    let delete = delete(&empty, false);
    assert_eq!(lines(&delete).len(), 1);
    assert!(lines(&delete)[0].starts_with(&format!("{remove}: delete")));
}

#[test]
fn up_to_date_types_need_no_permissions() {
    let two = shoot("instancetype: {name: standard-2}", "");
    let hash = |it: &Facts| wanted_of(&two, it).into_values().next().expect("one");
    let mut observed = observed(|it| with_machine(&two, it));
    assert!(is_missing(&two, &observed.facts));
    let facts = Arc::make_mut(&mut observed.facts);
    let hash = hash(facts);
    facts.objects.values_mut().for_each(|it| it.hash = hash);
    assert!(!is_missing(&two, facts));
    let plain = valid_for_tests(SHOOT);
    assert!(!is_missing(&plain, &Facts::default()));
}
