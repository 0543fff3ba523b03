//! A Deployment that runs `kvshoot keep`, with a ServiceAccount of minimal permissions.

use super::options::{KeepOptions, VERB};
use crate::app::context::Context;
use crate::app::cronjob::{self, IMAGE};
use crate::app::error::{CommandError, Exit};
use crate::cluster;

/// Prints the manifests of a Deployment, and hints on how to apply them. It needs the permissions of apply.
pub(crate) fn print(
    options: &KeepOptions,
    image: &str,
    context: &Context,
) -> Result<Exit, CommandError> {
    let Some(namespace) = context.provider.namespace.as_deref() else {
        let message = "a namespace is required: the ClusterRoleBinding names the namespace of the ServiceAccount";
        return Err(CommandError::new(Exit::Usage, message).hint("pass -n NAMESPACE"));
    };
    let name = match &options.name {
        Some(name) => format!("keep-{}", name.replace('/', "-")),
        None => VERB.to_owned(),
    };
    let account = cronjob::Account {
        about: "Keeps clusters as they were applied last",
        command: "keep --print",
        name: &name,
        rules: &cluster::rules_to_apply(),
        cluster_rules: Some(&cluster::rules_for_placement()),
    };
    let account = cronjob::account(&account, Some(namespace));
    let deployment = deployment(&name, &arguments(options), image, namespace);
    context.ui.data(&format!("{account}{deployment}"));
    cronjob::hint(image == IMAGE, context);
    Ok(Exit::Done)
}

fn arguments(options: &KeepOptions) -> Vec<String> {
    let mut arguments: Vec<String> = options.name.iter().cloned().collect();
    let skipped = options.skipped.iter();
    arguments.extend(skipped.map(|it| format!("--skip={it}")));
    let timeout = options.run.timeout.as_secs();
    arguments.push(format!("--timeout={timeout}s"));
    arguments
}

fn deployment(name: &str, arguments: &[String], image: &str, namespace: &str) -> String {
    let command = cronjob::command(VERB, arguments);
    let image = cronjob::quoted(image);
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
  selector:
    matchLabels:
      app.kubernetes.io/name: kvshoot-{name}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: kvshoot-{name}
    spec:
      serviceAccountName: kvshoot-{name}
      automountServiceAccountToken: true
      enableServiceLinks: false
      terminationGracePeriodSeconds: 30
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        seccompProfile:
          type: RuntimeDefault
      containers:
        - name: {VERB}
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
