//! An ephemeral run: create a cluster, run a command against it, and delete it again.

pub(crate) mod cluster;
mod program;
mod unique_name;
