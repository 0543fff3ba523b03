//! Arguments that the commands about backups share.

use crate::app::backup::place::{DEFAULT_DESTINATION, PlaceOptions};
use crate::backup::{BackupDestination, RetentionPolicy, parse_s3_endpoint};
use crate::ui::parse_duration;
use std::time::Duration;

/// Destination
#[derive(Debug, clap::Args)]
pub(super) struct StorageArgs {
    /// URL of an S3 server other than AWS [default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL]
    #[arg(long, value_name = "URL", value_parser = parse_s3_endpoint)]
    s3_endpoint: Option<String>,
    /// Time limit, for example 90s or 1h30m
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = parse_duration)]
    timeout: Duration,
}

/// Retention
#[derive(Debug, clap::Args)]
#[group(id = "keep", multiple = true)]
pub(super) struct KeepArgs {
    /// Keep the newest N backups
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    keep_last: usize,
    /// Keep the newest backup of each of the last N hours with backups
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    keep_hourly: usize,
    /// Keep the newest backup of each of the last N days with backups
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    keep_daily: usize,
    /// Keep the newest backup of each of the last N weeks with backups
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    keep_weekly: usize,
}

/// Source of backups
#[derive(Debug, clap::Args)]
pub(super) struct SourceArgs {
    /// Directory, or s3://BUCKET/PREFIX, where the backups are
    #[arg(
        long,
        value_name = "DEST",
        env = "KVSHOOT_BACKUPS",
        default_value = DEFAULT_DESTINATION,
        value_hint = clap::ValueHint::DirPath
    )]
    from: BackupDestination,
    #[command(flatten)]
    storage: StorageArgs,
}

impl StorageArgs {
    pub(super) fn options(&self, destination: &BackupDestination) -> PlaceOptions {
        PlaceOptions {
            destination: destination.clone(),
            s3_endpoint: self.s3_endpoint.clone(),
            timeout: self.timeout,
        }
    }
}

impl KeepArgs {
    pub(super) fn policy(&self) -> RetentionPolicy {
        RetentionPolicy {
            last: self.keep_last,
            hourly: self.keep_hourly,
            daily: self.keep_daily,
            weekly: self.keep_weekly,
        }
    }
}

impl SourceArgs {
    pub(super) fn options(&self) -> PlaceOptions {
        self.storage.options(&self.from)
    }
}
