//! CronJobs that run kvshoot inside a cluster.

use super::account::{Account, account};
use super::pod::{KvshootPod, RestartPolicy, indented};
use super::{IMAGE, hint, quoted};
use crate::app::context::Context;
use std::time::Duration;

/// Added to the timeout of the command, which reports the result after its time limit.
const GRACE: Duration = Duration::from_secs(60);

/// Schedule and image of a CronJob.
#[derive(Debug, Clone)]
pub(crate) struct CronJobOptions {
    pub(crate) schedule: String,
    pub(crate) image: String,
}

/// A CronJob that runs a subcommand.
pub(crate) struct CronJob {
    /// A sentence without a full stop.
    pub(crate) about: &'static str,
    pub(crate) verb: &'static str,
    /// The end of the names of all objects.
    pub(crate) name: String,
    /// Arguments of the subcommand except for the timeout.
    pub(crate) arguments: Vec<String>,
    pub(crate) timeout: Duration,
    /// Rules of the Role, as YAML.
    pub(crate) rules: String,
    /// Rules of the ClusterRole, as YAML. It is printed only if the namespace is given.
    pub(crate) cluster_rules: Option<String>,
    pub(crate) migration_rules: Option<String>,
    /// Secrets whose keys are environment variables.
    pub(crate) environment: Vec<String>,
    /// PersistentVolumeClaims below [`super::pod::CLAIMS`].
    pub(crate) claims: Vec<String>,
}

/// Prints the manifests of a CronJob, and hints on how to apply them.
pub(crate) fn print(job: &CronJob, options: &CronJobOptions, context: &Context) {
    let namespace = context.provider.namespace.as_deref();
    context.ui.data(&manifest(job, options, namespace));
    hint(options.image == IMAGE, context);
}

/// ServiceAccount, Role, RoleBinding and CronJob.
fn manifest(job: &CronJob, options: &CronJobOptions, namespace: Option<&str>) -> String {
    let place = namespace.map_or(String::new(), |it| format!("  namespace: {it}\n"));
    let CronJob {
        verb,
        name,
        timeout,
        ..
    } = job;
    let account = account(
        &Account {
            about: job.about,
            command: &format!("{verb} --print-cronjob"),
            name,
            rules: &job.rules,
            cluster_rules: job.cluster_rules.as_deref(),
            migration_rules: job.migration_rules.as_deref(),
        },
        namespace,
    );
    let mut arguments = job.arguments.clone();
    arguments.push(format!("--timeout={}s", timeout.as_secs()));
    let pod = KvshootPod {
        name,
        verb,
        arguments,
        image: &options.image,
        restart: RestartPolicy::Never,
        environment: &job.environment,
        claims: &job.claims,
        metrics: None,
        node_groups: None,
    };
    let limit = (*timeout + GRACE).as_secs();
    let pod = indented(&pod.template(), 8);
    let schedule = quoted(&options.schedule);
    format!(
        r#"{account}---
apiVersion: batch/v1
kind: CronJob
metadata:
  name: kvshoot-{name}
{place}  labels:
    app.kubernetes.io/name: kvshoot-{name}
spec:
  schedule: {schedule}
  concurrencyPolicy: Forbid
  # Without this, a CronJob stops for good after a hundred missed runs.
  startingDeadlineSeconds: 300
  successfulJobsHistoryLimit: 1
  failedJobsHistoryLimit: 3
  jobTemplate:
    spec:
      activeDeadlineSeconds: {limit}
      # The next run resumes.
      backoffLimit: 0
      template:
{pod}"#
    )
}

/// Checks for five fields or a word with @. The API server checks the numbers.
///
/// # Errors
///
/// The text is not a cron schedule.
pub(crate) fn parse_schedule(text: &str) -> Result<String, String> {
    let is_field = |field: &str| {
        let mut chars = field.chars();
        chars.all(|it| it.is_ascii_alphanumeric() || "*/,-?".contains(it))
    };
    let fields: Vec<&str> = text.split(' ').filter(|it| !it.is_empty()).collect();
    let words = [
        "@yearly",
        "@annually",
        "@monthly",
        "@weekly",
        "@daily",
        "@midnight",
        "@hourly",
    ];
    match fields.as_slice() {
        [word] if words.contains(word) => Ok((*word).to_owned()),
        [_, _, _, _, _] if fields.iter().all(|it| is_field(it)) => Ok(fields.join(" ")),
        _ => {
            let form = "is not of the form MINUTE HOUR DAY MONTH WEEKDAY, such as \"*/10 * * * *\"";
            Err(form.to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_has_five_fields_or_is_a_word() {
        for good in ["*/10 * * * *", "0 3 * * mon-fri", "@hourly"] {
            assert_eq!(parse_schedule(good).as_deref(), Ok(good));
        }
        for bad in [
            "",
            "10m",
            "* * * *",
            "* * * * * *",
            "@often",
            "* * * * \"",
            "*\n* * * *",
        ] {
            assert!(parse_schedule(bad).is_err(), "{bad:?}");
        }
    }
}
