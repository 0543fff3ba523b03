//! Runs plans until all is done; knows neither Kubernetes nor the terminal.

mod event;

pub(crate) use event::{Event, EventKind, Status};
