//! Volumes that stay attached to nodes that are gone.

use super::shoot::KeptShoot;
use crate::app::error::failed;
use crate::cluster::{ApiClient, Error, Observer, StaleAttachment};
use crate::state::duty::Duty;
use crate::state::names::display_name;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Time between two looks.
const INTERVAL: Duration = Duration::from_secs(10 * 60);

impl KeptShoot<'_> {
    /// Detaches volumes at once and every ten minutes. Does not end.
    pub(super) async fn detach_volumes(&self, observer: &Observer) {
        if self.scope.options.skipped.contains(&Duty::Repair) {
            return;
        }
        loop {
            // The shoot is observed anew from time to time.
            if let Some(last) = self.last_detachment.get() {
                sleep_until(last + INTERVAL).await;
            }
            let mut facts = observer.facts();
            while observer.shoot_client().is_none() && facts.changed().await.is_ok() {}
            let Some(shoot) = observer.shoot_client() else {
                return;
            };
            self.last_detachment.set(Some(Instant::now()));
            self.detach_stale(&shoot).await;
        }
    }

    async fn detach_stale(&self, shoot: &ApiClient) {
        let scope = self.scope;
        let stale = scope
            .provider
            .stale_attachments(shoot, scope.options.detach_after);
        let stale = match stale.await {
            Ok(stale) => stale,
            // A server that does not answer is reported by the observation.
            Err(error) => {
                tracing::debug!(%error, "cannot read attachments of volumes");
                return;
            }
        };
        for attachment in stale.iter().filter(|it| it.in_use.is_none()) {
            let ended = shoot.end_attachment(attachment).await;
            scope
                .metrics
                .did(&self.record.name, Duty::Repair, ended.is_ok());
            self.report_detachment(attachment, ended);
        }
    }

    fn report_detachment(&self, attachment: &StaleAttachment, ended: Result<(), Error>) {
        let ui = &self.scope.context.ui;
        let StaleAttachment { volume, node, .. } = attachment;
        let name = display_name(&self.record.name);
        match ended {
            Ok(()) => {
                let text = format!(
                    "detached volume {volume} of shoot {name} from node {node}, which is gone"
                );
                ui.status(&text);
                ui.data(&format!("shoot.core.gardener.cloud/{name} repaired\n"));
            }
            Err(error) => {
                failed(error).report(ui);
            }
        }
    }
}
