//! The pods that run kvshoot.

use super::quoted;
use crate::state::names::{NODE_GROUPS, SERVES};

/// Directory of the volumes of a pod, each below the name of its PersistentVolumeClaim.
pub(crate) const CLAIMS: &str = "/backups";

/// Name of the port with the metrics.
pub(crate) const METRICS: &str = "metrics";

/// A pod that runs a subcommand.
pub(crate) struct KvshootPod<'a> {
    /// The end of its label and of the name of its ServiceAccount.
    pub(crate) name: &'a str,
    pub(crate) verb: &'a str,
    pub(crate) arguments: Vec<String>,
    pub(crate) image: &'a str,
    pub(crate) restart: RestartPolicy,
    /// Secrets whose keys are environment variables.
    pub(crate) environment: &'a [String],
    /// PersistentVolumeClaims below [`CLAIMS`].
    pub(crate) claims: &'a [String],
    /// Port with the metrics, named [`METRICS`].
    pub(crate) metrics: Option<u16>,
    /// Port with node groups for cluster autoscalers, named [`NODE_GROUPS`].
    pub(crate) node_groups: Option<u16>,
}

/// Consequence of the end of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RestartPolicy {
    /// The pod ends, too.
    Never,
    /// The command starts again.
    Always,
}

impl KvshootPod<'_> {
    /// The pod template, as YAML.
    pub(crate) fn template(&self) -> String {
        let KvshootPod { name, verb, .. } = self;
        let restart = match self.restart {
            RestartPolicy::Never => "restartPolicy: Never",
            RestartPolicy::Always => "terminationGracePeriodSeconds: 30",
        };
        let command = command(verb, &self.arguments);
        let image = quoted(self.image);
        let group = match self.claims.is_empty() {
            true => "",
            false => "    fsGroup: 65532\n",
        };
        let ports = self.ports();
        let serves = match self.node_groups {
            Some(_) => format!("    {SERVES}: {NODE_GROUPS}\n"),
            None => String::new(),
        };
        let environment = self.environment();
        let volumes = self.volumes();
        format!(
            r#"metadata:
  labels:
    app.kubernetes.io/name: kvshoot-{name}
    app.kubernetes.io/managed-by: kvshoot
{serves}spec:
  serviceAccountName: kvshoot-{name}
  automountServiceAccountToken: true
  enableServiceLinks: false
  {restart}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    seccompProfile:
      type: RuntimeDefault
{group}  containers:
    - name: {verb}
      image: {image}
      command: {command}
{ports}{environment}      resources:
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
{volumes}"#
        )
    }

    fn ports(&self) -> String {
        let ports = [(METRICS, self.metrics), (NODE_GROUPS, self.node_groups)];
        let ports = ports.into_iter().filter_map(|(name, port)| {
            let port = port?;
            Some(format!(
                "        - name: {name}\n          containerPort: {port}\n"
            ))
        });
        let ports: String = ports.collect();
        match ports.is_empty() {
            true => ports,
            false => format!("      ports:\n{ports}"),
        }
    }

    fn environment(&self) -> String {
        if self.environment.is_empty() {
            return String::new();
        }
        let secrets = self.environment.iter();
        let sources = secrets.map(|it| format!("        - secretRef:\n            name: {it}\n"));
        format!("      envFrom:\n{}", sources.collect::<String>())
    }

    /// The volumes of the pod, and where the container has them.
    fn volumes(&self) -> String {
        if self.claims.is_empty() {
            return String::new();
        }
        let claims = || self.claims.iter().enumerate();
        let mounts = claims().map(|(number, claim)| {
            format!("        - name: backups-{number}\n          mountPath: {CLAIMS}/{claim}\n")
        });
        let volumes = claims().map(|(number, claim)| {
            format!(
                "    - name: backups-{number}\n      persistentVolumeClaim:\n        claimName: {claim}\n"
            )
        });
        format!(
            "      volumeMounts:\n{}  volumes:\n{}",
            mounts.collect::<String>(),
            volumes.collect::<String>()
        )
    }
}

/// The command of the container. It needs no shell.
fn command(verb: &str, arguments: &[String]) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./:=@".contains(it);
    let arguments = arguments.iter().map(|it| match it.chars().all(is_plain) {
        true => format!(", {it}"),
        false => format!(", {}", quoted(it)),
    });
    format!("[kvshoot, {verb}{}]", arguments.collect::<String>())
}

/// The text with `count` spaces before each of its lines.
pub(crate) fn indented(text: &str, count: usize) -> String {
    let lines = text.lines();
    lines.map(|it| format!("{:count$}{it}\n", "")).collect()
}
