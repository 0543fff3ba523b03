//! The end of a restore: a summary for users.

use super::PreparedRestore;
use crate::cluster::CleanedObjects;
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
        let (name, verb) = (&self.shoot.name, "restored");
        ui.data(&format!("shoot.core.gardener.cloud/{name} {verb}\n"));
    }
}
