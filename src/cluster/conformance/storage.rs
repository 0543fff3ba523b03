//! Checks of persistent volumes.

use super::cluster::list;
use super::objects::{self, Run};
use super::outcome::{CheckFailure, CheckOutcome};
use super::testbed::Testbed;
use crate::cluster::client::resources;
use serde_json::{Value, json};

/// Annotation of the StorageClass that claims without a class get.
const DEFAULT: &str = "storageclass.kubernetes.io/is-default-class";
const CLAIM: &str = "data";

/// A pod reads what another pod wrote to a volume.
pub(super) async fn volume(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let classes = list(testbed, &resources::STORAGE_CLASS, None).await?;
    let is_default = |it: &&Value| it["metadata"]["annotations"][DEFAULT] == "true";
    let Some(class) = classes.iter().find(is_default) else {
        let text = "there is no default StorageClass";
        return Ok(CheckOutcome::Skipped(text.to_owned()));
    };
    let class = class["metadata"]["name"].as_str().unwrap_or_default();
    let claim = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": { "name": CLAIM },
        "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
    });
    testbed.create_object(&resources::CLAIM, &claim).await?;
    let spec = |script: &str| {
        let mut container = objects::container(&testbed.options.image, &Run::Script(script));
        container["volumeMounts"] = json!([{ "name": CLAIM, "mountPath": "/data" }]);
        let mut spec = objects::pod_spec(&[container]);
        spec["volumes"] =
            json!([{ "name": CLAIM, "persistentVolumeClaim": { "claimName": CLAIM } }]);
        spec
    };
    let write = spec("echo written > /data/file && sync");
    testbed.run_pod("volume-write", write).await?;
    let log = testbed
        .run_pod("volume-read", spec("cat /data/file"))
        .await?;
    Ok(match log.trim() {
        "written" => CheckOutcome::Passed(format!("a pod reads what another wrote, class {class}")),
        _ => CheckOutcome::Failed("what a pod wrote is lost".to_owned()),
    })
}
