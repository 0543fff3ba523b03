//! A provider cluster on this computer: Kubernetes and KubeVirt as plain processes, and a simulator for the parts that
//! need a hypervisor.

mod clock_file;
mod command_lines;
mod error;
mod identity;
mod install;
mod kubectl;
mod manager;
mod manifests;
mod private_files;
mod process;
mod progress;
mod provider;
mod requirements;
mod running;
mod state;

pub(crate) use error::SandboxError;
pub(crate) use install::{
    GUEST_COMPONENTS, KUBERNETES_VERSION, ProgramSources, ProgramState, ReleaseArchives,
    RemoteFile, install, install_guests, program_state,
};
pub(crate) use manager::{Sandbox, StartOutcome, ensure, programs_at};
pub(crate) use progress::Step;
pub(crate) use requirements::{
    InotifyShortage, check_user_namespaces, guest_programs, inotify_shortage, kvm_obstacle,
};
pub(crate) use running::{Fault, GuestFault, clock_at};
pub(crate) use state::{Dirs, GuestFiles, Guests};
