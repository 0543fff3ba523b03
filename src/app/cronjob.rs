//! CronJobs that run kvshoot inside a cluster, with a ServiceAccount of minimal permissions.

use super::context::Context;
use std::time::Duration;

/// The default image. It is not published: only a sandbox has it, other clusters need `--image`.
pub(crate) const IMAGE: &str = concat!("kvshoot:", env!("CARGO_PKG_VERSION"));
/// Path of the volume of a CronJob.
pub(crate) const MOUNT_PATH: &str = "/backups";
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
    /// Secret whose keys are environment variables.
    pub(crate) environment: Option<String>,
    /// PersistentVolumeClaim at [`MOUNT_PATH`].
    pub(crate) claim: Option<String>,
}

/// A ServiceAccount with a Role, and maybe a ClusterRole.
pub(crate) struct Account<'a> {
    /// A sentence without a full stop.
    pub(crate) about: &'static str,
    /// The command that prints it.
    pub(crate) command: &'a str,
    /// The end of the names of all objects.
    pub(crate) name: &'a str,
    /// Rules of the Role, as YAML.
    pub(crate) rules: &'a str,
    /// Rules of the ClusterRole, as YAML. It is printed only if the namespace is given.
    pub(crate) cluster_rules: Option<&'a str>,
}

/// Prints the manifests of a CronJob, and hints on how to apply them.
pub(crate) fn print(job: &CronJob, options: &CronJobOptions, context: &Context) {
    let namespace = context.provider.namespace.as_deref();
    context.ui.data(&manifest(job, options, namespace));
    hint(options.image == IMAGE, context);
}

/// Hints on how to apply printed manifests.
pub(crate) fn hint(has_default_image: bool, context: &Context) {
    let namespace = context.provider.namespace.as_deref();
    let ui = &context.ui;
    let flag = namespace.map_or(String::new(), |it| format!(" -n {it}"));
    ui.hint(&format!("to apply it: pipe it to kubectl{flag} apply -f -"));
    if has_default_image {
        ui.hint("pass --image with an image that your cluster can pull; docs/guide.md shows how to build one");
    }
}

/// ServiceAccount, Role and RoleBinding, and what is needed in the cluster.
pub(crate) fn account(account: &Account<'_>, namespace: Option<&str>) -> String {
    let place = namespace.map_or(String::new(), |it| format!("  namespace: {it}\n"));
    let subject = namespace.map_or(String::new(), |it| format!("    namespace: {it}\n"));
    let Account {
        about,
        command,
        name,
        rules,
        ..
    } = account;
    let of_cluster = cluster_role(account, namespace);
    format!(
        r#"# {about}: kvshoot {command}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: kvshoot-{name}
{place}  labels:
    app.kubernetes.io/name: kvshoot-{name}
automountServiceAccountToken: false
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: kvshoot-{name}
{place}  labels:
    app.kubernetes.io/name: kvshoot-{name}
rules:
{rules}---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: kvshoot-{name}
{place}  labels:
    app.kubernetes.io/name: kvshoot-{name}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: kvshoot-{name}
subjects:
  - kind: ServiceAccount
    name: kvshoot-{name}
{subject}{of_cluster}"#
    )
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
        },
        namespace,
    );
    let arguments = [
        job.arguments.as_slice(),
        &[format!("--timeout={}s", timeout.as_secs())],
    ];
    let (command, limit) = (
        command(verb, &arguments.concat()),
        (*timeout + GRACE).as_secs(),
    );
    let environment = job.environment.as_ref().map_or(String::new(), |secret| {
        format!(
            "              envFrom:\n                - secretRef:\n                    name: {secret}\n"
        )
    });
    let (group, mount) = match &job.claim {
        Some(claim) => ("            fsGroup: 65532\n", volume(claim)),
        None => ("", String::new()),
    };
    let schedule = quoted(&options.schedule);
    let image = quoted(&options.image);
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
        metadata:
          labels:
            app.kubernetes.io/name: kvshoot-{name}
            app.kubernetes.io/managed-by: kvshoot
        spec:
          serviceAccountName: kvshoot-{name}
          automountServiceAccountToken: true
          enableServiceLinks: false
          restartPolicy: Never
          securityContext:
            runAsNonRoot: true
            runAsUser: 65532
            runAsGroup: 65532
            seccompProfile:
              type: RuntimeDefault
{group}          containers:
            - name: {verb}
              image: {image}
              command: {command}
{environment}              resources:
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
{mount}"#
    )
}

/// The volume of the pod, and where the container has it.
fn volume(claim: &str) -> String {
    format!(
        r#"              volumeMounts:
                - name: backups
                  mountPath: {MOUNT_PATH}
          volumes:
            - name: backups
              persistentVolumeClaim:
                claimName: {claim}
"#
    )
}

/// ClusterRole and ClusterRoleBinding.
fn cluster_role(account: &Account<'_>, namespace: Option<&str>) -> String {
    let (Some(rules), Some(namespace)) = (account.cluster_rules, namespace) else {
        return String::new();
    };
    let name = format!("kvshoot-{}-{namespace}", account.name);
    format!(
        r#"---
# For reading zones and storage classes. Leave it out only if apply runs without these permissions, too.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {name}
  labels:
    app.kubernetes.io/name: kvshoot-{part}
rules:
{rules}---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {name}
  labels:
    app.kubernetes.io/name: kvshoot-{part}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {name}
subjects:
  - kind: ServiceAccount
    name: kvshoot-{part}
    namespace: {namespace}
"#,
        part = account.name,
    )
}

/// The command of the container. It needs no shell.
pub(crate) fn command(verb: &str, arguments: &[String]) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./:=@".contains(it);
    let arguments = arguments.iter().map(|it| match it.chars().all(is_plain) {
        true => format!(", {it}"),
        false => format!(", {}", quoted(it)),
    });
    format!("[kvshoot, {verb}{}]", arguments.collect::<String>())
}

/// A JSON string, which is also valid YAML.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
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

/// # Errors
///
/// The text is not an image reference.
pub(crate) fn parse_image(text: &str) -> Result<String, String> {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "._-/:@".contains(it);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => Ok(text.to_owned()),
        false => Err("is not a valid image reference".to_owned()),
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
