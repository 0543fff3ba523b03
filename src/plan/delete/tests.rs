//! The order in which a shoot is deleted, and that nothing inside it can block the deletion for long.

use super::delete;
use crate::plan::delete::user_resource_cleanup::STALL_LIMIT;
use crate::state::action::Action;
use crate::state::facts::{
    Facts, MachinePhase, ObjectStatus, ObservedObject, ObservedRecord, ShootApi, UserResources,
};
use crate::state::failure::{ErrorClass, Failure};
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::observed::Observed;
use crate::state::plan::{ItemState, Plan};
use crate::state::testing::{self, machine};
use std::sync::Arc;
use std::time::Duration;

const ID: &str = "shoot--local--a";

fn object(uid: &str, leaving: bool, holds: &[&str]) -> ObservedObject {
    let holds: Arc<[Arc<str>]> = holds.iter().map(|it| Arc::from(*it)).collect();
    ObservedObject {
        uid: uid.into(),
        leaving,
        ..testing::object(ObjectStatus::Holds(holds))
    }
}

/// A complete shoot with one machine, a user's load balancer, and a volume that a pod mounts.
fn shoot() -> Observed {
    let mut facts = Facts {
        record: Some(ObservedRecord {
            name: ID.into(),
            uid: "record".into(),
            ..ObservedRecord::default()
        }),
        shoot_api: ShootApi::Reachable,
        ..Facts::default()
    };
    for part in [
        "kube-apiserver",
        "cloud-controller-manager",
        "csi-controller",
    ] {
        let key = ObjectKey::provider(ObjectKind::Deployment, format!("{ID}-{part}"));
        facts.objects.insert(key, object(part, false, &[]));
    }
    let key = ObjectKey::provider(ObjectKind::Secret, format!("{ID}-ca"));
    facts.objects.insert(key, object("secret", false, &[]));
    let key = ObjectKey::shoot(ObjectKind::Deployment, "kube-system/coredns");
    facts.objects.insert(key, object("coredns", false, &[]));
    facts.machines.insert(
        "worker".into(),
        [("worker-1".into(), machine(MachinePhase::Ready))]
            .into_iter()
            .collect(),
    );
    let things = [
        (
            ObjectKey::shoot(ObjectKind::ValidatingWebhook, "no"),
            "hook",
            &[][..],
        ),
        (
            ObjectKey::shoot(ObjectKind::ShootStorageClass, "standard"),
            "class",
            &[],
        ),
        (
            ObjectKey::shoot(ObjectKind::ShootLoadBalancer, "default/web"),
            "balancer",
            &[],
        ),
        (
            ObjectKey::shoot(ObjectKind::PersistentVolumeClaim, "default/data"),
            "claim",
            &[],
        ),
        (
            ObjectKey::shoot(ObjectKind::PersistentVolume, "pvc-1"),
            "volume",
            &["default/data"],
        ),
        (
            ObjectKey::shoot(ObjectKind::Pod, "default/db"),
            "pod",
            &["default/data"],
        ),
        (
            ObjectKey::provider(ObjectKind::ProviderLoadBalancer, "a1"),
            "mirror",
            &[],
        ),
        (
            ObjectKey::provider(ObjectKind::ProviderDataVolume, "pvc-1"),
            "disk",
            &[],
        ),
        (
            ObjectKey::provider(ObjectKind::VolumeSnapshot, "snap-1"),
            "snapshot",
            &[],
        ),
    ];
    let things = things.map(|(key, uid, holds)| (key, object(uid, false, holds)));
    facts.user_resources = UserResources {
        objects: things.into_iter().collect(),
        last_progress: Duration::ZERO,
    };
    Observed {
        facts: Arc::new(facts),
        ..Observed::default()
    }
}

fn change(observed: &mut Observed, change: impl FnOnce(&mut Facts)) {
    change(Arc::make_mut(&mut observed.facts));
}

/// UIDs of the objects that are deleted now.
fn due(plan: &Plan) -> Vec<&str> {
    let mut due: Vec<&str> = plan
        .items
        .iter()
        .filter_map(|item| match &item.state {
            ItemState::Due(Action::Delete(target)) => Some(&*target.uid),
            _ => None,
        })
        .collect();
    due.sort_unstable();
    due
}

/// Removes the objects that are due, as controllers would, until nothing is left; returns the batches.
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
        let is_there = |earlier: &Arc<str>| !now.iter().any(|uid| **uid == **earlier);
        change(&mut observed, |facts| {
            facts.record = facts.record.take().filter(|it| is_there(&it.uid));
            facts.objects.retain(|_, it| is_there(&it.uid));
            for machines in facts.machines.values_mut() {
                machines.retain(|_, it| is_there(&it.uid));
            }
            let things = &mut facts.user_resources.objects;
            let mounted = things.values().any(|it| &*it.uid == "pod") && is_there(&"pod".into());
            let mut gone = Vec::new();
            for (key, thing) in things.iter_mut().filter(|it| !is_there(&it.1.uid)) {
                match key.kind {
                    ObjectKind::PersistentVolumeClaim if mounted => thing.leaving = true,
                    _ => gone.push(key.clone()),
                }
            }
            gone.iter().for_each(|it| {
                things.remove(it);
            });
            // Reactions of the shoot's controllers and the API server.
            let has = |things: &std::collections::BTreeMap<ObjectKey, ObservedObject>,
                       uid: &str| {
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
fn user_resources_are_deleted_before_the_shoot_that_deletes_them() {
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
fn kept_volumes_are_not_touched_and_delay_nothing() {
    let mut observed = shoot();
    let volumes = [
        ObjectKind::ShootStorageClass,
        ObjectKind::PersistentVolumeClaim,
        ObjectKind::PersistentVolume,
        ObjectKind::Pod,
        ObjectKind::ProviderDataVolume,
        ObjectKind::VolumeSnapshot,
    ];
    let plan = delete(&observed, true);
    assert_eq!(due(&plan), ["hook"]);
    let titles = plan.items.iter().map(|it| &it.title);
    assert!(!titles.into_iter().any(|it| it.contains("pvc-1")));
    change(&mut observed, |facts| {
        let things = &mut facts.user_resources.objects;
        things.retain(|key, _| volumes.contains(&key.kind));
    });
    assert_eq!(due(&delete(&observed, true)), ["machine"]);
}

#[test]
fn an_unreachable_shoot_is_waited_for_while_user_resources_remain() {
    let mut observed = shoot();
    change(&mut observed, |facts| {
        facts.shoot_api = ShootApi::Unreachable("no answer".into());
    });
    let plan = delete(&observed, false);
    assert_eq!(due(&plan), Vec::<&str>::new());
    let waits =
        |it: &ItemState| matches!(it, ItemState::Waiting(why) if why.ends_with("no answer"));
    assert!(plan.items.iter().any(|it| waits(&it.state)));
    assert_eq!(plan.wake, Some(STALL_LIMIT));

    observed.now = STALL_LIMIT;
    assert_eq!(due(&delete(&observed, false)), ["machine"]);

    observed.now = Duration::ZERO;
    change(&mut observed, |facts| {
        facts
            .user_resources
            .objects
            .retain(|key, _| key.kind == ObjectKind::PersistentVolume);
    });
    assert_eq!(due(&delete(&observed, false)), ["machine"]);
}

#[test]
fn without_an_api_server_deletion_does_not_wait() {
    let mut observed = shoot();
    let key = ObjectKey::provider(ObjectKind::Deployment, format!("{ID}-kube-apiserver"));
    change(&mut observed, |facts| {
        facts.objects.get_mut(&key).unwrap().leaving = true;
    });
    assert_eq!(due(&delete(&observed, false)), ["machine"]);
    change(&mut observed, |facts| {
        facts.objects.remove(&key);
    });
    assert_eq!(due(&delete(&observed, false)), ["machine"]);
}

/// kvshoot then deletes the remaining objects in the provider itself.
#[test]
fn deletion_continues_without_a_shoot_that_makes_no_progress() {
    let mut observed = shoot();
    change(&mut observed, |facts| {
        facts
            .user_resources
            .objects
            .values_mut()
            .for_each(|it| it.leaving = true);
        facts.user_resources.last_progress = Duration::from_secs(30);
        for (key, it) in &mut facts.user_resources.objects {
            it.leaving = !matches!(
                key.kind,
                ObjectKind::ProviderLoadBalancer
                    | ObjectKind::ProviderDataVolume
                    | ObjectKind::VolumeSnapshot
            );
        }
    });
    observed.now = Duration::from_secs(29) + STALL_LIMIT;
    let plan = delete(&observed, false);
    assert_eq!(due(&plan), Vec::<&str>::new());
    assert_eq!(plan.wake, Some(Duration::from_secs(30) + STALL_LIMIT));
    observed.now += Duration::from_secs(1);
    assert_eq!(due(&delete(&observed, false)), ["machine"]);
    change(&mut observed, |facts| facts.machines.clear());
    let controllers = ["cloud-controller-manager", "csi-controller"];
    assert_eq!(due(&delete(&observed, false))[..2], controllers);
    change(&mut observed, |facts| {
        facts
            .objects
            .retain(|key, _| key.kind == ObjectKind::Secret);
    });
    assert_eq!(
        due(&delete(&observed, false)),
        ["disk", "mirror", "secret", "snapshot"]
    );
    assert_eq!(due(&delete(&observed, true)), ["mirror", "secret"]);
}

#[test]
fn an_object_that_the_shoot_refuses_to_delete_fails_no_run() {
    let mut observed = shoot();
    change(&mut observed, |facts| {
        facts.user_resources.objects.retain(|key, _| {
            matches!(
                key.kind,
                ObjectKind::ShootLoadBalancer | ObjectKind::ProviderLoadBalancer
            )
        });
    });
    let plan = delete(&observed, false);
    assert_eq!(due(&plan), ["balancer"]);
    let ItemState::Due(action) = plan.items[0].state.clone() else {
        panic!("{:?}", plan.items[0]);
    };
    let failure = Failure::new(ErrorClass::Refused, "denied");
    observed
        .refused
        .insert(action.key().clone(), (action, failure));
    assert_eq!(due(&delete(&observed, false)), ["machine"]);
}

/// A deleted controller removes nothing; the other one is still waited for.
#[test]
fn objects_without_a_controller_are_not_waited_for() {
    let mut observed = shoot();
    change(&mut observed, |facts| {
        let key = ObjectKey::provider(
            ObjectKind::Deployment,
            format!("{ID}-cloud-controller-manager"),
        );
        facts.objects.remove(&key);
        let hooks = ObjectKind::ValidatingWebhook;
        facts
            .user_resources
            .objects
            .retain(|key, _| key.kind != hooks);
    });
    assert_eq!(due(&delete(&observed, false)), ["class"]);
    assert_eq!(due(&delete(&observed, true)), ["machine"]);
}

/// An account that may not read Secrets, such as that of the CronJob of gc, cannot connect to the shoot.
#[test]
fn without_permission_on_secrets_everything_is_deleted_in_the_provider_cluster_at_once() {
    let mut observed = shoot();
    change(&mut observed, |facts| {
        facts.shoot_api = ShootApi::Absent;
        let key = ObjectKey::provider(ObjectKind::Secret, format!("{ID}-ca"));
        facts.objects.remove(&key);
        let why = Failure::new(ErrorClass::NotAllowed, "forbidden");
        facts.unreadable.insert(ObjectKind::Secret, why);
    });
    let plan = delete(&observed, false);
    assert_eq!(due(&plan), ["machine"]);
    let titles: Vec<&str> = plan.items.iter().map(|it| it.title.as_str()).collect();
    let first =
        "Continue without the shoot's controllers, since there is no permission to read Secrets";
    assert_eq!(titles[0], first);
    let waits = plan
        .items
        .iter()
        .any(|it| matches!(it.state, ItemState::Waiting(_)));
    assert!(!waits, "{titles:?}");
}
