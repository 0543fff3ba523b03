//! Arguments of `kvshoot rotate`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::rotate::{self, RotateOptions, RotatePhase};
use crate::commands::arguments::RunFlags;
use crate::state::record::rotation::Credential;

/// Replace keys and CAs of a cluster, in two phases
///
/// The first phase, --start, makes a new key or CA and brings it everywhere, while the old one goes on working. Then
/// users replace what depends on the old one: kubeconfigs, stored tokens, backups. The second phase, --complete,
/// removes the old one; it asks first. Each phase is resumed where it was interrupted, also by the next apply.
///
/// Each phase of "ca" replaces machines, but for those of pools with the updateStrategy AutoInPlaceUpdate, pool by pool, within
/// maxSurge and maxUnavailable. They stay in all other rotations.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct RotateArgs {
    /// Name of the shoot
    name: String,
    /// The key or CA to rotate
    credential: RotateTarget,
    /// Prepare the new one, and keep the old one working, which is the default
    #[arg(long, conflicts_with_all = ["complete", "status"])]
    start: bool,
    /// Remove the old one
    #[arg(long, conflicts_with = "status")]
    complete: bool,
    /// Print where the rotation is
    #[arg(long)]
    status: bool,
    /// Skip the confirmation prompt
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    run: RunFlags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum RotateTarget {
    /// The CA of the API server, its clients and the machines, and that of the front proxy
    Ca,
    /// The CA of etcd
    EtcdCa,
    /// The key that signs tokens of service accounts
    ServiceAccountKey,
    /// The key that encrypts stored Secrets
    EncryptionKey,
    /// All of them
    All,
}

pub(in crate::commands) fn run(args: &RotateArgs, context: &Context) -> Result<Exit, CommandError> {
    let credentials: &[Credential] = match args.credential {
        RotateTarget::Ca => &[Credential::Ca],
        RotateTarget::EtcdCa => &[Credential::EtcdCa],
        RotateTarget::ServiceAccountKey => &[Credential::ServiceAccountKey],
        RotateTarget::EncryptionKey => &[Credential::EncryptionKey],
        RotateTarget::All => &Credential::ALL,
    };
    let options = RotateOptions {
        name: args.name.clone(),
        credentials: credentials.iter().copied().collect(),
        phase: match (args.complete, args.status) {
            (true, _) => RotatePhase::Complete,
            (_, true) => RotatePhase::Status,
            _ => RotatePhase::Start,
        },
        yes: args.yes,
        run: args.run.options(),
    };
    rotate::rotate(&options, context)
}
