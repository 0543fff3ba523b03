//! Steps of a restore besides its plan: roots are brought back, the snapshot is sent, what refers to lost machines is
//! deleted, and what is newer than the backup is found.

mod clean;
mod newer;
mod raft_message;
mod roots;
mod send;
mod terminate;

pub(crate) use clean::CleanedObjects;
pub(crate) use newer::UnmatchedObjects;
pub(crate) use send::snapshot_number;
