//! The control loop with paused time, plans from closures, and events compared as text.

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
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

fn limits() -> RunLimits {
    RunLimits {
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

/// A plan with one item per name, done when the object exists.
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

fn admit(_: &Plan) -> Result<(), Failure> {
    Ok(())
}

fn create(facts: &watch::Sender<Arc<Facts>>, key: &ObjectKey) {
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

fn line(event: &RunEvent) -> String {
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
async fn an_empty_plan_converges() {
    let (_facts, receiver) = watch::channel(Arc::default());
    let report = run(
        &limits(),
        receiver,
        plan_of(&[]),
        admit,
        |_, _| async { ActionResult::Done },
        |_| {},
    )
    .await;
    assert_eq!((report.outcome, report.performed), (Outcome::Converged, 0));
}

#[tokio::test(start_paused = true)]
async fn transient_errors_are_retried() {
    let (facts, receiver) = watch::channel(Arc::default());
    let tries = RefCell::new(0);
    let perform = |action: Action, _| {
        *tries.borrow_mut() += 1;
        let answer = match *tries.borrow() {
            1 | 2 => ActionResult::Retry {
                cause: "not yet".into(),
                retry_after: None,
            },
            _ => {
                create(&facts, action.key());
                ActionResult::Done
            }
        };
        async { answer }
    };
    let mut events = Vec::new();
    let report = run(&limits(), receiver, plan_of(&["a"]), admit, perform, |it| {
        events.push(line(&it))
    })
    .await;
    assert_eq!(report.outcome, Outcome::Converged);
    assert_eq!(*tries.borrow(), 3);
    assert_eq!(
        events
            .iter()
            .filter(|it| it.contains("again a: not yet"))
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
async fn a_refused_action_is_not_retried_and_does_not_block_others() {
    let (facts, receiver) = watch::channel(Arc::default());
    let sent = RefCell::new(Vec::new());
    let perform = |action: Action, _| {
        sent.borrow_mut().push(action.key().name.to_string());
        let answer = if &*action.key().name == "a" {
            ActionResult::Refused(Failure::new(ErrorClass::Refused, "no"))
        } else {
            create(&facts, action.key());
            ActionResult::Done
        };
        async { answer }
    };
    let report = run(
        &limits(),
        receiver,
        plan_of(&["a", "b", "c"]),
        admit,
        perform,
        |_| {},
    )
    .await;
    assert_eq!(report.outcome, Outcome::Stuck);
    assert_eq!(report.failed.len(), 1);
    let mut sent = sent.take();
    sent.sort();
    assert_eq!(sent, ["a", "b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_too_long_times_out_and_reports_the_reason() {
    let (_facts, receiver) = watch::channel(Arc::default());
    let limits = limits();
    let plan = |observed: &Observed| {
        let mut planner = Planner::new(observed);
        planner.add(
            "a".to_owned().into(),
            "Import a".into(),
            [],
            ItemState::Waiting("quota exceeded".into()),
        );
        planner.plan
    };
    let report = run(
        &limits,
        receiver,
        plan,
        admit,
        |_, _| async { ActionResult::Done },
        |_| {},
    )
    .await;
    assert_eq!(report.outcome, Outcome::Timeout);
    assert_eq!(
        report.waiting,
        [("Import a".to_owned(), "quota exceeded".to_owned())]
    );
    assert_eq!(limits.started.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_run_finishes_requests_in_flight_and_starts_no_others() {
    let (facts, receiver) = watch::channel(Arc::default());
    let limits = limits();
    let interrupt = limits.interrupt.clone();
    let count = RefCell::new(0);
    let perform = |action: Action, _| {
        *count.borrow_mut() += 1;
        interrupt.cancel();
        let facts = &facts;
        async move {
            tokio::time::sleep(Duration::from_secs(3)).await;
            create(facts, action.key());
            ActionResult::Done
        }
    };
    let report = run(
        &limits,
        receiver,
        plan_of(&["a", "b"]),
        admit,
        perform,
        |_| {},
    )
    .await;
    assert_eq!(
        (report.outcome, report.performed, *count.borrow()),
        (Outcome::Interrupted, 1, 1)
    );
    assert_eq!(limits.started.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_run_waits_at_most_ten_seconds_for_requests_in_flight() {
    let (_facts, receiver) = watch::channel(Arc::default());
    let limits = limits();
    let interrupt = limits.interrupt.clone();
    let perform = |_: Action, _| {
        interrupt.cancel();
        std::future::pending()
    };
    let report = run(&limits, receiver, plan_of(&["a"]), admit, perform, |_| {}).await;
    assert_eq!(report.outcome, Outcome::Interrupted);
    assert_eq!(limits.started.elapsed().as_secs(), 10);
}

/// Creates machine `number` of pool `p`.
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
async fn the_first_machine_of_a_pool_is_created_alone() {
    let (_facts, receiver) = watch::channel(Arc::new(Facts::default()));
    let asked = RefCell::new(Vec::new());
    // A refused machine fails its pool, as in the real plan.
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
        async { ActionResult::Refused(Failure::new(ErrorClass::Refused, "no".to_owned())) }
    };
    let report = run(&limits(), receiver, plan, admit, perform, |_| {}).await;
    assert_eq!(report.outcome, Outcome::Stuck);
    assert_eq!(asked.into_inner(), ["m0".into()]);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_never_ends_is_abandoned_after_the_timeout() {
    let (_facts, receiver) = watch::channel(Arc::new(Facts::default()));
    let limits = limits();
    let perform = |_: Action, _| std::future::pending();
    let report = run(&limits, receiver, plan_of(&["a"]), admit, perform, |_| {}).await;
    assert_eq!(report.outcome, Outcome::Timeout);
    assert_eq!(limits.started.elapsed(), Duration::from_secs(70));
}

/// A plan with a failed item of `class` after a due one.
fn plan_with_failure(class: ErrorClass) -> impl Fn(&Observed) -> Plan {
    move |observed| {
        let mut planner = Planner::new(observed);
        let due = ItemState::Due(apply("a"));
        planner.add("a".to_owned().into(), "Apply a".into(), [], due);
        let failed = ItemState::Failed(Failure::new(class, "no"));
        planner.add("b".to_owned().into(), "Apply b".into(), [], failed);
        planner.plan
    }
}

/// Runs a plan with a failed item, and returns the outcome, the number of performed actions and that of events.
async fn run_with_failure(
    class: ErrorClass,
    admit: impl FnOnce(&Plan) -> Result<(), Failure>,
) -> (Outcome, u32, usize) {
    let (_facts, receiver) = watch::channel(Arc::default());
    let (performed, mut events) = (RefCell::new(0), 0);
    let perform = |_, _| {
        *performed.borrow_mut() += 1;
        async { ActionResult::Refused(Failure::new(ErrorClass::Refused, "no")) }
    };
    let plan = plan_with_failure(class);
    let report = run(&limits(), receiver, plan, admit, perform, |_| events += 1).await;
    (report.outcome, performed.into_inner(), events)
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_no_run_can_complete_is_refused_before_anything_is_reported_or_performed() {
    for class in [
        ErrorClass::Missing,
        ErrorClass::Foreign,
        ErrorClass::NotAllowed,
    ] {
        let refused = Outcome::Refused(Failure::new(class, "no"));
        let result = run_with_failure(class, check_feasible).await;
        assert_eq!(result, (refused, 0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_plan_with_other_failures_and_a_run_that_accepts_all_plans_do_what_they_can() {
    for class in [
        ErrorClass::Quota,
        ErrorClass::Refused,
        ErrorClass::Infrastructure,
        ErrorClass::Guest,
        ErrorClass::Unreachable,
    ] {
        let (outcome, performed, events) = run_with_failure(class, check_feasible).await;
        assert_eq!((outcome, performed), (Outcome::Stuck, 1), "{class:?}");
        assert!(events > 0);
    }
    let (outcome, performed, _) = run_with_failure(ErrorClass::Foreign, admit).await;
    assert_eq!((outcome, performed), (Outcome::Stuck, 1));
}

#[tokio::test(start_paused = true)]
async fn only_the_first_plan_is_refused() {
    let (facts, receiver) = watch::channel(Arc::default());
    let plan = |observed: &Observed| {
        let class = match observed.facts.objects.is_empty() {
            true => ErrorClass::Guest,
            false => ErrorClass::Missing,
        };
        let mut plan = plan_with_failure(class)(observed);
        if class == ErrorClass::Missing {
            plan.items[0].state = ItemState::Done;
        }
        plan
    };
    let perform = |action: Action, _| {
        create(&facts, action.key());
        async { ActionResult::Done }
    };
    let report = run(&limits(), receiver, plan, check_feasible, perform, |_| {}).await;
    assert_eq!((report.outcome, report.performed), (Outcome::Stuck, 1));
}

#[tokio::test(start_paused = true)]
async fn a_retried_request_of_two_items_is_reported_with_its_object() {
    let (_facts, receiver) = watch::channel(Arc::default());
    let plan = |observed: &Observed| {
        let mut planner = Planner::new(observed);
        for id in ["a", "b"] {
            let state = planner.in_run(apply("x"));
            planner.add(id.to_owned().into(), format!("Apply {id}"), [], state);
        }
        planner.plan
    };
    let perform = |_, _| async {
        ActionResult::Retry {
            cause: "not yet".into(),
            retry_after: None,
        }
    };
    let mut events = Vec::new();
    run(&limits(), receiver, plan, admit, perform, |event| {
        events.push(line(&event))
    })
    .await;
    let retried = events.iter().find(|line| line.contains("again"));
    let retried = retried.map(String::as_str);
    assert_eq!(
        retried,
        Some("0 again NetworkAttachmentDefinition x: not yet")
    );
}

#[test]
fn log_lines_of_an_action_have_its_item_and_object() {
    let log = LogBuffer::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let one_run = async || {
        let (facts, receiver) = watch::channel(Arc::default());
        let perform = |action: Action, _| {
            let facts = &facts;
            async move {
                tracing::info!("request sent");
                create(facts, action.key());
                ActionResult::Done
            }
        };
        run(&limits(), receiver, plan_of(&["a"]), admit, perform, |_| {}).await;
    };
    tracing::subscriber::with_default(subscriber, || {
        runtime.block_on(one_run());
        // Another test may have reached a span for the first time at the moment when this subscriber was set, and
        // tracing then disables the span. From here on, all spans are known.
        tracing::callsite::rebuild_interest_cache();
        runtime.block_on(one_run());
    });
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let span = r#"action{verb="apply" object=NetworkAttachmentDefinition a item=a}"#;
    assert!(text.contains(span), "{text}");
}

#[derive(Clone, Default)]
struct LogBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for LogBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
