//! Steps of a restore besides its plan: roots are brought back, the snapshot is sent, and what refers to lost machines is
//! deleted.

mod clean;
mod raft_message;
mod roots;
mod send;

pub(crate) use clean::CleanedObjects;
pub(crate) use send::snapshot_number;
