//! The loop by hand-moved time: plans come from closures, and events are what is compared.

use super::*;
use crate::plan::planner::Planner;
use crate::state::action::{Action, Desired, Payload};
use crate::state::facts::{Facts, ObjectStatus, ObservedObject};
use crate::state::failure::{ErrorClass, Failure};
use crate::state::hash::Hash;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::observed::Observed;
use crate::state::plan::{ItemState, Plan};
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

fn limits() -> Limits {
    Limits {
        started: Instant::now(),
        actions: 32,
        timeout: Duration::from_secs(60),
        interrupt: CancellationToken::new(),
        lost: CancellationToken::new(),
    }
}

fn apply(name: &str) -> Action {
    Action::Apply(Desired {
        key: ObjectKey::provider(ObjectKind::NetworkAttachmentDefinition, name),
        hash: Hash(1),
        payload: Payload::Plain,
    })
}

/// One item for each name: done when it is there.
fn plan_of(names: &'static [&'static str]) -> impl Fn(&Observed) -> Plan {
    move |observed| {
        let mut planner = Planner::new(observed);
        for name in names {
            let state = match observed.facts.objects.get(&ObjectKey::provider(
                ObjectKind::NetworkAttachmentDefinition,
                *name,
            )) {
                Some(_) => ItemState::Done,
                None => ItemState::Due(apply(name)),
            };
            planner.add(name.to_string().into(), format!("Apply {name}"), [], state);
        }
        planner.plan
    }
}

fn there(facts: &watch::Sender<Arc<Facts>>, key: &ObjectKey) {
    facts.send_modify(|it| {
        let object = ObservedObject {
            uid: "u".into(),
            version: "1".into(),
            hash: Hash(1),
            leaving: false,
            status: ObjectStatus::None,
        };
        Arc::make_mut(it).objects.insert(key.clone(), object);
    });
}

fn line(event: &Event) -> String {
    let at = event.at.as_millis();
    match &event.kind {
        EventKind::Item {
            title, status, why, ..
        } => {
            format!(
                "{at} {title}: {}{}",
                status.word(),
                why.as_ref()
                    .map(|it| format!(" ({it})"))
                    .unwrap_or_default()
            )
        }
        EventKind::Retried { id, cause, .. } => format!("{at} again {id}: {cause}"),
        EventKind::Progress { done, total } => format!("{at} {done} of {total}"),
        other => format!("{at} {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_plan_has_converged() {
    let (_facts, heard) = watch::channel(Arc::default());
    let report = run(
        &limits(),
        heard,
        plan_of(&[]),
        |_, _| async { Answer::Done },
        |_| {},
    )
    .await;
    assert_eq!((report.outcome, report.performed), (Outcome::Converged, 0));
}

#[tokio::test(start_paused = true)]
async fn a_transient_error_is_tried_again() {
    let (facts, heard) = watch::channel(Arc::default());
    let tries = RefCell::new(0);
    let perform = |action: Action, _| {
        *tries.borrow_mut() += 1;
        let answer = match *tries.borrow() {
            1 | 2 => Answer::Again {
                cause: "not yet".into(),
                asked: None,
            },
            _ => {
                there(&facts, action.key());
                Answer::Done
            }
        };
        async { answer }
    };
    let mut events = Vec::new();
    let report = run(&limits(), heard, plan_of(&["a"]), perform, |it| {
        events.push(line(&it))
    })
    .await;
    assert_eq!(report.outcome, Outcome::Converged);
    assert_eq!(*tries.borrow(), 3);
    assert_eq!(
        events
            .iter()
            .filter(|it| it.contains("again NetworkAttachmentDefinition a: not yet"))
            .count(),
        2,
        "{events:?}"
    );
    assert!(
        events.last().is_some_and(|it| it.ends_with("1 of 1")),
        "{events:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_is_not_sent_again_and_holds_back_nothing_else() {
    let (facts, heard) = watch::channel(Arc::default());
    let sent = RefCell::new(Vec::new());
    let perform = |action: Action, _| {
        sent.borrow_mut().push(action.key().name.to_string());
        let answer = if &*action.key().name == "a" {
            Answer::Refused(Failure::new(ErrorClass::Refused, "no"))
        } else {
            there(&facts, action.key());
            Answer::Done
        };
        async { answer }
    };
    let report = run(&limits(), heard, plan_of(&["a", "b", "c"]), perform, |_| {}).await;
    assert_eq!(report.outcome, Outcome::Stuck);
    assert_eq!(report.failed.len(), 1);
    let mut sent = sent.take();
    sent.sort();
    assert_eq!(sent, ["a", "b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_ever_ends_at_its_limit_and_says_for_what() {
    let (_facts, heard) = watch::channel(Arc::default());
    let limits = limits();
    let plan = |observed: &Observed| {
        let mut planner = Planner::new(observed);
        planner.add(
            "a".to_owned().into(),
            "Import a".into(),
            [],
            ItemState::Waiting("room".into()),
        );
        planner.plan
    };
    let report = run(&limits, heard, plan, |_, _| async { Answer::Done }, |_| {}).await;
    assert_eq!(report.outcome, Outcome::Timeout);
    assert_eq!(report.waiting, [("Import a".to_owned(), "room".to_owned())]);
    assert_eq!(limits.started.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_starts_nothing_new_and_waits_for_what_is_on_its_way() {
    let (facts, heard) = watch::channel(Arc::default());
    let limits = limits();
    let interrupt = limits.interrupt.clone();
    let count = RefCell::new(0);
    let perform = |action: Action, _| {
        *count.borrow_mut() += 1;
        interrupt.cancel();
        let facts = &facts;
        async move {
            tokio::time::sleep(Duration::from_secs(3)).await;
            there(facts, action.key());
            Answer::Done
        }
    };
    let report = run(&limits, heard, plan_of(&["a", "b"]), perform, |_| {}).await;
    assert_eq!(
        (report.outcome, report.performed, *count.borrow()),
        (Outcome::Interrupted, 1, 1)
    );
    assert_eq!(limits.started.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_never_comes_holds_up_an_interrupt_for_ten_seconds_at_most() {
    let (_facts, heard) = watch::channel(Arc::default());
    let limits = limits();
    let interrupt = limits.interrupt.clone();
    let perform = |_: Action, _| {
        interrupt.cancel();
        std::future::pending()
    };
    let report = run(&limits, heard, plan_of(&["a"]), perform, |_| {}).await;
    assert_eq!(report.outcome, Outcome::Interrupted);
    assert_eq!(limits.started.elapsed().as_secs(), 10);
}

/// A machine of pool `p` by its number.
fn machine(number: u32) -> Action {
    Action::Apply(Desired {
        key: ObjectKey::provider(ObjectKind::Machine, format!("m{number}")),
        hash: Hash(1),
        payload: Payload::Machine {
            pool: "p".into(),
            zone: 0,
            ordinal: number,
        },
    })
}

#[tokio::test(start_paused = true)]
async fn the_first_machine_of_a_pool_goes_alone() {
    let (_facts, seen) = watch::channel(Arc::new(Facts::default()));
    let asked = RefCell::new(Vec::new());
    // A refused machine takes its pool with it, as in the real plan.
    let plan = |observed: &Observed| {
        let mut planner = Planner::new(observed);
        let refused = observed.refused.values().next().map(|it| it.1.clone());
        for number in 0..9 {
            let state = match &refused {
                Some(failure) => ItemState::Failed(failure.clone()),
                None => ItemState::Due(machine(number)),
            };
            let id = format!("m{number}");
            planner.add(id.clone().into(), id, [], state);
        }
        planner.plan
    };
    let perform = |action: Action, _| {
        asked.borrow_mut().push(action.key().name.clone());
        async { Answer::Refused(Failure::new(ErrorClass::Refused, "no".to_owned())) }
    };
    let report = run(&limits(), seen, plan, perform, |_| {}).await;
    assert_eq!(report.outcome, Outcome::Stuck);
    assert_eq!(asked.into_inner(), ["m0".into()]);
}

#[tokio::test(start_paused = true)]
async fn what_never_ends_is_left_behind_when_time_is_up() {
    let (_facts, seen) = watch::channel(Arc::new(Facts::default()));
    let limits = limits();
    let perform = |_: Action, _| std::future::pending();
    let report = run(&limits, seen, plan_of(&["a"]), perform, |_| {}).await;
    assert_eq!(report.outcome, Outcome::Timeout);
    assert_eq!(limits.started.elapsed(), Duration::from_secs(70));
}
