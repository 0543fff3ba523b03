use super::*;
use crate::plan::{finished, plan};
use crate::state::record::rotation::{Credential, RotationStep};
use crate::state::testing::rotation;
use crate::validate::testing::{SHOOT, valid_for_tests};

/// The record is written first, so that the label has to wait.
#[test]
fn a_blocked_label_change_is_a_change_of_the_machine() {
    let flannel = SHOOT.replace("type: calico", "type: flannel");
    let older = flannel.replace("\"1.34\"", "1.34.2");
    let before = valid_for_tests(&older);
    let observed = finished(&before);
    let label = "labels: {example.org/team: blue}\n      minimum: 1";
    let edited = older.replace("minimum: 1", label);
    let edited = valid_for_tests(&edited);
    let changes = changes(&edited, &observed.facts, &plan(&edited, &observed), None);
    let machines: Vec<&Change> = changes
        .iter()
        .filter(|it| it.kind == "VirtualMachine")
        .collect();
    let [change] = machines[..] else {
        panic!("{changes:#?}");
    };
    assert_eq!(change.action, ChangeVerb::Change);
    assert_eq!(
        change.name.as_deref(),
        observed.facts.machines()[0].1.as_ref().into()
    );
    assert_eq!(change.waits.as_deref(), Some("after the record"));
    let paths: Vec<&str> = change.fields.iter().map(|it| it.path.as_str()).collect();
    assert!(
        paths.iter().any(|it| it.contains("example.org/team")),
        "{paths:?}"
    );
}

#[test]
fn a_machine_that_takes_the_new_ca_is_a_change() {
    let pool = "    - name: cpu\n      updateStrategy: AutoInPlaceUpdate\n";
    let shoot = valid_for_tests(&SHOOT.replace("    - name: cpu\n", pool));
    let mut observed = finished(&shoot);
    let facts = Arc::make_mut(&mut observed.facts);
    let record = facts.record.as_mut().unwrap();
    record.rotation = rotation(Credential::Ca, RotationStep::Use, facts.time);
    let changes = changes(&shoot, &observed.facts, &plan(&shoot, &observed), None);
    let machines: Vec<_> = changes
        .iter()
        .filter(|it| it.kind == "VirtualMachine")
        .map(|it| (it.action, it.about.as_deref()))
        .collect();
    let about = "takes the new certificate authority while it runs";
    assert_eq!(machines, [(ChangeVerb::Change, Some(about))]);
}
