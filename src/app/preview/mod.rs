//! `kvshoot plan`: what apply would do.

mod diff;
mod field_diff;
mod format;
pub(crate) mod plan;
mod reasons;
mod types;
