//! Input that all shoots of a `kvshoot keep` share.

use super::autoscaler::AutoscaledShoots;
use super::metrics::KeepMetrics;
use super::options::KeepOptions;
use crate::app::context::Context;
use crate::app::signals::Signals;
use crate::cluster::ApiClient;
use tokio::sync::Semaphore;

/// All shoots of one `kvshoot keep`.
pub(super) struct KeepScope<'a> {
    pub(super) options: &'a KeepOptions,
    pub(super) context: &'a Context,
    /// Ends the loop, and its runs.
    pub(super) signals: &'a Signals,
    pub(super) provider: &'a ApiClient,
    /// Limits the backups that are made at the same time.
    pub(super) backups: &'a Semaphore,
    pub(super) metrics: &'a KeepMetrics,
    pub(super) autoscaled: &'a AutoscaledShoots,
}
