//! `kvshoot sandbox doctor`.

use super::check_rows::{CheckRow, print};
use super::fetch::fetch;
use super::sandbox_error::{RAISE_INOTIFY, failure};
use crate::app::context::Context;
use crate::app::error::Exit;
use crate::cluster::doctor::check_result::{CheckResult, CheckStatus, passed, warning};
use crate::sandbox::{
    self, Dirs, InotifyShortage, ProgramState, ReleaseArchives, SandboxError, kvm_obstacle,
};
use crate::ui::Format;

/// Checks whether this computer can run a sandbox, and virtual machines in it. The exit code is 1 if it cannot run a
/// sandbox.
pub(super) fn doctor(dirs: &Dirs, output: Format, context: &Context) -> Exit {
    let checks = [
        programs(dirs),
        user_namespaces(),
        inotify(),
        virtual_machines(dirs),
        kvm(),
    ];
    let rows: Vec<CheckRow> = checks.into_iter().map(CheckRow).collect();
    print(&rows, output, context)
}

fn programs(dirs: &Dirs) -> CheckResult {
    let archives = ReleaseArchives::new(None, fetch);
    let subject = "programs";
    match sandbox::program_state(dirs, &archives) {
        ProgramState::Installed(folder) => {
            passed(subject, format!("installed in {}", folder.display()))
        }
        ProgramState::Downloadable => passed(subject, "the first start downloads them"),
        ProgramState::Buildable(version) => passed(
            subject,
            format!("the first start builds them with {version}"),
        ),
        ProgramState::Unavailable(error) => problem(subject, CheckStatus::Failed, error),
    }
}

fn user_namespaces() -> CheckResult {
    let subject = "user namespaces";
    match sandbox::check_user_namespaces() {
        Ok(()) => passed(subject, "pods have a root directory of their own"),
        Err(error) => problem(subject, CheckStatus::Failed, error),
    }
}

fn inotify() -> CheckResult {
    let subject = "inotify";
    match sandbox::inotify_shortage() {
        None => passed(subject, "there are enough instances for another cluster"),
        Some(InotifyShortage { free, needed }) => CheckResult {
            hint: Some(RAISE_INOTIFY.to_owned()),
            ..warning(
                subject,
                format!("{free} instances are free, and a cluster needs about {needed}"),
            )
        },
    }
}

fn virtual_machines(dirs: &Dirs) -> CheckResult {
    let subject = "virtual machines";
    match sandbox::guest_programs(&dirs.path) {
        Ok(_) => passed(subject, "their programs are installed"),
        Err(error) => problem(subject, CheckStatus::Warning, error),
    }
}

fn kvm() -> CheckResult {
    let subject = "KVM";
    match kvm_obstacle() {
        None => passed(subject, "virtual machines use it"),
        Some(obstacle) => warning(
            subject,
            format!("virtual machines are emulated, which is slow: {obstacle}"),
        ),
    }
}

fn problem(subject: &'static str, status: CheckStatus, error: SandboxError) -> CheckResult {
    let error = failure(error);
    CheckResult {
        status,
        hint: error.hints.into_iter().next(),
        ..passed(subject, error.message)
    }
}
