use super::*;
use crate::state::action::Payload;
use crate::state::failure::Failure;
use crate::state::hash::Hash;
use crate::state::plan::MachineItem;

fn item(title: &str, state: ItemState) -> Item {
    let kind = ItemKind::from(title.to_owned());
    Item {
        id: kind.id(),
        kind,
        title: title.to_owned(),
        needs: [].into(),
        state,
    }
}

fn make(kind: ObjectKind, name: &str, content: Payload) -> ItemState {
    ItemState::Due(Action::Apply(Desired {
        key: ObjectKey::provider(kind, name),
        hash: Hash::default(),
        payload: content,
    }))
}

/// The item of a machine of pool cpu that is to be created.
fn machine(name: &str, zone: &str) -> Item {
    let content = Payload::Machine {
        pool: "cpu".into(),
        zone: 0,
        ordinal: 0,
    };
    let title = format!("Create machine {name} in zone {zone}");
    Item {
        kind: ItemKind::Machine(MachineItem {
            pool: "cpu".into(),
            zone: 0,
            zone_name: zone.into(),
            slot: 0,
            machine: Some(name.into()),
            step: MachineStep::Create,
        }),
        ..item(&title, make(ObjectKind::Machine, name, content))
    }
}

fn error(title: &str, description: &str) -> LastError {
    LastError {
        description: description.to_owned(),
        task_id: title.to_owned(),
        codes: Vec::new(),
    }
}

fn findings(items: Vec<Item>, errors: &[LastError], is_explained: bool) -> Vec<String> {
    let last = LastRun {
        errors: errors.to_vec(),
        data: &BTreeMap::new(),
    };
    let plan = Plan {
        items,
        ..Plan::default()
    };
    let chains = chains(&Facts::default(), &plan, &last, "a", is_explained);
    chains.iter().map(CauseChain::to_string).collect()
}

#[test]
fn a_machine_that_failed_is_shown_with_the_console_that_was_kept() {
    let kept = failed_console::FailedConsole {
        machine: "m-7".to_owned(),
        lines: vec!["kernel panic".to_owned()],
    };
    let kept = serde_json::to_string(&kept).unwrap();
    let data = BTreeMap::from([(failed_console::key("cpu", 0), kept)]);
    let errors = vec![error(
        "Create a machine of pool cpu in zone z",
        "1 machine failed",
    )];
    let last = LastRun {
        errors,
        data: &data,
    };
    // The other machine is missing without having failed.
    let plan = Plan {
        items: vec![machine("m-8", "z"), machine("m-9", "y")],
        ..Plan::default()
    };
    let chains = chains(&Facts::default(), &plan, &last, "a", false);
    let logs: Vec<_> = chains.iter().map(|it| it.log.join(" ")).collect();
    assert_eq!(logs, ["console of m-7: kernel panic", ""]);
}

#[test]
fn a_missing_object_has_the_error_of_the_last_run() {
    let quota = "exceeded quota: q, requested: cpu=4, used: cpu=8, limited: cpu=10";
    let items = vec![
        machine("m-0", "z"),
        machine("m-1", "y"),
        item(
            "Run etcd",
            make(ObjectKind::StatefulSet, "etcd", Payload::Plain),
        ),
    ];
    let errors = [
        error(
            "Create a machine of pool cpu in zone x",
            &format!("VirtualMachine m-0: {quota}"),
        ),
        error(
            "Create a machine of pool cpu in zone y",
            "4 machines failed here",
        ),
        error("Create a machine of pool gpu in zone y", "another pool"),
    ];
    assert_eq!(
        findings(items, &errors, false),
        [
            format!("Machine m-0: VirtualMachine missing: {quota}"),
            "Machine m-1: VirtualMachine missing: 4 machines failed here".to_owned(),
            "Shoot a: not finished: remaining steps: Run etcd".to_owned(),
        ]
    );
}

#[test]
fn many_remaining_steps_are_counted() {
    let run = |it: &str| item(it, make(ObjectKind::Deployment, it, Payload::Plain));
    let items = ["Run a", "Run b", "Run c", "Run d", "Run e"]
        .map(run)
        .to_vec();
    assert_eq!(
        findings(items, &[], true),
        ["Shoot a: not finished: remaining steps: Run a, Run b, Run c, and 2 more"]
    );
}

#[test]
fn an_item_in_progress_is_reported_unless_something_else_explains_it() {
    let wait = || {
        item(
            "Apply the Services",
            ItemState::Waiting("no address assigned yet".to_owned()),
        )
    };
    assert_eq!(
        findings(vec![wait()], &[], false),
        ["Shoot a: Apply the Services: no address assigned yet"]
    );
    assert_eq!(findings(vec![wait()], &[], true), [""; 0]);
    let failed = |class| {
        let failure = Failure::new(class, "network \"blue\" not found".to_owned());
        vec![
            item("Find network blue", ItemState::Failed(failure)),
            wait(),
        ]
    };
    assert_eq!(
        findings(failed(ErrorClass::Missing), &[], true),
        ["Shoot a: Find network blue: network \"blue\" not found"]
    );
    assert_eq!(
        findings(failed(ErrorClass::Infrastructure), &[], true),
        [""; 0]
    );
}
