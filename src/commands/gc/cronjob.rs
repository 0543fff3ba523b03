//! What has a cluster call gc by itself.

use super::GcArgs;
use crate::cluster;
use crate::commands::Context;
use std::fmt::Write as _;
use std::time::Duration;

/// Nothing is published under that name: whoever runs it elsewhere than on a sandbox has an image of his own.
const IMAGE: &str = concat!("kvshoot:", env!("CARGO_PKG_VERSION"));
/// Often enough that a cluster outlives its time by minutes.
const SCHEDULE: &str = "*/10 * * * *";
/// That of gc's own end, beside its time: it tells what is left.
const LAST_WORDS: Duration = Duration::from_secs(60);

/// How gc is called by a cluster.
#[derive(Debug, clap::Args)]
pub(super) struct CronJobArgs {
    /// Print a CronJob that does this, with an account that may do nothing else; delete nothing
    #[arg(long, conflicts_with = "dry_run")]
    pub(super) print_cronjob: bool,
    /// When the CronJob does it, as cron has it
    #[arg(long, value_name = "CRON", default_value = SCHEDULE, requires = "print_cronjob", value_parser = schedule)]
    schedule: String,
    /// Image of the CronJob, with kvshoot in its PATH
    #[arg(long, value_name = "IMAGE", default_value = IMAGE, requires = "print_cronjob", value_parser = image)]
    image: String,
}

pub(super) fn print(args: &GcArgs, context: &Context) {
    let namespace = context.global.namespace.as_deref();
    context.ui.data(&manifest(args, namespace));
    let ui = &context.ui;
    let flag = namespace.map_or(String::new(), |it| format!(" -n {it}"));
    ui.hint(&format!("kubectl{flag} apply -f - takes it"));
    if args.cronjob.image == IMAGE {
        ui.hint(
            "--image names an image that your cluster can pull; the README tells how to build one",
        );
    }
}

/// ServiceAccount, Role, RoleBinding and CronJob.
fn manifest(args: &GcArgs, namespace: Option<&str>) -> String {
    let CronJobArgs {
        schedule, image, ..
    } = &args.cronjob;
    let place = namespace.map_or(String::new(), |it| format!("  namespace: {it}\n"));
    let subject = namespace.map_or(String::new(), |it| format!("    namespace: {it}\n"));
    let rules = cluster::rules_to_delete();
    let (command, limit) = (command(args), (args.run.timeout + LAST_WORDS).as_secs());
    let (schedule, image) = (quoted(schedule), quoted(image));
    format!(
        r#"# Deletes the clusters whose time is over: kvshoot gc --print-cronjob
apiVersion: v1
kind: ServiceAccount
metadata:
  name: kvshoot-gc
{place}  labels:
    app.kubernetes.io/name: kvshoot-gc
automountServiceAccountToken: false
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: kvshoot-gc
{place}  labels:
    app.kubernetes.io/name: kvshoot-gc
rules:
{rules}---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: kvshoot-gc
{place}  labels:
    app.kubernetes.io/name: kvshoot-gc
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: kvshoot-gc
subjects:
  - kind: ServiceAccount
    name: kvshoot-gc
{subject}---
apiVersion: batch/v1
kind: CronJob
metadata:
  name: kvshoot-gc
{place}  labels:
    app.kubernetes.io/name: kvshoot-gc
spec:
  schedule: {schedule}
  concurrencyPolicy: Forbid
  # One that was missed is not made up for; after a hundred of them a CronJob without this would stop for good.
  startingDeadlineSeconds: 300
  successfulJobsHistoryLimit: 1
  failedJobsHistoryLimit: 3
  jobTemplate:
    spec:
      activeDeadlineSeconds: {limit}
      # The next one begins where this one ended.
      backoffLimit: 0
      template:
        metadata:
          labels:
            app.kubernetes.io/name: kvshoot-gc
            app.kubernetes.io/managed-by: kvshoot
        spec:
          serviceAccountName: kvshoot-gc
          automountServiceAccountToken: true
          enableServiceLinks: false
          restartPolicy: Never
          securityContext:
            runAsNonRoot: true
            runAsUser: 65532
            runAsGroup: 65532
            seccompProfile:
              type: RuntimeDefault
          containers:
            - name: gc
              image: {image}
              command: {command}
              resources:
                requests:
                  cpu: 10m
                  memory: 32Mi
                limits:
                  memory: 256Mi
              securityContext:
                allowPrivilegeEscalation: false
                capabilities:
                  drop: [ALL]
                readOnlyRootFilesystem: true
              terminationMessagePolicy: FallbackToLogsOnError
"#
    )
}

/// What the pod runs: without a shell, which an image need not have.
fn command(args: &GcArgs) -> String {
    let mut words = "[kvshoot, gc".to_owned();
    for (flag, is_given) in [("--expired", args.expired), ("--orphans", args.orphans)] {
        if is_given {
            let _ = write!(words, ", {flag}");
        }
    }
    format!("{words}, --timeout={}s]", args.run.timeout.as_secs())
}

/// As JSON has it, which YAML reads too.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Five fields or a word with @; whether the numbers are in their bounds is the cluster's to say.
fn schedule(text: &str) -> Result<String, String> {
    let is_field = |it: &str| {
        let mut chars = it.chars();
        chars.all(|it| it.is_ascii_alphanumeric() || "*/,-?".contains(it))
    };
    let fields: Vec<&str> = text.split(' ').filter(|it| !it.is_empty()).collect();
    let is_word = [
        "@yearly",
        "@annually",
        "@monthly",
        "@weekly",
        "@daily",
        "@midnight",
        "@hourly",
    ];
    match fields.as_slice() {
        [word] if is_word.contains(word) => Ok((*word).to_owned()),
        [_, _, _, _, _] if fields.iter().all(|it| is_field(it)) => Ok(fields.join(" ")),
        _ => Err(format!(
            "is not of the form MINUTE HOUR DAY MONTH WEEKDAY, such as {SCHEDULE:?}"
        )),
    }
}

fn image(text: &str) -> Result<String, String> {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "._-/:@".contains(it);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => Ok(text.to_owned()),
        false => Err("is no reference to an image".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_those_of_cron() {
        for good in ["*/10 * * * *", "0 3 * * mon-fri", "@hourly"] {
            assert_eq!(schedule(good).as_deref(), Ok(good));
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
            assert!(schedule(bad).is_err(), "{bad:?}");
        }
    }
}
