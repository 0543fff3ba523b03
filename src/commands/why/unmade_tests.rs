use super::*;
use crate::plan::Hash;
use crate::plan::item::{Failure, Item};

fn item(title: &str, state: State) -> Item {
    Item {
        id: title.to_owned().into(),
        title: title.to_owned(),
        needs: [].into(),
        state,
    }
}

fn make(kind: Kind, name: &str, content: Content) -> State {
    State::Due(Action::Apply(Wanted {
        key: Key::provider(kind, name),
        hash: Hash::default(),
        content,
    }))
}

fn machine(name: &str) -> State {
    let content = Content::Machine {
        pool: "cpu".into(),
        zone: 0,
        ordinal: 0,
    };
    make(Kind::Machine, name, content)
}

fn error(title: &str, description: &str) -> LastError {
    LastError {
        description: description.to_owned(),
        task_id: title.to_owned(),
        codes: Vec::new(),
    }
}

fn told(items: Vec<Item>, errors: &[LastError], is_explained: bool) -> Vec<String> {
    let plan = Plan {
        items,
        ..Plan::default()
    };
    let chains = chains(&Facts::default(), &plan, errors, "a", is_explained);
    chains.iter().map(Chain::to_string).collect()
}

#[test]
fn what_was_never_made_is_named_with_what_the_last_run_was_told_of_it() {
    let quota = "exceeded quota: q, requested: cpu=4, used: cpu=8, limited: cpu=10";
    let items = vec![
        item("Create machine m-0 in zone z", machine("m-0")),
        item("Create machine m-1 in zone y", machine("m-1")),
        item("Run etcd", make(Kind::StatefulSet, "etcd", Content::Plain)),
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
        told(items, &errors, false),
        [
            format!("Machine m-0: VirtualMachine missing: {quota}"),
            "Machine m-1: VirtualMachine missing: 4 machines failed here".to_owned(),
            "Shoot a: not finished: still to do: Run etcd".to_owned(),
        ]
    );
}

#[test]
fn of_much_that_is_to_do_the_first_is_named() {
    let run = |it: &str| item(it, make(Kind::Deployment, it, Content::Plain));
    let items = ["Run a", "Run b", "Run c", "Run d", "Run e"]
        .map(run)
        .to_vec();
    assert_eq!(
        told(items, &[], true),
        ["Shoot a: not finished: still to do: Run a, Run b, Run c, and 2 more"]
    );
}

#[test]
fn what_is_awaited_or_cannot_be_begun_is_told_where_nothing_else_tells_it() {
    let wait = || {
        item(
            "Apply the Services",
            State::Waiting("an address".to_owned()),
        )
    };
    assert_eq!(
        told(vec![wait()], &[], false),
        ["Shoot a: Apply the Services: waiting for an address"]
    );
    assert_eq!(told(vec![wait()], &[], true), [""; 0]);
    let failed = |class| {
        let failure = Failure::new(class, "network blue is not there".to_owned());
        vec![item("Find network blue", State::Failed(failure)), wait()]
    };
    assert_eq!(
        told(failed(Class::Missing), &[], true),
        ["Shoot a: Find network blue: network blue is not there"]
    );
    assert_eq!(told(failed(Class::Infrastructure), &[], true), [""; 0]);
}
