//! Arguments of `kvshoot doctor`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::manifests::files::ManifestFiles;
use crate::app::provider::doctor::{self, DoctorSubject};
use crate::ui::Format;
use std::path::PathBuf;

/// Check the provider cluster's prerequisites
///
/// Exits with code 1 if a prerequisite is missing.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct DoctorArgs {
    /// Name of a shoot whose requirements are checked
    #[arg(conflicts_with = "filename")]
    name: Option<String>,
    /// Manifests whose requirements are checked (repeatable)
    #[arg(short = 'f', long, value_name = "FILE", value_hint = clap::ValueHint::AnyPath)]
    filename: Vec<PathBuf>,
    /// CloudProfile of the cluster, if it is not among the manifests
    #[arg(long, value_name = "FILE", requires = "filename", value_hint = clap::ValueHint::FilePath)]
    profile: Option<PathBuf>,
    /// Print the roles that kvshoot needs in the provider cluster, and check nothing
    #[arg(long, conflicts_with_all = ["name", "filename"])]
    rbac: bool,
    /// Also print the role that creates and deletes namespaces, which allows deleting every namespace
    #[arg(long, requires = "rbac")]
    manage_namespaces: bool,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(in crate::commands) fn run(args: &DoctorArgs, context: &Context) -> Result<Exit, CommandError> {
    if args.rbac {
        doctor::print_rbac(args.manage_namespaces, context);
        return Ok(Exit::Done);
    }
    let subject = match &args.name {
        Some(name) => DoctorSubject::Shoot(name.clone()),
        None if args.filename.is_empty() => DoctorSubject::General,
        None => DoctorSubject::Manifests(ManifestFiles {
            manifests: args.filename.clone(),
            profile: args.profile.clone(),
        }),
    };
    doctor::doctor(&subject, args.output, context)
}
