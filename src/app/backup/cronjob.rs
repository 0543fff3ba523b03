//! `kvshoot backup --print-cronjob`.

use super::create::BackupOptions;
use super::encryption;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::in_cluster::cronjob::{self, CronJob, CronJobOptions};
use crate::app::in_cluster::pod::CLAIMS;
use crate::backup::BackupDestination;
use crate::cluster;

/// Prints a CronJob that backs up a shoot. `secret` is the name of a Secret with the credentials of the destination.
pub(crate) fn print(
    options: &BackupOptions,
    secret: Option<String>,
    schedule: &CronJobOptions,
    context: &Context,
) -> Result<Exit, CommandError> {
    // Invalid ones are reported now, and not by the first Job.
    encryption::recipients(&options.recipients, &options.recipient_files)?;
    let (destination, claims) = match &options.place.destination {
        BackupDestination::Claim(claim) => (format!("{CLAIMS}/{claim}"), vec![claim.clone()]),
        BackupDestination::Bucket { .. } => (options.place.destination.to_string(), Vec::new()),
        BackupDestination::Directory(_) => {
            let message = "a directory of this computer is not a destination of a CronJob";
            let error = CommandError::new(Exit::Usage, message);
            return Err(error.hint("pass --to s3://BUCKET/PREFIX or --to pvc:NAME"));
        }
    };
    let mut arguments = vec![options.name.clone(), format!("--to={destination}")];
    let endpoint = options.place.s3_endpoint.iter();
    arguments.extend(endpoint.map(|it| format!("--s3-endpoint={it}")));
    let recipients = encryption::lines(&options.recipients, &options.recipient_files)?;
    arguments.extend(recipients.iter().map(|it| format!("--recipient={it}")));
    if options.with_plain_keys {
        arguments.push("--with-plain-keys".to_owned());
    }
    let policy = options.policy;
    for (flag, number) in [
        ("last", policy.last),
        ("hourly", policy.hourly),
        ("daily", policy.daily),
        ("weekly", policy.weekly),
    ] {
        if number > 0 {
            arguments.push(format!("--keep-{flag}={number}"));
        }
    }
    let job = CronJob {
        about: "Backs up a cluster",
        verb: "backup",
        name: format!("backup-{}", options.name),
        arguments,
        timeout: options.place.timeout,
        rules: cluster::rules_to_back_up(),
        cluster_rules: None,
        migration_rules: None,
        environment: secret.into_iter().collect(),
        claims,
    };
    cronjob::print(&job, schedule, context);
    Ok(Exit::Done)
}
