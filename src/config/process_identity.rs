//! Identity of a process, so that another process on the same host can check whether it is still running.

use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Identifies a process across PID reuse and reboots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProcessIdentity {
    pub(crate) host: String,
    /// Changes with every boot; containers share the boot ID of their host.
    pub(crate) boot_id: String,
    /// PIDs are unique only within their namespace.
    pub(crate) pid_namespace: String,
    /// A host may hide the processes of other users (`hidepid`).
    pub(crate) user: u32,
    pub(crate) pid: u32,
    /// Clock ticks since boot.
    pub(crate) start_time: u64,
}

impl ProcessIdentity {
    pub(super) fn own() -> Self {
        let pid = std::process::id();
        let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        Self {
            host: host(),
            boot_id: line("/proc/sys/kernel/random/boot_id").unwrap_or_default(),
            pid_namespace: link.to_string_lossy().into_owned(),
            user: fs::metadata("/proc/self").map_or(u32::MAX, |it| it.uid()),
            pid,
            start_time: start_time_of(pid).unwrap_or_default(),
        }
    }

    /// True if `other` has certainly ended. False if it runs, or if this process cannot know.
    pub(crate) fn is_gone(&self, other: &ProcessIdentity) -> bool {
        let comparable = !self.boot_id.is_empty()
            && !self.pid_namespace.is_empty()
            && self.start_time != 0
            && self.boot_id == other.boot_id
            && self.pid_namespace == other.pid_namespace
            && self.user == other.user;
        comparable && start_time_of(other.pid) != Some(other.start_time)
    }
}

/// Start time of a running process, in clock ticks since boot; none for a zombie.
fn start_time_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command name, in parentheses, may contain spaces and parentheses.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    match fields.next()? {
        "Z" | "X" => None,
        _ => fields.nth(18)?.parse().ok(),
    }
}

pub(super) fn host() -> String {
    line("/proc/sys/kernel/hostname")
        .or_else(|| std::env::var("HOSTNAME").ok().filter(|it| !it.is_empty()))
        .unwrap_or_else(|| "localhost".to_owned())
}

fn line(file: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    Some(text.trim().to_owned()).filter(|it| !it.is_empty())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_is_gone_when_its_pid_is_free_or_reused() {
        let own = ProcessIdentity::own();
        assert!(!own.is_gone(&own));

        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        let start_time = start_time_of(pid).unwrap();
        let holder = ProcessIdentity {
            pid,
            start_time,
            ..own.clone()
        };
        assert!(!own.is_gone(&holder));
        let earlier = ProcessIdentity {
            start_time: start_time - 1,
            ..holder.clone()
        };
        assert!(own.is_gone(&earlier));

        child.kill().unwrap();
        child.wait().unwrap();
        assert!(own.is_gone(&holder));
    }

    #[test]
    fn a_process_of_another_boot_namespace_or_user_is_never_gone() {
        let own = ProcessIdentity::own();
        let dead = ProcessIdentity {
            start_time: own.start_time + 1,
            ..own.clone()
        };
        assert!(own.is_gone(&dead));
        let elsewhere = [
            ProcessIdentity {
                boot_id: "another".to_owned(),
                ..dead.clone()
            },
            ProcessIdentity {
                pid_namespace: "pid:[1]".to_owned(),
                ..dead.clone()
            },
            ProcessIdentity {
                user: own.user + 1,
                ..dead.clone()
            },
        ];
        assert!(elsewhere.iter().all(|it| !own.is_gone(it)));
    }
}
