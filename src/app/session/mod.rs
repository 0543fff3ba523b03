//! One run that changes a shoot, from the lock to the last event.

mod background;
pub(crate) mod history;
mod reporter;
pub(crate) mod result;
pub(crate) mod retry;
#[expect(
    clippy::module_inception,
    reason = "the session is what this folder is about"
)]
pub(crate) mod session;
