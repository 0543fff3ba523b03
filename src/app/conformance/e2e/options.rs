//! Options of a run of Kubernetes' own tests.

use crate::app::conformance::report::ReportFormat;
use std::path::PathBuf;
use std::time::Duration;

/// Limit for all specs, unless it is given.
const TIMEOUT: Duration = Duration::from_secs(6 * 60 * 60);

/// Options of `kvshoot conformance --e2e-test`.
#[derive(Debug)]
pub(crate) struct E2eOptions {
    /// Display name of the shoot.
    pub(crate) name: String,
    /// The test program, of the version of the cluster.
    pub(crate) program: PathBuf,
    /// File with the names of specs; None for all conformance tests.
    pub(crate) specs: Option<PathBuf>,
    /// Folder for the log and the reports of the program.
    pub(crate) report_dir: PathBuf,
    /// Limit for all specs together; None for six hours.
    pub(crate) timeout: Option<Duration>,
    pub(crate) output: ReportFormat,
}

impl E2eOptions {
    pub(super) fn limit(&self) -> Duration {
        self.timeout.unwrap_or(TIMEOUT)
    }
}
