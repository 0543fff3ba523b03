//! What has a cluster call kvshoot by itself: a CronJob, and an account that may do nothing else.

use super::Context;
use std::time::Duration;

/// Nothing is published under that name: whoever runs it elsewhere than on a sandbox has an image of his own.
const IMAGE: &str = concat!("kvshoot:", env!("CARGO_PKG_VERSION"));
/// That of the command's own end, beside its time: it tells what is left.
const LAST_WORDS: Duration = Duration::from_secs(60);

/// How it is called. What has them says how often, and has the flag `--print-cronjob`.
#[derive(Debug, clap::Args)]
pub(super) struct CronJobArgs {
    /// When the CronJob does it, as cron has it
    #[arg(long, value_name = "CRON", requires = "print_cronjob", value_parser = schedule)]
    schedule: Option<String>,
    /// Image of the CronJob, with kvshoot in its PATH
    #[arg(long, value_name = "IMAGE", default_value = IMAGE, requires = "print_cronjob", value_parser = image)]
    image: String,
}

/// What a CronJob does.
pub(super) struct Job {
    /// A sentence about it, without its end.
    pub(super) about: &'static str,
    /// The subcommand, which also names all of it.
    pub(super) verb: &'static str,
    /// Its arguments but the time it has.
    pub(super) words: Vec<String>,
    pub(super) timeout: Duration,
    /// Of its Role, as YAML.
    pub(super) rules: String,
    /// What it reads of the whole cluster, as YAML; bound only where the namespace of its account is known.
    pub(super) rules_of_cluster: Option<String>,
}

pub(super) fn print(job: &Job, args: &CronJobArgs, context: &Context) {
    let namespace = context.global.namespace.as_deref();
    context.ui.data(&manifest(job, args, namespace));
    let ui = &context.ui;
    let flag = namespace.map_or(String::new(), |it| format!(" -n {it}"));
    ui.hint(&format!("kubectl{flag} apply -f - takes it"));
    if args.image == IMAGE {
        ui.hint(
            "--image names an image that your cluster can pull; the README tells how to build one",
        );
    }
}

/// ServiceAccount, Role, RoleBinding and CronJob.
fn manifest(job: &Job, args: &CronJobArgs, namespace: Option<&str>) -> String {
    let place = namespace.map_or(String::new(), |it| format!("  namespace: {it}\n"));
    let subject = namespace.map_or(String::new(), |it| format!("    namespace: {it}\n"));
    let Job {
        about,
        verb,
        rules,
        timeout,
        ..
    } = job;
    let of_cluster = of_cluster(job, namespace);
    let (command, limit) = (command(job), (*timeout + LAST_WORDS).as_secs());
    let schedule = quoted(args.schedule.as_deref().unwrap_or_default());
    let image = quoted(&args.image);
    format!(
        r#"# {about}: kvshoot {verb} --print-cronjob
apiVersion: v1
kind: ServiceAccount
metadata:
  name: kvshoot-{verb}
{place}  labels:
    app.kubernetes.io/name: kvshoot-{verb}
automountServiceAccountToken: false
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: kvshoot-{verb}
{place}  labels:
    app.kubernetes.io/name: kvshoot-{verb}
rules:
{rules}---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: kvshoot-{verb}
{place}  labels:
    app.kubernetes.io/name: kvshoot-{verb}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: kvshoot-{verb}
subjects:
  - kind: ServiceAccount
    name: kvshoot-{verb}
{subject}{of_cluster}---
apiVersion: batch/v1
kind: CronJob
metadata:
  name: kvshoot-{verb}
{place}  labels:
    app.kubernetes.io/name: kvshoot-{verb}
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
            app.kubernetes.io/name: kvshoot-{verb}
            app.kubernetes.io/managed-by: kvshoot
        spec:
          serviceAccountName: kvshoot-{verb}
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
            - name: {verb}
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

/// ClusterRole and ClusterRoleBinding.
fn of_cluster(job: &Job, namespace: Option<&str>) -> String {
    let (Some(rules), Some(namespace)) = (&job.rules_of_cluster, namespace) else {
        return String::new();
    };
    let name = format!("kvshoot-{}-{namespace}", job.verb);
    format!(
        r#"---
# Without it kvshoot knows neither zones nor classes of volumes: leave it out only where who applies has no such rights.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {name}
  labels:
    app.kubernetes.io/name: kvshoot-{verb}
rules:
{rules}---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {name}
  labels:
    app.kubernetes.io/name: kvshoot-{verb}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {name}
subjects:
  - kind: ServiceAccount
    name: kvshoot-{verb}
    namespace: {namespace}
"#,
        verb = job.verb,
    )
}

/// What the pod runs: without a shell, which an image need not have.
fn command(job: &Job) -> String {
    let words = job.words.iter().map(|it| format!(", {it}"));
    let (verb, words) = (job.verb, words.collect::<String>());
    let timeout = job.timeout.as_secs();
    format!("[kvshoot, {verb}{words}, --timeout={timeout}s]")
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
        _ => {
            let form = "is not of the form MINUTE HOUR DAY MONTH WEEKDAY, such as \"*/10 * * * *\"";
            Err(form.to_owned())
        }
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
