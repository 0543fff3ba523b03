//! Which type a name means, and what becomes of those that a shoot keeps.

use super::*;
use crate::plan::{delete, plan_of_machines};
use crate::render::instancetype::matcher;
use crate::state::action::Action;
use crate::state::desired::instancetypes::{PREFERENCE, lack, meant, wanted_of};
use crate::state::facts::{Fact, Facts, Look, Machine, Object, Record};
use crate::state::failure::Class;
use crate::state::key::Kind;
use crate::state::names;
use crate::state::observed::Observed;
use crate::state::plan::Plan;
use crate::state::prerequisite::{Family, Found, Relied};
use crate::state::testing::{self, machine};
use crate::validate::testing::{PROFILE, SHOOT, valid_for_tests};
use serde_json::json;

const ID: &str = "shoot--dev--demo";

/// A shoot whose one pool names these, against a profile with more fields.
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

fn relied(family: Family, kind: Option<&str>, name: &str) -> Relied {
    Relied {
        family,
        kind: kind.map(Arc::from),
        name: name.into(),
    }
}

fn there(kind: &str) -> Found {
    Found::There(kind.into())
}

fn spec(text: &str) -> Arc<Value> {
    Arc::new(json!({ "says": text }))
}

const OWN: &str = "VirtualMachineInstancetype";
const SHARED: &str = "VirtualMachineClusterInstancetype";

fn object(hash: Hash) -> Object {
    Object {
        hash,
        ..testing::object(Fact::None)
    }
}

#[test]
fn somebodys_type_comes_before_a_template_and_that_before_a_standard_one_and_that_before_the_clusters()
 {
    let shoot = shoot("instancetype: {name: a}", "");
    let with_copy = |name: &str| {
        let key = Key::provider(Kind::Instancetype, format!("{ID}-{name}"));
        [(key, object(Hash(1)))].into()
    };
    let standard = || {
        Meant::Ours(Arc::new(
            json!({ "cpu": { "guest": 4 }, "memory": { "guest": "16Gi" } }),
        ))
    };
    let theirs = |kind: &str| Meant::Theirs(Some(kind.into()));
    for (kind, name, found, has_copy, wanted) in [
        (None, "standard-4", Some(there(OWN)), true, theirs(OWN)),
        (
            None,
            "standard-4",
            Some(Found::Template(spec("a"))),
            true,
            Meant::Ours(spec("a")),
        ),
        (None, "standard-4", Some(there(SHARED)), false, standard()),
        (
            Some(OWN),
            "standard-4",
            Some(Found::Nothing),
            false,
            standard(),
        ),
        (None, "standard-4", None, false, standard()),
        (
            None,
            "other",
            Some(Found::Template(spec("b"))),
            false,
            Meant::Ours(spec("b")),
        ),
        (None, "other", Some(there(SHARED)), false, theirs(SHARED)),
        // The template is gone, or the standard ones are turned off: nothing changes for who has a copy.
        (None, "other", Some(there(SHARED)), true, Meant::Kept),
        (None, "other", Some(Found::Nothing), true, Meant::Kept),
        (None, "other", Some(Found::Nothing), false, Meant::Nothing),
        // Who names the cluster's means it.
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
            Some(Found::Nothing),
            true,
            Meant::Nothing,
        ),
        // Nobody looked.
        (None, "other", None, false, Meant::Theirs(None)),
        (Some(SHARED), "standard-4", None, false, theirs(SHARED)),
    ] {
        let relied = relied(Family::Instancetype, kind, name);
        let facts = Facts {
            objects: if has_copy { with_copy(name) } else { [].into() },
            relied: found.into_iter().map(|it| (relied.clone(), it)).collect(),
            ..Facts::default()
        };
        assert_eq!(
            meant(&shoot, &facts, &relied),
            wanted,
            "{relied:?} {facts:?}"
        );
    }
}

#[test]
fn the_standard_ones_are_those_of_kubermatic_until_they_are_turned_off() {
    let facts = Facts::default();
    let means = |shoot: &ValidShoot, family, name| match meant(
        shoot,
        &facts,
        &relied(family, None, name),
    ) {
        Meant::Ours(spec) => spec.to_string(),
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
            Family::Instancetype,
            "standard-2",
            r#"{"cpu":{"guest":2},"memory":{"guest":"8Gi"}}"#,
        ),
        (
            Family::Instancetype,
            "standard-8",
            r#"{"cpu":{"guest":8},"memory":{"guest":"32Gi"}}"#,
        ),
        (
            Family::Preference,
            PREFERENCE,
            r#"{"cpu":{"preferredCPUTopology":"preferSockets"}}"#,
        ),
        (Family::Preference, "standard-2", "Theirs(None)"),
    ] {
        assert_eq!(means(&plain, family, name), wanted);
        assert_eq!(means(&off, family, name), "Theirs(None)");
    }
}

/// A world in which there is a record, and what `change` makes of it.
fn observed(change: impl FnOnce(&mut Facts)) -> Observed {
    let mut facts = Facts {
        namespace: "ns".into(),
        record: Some(Record {
            name: ID.into(),
            uid: "record".into(),
            ..Record::default()
        }),
        ..Facts::default()
    };
    change(&mut facts);
    Observed {
        facts: facts.into(),
        ..Observed::default()
    }
}

/// Whole, and without the record, which is none of the matter.
fn planned(shoot: &ValidShoot, mut observed: Observed) -> Vec<String> {
    let hash = crate::state::record::wanted(shoot, &observed.facts).hash;
    let facts = Arc::make_mut(&mut observed.facts);
    facts.record.iter_mut().for_each(|it| it.hash = hash);
    lines(&plan_of_machines(shoot, &observed))
}

fn lines(plan: &Plan) -> Vec<String> {
    let is_of_types = |it: &&crate::state::plan::Item| {
        it.title.contains(" instancetype ") || it.title.contains(" preference ")
    };
    let told = |state: &State| match state {
        State::Due(Action::Apply(it)) => format!("apply {}", it.key),
        State::Due(Action::Delete(it)) => format!("delete {}", it.key),
        State::Failed(failure) => failure.message.clone(),
        other => format!("{other:?}"),
    };
    let items = plan.items.iter().filter(is_of_types);
    items
        .map(|it| format!("{}: {}", it.title, told(&it.state)))
        .collect()
}

const NAMED: &str = "instancetype: {name: standard-2}, preference: {name: sockets-advantage}";

#[test]
fn what_a_pool_names_is_made_before_its_machines_which_name_it() {
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
        matcher(&shoot, &observed.facts, pool, Family::Preference),
        Some(
            json!({ "kind": "VirtualMachinePreference", "name": "shoot--dev--demo-sockets-advantage" })
        )
    );
}

#[test]
fn where_nothing_can_be_seen_of_types_only_who_keeps_one_fails() {
    let blind = |named: &str| {
        let observed = observed(|it| {
            let why = Failure::new(Class::NotAllowed, "not allowed to list them");
            it.unseen.insert(Kind::Instancetype, why);
        });
        planned(&shoot(named, ""), observed)
    };
    assert_eq!(
        blind("instancetype: {name: standard-8}"),
        [
            "Apply instancetype standard-8: instancetype standard-8 cannot be kept: not allowed to list them"
        ]
    );
    let kind = "VirtualMachineClusterInstancetype";
    let theirs = blind(&format!("instancetype: {{name: standard-8, kind: {kind}}}"));
    assert_eq!(theirs, ["Find instancetype standard-8: Done"]);
}

/// The machine of the pool, made by its copy of standard-2.
fn with_machine(shoot: &ValidShoot, facts: &mut Facts) {
    let hash = crate::state::desired::pool_hash(shoot, &shoot.pools[0], &[]);
    let name: Arc<str> = names::machine(ID, &shoot.pools[0].name, 0, hash, 0).into();
    let machine = Machine {
        hash,
        types: [format!("{OWN} {ID}-standard-2").into()].into(),
        ..machine(Look::Ready)
    };
    let pool = facts.machines.entry(shoot.pools[0].name.as_str().into());
    pool.or_default().insert(name, machine);
    let key = Key::provider(Kind::Instancetype, format!("{ID}-standard-2"));
    facts.objects.insert(key, object(Hash(1)));
}

#[test]
fn a_copy_goes_after_the_last_machine_that_was_made_by_it() {
    let two = shoot("instancetype: {name: standard-2}", "");
    let applied = "Apply instancetype standard-2: apply VirtualMachineInstancetype shoot--dev--demo-standard-2";
    assert_eq!(
        planned(&two, observed(|it| with_machine(&two, it))),
        [applied]
    );

    // Somebody keeps one of that name now: no machine goes, and what it was made by stays.
    let somebodys = observed(|it| {
        with_machine(&two, it);
        let relied = relied(Family::Instancetype, None, "standard-2");
        it.relied.insert(relied, there(OWN));
    });
    assert_eq!(
        planned(&two, somebodys),
        ["Find instancetype standard-2: Done"]
    );

    let four = shoot("instancetype: {name: standard-4}", "");
    let remove = "Remove instancetype shoot--dev--demo-standard-2";
    let rolls = planned(&four, observed(|it| with_machine(&two, it)));
    assert_eq!(rolls.last().unwrap(), &format!("{remove}: Blocked"));
    let gone = planned(
        &four,
        observed(|it| {
            with_machine(&two, it);
            it.machines.clear();
        }),
    );
    let delete = "delete VirtualMachineInstancetype shoot--dev--demo-standard-2";
    assert_eq!(gone.last().unwrap(), &format!("{remove}: {delete}"));
}

#[test]
fn a_shoot_that_goes_takes_its_types_along_after_its_machines() {
    let two = shoot("instancetype: {name: standard-2}", "");
    let remove = "Remove instancetype shoot--dev--demo-standard-2";
    let whole = observed(|it| with_machine(&two, it));
    assert_eq!(
        lines(&delete(&whole, false)),
        [format!("{remove}: Blocked")]
    );
    let empty = observed(|it| {
        with_machine(&two, it);
        it.machines.clear();
    });
    let delete = delete(&empty, false);
    assert_eq!(lines(&delete).len(), 1);
    assert!(lines(&delete)[0].starts_with(&format!("{remove}: delete")));
}

#[test]
fn what_is_there_as_it_should_be_asks_for_no_rights() {
    let two = shoot("instancetype: {name: standard-2}", "");
    let hash = |it: &Facts| wanted_of(&two, it).into_values().next().expect("one");
    let mut observed = observed(|it| with_machine(&two, it));
    assert!(lack(&two, &observed.facts));
    let facts = Arc::make_mut(&mut observed.facts);
    let hash = hash(facts);
    facts.objects.values_mut().for_each(|it| it.hash = hash);
    assert!(!lack(&two, facts));
    let plain = valid_for_tests(SHOOT);
    assert!(!lack(&plain, &Facts::default()));
}
