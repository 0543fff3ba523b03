use super::*;
use crate::plan::check::stopped::{with_pods, with_stopped};
use crate::plan::{finished, plan};
use crate::state::facts::{Facts, ObjectStatus};
use crate::state::names::part;
use crate::state::record::etcd::{EtcdRestore, RestoreStage};
use crate::state::record::rotation::{
    Credential, RotationChange, RotationOperation, RotationRecord,
};
use crate::validate::testing::{SHOOT, valid_for_tests};

/// A shoot that is complete, with what its record says about hibernation.
fn observed(shoot: &ValidShoot, hibernation: HibernationRecord) -> Observed {
    let observed = finished(shoot);
    let mut facts = (*observed.facts).clone();
    let record = facts.record.as_mut().expect("it is complete");
    record.hibernation = hibernation;
    Observed {
        facts: Arc::new(facts),
        ..observed
    }
}

fn asleep() -> HibernationRecord {
    HibernationRecord::default().decided(true, 1)
}

/// The machines of a shoot, each as it sleeps.
fn with_machines(observed: Observed, sleep: MachineSleep, status: &str) -> Observed {
    let mut facts = (*observed.facts).clone();
    for machine in facts.machines.values_mut().flat_map(|it| it.values_mut()) {
        machine.sleep = sleep;
        machine.status = status.into();
    }
    Observed {
        facts: Arc::new(facts),
        ..observed
    }
}

fn titles(plan: &Plan, is: impl Fn(&Payload) -> bool) -> Vec<&str> {
    let items = plan.items.iter();
    let due = items.filter(|it| match &it.state {
        ItemState::Due(Action::Apply(wanted)) => is(&wanted.payload),
        _ => false,
    });
    due.map(|it| &*it.title).collect()
}

fn is_halt(payload: &Payload) -> bool {
    matches!(payload, Payload::Halt(_))
}

fn is_start(payload: &Payload) -> bool {
    matches!(payload, Payload::Start { .. })
}

/// Titles of what can be done now.
fn due(plan: &Plan) -> Vec<&str> {
    let items = plan.items.iter();
    let due = items.filter(|it| matches!(it.state, ItemState::Due(_)));
    due.map(|it| &*it.title).collect()
}

fn without_nodes(mut observed: Observed) -> Observed {
    Arc::make_mut(&mut observed.facts).nodes.clear();
    observed
}

#[test]
fn machines_are_halted_before_their_nodes_leave_and_the_control_plane_stops() {
    let shoot = valid_for_tests(SHOOT);
    let running = observed(&shoot, asleep());
    let machines = running.facts.machines().len();
    assert!(machines > 0);
    let first = plan(&shoot, &running);
    assert_eq!(titles(&first, is_halt), due(&first));
    assert_eq!(due(&first).len(), machines);

    let shutting_down = with_machines(running.clone(), MachineSleep::Halted, "Stopping");
    assert_eq!(due(&plan(&shoot, &shutting_down)), [""; 0]);

    let halted = with_machines(running, MachineSleep::Halted, HALTED);
    let second = plan(&shoot, &halted);
    let nodes = due(&second);
    assert_eq!(nodes.len(), machines);
    assert!(
        nodes.iter().all(|it| it.starts_with("Delete node ")),
        "{nodes:?}"
    );

    let third = plan(&shoot, &without_nodes(halted));
    let stopped = due(&third);
    assert_eq!(stopped, CONTROLLERS.map(|it| format!("Stop {it}")));
}

const CONTROLLERS: [&str; 4] = [
    part::CSI_CONTROLLER,
    part::CLOUD_CONTROLLER,
    "kube-scheduler",
    "kube-controller-manager",
];

fn reasons(plan: &Plan) -> Vec<(&str, &str)> {
    let items = plan.items.iter();
    let waiting = items.filter_map(|it| match &it.state {
        ItemState::Waiting(why) => Some((&*it.title, &**why)),
        _ => None,
    });
    waiting.collect()
}

#[test]
fn pods_of_a_component_are_gone_before_the_next_one_stops() {
    let shoot = valid_for_tests(SHOOT);
    let halted = with_machines(observed(&shoot, asleep()), MachineSleep::Halted, HALTED);
    let mut observed = without_nodes(halted);
    let mut rounds = Vec::new();
    for parts in [&CONTROLLERS[..], &[part::API_SERVER], &[part::ETCD]] {
        let stop = plan(&shoot, &observed);
        assert_eq!(
            due(&stop),
            parts
                .iter()
                .map(|it| format!("Stop {it}"))
                .collect::<Vec<_>>()
        );
        // A list from before the stop says nothing, and the status does not count terminating pods.
        let old = with_pods(observed, &[]);
        observed = with_stopped(old, &stop);
        let unlisted = plan(&shoot, &observed);
        assert_eq!(due(&unlisted), [""; 0]);
        let reason = "its pods have not been listed yet";
        assert_eq!(reasons(&unlisted).len(), parts.len());
        assert!(reasons(&unlisted).iter().all(|it| it.1 == reason));
        let last = parts.last().expect("there is one");
        observed = with_pods(observed, &[(last, 2)]);
        let terminating = plan(&shoot, &observed);
        assert_eq!(due(&terminating), [""; 0]);
        let title = format!("Stop {last}");
        assert_eq!(reasons(&terminating), [(&*title, "2 pods are terminating")]);
        observed = with_pods(observed, &[]);
        rounds.push(due(&plan(&shoot, &observed)).join(", "));
    }
    assert_eq!(
        rounds,
        [
            "Stop kube-apiserver",
            "Stop etcd",
            "Complete the hibernation"
        ]
    );
}

#[test]
fn nothing_is_deleted_but_nodes() {
    let shoot = valid_for_tests(SHOOT);
    let halted = with_machines(observed(&shoot, asleep()), MachineSleep::Halted, HALTED);
    for item in plan(&shoot, &halted).items {
        if let ItemKind::Deletion { key, .. } = &item.kind {
            assert_eq!(key.kind, ObjectKind::Node, "{}", item.title);
        }
    }
}

#[test]
fn a_shoot_that_wakes_starts_its_halted_machines() {
    let shoot = valid_for_tests(SHOOT);
    let now = observed(&shoot, HibernationRecord::default()).facts.time;
    let hibernation = HibernationRecord::default().decided(true, now - 60 * 3600);
    let woken = observed(&shoot, hibernation.decided(false, now));
    let machines = woken.facts.machines().len();
    assert_eq!(due(&plan(&shoot, &woken)), [""; 0]);
    for sleep in [MachineSleep::Halted, MachineSleep::Entering] {
        let halted = with_machines(woken.clone(), sleep, HALTED);
        let plan = plan(&shoot, &halted);
        assert_eq!(titles(&plan, is_start).len(), machines, "{sleep:?}");
    }
}

#[test]
fn a_machine_that_was_halted_for_longer_than_its_certificate_may_last_is_replaced() {
    let shoot = valid_for_tests(SHOOT);
    let now = observed(&shoot, HibernationRecord::default()).facts.time;
    let hibernation = HibernationRecord::default().decided(true, now - 67 * 3600);
    let woken = observed(&shoot, hibernation.decided(false, now));
    let halted = with_machines(woken, MachineSleep::Halted, HALTED);
    let plan = plan(&shoot, &halted);
    assert_eq!(titles(&plan, is_start), [""; 0]);
    let creates = |it: &Payload| matches!(it, Payload::Machine { .. });
    assert_eq!(titles(&plan, creates).len(), 1);
}

#[test]
fn a_rotation_under_way_keeps_everything_running() {
    let shoot = valid_for_tests(SHOOT);
    let mut observed = observed(&shoot, asleep());
    let record = Arc::make_mut(&mut observed.facts).record.as_mut();
    let record = record.expect("it is complete");
    let operation = RotationOperation {
        credentials: [Credential::ServiceAccountKey].into(),
        completes: false,
    };
    record.rotation =
        RotationRecord::default().after(&RotationChange::Command(operation), 10, None);
    let plan = plan(&shoot, &observed);
    assert_eq!(due(&plan), [""; 0]);
    let mut states = plan.items.iter().map(|it| &it.state);
    assert!(states.any(|it| matches!(it, ItemState::Failed(_))));
}

/// Its last stage, in which other runs may change the shoot.
#[test]
fn a_restore_under_way_keeps_everything_running() {
    let shoot = valid_for_tests(SHOOT);
    let mut observed = observed(&shoot, asleep());
    let record = Arc::make_mut(&mut observed.facts).record.as_mut();
    let etcd = record
        .and_then(|it| it.etcd.as_mut())
        .expect("it is founded");
    etcd.restore = Some(EtcdRestore {
        backup: "ns/id/monday".to_owned(),
        snapshot: 1,
        target: 2,
        stage: RestoreStage::Reconcile,
    });
    let plan = plan(&shoot, &observed);
    assert_eq!(due(&plan), [""; 0]);
    let mut states = plan.items.iter().map(|it| &it.state);
    let says = |it: &ItemState| matches!(it, ItemState::Failed(it) if it.message.contains("the restore of backup ns/id/monday is under way"));
    assert!(states.any(says));
}

#[test]
fn certificates_that_ended_meanwhile_are_issued_before_their_component_starts() {
    let shoot = valid_for_tests(SHOOT);
    let asleep = observed(&shoot, asleep());
    let mut facts = with_stopped_control_plane(&shoot, asleep);
    let now = facts.time;
    let record = facts.record.as_mut().expect("it is complete");
    record.hibernation = record.hibernation.decided(false, now);
    for (key, object) in &mut facts.objects {
        if let ObjectStatus::Secret(secret) = &mut object.status
            && key.name.ends_with("kube-scheduler")
        {
            secret.certificate.as_mut().expect("it has one").expires = now - 1;
        }
    }
    let woken = Observed {
        facts: Arc::new(facts),
        ..Observed::default()
    };
    let plan = plan(&shoot, &woken);
    assert_eq!(due(&plan), ["Issue certificate of kube-scheduler"]);
    for title in ["Deploy etcd", "Deploy kube-scheduler"] {
        let item = plan.items.iter().find(|it| it.title == title);
        assert_eq!(
            item.map(|it| &it.state),
            Some(&ItemState::Blocked),
            "{title}"
        );
    }
}

fn with_stopped_control_plane(shoot: &ValidShoot, asleep: Observed) -> Facts {
    let halted = with_machines(asleep, MachineSleep::Halted, HALTED);
    let mut observed = without_nodes(halted);
    for _ in 0..3 {
        let stop = plan(shoot, &observed);
        observed = with_pods(with_stopped(observed, &stop), &[]);
    }
    let mut facts = (*observed.facts).clone();
    facts.shoot_api = ShootApi::Absent;
    facts
}
