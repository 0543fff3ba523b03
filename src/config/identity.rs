//! Which process this is, told so that another one on the same computer can see whether it still lives.

use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::fs::MetadataExt;

/// A process for as long as this computer runs: its number alone is given away again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProcessIdentity {
    pub(crate) host: String,
    /// Another one after each start of the computer; containers share that of their host.
    pub(crate) boot_id: String,
    /// Numbers of processes mean something only within their namespace.
    pub(crate) pid_namespace: String,
    /// Some computers hide the processes of others.
    pub(crate) user: u32,
    pub(crate) pid: u32,
    /// In clock ticks since the computer started.
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
            start_time: living(pid).unwrap_or_default(),
        }
    }

    /// Whether `other` is known to be gone. False also means: this cannot be told from here.
    pub(crate) fn is_gone(&self, other: &ProcessIdentity) -> bool {
        let comparable = !self.boot_id.is_empty()
            && !self.pid_namespace.is_empty()
            && self.start_time != 0
            && self.boot_id == other.boot_id
            && self.pid_namespace == other.pid_namespace
            && self.user == other.user;
        comparable && living(other.pid) != Some(other.start_time)
    }
}

/// When a process started that is there and is not only waiting for its parent to notice its end.
fn living(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold blanks and parentheses itself.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    match fields.next()? {
        "Z" | "X" => None,
        _ => fields.nth(18)?.parse().ok(),
    }
}

pub(super) fn host() -> String {
    line("/proc/sys/kernel/hostname")
        .or_else(|| super::text("HOSTNAME"))
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
    fn a_process_is_gone_when_its_number_is_free_or_another_has_it() {
        let own = ProcessIdentity::own();
        assert!(!own.is_gone(&own));

        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        let start_time = living(pid).unwrap();
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
    fn a_process_elsewhere_is_never_called_gone() {
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
