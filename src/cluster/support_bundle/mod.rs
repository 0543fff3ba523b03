//! Contents of a support bundle, without secrets.

pub(crate) mod collect;
pub(crate) mod kinds;
pub(crate) mod line_redactor;
pub(crate) mod logs;
pub(crate) mod ownership;
pub(crate) mod provider;
pub(crate) mod redact;
pub(crate) mod secrets;
pub(crate) mod shoot;
