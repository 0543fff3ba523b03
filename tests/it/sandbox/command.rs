//! `kvshoot sandbox` without a running sandbox, and the tests of its Go programs.

use crate::support::kvshoot::Kvshoot;
use crate::support::provider;
use std::process::Command;

#[test]
fn commands_on_a_sandbox_that_does_not_exist_name_the_command_that_creates_it() {
    let kvshoot = Kvshoot::new();
    let status = kvshoot.run("sandbox status");
    assert_eq!((status.code, status.out.as_str()), (1, ""), "{status}");
    let down = kvshoot.run("sandbox down");
    assert_eq!(down.code, 0, "{down}");
    for command in ["fail import-404", "clock", "clock --forward 365d"] {
        let output = kvshoot.run(&format!("sandbox {command}"));
        assert_eq!(output.code, 7, "{output}");
        assert!(output.err.contains("kvshoot sandbox up"), "{output}");
    }
}

#[test]
fn a_sandbox_name_that_is_not_valid_is_rejected() {
    let kvshoot = Kvshoot::new();
    for name in ["../other", "Big", "-x", ""] {
        let output = kvshoot.run(&format!("sandbox status --name={name}"));
        assert_eq!(output.code, 2, "{output}");
    }
}

#[test]
fn all_sandboxes_are_listed_and_stopped() {
    let kvshoot = Kvshoot::new();
    let none = kvshoot.run("sandbox list");
    assert_eq!((none.code, &*none.out), (0, ""), "{none}");
    let state = r#"{"ports":20000,"row":1,"cdi":false,"madeWith":null,"processes":[]}"#;
    let folder = ".local/state/kvshoot/sandboxes";
    let kvshoot = kvshoot
        .file(&format!("{folder}/one/state.json"), state)
        .file(&format!("{folder}/two/state.json"), "{");
    let names = kvshoot.run("sandbox list -o name");
    assert_eq!(names.out, "sandbox/one\nsandbox/two\n", "{names}");
    let table = kvshoot.run("sandbox list").out;
    assert!(table.contains("https://127.0.0.1:20000"), "{table}");
    // The state of the second one cannot be read; the first one is stopped anyway.
    let down = kvshoot.run("sandbox down --all");
    assert_eq!(down.code, 4, "{down}");
    assert!(down.err.contains("Sandbox one is not running"), "{down}");
    let named = kvshoot.run("sandbox down --all --name one");
    assert_eq!(named.code, 2, "{named}");
}

#[test]
fn install_from_a_directory_names_the_missing_programs() {
    let kvshoot = Kvshoot::new().file("programs/etcd", "");
    let output = kvshoot.run("sandbox install --from programs");
    assert_eq!(output.code, 4, "{output}");
    let expected = "programs lacks kube-apiserver, kube-controller-manager";
    assert!(output.err.contains(expected), "{output}");
}

#[test]
fn a_sandbox_with_unreadable_state_can_be_reset() {
    let kvshoot = Kvshoot::new();
    let folder = ".local/state/kvshoot/sandboxes/default";
    let kvshoot = kvshoot.file(&format!("{folder}/state.json"), "{");
    assert_eq!(kvshoot.run("sandbox status").code, 4);
    assert_eq!(kvshoot.run("sandbox reset").code, 0);
    assert!(!kvshoot.home().join(folder).exists());
}

#[test]
fn install_uses_programs_from_the_path() {
    // After the first install the programs are in the cache of the user.
    let install = || provider::program(&["sandbox", "install"]).output().unwrap();
    let _ = install();
    let installed = String::from_utf8(install().stderr).unwrap();
    let cache = installed.trim().rsplit(' ').next().unwrap();
    let path = format!("{cache}/bin");
    let output = Kvshoot::new().env("PATH", &path).run("sandbox install");
    assert_eq!(output.code, 0, "{output}");
    assert!(
        output.err.contains(&format!("from {path}")),
        "{installed}{output}"
    );
}

#[test]
fn what_virtual_machines_need_is_named_with_the_command_that_installs_it() {
    let kubectl = provider::installed_program("kubectl");
    let programs = kubectl.parent().unwrap().display();
    let kvshoot = Kvshoot::new().env("PATH", "/nonexistent");
    let output = kvshoot.run(&format!("sandbox install --guests --from {programs}"));
    assert_eq!(output.code, 4, "{output}");
    for text in [
        "qemu-system-x86_64",
        "are not installed; virtual machines need them",
        "apt-get install --no-install-recommends qemu-system-x86 qemu-utils xorriso mmdebstrap",
    ] {
        assert!(output.err.replace("\n  ", " ").contains(text), "{output}");
    }
}

/// With the flags of the build, so that few packages are compiled twice.
#[test]
fn doctor_says_what_this_computer_lacks_for_a_sandbox() {
    let doctor = Kvshoot::new()
        .env("PATH", "/nonexistent")
        .run("sandbox doctor");
    assert_eq!(doctor.code, 1, "{doctor}");
    let lines = [
        "failure  programs             Go is not installed; it is needed to build the sandbox\n",
        "hint: install Go 1.26 or newer",
        "warning  virtual machines     ",
        "hint: install them on Debian or Ubuntu: sudo apt-get install",
    ];
    for line in lines {
        assert!(doctor.out.contains(line), "{line}: {doctor}");
    }

    // The folder with the programs that other tests use.
    let programs = provider::installed_program("kubectl");
    let programs = programs.parent().unwrap().to_str().unwrap();
    let doctor = Kvshoot::new()
        .env("PATH", programs)
        .run("sandbox doctor -o json");
    let report: serde_json::Value = serde_json::from_str(&doctor.out).unwrap();
    let found = &report["items"][0];
    assert_eq!(found["status"], "ok", "{doctor}");
    assert_eq!(found["message"], format!("installed in {programs}"));
}

#[test]
#[ignore = "second tier: compiles Kubernetes for its tests"]
fn the_go_programs_of_the_sandbox_pass_their_tests() {
    assert_go_tests_pass("k8s", &["./guest/...", "./pods/..."]);
}

pub(super) fn assert_go_tests_pass(module: &str, packages: &[&str]) {
    let output = Command::new("go")
        .arg("test")
        .args(provider::go_flags())
        .args(packages)
        .current_dir(format!("src/sandbox/programs/{module}"))
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-mod=readonly")
        .env("GOWORK", "off")
        .env("GOTOOLCHAIN", "local")
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{report}");
}
