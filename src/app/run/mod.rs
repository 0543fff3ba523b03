//! One run that changes a shoot, from the lock to the last event.

mod background;
pub(crate) mod diagnosis;
pub(crate) mod group;
pub(crate) mod history;
mod reporter;
pub(crate) mod result;
pub(crate) mod retry;
pub(crate) mod session;
