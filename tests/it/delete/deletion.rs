//! Who may delete a shoot, in what words, and the proof that nothing is left.

use crate::support::provider::{self, Provider};
use crate::support::shoots::Manifest;
use serde_json::json;
use snapbox::{assert_data_eq, str};

#[test]
fn without_a_terminal_nothing_is_deleted_until_somebody_says_so() {
    let provider = Provider::new();
    let empty = provider.dump();
    provider.assert_applied(&Manifest::small("mine"), "created");
    provider.settled_versions();
    let before = provider.dump();
    let kvshoot = provider.kvshoot();

    let asked = kvshoot.run("delete mine");
    assert_data_eq!(
        asked.to_string(),
        str![[r#"
------- stderr -------
warning: shoot mine has 1 machine and 3 volumes; all of it goes
error: cannot delete shoot mine without being told so, and there is nobody to ask
hint: say it by --confirm mine
------- exit code 2

"#]]
    );
    let other = kvshoot.run("delete mine --confirm yours");
    assert_data_eq!(
        other.to_string(),
        str![[r#"
------- stderr -------
error: --confirm names another shoot than mine
------- exit code 12

"#]]
    );
    assert_eq!(provider.dump(), before);

    let deleted = kvshoot.run("delete mine --confirm mine");
    assert_eq!(deleted.code, 0, "{deleted}");
    assert_eq!(deleted.out, "shoot.core.gardener.cloud/mine deleted\n");
    assert!(deleted.err.contains("nothing is left"), "{deleted}");
    assert_eq!(provider.dump(), empty);
}

#[test]
fn what_is_not_there_is_not_found_unless_that_is_fine() {
    let provider = Provider::new();
    let kvshoot = provider.kvshoot();
    let namespace = &provider.namespace;
    let missing = kvshoot.run("delete ghost -y");
    assert_eq!((missing.code, missing.out.as_str()), (7, ""), "{missing}");
    let text = format!("error: there is no shoot ghost in namespace {namespace}\n");
    assert!(missing.err.starts_with(&text), "{missing}");
    let fine = kvshoot.run("delete ghost -y --ignore-not-found");
    assert_eq!((fine.code, fine.out.as_str()), (0, ""), "{fine}");
    assert_eq!(provider.dump(), std::collections::BTreeMap::new());
}

#[test]
fn what_stays_is_named_with_what_keeps_it() {
    let provider = Provider::new();
    let shoot = Manifest::small("stuck");
    provider.assert_applied(&shoot, "created");
    // One that runs know as user data, and one that only the labels of the shoot tell.
    for (name, role) in [("known", "user-data"), ("stubborn", "other")] {
        provider.create(
            provider::SECRET,
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {
                "name": name, "finalizers": ["example.com/keep"], "labels": {
                    "app.kubernetes.io/managed-by": "kvshoot", "app.kubernetes.io/part-of": shoot.id(),
                    "app.kubernetes.io/component": role,
                },
            }}),
        );
    }
    let kvshoot = provider.kvshoot();
    let left = kvshoot.run("delete stuck -y --timeout 100s");
    assert_eq!((left.code, left.out.as_str()), (11, ""), "{left}");
    let told =
        "Secret known (kept by example.com/keep), Secret stubborn (kept by example.com/keep)";
    // The record goes last, so it is still there to go on from.
    assert!(left.err.contains(told), "{left}");
    assert_eq!(provider.names(provider::VM), Vec::<String>::new());
    assert_eq!(provider.names(provider::SECRET), ["known", "stubborn"]);

    let free = json!({"metadata": {"finalizers": null}});
    for name in ["known", "stubborn"] {
        provider.patch(provider::SECRET, name, &free);
    }
    let again = kvshoot.run("delete stuck -y --ignore-not-found");
    assert_eq!(again.code, 0, "{again}");
    assert_eq!(provider.dump(), std::collections::BTreeMap::new());
}

/// A cut-off delete, then a whole one; the shoot can be made again under its name.
#[test]
fn a_delete_that_was_cut_off_is_finished_by_the_next_one() {
    let provider = Provider::new();
    let shoot = Manifest::named("halves");
    provider.assert_applied(&shoot, "created");
    let kvshoot = provider.kvshoot();
    let running = kvshoot.start("delete halves -y");
    provider.wait_for("a machine to go", |it| {
        let mut machines = it.list(provider::VM).into_iter();
        it.uids().len() < 3 || machines.any(|it| it.metadata.deletion_timestamp.is_some())
    });
    running.interrupt();
    let interrupted = running.wait();
    // It may have been faster than the signal.
    assert!([0, 130].contains(&interrupted.code), "{interrupted}");
    if interrupted.code == 130 {
        let hint = "hint: to go on: kvshoot delete halves -y\n";
        assert!(interrupted.err.ends_with(hint), "{interrupted}");
    }
    let again = kvshoot.run("delete halves -y --ignore-not-found");
    assert_eq!(again.code, 0, "{again}");
    assert_eq!(provider.dump(), std::collections::BTreeMap::new());
    provider.assert_applied(&shoot, "created");
}
