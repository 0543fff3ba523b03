//! `kvshoot keep`: the plan of each shoot on a loop, limited to the manifest that was applied last.

pub(crate) mod deployment;
pub(crate) mod election;
mod keeper;
pub(crate) mod options;
mod scope;
mod shoot;
