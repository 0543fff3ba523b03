//! The use cases: what each subcommand does, without the command line.
//!
//! Arguments come in as plain option structs, results go to [`crate::ui`], and errors come back as
//! [`error::CommandError`] with an exit code.

pub(crate) mod access;
pub(crate) mod apply;
pub(crate) mod backup;
pub(crate) mod completions;
pub(crate) mod conformance;
pub(crate) mod context;
pub(crate) mod delete;
pub(crate) mod ephemeral;
pub(crate) mod error;
pub(crate) mod etcd;
pub(crate) mod evacuate;
pub(crate) mod expiry;
pub(crate) mod gc;
pub(crate) mod in_cluster;
pub(crate) mod init;
pub(crate) mod inspect;
pub(crate) mod keep;
pub(crate) mod lifecycle;
pub(crate) mod manifests;
pub(crate) mod node_actions;
pub(crate) mod preview;
pub(crate) mod protection;
pub(crate) mod provider;
pub(crate) mod repair;
pub(crate) mod restore;
pub(crate) mod rotate;
pub(crate) mod run;
pub(crate) mod signals;
pub(crate) mod support_bundle;
pub(crate) mod version;
pub(crate) mod why;
