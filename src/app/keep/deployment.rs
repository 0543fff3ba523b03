//! A Deployment that runs `kvshoot keep`, with a ServiceAccount of minimal permissions.

use super::options::{KeepOptions, ServeAddress, VERB, object_name};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::in_cluster::account::{Account, account};
use crate::app::in_cluster::pod::{KvshootPod, RestartPolicy, indented};
use crate::app::in_cluster::{IMAGE, hint};
use crate::cluster::{self, StaleAttachment};

/// Options of the Deployment besides those of its command.
#[derive(Debug)]
pub(crate) struct DeploymentOptions {
    pub(crate) image: String,
    /// PersistentVolumeClaims for backups.
    pub(crate) claims: Vec<String>,
    /// Secret with the credentials of a bucket for backups.
    pub(crate) credentials: Option<String>,
}

/// Prints the manifests of a Deployment, and hints on how to apply them. It needs the permissions of apply.
pub(crate) fn print(
    options: &KeepOptions,
    deployment: &DeploymentOptions,
    context: &Context,
) -> Result<Exit, CommandError> {
    let Some(namespace) = context.provider.namespace.as_deref() else {
        let message = "a namespace is required: the ClusterRoleBinding names the namespace of the ServiceAccount";
        return Err(CommandError::new(Exit::Usage, message).hint("pass -n NAMESPACE"));
    };
    let name = object_name(options);
    let metrics = options.metrics.unwrap_or(ServeAddress::METRICS);
    let autoscaler = options.autoscaler.unwrap_or(ServeAddress::AUTOSCALER);
    let rules = Account {
        about: "Keeps clusters as they were applied last",
        command: "keep --print",
        name: &name,
        rules: &cluster::rules_to_apply(),
        cluster_rules: Some(&cluster::rules_for_placement()),
        migration_rules: Some(&cluster::rules_to_migrate()),
    };
    let environment: Vec<String> = deployment.credentials.iter().cloned().collect();
    let pod = KvshootPod {
        name: &name,
        verb: VERB,
        arguments: arguments(options, metrics, autoscaler),
        image: &deployment.image,
        restart: RestartPolicy::Always,
        environment: &environment,
        claims: &deployment.claims,
        metrics: Some(metrics.port()),
        node_groups: Some(autoscaler.port()),
    };
    let account = account(&rules, Some(namespace));
    let manifest = manifest(&pod, namespace);
    context.ui.data(&format!("{account}{manifest}"));
    hint(deployment.image == IMAGE, context);
    Ok(Exit::Done)
}

fn arguments(
    options: &KeepOptions,
    metrics: ServeAddress,
    autoscaler: ServeAddress,
) -> Vec<String> {
    let mut arguments: Vec<String> = options.name.iter().cloned().collect();
    let skipped = options.skipped.iter();
    arguments.extend(skipped.map(|it| format!("--skip={it}")));
    if options.detach_after != StaleAttachment::AFTER {
        let time = options.detach_after.as_secs();
        arguments.push(format!("--detach-after={time}s"));
    }
    arguments.push(format!("--metrics-address={metrics}"));
    arguments.push(format!("--autoscaler-address={autoscaler}"));
    let timeout = options.run.timeout.as_secs();
    arguments.push(format!("--timeout={timeout}s"));
    arguments
}

fn manifest(pod: &KvshootPod, namespace: &str) -> String {
    let name = pod.name;
    let strategy = match pod.claims.is_empty() {
        true => "",
        false => "  # Most volumes are for pods of one node.\n  strategy:\n    type: Recreate\n",
    };
    let template = indented(&pod.template(), 4);
    format!(
        r#"---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: kvshoot-{name}
  namespace: {namespace}
  labels:
    app.kubernetes.io/name: kvshoot-{name}
spec:
  # A second one waits until the Lease of the first one ends.
  replicas: 1
{strategy}  selector:
    matchLabels:
      app.kubernetes.io/name: kvshoot-{name}
  template:
{template}"#
    )
}
