//! The provider cluster: connecting to it, checking its prerequisites, and the sandbox.

pub(crate) mod check_rows;
pub(crate) mod connect;
pub(crate) mod doctor;
pub(crate) mod external_objects;
pub(crate) mod fetch;
pub(crate) mod prepare;
pub(crate) mod sandbox;
pub(crate) mod sandbox_clock;
mod sandbox_dirs;
mod sandbox_doctor;
mod sandbox_error;
pub(crate) mod sandbox_guests;
mod sandbox_steps;
