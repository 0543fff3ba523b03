//! Metrics: their text in the format of OpenMetrics, and a web server that serves it.

mod exposition;
mod server;

pub(crate) use exposition::{Exposition, Family};
pub(crate) use server::serve;
