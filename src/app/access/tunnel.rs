//! `kvshoot tunnel`.

use super::certificate::AccessOptions;
use super::exec::{Access, CredentialStore};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::inspect::shoot_summary::find_or_only;
use crate::app::provider::connect::connect;
use crate::app::signals::Signals;
use crate::cluster::{Endpoint, Tunnel};

/// Options of `kvshoot tunnel`.
#[derive(Debug)]
pub(crate) struct TunnelOptions {
    /// Display name of the shoot; the only one of the namespace if None.
    pub(crate) name: Option<String>,
    pub(crate) access: AccessOptions,
    /// Local port; 0 for any free port.
    pub(crate) port: u16,
}

/// Forwards a local port to the API server of a cluster until a signal.
pub(crate) fn tunnel(options: &TunnelOptions, context: &Context) -> Result<Exit, CommandError> {
    context.block_on(async {
        let signals = Signals::listen(None)?;
        let opened = signals.or_interrupted("open the tunnel", async {
            let provider = connect(context).await?;
            let record = find_or_only(&provider, options.name.as_deref(), context).await?;
            let id = &record.name;
            let certificate = options.access.issue(&provider, id, context).await?;
            let tunnel = Tunnel::open_at(&provider, id, options.port).await;
            let way = Endpoint::via_tunnel(tunnel.map_err(failed)?, &certificate).await;
            let store = CredentialStore::Kubeconfig;
            Access::new(
                way.map_err(failed)?,
                id,
                &certificate,
                &provider,
                context,
                store,
            )
        });
        let access = opened.await?;
        let file = access.kubeconfig().display();
        context.ui.data(&format!("export KUBECONFIG={file}\n"));
        let url = &access.way.url;
        context.ui.status(&format!(
            "Forwarding {url} to the API server; press Ctrl-C to stop"
        ));
        signals.first.cancelled().await;
        Ok(Exit::Done)
    })?
}
