//! Arguments of `kvshoot rotate`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::rotate::{self, RotateOptions, RotatePhase};
use crate::commands::arguments::RunFlags;
use crate::state::record::rotation::Credential;

/// Replace keys of a cluster, in two phases
///
/// The first phase, --start, makes a new key and brings it everywhere, while the old one goes on working. Then users
/// replace what depends on the old one: stored tokens, backups. The second phase, --complete, removes the old key; it
/// asks first. Each phase is resumed where it was interrupted, also by the next apply. Machines stay.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct RotateArgs {
    /// Name of the shoot
    name: String,
    /// The key to rotate
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
    /// The key that signs tokens of service accounts
    ServiceAccountKey,
    /// The key that encrypts stored Secrets
    EncryptionKey,
    /// Both of them
    All,
}

pub(in crate::commands) fn run(args: &RotateArgs, context: &Context) -> Result<Exit, CommandError> {
    let credentials: &[Credential] = match args.credential {
        RotateTarget::ServiceAccountKey => &[Credential::ServiceAccountKey],
        RotateTarget::EncryptionKey => &[Credential::EncryptionKey],
        RotateTarget::All => &[Credential::ServiceAccountKey, Credential::EncryptionKey],
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
