use super::exec::entry;
use super::provider::{self, failed};
use super::reach::AccessArgs;
use super::shoots::only;
use super::signals::Signals;
use super::{CommandError, Context, Exit, complete};
use crate::cluster::{Endpoint, Tunnel};
use clap_complete::engine::ArgValueCompleter;

/// Reach a cluster without an address of its own: through the API server of the provider, until Ctrl-C
#[derive(Debug, clap::Args)]
pub(super) struct TunnelArgs {
    /// Name of the shoot; the only one of the namespace when absent
    #[arg(add = ArgValueCompleter::new(complete::shoots))]
    name: Option<String>,
    #[command(flatten)]
    access: AccessArgs,
    /// Port of this computer; any that is free when 0
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
}

pub(super) fn run(args: &TunnelArgs, context: &Context) -> Result<Exit, CommandError> {
    context.block_on(async {
        let signals = Signals::listen(None)?;
        let opened = signals.or_interrupted("open the tunnel", async {
            let provider = provider::connect(context).await?;
            let record = only(&provider, args.name.as_deref()).await?;
            let id = &record.name;
            let credentials = args.access.credentials(&provider, id, context).await?;
            let tunnel = Tunnel::open_at(&provider, id, args.port).await;
            let way = Endpoint::via_tunnel(tunnel.map_err(failed)?, &credentials).await;
            entry(way.map_err(failed)?, id, &credentials)
        });
        let entry = opened.await?;
        let file = entry.file.path().display();
        context.ui.data(&format!("export KUBECONFIG={file}\n"));
        context.ui.status(&format!(
            "{} leads to the shoot until Ctrl-C",
            entry.way.url
        ));
        signals.first.cancelled().await;
        Ok(Exit::Done)
    })?
}
