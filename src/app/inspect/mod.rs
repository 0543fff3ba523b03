//! Reading the state of clusters. Nothing here changes anything.

pub(crate) mod events;
pub(crate) mod get;
pub(crate) mod health;
pub(crate) mod images;
pub(crate) mod list;
pub(crate) mod nodes;
pub(crate) mod pools;
pub(crate) mod recorded_hibernation;
pub(crate) mod shoot_summary;
pub(crate) mod status;
pub(crate) mod wait;
pub(crate) mod wait_condition;

#[cfg(test)]
mod agreement_tests;
#[cfg(test)]
mod fuzz_tests;
