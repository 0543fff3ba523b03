//! The end of a restore: a summary for users.

use super::PreparedRestore;
use crate::cluster::{CleanedObjects, UnmatchedObjects};
use crate::ui::count;

impl PreparedRestore<'_> {
    /// Prints what came back, and what was deleted because it referred to machines that are gone.
    pub(super) fn report(&self, cleaned: &CleanedObjects) {
        let ui = &self.context.ui;
        let index = &self.backup.index;
        ui.status(&format!(
            "Restored shoot {} as it was at {} (revision {} of etcd)",
            self.shoot.name, index.created, index.etcd.revision
        ));
        if !cleaned.nodes.is_empty() {
            let nodes = count(cleaned.nodes.len(), "Node");
            let attachments = count(cleaned.attachments, "VolumeAttachment");
            ui.status(&format!(
                "Deleted {nodes} without a machine, and {attachments} to them: {}",
                cleaned.nodes.join(", ")
            ));
        }
        let tokens = count(cleaned.tokens, "bootstrap token");
        let requests = count(cleaned.requests, "certificate request");
        if cleaned.tokens + cleaned.requests > 0 {
            ui.status(&format!("Deleted {tokens} and {requests}"));
        }
        if !cleaned.restarted.is_empty() {
            let machines = count(cleaned.restarted.len(), "machine");
            ui.status(&format!(
                "Restarted {machines} without a Node: {}",
                cleaned.restarted.join(", ")
            ));
        }
        let (name, verb) = (&self.shoot.name, "restored");
        ui.data(&format!("shoot.core.gardener.cloud/{name} {verb}\n"));
    }

    /// Warns about what is newer than the backup, and what is gone since.
    pub(super) async fn report_unmatched(&self) {
        let compared = async {
            let shoot = self.provider.shoot_client(&self.shoot.id).await?;
            shoot
                .unmatched_objects(&self.provider, &self.shoot.id)
                .await
        };
        let ui = &self.context.ui;
        match compared.await {
            Ok(unmatched) => {
                for text in warnings(&unmatched, self.provider.namespace()) {
                    ui.warn(&text);
                }
            }
            Err(error) => ui.warn(&format!(
                "volumes and load balancers that are newer than the backup are not known: {error}"
            )),
        }
    }
}

/// A sentence for each object, with what to do about it.
fn warnings(unmatched: &UnmatchedObjects, namespace: &str) -> Vec<String> {
    let delete = |kind: &str, name: &str| format!("kubectl delete -n {namespace} {kind} {name}");
    let volumes = unmatched.volumes.iter().map(|name| {
        format!(
            "DataVolume {name} is newer than the backup: create a PersistentVolume with volumeHandle {name} in the shoot to use it, or delete it with {}",
            delete("datavolume", name)
        )
    });
    let balancers = unmatched.balancers.iter().map(|it| {
        format!(
            "load balancer {} of Service {} is newer than the backup: create the Service again, which gets another address, and delete the old one with {}",
            it.name,
            it.service,
            delete("service", &it.name)
        )
    });
    let lost = unmatched.lost_volumes.iter().map(|name| {
        format!(
            "the data of PersistentVolume {name} were deleted after the backup: delete it and its claim in the shoot"
        )
    });
    volumes.chain(balancers).chain(lost).collect()
}
