//! Shoots that are applied although other files have errors.

use super::load;
use crate::load::names_of_others;
use crate::validate::testing::{PROFILE, SHOOT};

fn shoot(name: &str) -> String {
    SHOOT.replace("name: demo", &format!("name: {name}"))
}

/// Loads two valid Shoots, their profile and another file. Returns the names of the unaffected Shoots, and of the
/// others.
fn unaffected_by(other: &str) -> (Vec<String>, Vec<String>) {
    let (a, b) = (shoot("a"), shoot("b"));
    let files = [
        ("a.yaml", a.as_str()),
        ("profile.yaml", PROFILE),
        ("other.yaml", other),
        ("b.yaml", b.as_str()),
    ];
    let loaded = load(&files);
    assert!(!loaded.is_valid() && loaded.shoots.is_empty());
    let names = loaded.unaffected.iter().map(|it| it.name.clone()).collect();
    (names, names_of_others(&loaded.manifest, &loaded.unaffected))
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|it| (*it).to_owned()).collect()
}

#[test]
fn errors_in_the_file_of_a_shoot_concern_that_shoot_alone() {
    let both = names(&["a", "b"]);
    let invalid = shoot("c").replace("minimum: ", "minimum: -");
    assert_eq!(unaffected_by(&invalid), (both.clone(), names(&["c"])));
    let syntax = format!("{}\n  - \"unclosed", shoot("c"));
    let (unaffected, _) = unaffected_by(&syntax);
    assert_eq!(unaffected, both);
    let unknown = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n";
    assert_eq!(unaffected_by(unknown), (both, names(&["other.yaml"])));
}

#[test]
fn a_file_with_errors_that_may_define_parts_of_other_shoots_concerns_all_of_them() {
    let none = names(&[]);
    let pool = "apiVersion: cluster.k8s.io/v1alpha1\nkind: MachineDeployment\nspec: [\n";
    assert_eq!(unaffected_by(pool).0, none);
    let secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: 1\ndata: x\n";
    assert_eq!(unaffected_by(secret).0, none);
    let unreadable = "\u{feff}a\u{0}p\u{0}i\u{0}";
    assert_eq!(unaffected_by(unreadable).0, none);
}

#[test]
fn of_two_shoots_with_the_same_name_none_is_applied() {
    assert_eq!(unaffected_by(&shoot("a")).0, names(&["b"]));
}

#[test]
fn errors_in_a_profile_concern_all_shoots_that_use_it() {
    let a = shoot("a");
    let profile = PROFILE.replace("kind: CloudProfile", "kind: CloudProfile\nbogus: 1");
    let loaded = load(&[("a.yaml", a.as_str()), ("profile.yaml", profile.as_str())]);
    assert!(!loaded.is_valid());
    assert_eq!(loaded.unaffected.len(), 0);
}
