//! In which order a shoot goes, and that nothing in it can hold that up for long.

use super::delete;
use crate::plan::delete::user_resource_cleanup::PATIENCE;
use crate::state::action::Action;
use crate::state::facts::{Fact, Facts, Guests, Inside, Look, Object, Record};
use crate::state::failure::{Class, Failure};
use crate::state::key::{Key, Kind};
use crate::state::observed::Observed;
use crate::state::plan::{Plan, State};
use crate::state::testing::{self, machine};
use std::sync::Arc;
use std::time::Duration;

const ID: &str = "shoot--local--a";

fn object(uid: &str, leaving: bool, holds: &[&str]) -> Object {
    let holds: Arc<[Arc<str>]> = holds.iter().map(|it| Arc::from(*it)).collect();
    Object {
        uid: uid.into(),
        leaving,
        ..testing::object(Fact::Holds(holds))
    }
}

/// A whole shoot with one machine, whose users have a load balancer and a volume that a pod mounts.
fn shoot() -> Observed {
    let mut facts = Facts {
        record: Some(Record {
            name: ID.into(),
            uid: "record".into(),
            ..Record::default()
        }),
        inside: Inside::Observed,
        ..Facts::default()
    };
    for part in [
        "kube-apiserver",
        "cloud-controller-manager",
        "csi-controller",
    ] {
        let key = Key::provider(Kind::Deployment, format!("{ID}-{part}"));
        facts.objects.insert(key, object(part, false, &[]));
    }
    let key = Key::provider(Kind::Secret, format!("{ID}-ca"));
    facts.objects.insert(key, object("secret", false, &[]));
    let key = Key::shoot(Kind::Deployment, "kube-system/coredns");
    facts.objects.insert(key, object("coredns", false, &[]));
    facts.machines.insert(
        "worker".into(),
        [("worker-1".into(), machine(Look::Ready))]
            .into_iter()
            .collect(),
    );
    let things = [
        (Key::shoot(Kind::ValidatingWebhook, "no"), "hook", &[][..]),
        (Key::shoot(Kind::VolumeClass, "standard"), "class", &[]),
        (Key::shoot(Kind::Balancer, "default/web"), "balancer", &[]),
        (Key::shoot(Kind::Claim, "default/data"), "claim", &[]),
        (
            Key::shoot(Kind::Volume, "pvc-1"),
            "volume",
            &["default/data"],
        ),
        (
            Key::shoot(Kind::Pod, "default/db"),
            "pod",
            &["default/data"],
        ),
        (Key::provider(Kind::Mirror, "a1"), "mirror", &[]),
        (Key::provider(Kind::Disk, "pvc-1"), "disk", &[]),
        (Key::provider(Kind::Snapshot, "snap-1"), "snapshot", &[]),
    ];
    let things = things.map(|(key, uid, holds)| (key, object(uid, false, holds)));
    facts.guests = Guests {
        things: things.into_iter().collect(),
        moved: Duration::ZERO,
    };
    Observed {
        facts: Arc::new(facts),
        ..Observed::default()
    }
}

fn change(observed: &mut Observed, change: impl FnOnce(&mut Facts)) {
    change(Arc::make_mut(&mut observed.facts));
}

/// UIDs of what is to be deleted now.
fn due(plan: &Plan) -> Vec<&str> {
    let mut due: Vec<&str> = plan
        .items
        .iter()
        .filter_map(|it| match &it.state {
            State::Due(Action::Delete(target)) => Some(&*target.uid),
            _ => None,
        })
        .collect();
    due.sort_unstable();
    due
}

/// Takes what is due away, as the world would, until nothing is left; gives what went together.
fn steps(mut observed: Observed, keep_volumes: bool) -> Vec<String> {
    let mut steps = Vec::new();
    loop {
        let plan = delete(&observed, keep_volumes);
        let now: Vec<String> = due(&plan).into_iter().map(str::to_owned).collect();
        if now.is_empty() {
            assert_eq!(plan.items.len(), 0, "{:?}", plan.items);
            return steps;
        }
        steps.push(now.join(" "));
        let is_there = |it: &Arc<str>| !now.iter().any(|uid| **uid == **it);
        change(&mut observed, |facts| {
            facts.record = facts.record.take().filter(|it| is_there(&it.uid));
            facts.objects.retain(|_, it| is_there(&it.uid));
            for machines in facts.machines.values_mut() {
                machines.retain(|_, it| is_there(&it.uid));
            }
            let things = &mut facts.guests.things;
            let mounted = things.values().any(|it| &*it.uid == "pod") && is_there(&"pod".into());
            let mut gone = Vec::new();
            for (key, thing) in things.iter_mut().filter(|it| !is_there(&it.1.uid)) {
                match key.kind {
                    Kind::Claim if mounted => thing.leaving = true,
                    _ => gone.push(key.clone()),
                }
            }
            gone.iter().for_each(|it| {
                things.remove(it);
            });
            // What the shoot's own controllers and the API server do about it.
            let has = |things: &std::collections::BTreeMap<Key, Object>, uid: &str| {
                things.values().any(|it| &*it.uid == uid)
            };
            if !has(things, "pod") {
                things.retain(|_, it| !(&*it.uid == "claim" && it.leaving));
            }
            if !has(things, "claim") {
                things.retain(|_, it| !["volume", "disk"].contains(&&*it.uid));
            }
            if !has(things, "balancer") {
                things.retain(|_, it| &*it.uid != "mirror");
            }
        });
    }
}

#[test]
fn what_users_have_in_the_provider_goes_while_the_shoot_can_remove_it_and_then_the_shoot() {
    assert_eq!(
        steps(shoot(), false),
        [
            "class hook",
            "balancer claim",
            "pod",
            "machine",
            "cloud-controller-manager csi-controller kube-apiserver",
            "secret snapshot",
            "record",
        ]
    );
}

#[test]
fn volumes_to_be_kept_are_not_touched_and_hold_nothing_up() {
    let mut observed = shoot();
    let volumes = [
        Kind::VolumeClass,
        Kind::Claim,
        Kind::Volume,
        Kind::Pod,
        Kind::Disk,
        Kind::Snapshot,
    ];
    let plan = delete(&observed, true);
    assert_eq!(due(&plan), ["hook"]);
    let titles = plan.items.iter().map(|it| &it.title);
    assert!(!titles.into_iter().any(|it| it.contains("pvc-1")));
    change(&mut observed, |facts| {
        let things = &mut facts.guests.things;
        things.retain(|key, _| volumes.contains(&key.kind));
    });
    assert_eq!(due(&delete(&observed, true)), ["machine"]);
}

#[test]
fn a_shoot_that_does_not_answer_is_waited_for_while_it_has_something_in_the_provider() {
    let mut observed = shoot();
    change(&mut observed, |facts| {
        facts.inside = Inside::Unreachable("no answer".into());
    });
    let plan = delete(&observed, false);
    assert_eq!(due(&plan), Vec::<&str>::new());
    let waits = |it: &State| matches!(it, State::Waiting(why) if why.ends_with("no answer"));
    assert!(plan.items.iter().any(|it| waits(&it.state)));
    assert_eq!(plan.wake, Some(PATIENCE));

    observed.now = PATIENCE;
    assert_eq!(due(&delete(&observed, false)), ["machine"]);

    observed.now = Duration::ZERO;
    change(&mut observed, |facts| {
        facts
            .guests
            .things
            .retain(|key, _| key.kind == Kind::Volume);
    });
    assert_eq!(due(&delete(&observed, false)), ["machine"]);
}

#[test]
fn without_an_api_server_nobody_is_waited_for() {
    let mut observed = shoot();
    let key = Key::provider(Kind::Deployment, format!("{ID}-kube-apiserver"));
    change(&mut observed, |facts| {
        facts.objects.get_mut(&key).unwrap().leaving = true;
    });
    assert_eq!(due(&delete(&observed, false)), ["machine"]);
    change(&mut observed, |facts| {
        facts.objects.remove(&key);
    });
    assert_eq!(due(&delete(&observed, false)), ["machine"]);
}

/// Then kvshoot removes what is left in the provider itself.
#[test]
fn a_shoot_that_does_not_get_on_is_gone_on_without() {
    let mut observed = shoot();
    change(&mut observed, |facts| {
        facts
            .guests
            .things
            .values_mut()
            .for_each(|it| it.leaving = true);
        facts.guests.moved = Duration::from_secs(30);
        for (key, it) in &mut facts.guests.things {
            it.leaving = !matches!(key.kind, Kind::Mirror | Kind::Disk | Kind::Snapshot);
        }
    });
    observed.now = Duration::from_secs(29) + PATIENCE;
    let plan = delete(&observed, false);
    assert_eq!(due(&plan), Vec::<&str>::new());
    assert_eq!(plan.wake, Some(Duration::from_secs(30) + PATIENCE));
    observed.now += Duration::from_secs(1);
    assert_eq!(due(&delete(&observed, false)), ["machine"]);
    change(&mut observed, |facts| facts.machines.clear());
    let controllers = ["cloud-controller-manager", "csi-controller"];
    assert_eq!(due(&delete(&observed, false))[..2], controllers);
    change(&mut observed, |facts| {
        facts.objects.retain(|key, _| key.kind == Kind::Secret);
    });
    assert_eq!(
        due(&delete(&observed, false)),
        ["disk", "mirror", "secret", "snapshot"]
    );
    assert_eq!(due(&delete(&observed, true)), ["mirror", "secret"]);
}

#[test]
fn what_the_shoot_refuses_to_delete_fails_no_run() {
    let mut observed = shoot();
    change(&mut observed, |facts| {
        facts
            .guests
            .things
            .retain(|key, _| matches!(key.kind, Kind::Balancer | Kind::Mirror));
    });
    let plan = delete(&observed, false);
    assert_eq!(due(&plan), ["balancer"]);
    let State::Due(action) = plan.items[0].state.clone() else {
        panic!("{:?}", plan.items[0]);
    };
    let failure = Failure::new(Class::Refused, "denied");
    observed
        .refused
        .insert(action.key().clone(), (action, failure));
    assert_eq!(due(&delete(&observed, false)), ["machine"]);
}

/// A controller that is gone removes nothing; the other one is still waited for.
#[test]
fn who_has_no_controller_any_more_is_not_waited_for() {
    let mut observed = shoot();
    change(&mut observed, |facts| {
        let key = Key::provider(Kind::Deployment, format!("{ID}-cloud-controller-manager"));
        facts.objects.remove(&key);
        let hooks = Kind::ValidatingWebhook;
        facts.guests.things.retain(|key, _| key.kind != hooks);
    });
    assert_eq!(due(&delete(&observed, false)), ["class"]);
    assert_eq!(due(&delete(&observed, true)), ["machine"]);
}
