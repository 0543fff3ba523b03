//! The control loop with paused time, plans from closures, and events compared as text.

use super::*;
use crate::plan::planner::Planner;
use crate::state::action::{Action, Content, Wanted};
use crate::state::facts::{Fact, Facts, Object};
use crate::state::failure::{Class, Failure};
use crate::state::hash::Hash;
use crate::state::key::{Key, Kind};
use crate::state::observed::Observed;
use crate::state::plan::{Plan, State};
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
    Action::Apply(Wanted {
        key: Key::provider(Kind::Network, name),
        hash: Hash(1),
        content: Content::Plain,
    })
}

/// A plan with one item per name, done when the object exists.
fn plan_of(names: &'static [&'static str]) -> impl Fn(&Observed) -> Plan {
    move |observed| {
        let mut planner = Planner::new(observed);
        for name in names {
            let state = match observed
                .facts
                .objects
                .get(&Key::provider(Kind::Network, *name))
            {
                Some(_) => State::Done,
                None => State::Due(apply(name)),
            };
            planner.add(name.to_string().into(), format!("Apply {name}"), [], state);
        }
        planner.plan
    }
}

fn create(facts: &watch::Sender<Arc<Facts>>, key: &Key) {
    facts.send_modify(|it| {
        let object = Object {
            uid: "u".into(),
            version: "1".into(),
            hash: Hash(1),
            leaving: false,
            fact: Fact::None,
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
    let report = run(&limits(), receiver, plan_of(&["a"]), perform, |it| {
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
async fn a_refused_action_is_not_retried_and_does_not_block_others() {
    let (facts, receiver) = watch::channel(Arc::default());
    let sent = RefCell::new(Vec::new());
    let perform = |action: Action, _| {
        sent.borrow_mut().push(action.key().name.to_string());
        let answer = if &*action.key().name == "a" {
            ActionResult::Refused(Failure::new(Class::Refused, "no"))
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
            State::Waiting("quota exceeded".into()),
        );
        planner.plan
    };
    let report = run(
        &limits,
        receiver,
        plan,
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
    let report = run(&limits, receiver, plan_of(&["a", "b"]), perform, |_| {}).await;
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
    let report = run(&limits, receiver, plan_of(&["a"]), perform, |_| {}).await;
    assert_eq!(report.outcome, Outcome::Interrupted);
    assert_eq!(limits.started.elapsed().as_secs(), 10);
}

/// Creates machine `number` of pool `p`.
fn machine(number: u32) -> Action {
    Action::Apply(Wanted {
        key: Key::provider(Kind::Machine, format!("m{number}")),
        hash: Hash(1),
        content: Content::Machine {
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
                Some(failure) => State::Failed(failure.clone()),
                None => State::Due(machine(number)),
            };
            let id = format!("m{number}");
            planner.add(id.clone().into(), id, [], state);
        }
        planner.plan
    };
    let perform = |action: Action, _| {
        asked.borrow_mut().push(action.key().name.clone());
        async { ActionResult::Refused(Failure::new(Class::Refused, "no".to_owned())) }
    };
    let report = run(&limits(), receiver, plan, perform, |_| {}).await;
    assert_eq!(report.outcome, Outcome::Stuck);
    assert_eq!(asked.into_inner(), ["m0".into()]);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_never_ends_is_abandoned_after_the_timeout() {
    let (_facts, receiver) = watch::channel(Arc::new(Facts::default()));
    let limits = limits();
    let perform = |_: Action, _| std::future::pending();
    let report = run(&limits, receiver, plan_of(&["a"]), perform, |_| {}).await;
    assert_eq!(report.outcome, Outcome::Timeout);
    assert_eq!(limits.started.elapsed(), Duration::from_secs(70));
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
    tracing::subscriber::with_default(subscriber, || {
        runtime.block_on(async {
            let (facts, receiver) = watch::channel(Arc::default());
            let perform = |action: Action, _| {
                let facts = &facts;
                async move {
                    tracing::info!("request sent");
                    create(facts, action.key());
                    ActionResult::Done
                }
            };
            run(&limits(), receiver, plan_of(&["a"]), perform, |_| {}).await;
        });
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
