//! Root causes of what is not ready.

pub(crate) mod cause_chain;
pub(crate) mod collect;
pub(crate) mod diagnosis;
pub(crate) mod index;
pub(crate) mod machine;
pub(crate) mod pod;
pub(crate) mod volume;
