//! The sandbox's own command, as far as it goes without one that runs.

use crate::kvshoot::Kvshoot;
use crate::provider;
use std::process::Command;

#[test]
fn a_sandbox_that_is_not_there_says_so() {
    let kvshoot = Kvshoot::new();
    let status = kvshoot.run("sandbox status");
    assert_eq!((status.code, status.out.as_str()), (1, ""), "{status}");
    let down = kvshoot.run("sandbox down");
    assert_eq!(down.code, 0, "{down}");
    let fail = kvshoot.run("sandbox fail import-404");
    assert_eq!(fail.code, 7, "{fail}");
    assert!(fail.err.contains("kvshoot sandbox up"), "{fail}");
}

#[test]
fn a_name_that_no_folder_should_have_is_refused() {
    let kvshoot = Kvshoot::new();
    for name in ["../other", "Big", "-x", ""] {
        let output = kvshoot.run(&format!("sandbox status --name={name}"));
        assert_eq!(output.code, 2, "{output}");
    }
}

#[test]
fn a_folder_without_the_programs_is_told_what_it_lacks() {
    let kvshoot = Kvshoot::new().file("programs/etcd", "");
    let output = kvshoot.run("sandbox install --from programs");
    assert_eq!(output.code, 4, "{output}");
    let told = "programs lacks kube-apiserver, kube-controller-manager";
    assert!(output.err.contains(told), "{output}");
}

#[test]
fn state_that_cannot_be_read_can_be_reset() {
    let kvshoot = Kvshoot::new();
    let folder = ".local/state/kvshoot/sandboxes/default";
    let kvshoot = kvshoot.file(&format!("{folder}/state.json"), "{");
    assert_eq!(kvshoot.run("sandbox status").code, 4);
    assert_eq!(kvshoot.run("sandbox reset").code, 0);
    assert!(!kvshoot.home().join(folder).exists());
}

#[test]
fn programs_that_stand_on_the_path_are_taken() {
    // The second time they are in the person's own cache, however they came there.
    let install = || provider::program(&["sandbox", "install"]).output().unwrap();
    let _ = install();
    let told = String::from_utf8(install().stderr).unwrap();
    let cache = told.trim().rsplit(' ').next().unwrap();
    let path = format!("{cache}/bin");
    let output = Kvshoot::new().env("PATH", &path).run("sandbox install");
    assert_eq!(output.code, 0, "{output}");
    assert!(
        output.err.contains(&format!("from {path}")),
        "{told}{output}"
    );
}

/// What machines do is written in Go, and has tests of its own. With the flags that it is built with, so that little is
/// compiled twice.
#[test]
fn what_machines_do_in_the_sandbox_passes_its_own_tests() {
    let output = Command::new("go")
        .args(["test", "-trimpath", "-buildvcs=false", "./guest/..."])
        .current_dir("src/sandbox/programs/k8s")
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-mod=readonly")
        .env("GOWORK", "off")
        .env("GOTOOLCHAIN", "local")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
}
