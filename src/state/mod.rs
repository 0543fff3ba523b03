//! Existing and desired state as data: names, object keys, observed facts, the record, actions, and plans as values.
//!
//! The planner, the loop and the door to the API servers share these types. Nothing here talks to a cluster or decides
//! what happens next.

pub(crate) mod action;
pub(crate) mod conditions;
pub(crate) mod desired;
pub(crate) mod duty;
pub(crate) mod facts;
pub(crate) mod failure;
pub(crate) mod hash;
pub(crate) mod json;
pub(crate) mod key;
pub(crate) mod names;
pub(crate) mod observed;
pub(crate) mod plan;
pub(crate) mod prerequisite;
pub(crate) mod printable;
pub(crate) mod record;
pub(crate) mod site;
pub(crate) mod store;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod upgrade;
