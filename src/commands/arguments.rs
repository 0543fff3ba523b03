//! Arguments that several commands share.

use crate::app::access::certificate::{AccessOptions, SubjectOptions};
use crate::app::in_cluster::cronjob::{CronJobOptions, parse_schedule};
use crate::app::in_cluster::{IMAGE, parse_image};
use crate::app::manifests::files::ManifestFiles;
use crate::app::run::session::RunOptions;
use crate::ui::parse_duration;
use std::path::PathBuf;
use std::time::Duration;

/// Manifests
#[derive(Debug, Clone, clap::Args)]
pub(super) struct ManifestArgs {
    /// File or directory of manifests, or - for standard input (repeatable)
    #[arg(
        short = 'f',
        long = "filename",
        value_name = "FILE",
        required = true,
        value_hint = clap::ValueHint::AnyPath
    )]
    filename: Vec<PathBuf>,
    /// CloudProfile of the cluster, if it is not among the manifests
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    profile: Option<PathBuf>,
}

impl ManifestArgs {
    pub(super) fn files(&self) -> ManifestFiles {
        ManifestFiles {
            manifests: self.filename.clone(),
            profile: self.profile.clone(),
        }
    }
}

/// Add-ons
#[derive(Debug, Clone, clap::Args)]
pub(super) struct AddonsArgs {
    /// Directory of add-on manifests to apply in the cluster; each file or subdirectory is one add-on, for example
    /// calico.yaml
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(super) addons: Option<PathBuf>,
}

/// Time limits
#[derive(Debug, Clone, clap::Args)]
pub(super) struct RunFlags {
    /// Time limit, for example 90s or 1h30m
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = parse_duration)]
    timeout: Duration,
    /// Time to wait for another run of the same shoot
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_duration)]
    lock_timeout: Duration,
}

impl RunFlags {
    pub(super) fn options(&self) -> RunOptions {
        RunOptions {
            timeout: self.timeout,
            lock_timeout: self.lock_timeout,
        }
    }
}

/// Client certificate
#[derive(Debug, clap::Args)]
pub(super) struct AccessArgs {
    /// Validity of the client certificate
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = parse_duration)]
    ttl: Duration,
    #[command(flatten)]
    subject: SubjectArgs,
}

/// Subject of a client certificate
#[derive(Debug, clap::Args)]
pub(super) struct SubjectArgs {
    /// Group of the client certificate [default: kvshoot:cluster-admins]
    #[arg(long, value_name = "GROUP")]
    as_group: Option<String>,
    /// Allow more than 30 days, and the group system:masters
    #[arg(long)]
    force: bool,
}

impl AccessArgs {
    pub(super) fn options(&self) -> AccessOptions {
        AccessOptions {
            ttl: self.ttl,
            subject: self.subject.options(),
        }
    }
}

impl SubjectArgs {
    pub(super) fn options(&self) -> SubjectOptions {
        SubjectOptions {
            group: self.as_group.clone(),
            force: self.force,
        }
    }
}

/// CronJob. The command sets the default of the schedule, and has the flag `--print-cronjob`.
#[derive(Debug, clap::Args)]
pub(super) struct CronJobArgs {
    /// Schedule of the CronJob in cron syntax
    #[arg(long, value_name = "CRON", requires = "print_cronjob", value_parser = parse_schedule)]
    schedule: Option<String>,
    /// Image of the CronJob, with kvshoot in its PATH
    #[arg(long, value_name = "IMAGE", default_value = IMAGE, requires = "print_cronjob", value_parser = parse_image)]
    image: String,
}

impl CronJobArgs {
    pub(super) fn options(&self) -> CronJobOptions {
        CronJobOptions {
            schedule: self.schedule.clone().unwrap_or_default(),
            image: self.image.clone(),
        }
    }
}
