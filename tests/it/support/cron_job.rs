//! CronJobs that kvshoot prints: their objects, and a Job created from one.

use super::provider::{DEPLOYMENT, Provider, Resource};
use serde::Deserialize;
use serde_json::{Value, json};

const JOB: Resource = Resource("batch", "v1", "Job");
pub(crate) const CRON_JOB: Resource = Resource("batch", "v1", "CronJob");

/// Parses all documents of a file.
pub(crate) fn documents(text: &str) -> Vec<Value> {
    serde_yaml::Deserializer::from_str(text)
        .map(|it| Value::deserialize(it).unwrap())
        .collect()
}

/// Returns the resource of an object that kvshoot prints.
pub(crate) fn resource(object: &Value) -> Resource {
    match object["kind"].as_str().unwrap() {
        "ServiceAccount" => Resource("", "v1", "ServiceAccount"),
        "Role" => Resource("rbac.authorization.k8s.io", "v1", "Role"),
        "RoleBinding" => Resource("rbac.authorization.k8s.io", "v1", "RoleBinding"),
        "ClusterRole" => Resource("rbac.authorization.k8s.io", "v1", "ClusterRole"),
        "ClusterRoleBinding" => Resource("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding"),
        "CronJob" => CRON_JOB,
        "Deployment" => DEPLOYMENT,
        other => panic!("unexpected kind {other}"),
    }
}

/// Runs a Job of a CronJob, like `kubectl create job --from`, and returns the log of its container.
pub(crate) fn run_job(provider: &Provider, cron_job: &Value, container: &str) -> String {
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "now" },
        "spec": cron_job["spec"]["jobTemplate"]["spec"],
    });
    provider.create(JOB, job);
    provider.wait_for("the Job to finish", |it| {
        let job = it.get(JOB, "now").unwrap();
        assert_eq!(job.data["status"]["failed"], Value::Null, "{job:?}");
        job.data["status"]["succeeded"] == 1
    });
    provider.pod_log("now-", container)
}
