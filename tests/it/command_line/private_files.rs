//! What other users of a computer find of kvshoot: files, core dumps.

use crate::support::kvshoot::{Kvshoot, Output};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Child;

/// Runs a script in a shell that lets everyone read new files.
fn open_shell(kvshoot: &Kvshoot, script: &str) -> Output {
    let kvshoot_bin = env!("CARGO_BIN_EXE_kvshoot");
    let script = format!("umask 000; {}", script.replace("kvshoot", kvshoot_bin));
    kvshoot.program(Path::new("/bin/sh"), ["-c", &script])
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

#[test]
fn a_log_file_is_private_and_neither_a_link_nor_a_pipe() {
    let kvshoot = Kvshoot::with_unreachable_provider();
    let home = kvshoot.home();
    let log = home.join("log");
    let output = open_shell(&kvshoot, "kvshoot version --client --log-file log");
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(mode(&log), 0o600);
    // Another user has prepared the file: a link to a file of the user, or a pipe without a reader.
    fs::write(home.join("precious"), "mine").unwrap();
    symlink("precious", home.join("link")).unwrap();
    symlink("new", home.join("dangling")).unwrap();
    let pipe = kvshoot.program(Path::new("/usr/bin/mkfifo"), ["pipe"]);
    assert_eq!(pipe.code, 0, "{pipe}");
    for (file, why) in [
        ("link", "it is a symbolic link"),
        ("dangling", "it is a symbolic link"),
        ("pipe", "it is not a file"),
    ] {
        let line = format!("timeout 20 kvshoot version --client --log-file {file}");
        let output = open_shell(&kvshoot, &line);
        assert_eq!(output.code, 2, "{file}: {output}");
        assert!(output.err.contains(why), "{file}: {output}");
    }
    assert_eq!(fs::read_to_string(home.join("precious")).unwrap(), "mine");
    assert!(!home.join("new").exists());
    let output = open_shell(&kvshoot, "kvshoot version --client --log-file /dev/null");
    assert_eq!(output.code, 0, "{output}");
}

#[test]
fn a_kubeconfig_without_end_is_refused() {
    let large = "x".repeat((1 << 20) + 1);
    let kvshoot = Kvshoot::new().file("large", &large);
    for (file, why) in [
        ("/dev/zero", "/dev/zero is a device"),
        ("large", "large is larger than 1048576 bytes"),
        (".", "Is a directory"),
    ] {
        let output = open_shell(
            &kvshoot,
            &format!("timeout 20 kvshoot list --kubeconfig {file}"),
        );
        assert_eq!(output.code, 4, "{file}: {output}");
        assert!(output.err.contains(why), "{file}: {output}");
    }
}

/// Starts a program of which core dumps are allowed.
fn with_core_dumps(kvshoot: &Kvshoot, program: &str) -> Child {
    let script = format!("ulimit -c unlimited && echo ready && exec {program}");
    let mut command = kvshoot.command(Path::new("/bin/sh"), ["-c", &script]);
    let mut child = command.spawn().unwrap();
    let mut ready = [0; 6];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut ready)
        .unwrap();
    child
}

/// Aborts a process; true if the kernel has dumped its memory.
fn dumps_core(mut child: Child) -> bool {
    kill_process(Pid::from_child(&child), Signal::ABORT).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), Some(Signal::ABORT.as_raw()), "{status}");
    status.core_dumped()
}

#[test]
fn a_crash_leaves_no_core_dump() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = listener.local_addr().unwrap();
    let kubeconfig = format!(
        "clusters: [{{name: a, cluster: {{server: 'http://{server}'}}}}]\n\
         contexts: [{{name: a, context: {{cluster: a}}}}]\ncurrent-context: a\n"
    );
    let kvshoot = Kvshoot::new()
        .env("KUBECONFIG", "config")
        .file("config", &kubeconfig);
    let other = with_core_dumps(&kvshoot, "cat");
    if !dumps_core(other) {
        // Nothing dumps core on this computer.
        return;
    }
    let child = with_core_dumps(&kvshoot, &format!("{} list", env!("CARGO_BIN_EXE_kvshoot")));
    // It has read the kubeconfig.
    let _connection = listener.accept().unwrap();
    assert!(!dumps_core(child));
}
