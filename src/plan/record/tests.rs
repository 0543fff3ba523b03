//! A run can be killed between any two writes.

use crate::plan::{finished, plan};
use crate::state::action::Action;
use crate::state::facts::{Facts, ObjectStatus, ObservedObject, ObservedRecord};
use crate::state::key::ObjectKey;
use crate::state::observed::Observed;
use crate::state::plan::ItemState;
use crate::state::record::{self, manifest_secret};
use crate::validate::ValidShoot;
use crate::validate::testing::{SHOOT, valid_for_tests};

fn shoot(user_data: &str) -> ValidShoot {
    let config = serde_json::json!({
        "apiVersion": "kubevirt.provider.extensions.gardener.cloud/v1alpha1",
        "kind": "WorkerConfig",
        "userData": format!("#cloud-config\n{user_data}\n"),
    });
    let with = format!("      minimum: 1\n      providerConfig: {config}\n");
    valid_for_tests(&SHOOT.replacen("      minimum: 1\n", &with, 1))
}

fn secret(shoot: &ValidShoot) -> ObjectKey {
    manifest_secret::wanted(shoot)
        .expect("it has user data")
        .key
}

/// Objects of the record that are written or deleted now: `+` and `-` with the name.
fn due(shoot: &ValidShoot, facts: &Facts) -> Vec<String> {
    let observed = Observed {
        facts: facts.clone().into(),
        ..Observed::default()
    };
    let items = plan(shoot, &observed).items;
    let all = items.into_iter().filter_map(|it| match it.state {
        ItemState::Due(Action::Apply(it)) => Some(("+", it.key.name)),
        ItemState::Due(Action::Delete(it)) => Some(("-", it.key.name)),
        _ => None,
    });
    let is_of_record = |name: &str| name == shoot.id.as_str() || name.contains("-manifest-");
    let of_record = all.filter(|it| is_of_record(&it.1));
    of_record
        .map(|(sign, name)| format!("{sign}{name}"))
        .collect()
}

fn write_secret(shoot: &ValidShoot, facts: &mut Facts) {
    let wanted = manifest_secret::wanted(shoot).expect("it has user data");
    let object = ObservedObject {
        uid: "s".into(),
        version: "1".into(),
        hash: wanted.hash,
        leaving: false,
        status: ObjectStatus::None,
    };
    facts.objects.insert(wanted.key, object);
}

fn write_record(shoot: &ValidShoot, facts: &mut Facts) {
    let hash = record::wanted(shoot, facts).hash;
    let existing = facts.record.take().unwrap_or_default();
    facts.record = Some(ObservedRecord { hash, ..existing });
}

#[test]
fn nothing_else_of_a_new_shoot_is_written_before_its_record_and_its_manifest() {
    let shoot = shoot("packages: [jq]");
    let mut facts = Facts::default();
    let only = |facts: &Facts| {
        let observed = Observed {
            facts: facts.clone().into(),
            ..Observed::default()
        };
        let items = plan(&shoot, &observed).items.into_iter();
        let due = items.filter(|it| matches!(it.state, ItemState::Due(_)));
        due.map(|it| it.title).collect::<Vec<_>>()
    };
    assert_eq!(
        only(&facts),
        [format!("Write record of shoot {}", shoot.name)]
    );
    write_record(&shoot, &mut facts);
    assert_eq!(only(&facts), ["Write the manifest with user data"]);
    write_secret(&shoot, &mut facts);
    assert!(only(&facts).len() > 1);
    assert_eq!(due(&shoot, &facts), [""; 0]);
}

#[test]
fn the_manifest_that_the_record_names_exists_at_each_write_of_an_edit() {
    let (before, after) = (shoot("packages: [jq]"), shoot("packages: [vim]"));
    let (old, new) = (secret(&before).name, secret(&after).name);
    let mut facts = (*finished(&before).facts).clone();
    assert_eq!(due(&before, &facts), [""; 0]);
    assert_eq!(due(&after, &facts), [format!("+{new}")]);
    write_secret(&after, &mut facts);
    assert_eq!(due(&after, &facts), [format!("+{}", after.id)]);
    // A run that was killed here is followed by an evacuation with the manifest of the record.
    assert_eq!(due(&before, &facts), [format!("-{new}")]);
    write_record(&after, &mut facts);
    assert_eq!(due(&after, &facts), [format!("-{old}")]);
}

#[test]
fn the_manifest_is_deleted_once_the_record_has_no_user_data() {
    let (before, after) = (shoot("packages: [jq]"), valid_for_tests(SHOOT));
    let mut facts = (*finished(&before).facts).clone();
    assert_eq!(due(&after, &facts), [format!("+{}", after.id)]);
    write_record(&after, &mut facts);
    assert_eq!(due(&after, &facts), [format!("-{}", secret(&before).name)]);
}

#[test]
fn a_record_with_the_whole_manifest_is_written_again() {
    let shoot = shoot("packages: [jq]");
    let mut facts = (*finished(&shoot).facts).clone();
    facts.objects.remove(&secret(&shoot));
    let earlier = facts.record.as_mut().expect("it exists");
    earlier.hash = crate::state::hash::Hash(1);
    assert_eq!(due(&shoot, &facts), [format!("+{}", secret(&shoot).name)]);
    write_secret(&shoot, &mut facts);
    assert_eq!(due(&shoot, &facts), [format!("+{}", shoot.id)]);
}
