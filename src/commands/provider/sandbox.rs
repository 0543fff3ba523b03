//! Arguments of `kvshoot sandbox`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::provider::sandbox::{self, InstallOptions, SandboxOperation};
use crate::app::provider::sandbox_clock::ClockChange;
use crate::app::provider::sandbox_guests::GuestChoice;
use crate::sandbox::{Fault, GuestFault};
use crate::ui::{Format, parse_duration};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Run a provider cluster on this computer, without a hypervisor
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct SandboxArgs {
    /// Name of the sandbox; several can run at the same time [default: that of --sandbox, or `default`]
    #[arg(long, global = true, value_name = "NAME")]
    name: Option<String>,
    #[command(subcommand)]
    command: SandboxCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SandboxCommand {
    /// Install the programs of the sandbox: download them, or build them in a few minutes
    Install {
        #[command(flatten)]
        programs: InstallArgs,
        /// Install what virtual machines need, too: build their programs and a disk of Debian's packages
        #[arg(long)]
        guests: bool,
    },
    /// Start the sandbox with its existing data; install it first if necessary
    Up {
        #[command(flatten)]
        programs: InstallArgs,
        /// Run machines as virtual machines of qemu: with KVM, emulated, or with KVM if it works; a number is the largest
        /// number of them. Further machines are simulated, as all are by default
        #[arg(
            long,
            value_name = "auto|kvm|emulate|none|NUMBER",
            num_args = 0..=1,
            require_equals = true,
            default_missing_value = "auto"
        )]
        guests: Option<GuestChoice>,
    },
    /// Stop the sandbox and keep its data
    Down {
        /// Stop all sandboxes
        #[arg(long)]
        all: bool,
    },
    /// List all sandboxes
    List {
        /// Output format
        #[arg(short, long, value_name = "FORMAT", default_value = "table")]
        output: Format,
    },
    /// Check whether this computer can run a sandbox, and virtual machines in it; exit with code 1 if it cannot run one
    Doctor {
        /// Output format
        #[arg(short, long, value_name = "FORMAT", default_value = "table")]
        output: Format,
    },
    /// Show the processes of the sandbox; exit with code 1 if it is not running
    Status,
    /// Stop the sandbox and delete its data
    Reset,
    /// Print the kubeconfig of the sandbox
    Kubeconfig,
    /// Show the time of the sandbox, or move its clock forward: certificates expire, and schedules become due
    Clock {
        /// Move the clock forward by this time, for example 365d
        #[arg(long, value_name = "TIME", value_parser = parse_days)]
        forward: Option<Duration>,
        /// Move the clock forward to this moment, for example 2030-01-31T20:00:00Z
        #[arg(long, value_name = "MOMENT", conflicts_with = "forward")]
        to: Option<Timestamp>,
    },
    /// Inject faults
    #[command(subcommand)]
    Fail(FailCommand),
}

#[derive(Debug, clap::Args)]
struct InstallArgs {
    /// Directory with the programs, instead of downloading or building them
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// URL of a directory with copies of the release archives
    #[arg(long, value_name = "URL", env = "KVSHOOT_SANDBOX_MIRROR", value_parser = parse_url)]
    mirror: Option<String>,
    /// Build the programs with Go, even if the release has archives of them
    #[arg(long, conflicts_with = "from")]
    build: bool,
    /// Run CDI's controllers, instead of simulated imports
    #[arg(long)]
    cdi: bool,
}

impl InstallArgs {
    fn options(&self) -> InstallOptions {
        InstallOptions {
            from: self.from.clone(),
            mirror: self.mirror.clone().filter(|it| !it.is_empty()),
            build: self.build,
            cdi: self.cdi,
        }
    }
}

#[derive(Debug, clap::Subcommand)]
enum FailCommand {
    /// Image downloads fail with 404
    #[command(name = "import-404")]
    Import404,
    /// Image imports hang
    ImportStuck,
    /// Nodes of a zone have no free capacity
    NoRoom {
        /// Zone, or `default` for nodes without a zone
        zone: String,
    },
    /// Machines crash when they start
    VmCrash {
        /// Prefix of machine names
        #[arg(default_value = "*", value_name = "NAME")]
        prefix: String,
    },
    /// Control plane pods crash when they start
    PodCrash {
        /// Prefix of pod names
        #[arg(default_value = "*", value_name = "NAME")]
        prefix: String,
    },
    /// Machines run, but their operating system does not boot
    GuestBoot {
        /// Prefix of machine names
        #[arg(default_value = "*", value_name = "NAME")]
        prefix: String,
    },
    /// Machines cannot reach the API server of their cluster
    GuestNetwork {
        /// Prefix of machine names
        #[arg(default_value = "*", value_name = "NAME")]
        prefix: String,
    },
    /// Clocks of machines are years behind
    GuestClock {
        /// Prefix of machine names
        #[arg(default_value = "*", value_name = "NAME")]
        prefix: String,
    },
    /// Nodes stop reporting, while their machines keep running
    NodeSilent {
        /// Prefix of machine names
        #[arg(default_value = "*", value_name = "NAME")]
        prefix: String,
    },
    /// Kubelets serve with a self-signed certificate
    KubeletCertificate {
        /// Prefix of machine names
        #[arg(default_value = "*", value_name = "NAME")]
        prefix: String,
    },
    /// Migrations of machines to other hosts fail
    MigrationFail {
        /// Prefix of machine names
        #[arg(default_value = "*", value_name = "NAME")]
        prefix: String,
    },
    /// Migrations of machines to other hosts never end
    MigrationStuck {
        /// Prefix of machine names
        #[arg(default_value = "*", value_name = "NAME")]
        prefix: String,
    },
    /// Add a ResourceQuota to the namespace
    Quota {
        /// Limits, for example requests.memory=4Gi
        #[arg(default_value = "pods=0", value_name = "RESOURCE=AMOUNT", value_parser = parse_limit)]
        limits: Vec<(String, String)>,
    },
    /// Clear all faults, or those of a name
    None {
        /// Zone, or prefix of names, as it was injected
        // An argument called `name` would be taken for the option --name.
        #[arg(value_name = "NAME")]
        prefix: Option<String>,
    },
    /// List the injected faults
    List,
}

pub(in crate::commands) fn run(
    args: &SandboxArgs,
    context: &Context,
) -> Result<Exit, CommandError> {
    if args.name.is_some() && matches!(args.command, SandboxCommand::Down { all: true }) {
        let message = "--name cannot be used with --all";
        return Err(CommandError::new(Exit::Usage, message));
    }
    let operation = match &args.command {
        SandboxCommand::Install { programs, guests } => SandboxOperation::Install {
            options: programs.options(),
            guests: *guests,
        },
        SandboxCommand::Up { programs, guests } => SandboxOperation::Up {
            options: programs.options(),
            guests: *guests,
        },
        SandboxCommand::Down { all: false } => SandboxOperation::Down,
        SandboxCommand::Down { all: true } => SandboxOperation::DownAll,
        SandboxCommand::List { output } => SandboxOperation::List(*output),
        SandboxCommand::Doctor { output } => SandboxOperation::Doctor(*output),
        SandboxCommand::Status => SandboxOperation::Status,
        SandboxCommand::Reset => SandboxOperation::Reset,
        SandboxCommand::Kubeconfig => SandboxOperation::Kubeconfig,
        SandboxCommand::Clock { forward, to } => SandboxOperation::Clock(
            forward
                .map(ClockChange::Forward)
                .or(to.map(ClockChange::To)),
        ),
        SandboxCommand::Fail(fault) => fault_operation(fault, context),
    };
    sandbox::run(args.name.as_deref(), &operation, context)
}

fn fault_operation(command: &FailCommand, context: &Context) -> SandboxOperation {
    let guest = |what: GuestFault, prefix: &str| Fault::Guest {
        what,
        prefix: prefix.to_owned(),
    };
    SandboxOperation::Inject(match command {
        FailCommand::None { prefix } => return SandboxOperation::ClearFaults(prefix.clone()),
        FailCommand::List => return SandboxOperation::ListFaults,
        FailCommand::Import404 => Fault::Import404,
        FailCommand::ImportStuck => Fault::ImportStuck,
        FailCommand::NoRoom { zone } => Fault::NoRoom { zone: zone.clone() },
        FailCommand::VmCrash { prefix } => Fault::VmCrash {
            prefix: prefix.clone(),
        },
        FailCommand::PodCrash { prefix } => Fault::PodCrash {
            prefix: prefix.clone(),
        },
        FailCommand::GuestBoot { prefix } => guest(GuestFault::Boot, prefix),
        FailCommand::GuestNetwork { prefix } => guest(GuestFault::Network, prefix),
        FailCommand::GuestClock { prefix } => guest(GuestFault::Clock, prefix),
        FailCommand::NodeSilent { prefix } => guest(GuestFault::Silent, prefix),
        FailCommand::KubeletCertificate { prefix } => guest(GuestFault::Certificate, prefix),
        FailCommand::MigrationFail { prefix } => guest(GuestFault::MigrationFails, prefix),
        FailCommand::MigrationStuck { prefix } => guest(GuestFault::MigrationStuck, prefix),
        FailCommand::Quota { limits } => Fault::Quota {
            namespace: context
                .provider
                .namespace
                .clone()
                .unwrap_or_else(|| "default".to_owned()),
            hard: limits.iter().cloned().collect::<BTreeMap<_, _>>(),
        },
    })
}

/// An empty variable counts as unset.
fn parse_url(text: &str) -> Result<String, String> {
    let is_url = text.starts_with("https://") || text.starts_with("http://");
    match is_url || text.is_empty() {
        true => Ok(text.to_owned()),
        false => Err("expected https://… or http://…".to_owned()),
    }
}

/// A duration, which may be in days.
fn parse_days(text: &str) -> Result<Duration, String> {
    let days = text.strip_suffix('d').and_then(|it| it.parse::<u32>().ok());
    match days {
        Some(days) => Ok(Duration::from_secs(u64::from(days) * 24 * 60 * 60)),
        None => parse_duration(text).map_err(|it| format!("{it}; or in days, such as 365d")),
    }
}

fn parse_limit(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((resource, amount)) if !resource.is_empty() && !amount.is_empty() => {
            Ok((resource.to_owned(), amount.to_owned()))
        }
        _ => Err("expected RESOURCE=AMOUNT".to_owned()),
    }
}
