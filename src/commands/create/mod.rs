//! Creating, changing and deleting clusters.

pub(super) mod apply;
pub(super) mod delete;
pub(super) mod init;
pub(super) mod plan;
pub(super) mod run;
