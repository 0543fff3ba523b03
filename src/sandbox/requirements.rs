//! Requirements on the kernel, and programs of this computer, checked before they are needed.

use super::error::SandboxError;
use std::path::{Path, PathBuf};

/// inotify instances that the control plane of a shoot uses to watch its certificates.
const INOTIFY_PER_SHOOT: usize = 14;
const MAX_INOTIFY: &str = "/proc/sys/fs/inotify/max_user_instances";

/// Kernel settings that disable user namespaces: file, value, and the command that enables them.
const SETTINGS: [(&str, &str, &str); 3] = [
    (
        "/proc/sys/user/max_user_namespaces",
        "0",
        "sudo sysctl -w user.max_user_namespaces=15000",
    ),
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "sudo sysctl -w kernel.unprivileged_userns_clone=1",
    ),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
];

/// Programs of this computer that virtual machines need, and the packages of Debian and Ubuntu that have them.
pub(super) const GUEST_PROGRAMS: [(&str, &str); 3] = [
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("qemu-img", "qemu-utils"),
    ("xorriso", "xorriso"),
];

/// Programs that make the disk of virtual machines.
const DISK_PROGRAMS: [(&str, &str); 2] = [("mmdebstrap", "mmdebstrap"), ("mkfs.ext4", "e2fsprogs")];

/// Folders with programs that may not be in PATH of users other than root.
const ADMIN_FOLDERS: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Free inotify instances of the user, if they may not suffice for another shoot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InotifyShortage {
    pub(crate) free: usize,
    pub(crate) needed: usize,
}

/// Checks that pods can get a root directory of their own: as root, or in a user namespace.
pub(crate) fn check_user_namespaces() -> Result<(), SandboxError> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let read = |file: &str| std::fs::read_to_string(file).ok();
    user_namespaces(Path::new("/proc/self/ns/user").exists(), read)
}

fn user_namespaces(
    in_kernel: bool,
    read: impl Fn(&str) -> Option<String>,
) -> Result<(), SandboxError> {
    if !in_kernel {
        return Err(SandboxError::NoUserNamespaces {
            reason: "the kernel was built without CONFIG_USER_NS".to_owned(),
            command: None,
        });
    }
    let is_set = |file: &str, value: &str| read(file).is_some_and(|it| it.trim() == value);
    let disabled = SETTINGS.iter().find(|(file, value, _)| is_set(file, value));
    match disabled {
        None => Ok(()),
        Some((file, value, command)) => Err(SandboxError::NoUserNamespaces {
            reason: format!("{file} is {value}"),
            command: Some(command),
        }),
    }
}

/// Finds the programs that run virtual machines. Fails if one of them is missing, or one that makes their disk.
pub(crate) fn guest_programs(
    path: &[PathBuf],
) -> Result<Vec<(&'static str, PathBuf)>, SandboxError> {
    let folders = || {
        path.iter()
            .map(PathBuf::as_path)
            .chain(ADMIN_FOLDERS.map(Path::new))
    };
    let find = |name: &str| folders().map(|it| it.join(name)).find(|it| it.is_file());
    // Without root, mmdebstrap needs it.
    let is_root = rustix::process::geteuid().is_root();
    let uidmap = (!is_root).then_some(&("newuidmap", "uidmap"));
    let needed = GUEST_PROGRAMS.iter().chain(&DISK_PROGRAMS).chain(uidmap);
    let missing: Vec<_> = needed.filter(|it| find(it.0).is_none()).collect();
    if !missing.is_empty() {
        return Err(SandboxError::NoGuestPrograms {
            programs: missing.iter().map(|it| it.0.to_owned()).collect(),
            packages: missing.iter().map(|it| it.1).collect(),
        });
    }
    let found = |it: &(&'static str, &str)| Some((it.0, find(it.0)?));
    Ok(GUEST_PROGRAMS.iter().filter_map(found).collect())
}

/// Returns why this computer cannot run virtual machines with KVM; they are then emulated.
///
/// `/dev/kvm` alone says little: some virtual computers have one that cannot run a stock kernel. Those lack the flag of
/// the processor's virtualization.
pub(crate) fn kvm_obstacle() -> Option<String> {
    let device = "/dev/kvm";
    let options = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(device);
    if let Err(error) = options {
        return Some(format!("cannot open {device}: {error}"));
    }
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut flags = processors.lines().filter(|it| it.starts_with("flags"));
    let has_virtualization = flags.any(|it| {
        it.split_whitespace()
            .any(|flag| flag == "vmx" || flag == "svm")
    });
    (!has_virtualization).then(|| "the processor has no hardware virtualization".to_owned())
}

/// Returns the free inotify instances of the user if another shoot may need more.
///
/// Processes of other users, and those that cannot be inspected, are not counted.
pub(crate) fn inotify_shortage() -> Option<InotifyShortage> {
    let limit = std::fs::read_to_string(MAX_INOTIFY).ok()?;
    shortage(limit.trim().parse().ok()?, used_instances())
}

fn shortage(limit: usize, used: usize) -> Option<InotifyShortage> {
    let free = limit.saturating_sub(used);
    (free < INOTIFY_PER_SHOOT).then_some(InotifyShortage {
        free,
        needed: INOTIFY_PER_SHOOT,
    })
}

/// inotify instances in processes of this user.
fn used_instances() -> usize {
    let user = rustix::process::geteuid().as_raw();
    let is_own = |pid: u32| {
        use std::os::unix::fs::MetadataExt as _;
        std::fs::metadata(format!("/proc/{pid}")).is_ok_and(|it| it.uid() == user)
    };
    let open = |pid: u32| {
        let files = std::fs::read_dir(format!("/proc/{pid}/fd"));
        let files = files.into_iter().flatten().flatten();
        let targets = files.filter_map(|it| std::fs::read_link(it.path()).ok());
        targets
            .filter(|it| it == Path::new("anon_inode:inotify"))
            .count()
    };
    super::process::process_ids()
        .filter(|it| is_own(*it))
        .map(open)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(in_kernel: bool, set: &[(&str, &str)]) -> Option<String> {
        let read = |file: &str| {
            let found = set.iter().find(|it| file.ends_with(it.0));
            found.map(|it| format!("{}\n", it.1))
        };
        let error = user_namespaces(in_kernel, read).err()?;
        Some(error.to_string())
    }

    #[test]
    fn a_kernel_without_user_namespaces_is_reported_with_the_setting() {
        let all = [
            ("max_user_namespaces", "63000"),
            ("unprivileged_userns_clone", "1"),
            ("apparmor_restrict_unprivileged_userns", "0"),
        ];
        assert_eq!(reason(true, &all), None);
        assert_eq!(reason(true, &[]), None);
        for (setting, value) in [
            ("max_user_namespaces", "0"),
            ("unprivileged_userns_clone", "0"),
            ("apparmor_restrict_unprivileged_userns", "1"),
        ] {
            let reason = reason(true, &[(setting, value)]).expect("it is disabled");
            assert!(reason.contains(setting), "{reason}");
        }
        assert!(
            reason(false, &all)
                .expect("no support")
                .contains("CONFIG_USER_NS")
        );
    }

    #[test]
    fn inotify_instances_are_short_if_another_shoot_would_use_the_last_ones() {
        assert_eq!(shortage(128, 100), None);
        let short = InotifyShortage {
            free: 8,
            needed: INOTIFY_PER_SHOOT,
        };
        assert_eq!(shortage(128, 120), Some(short));
        assert_eq!(shortage(128, 200).map(|it| it.free), Some(0));
    }
}
