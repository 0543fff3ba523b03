//! Root causes of what is not ready.

pub(crate) mod cause_chain;
pub(crate) mod cause_index;
pub(crate) mod collect;
mod console;
pub(crate) mod diagnosis;
mod guest;
mod log_lines;
pub(crate) mod machine;
pub(crate) mod orphaned_volumes;
pub(crate) mod pod;
pub(crate) mod volume;
