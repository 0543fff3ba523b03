use super::load::{self, Around, LoadArgs, Loaded};
use super::{CommandError, Context, Exit};
use crate::manifest::Content;
use crate::ui::problems;
use crate::validate::machine_deployment::Looked;

/// Check manifests, without a cluster
#[derive(Debug, clap::Args)]
pub(super) struct ValidateArgs {
    #[command(flatten)]
    load: LoadArgs,
    /// How to tell what is wrong
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Output {
    /// Each problem with its lines, on standard error
    Text,
    /// One object with all errors and warnings, on standard output
    Json,
}

pub(super) fn run(args: &ValidateArgs, context: &Context) -> Result<Exit, CommandError> {
    let around = Around {
        look: &|_| Looked::Unasked,
        ..super::provider::around(context, &|_| None)?
    };
    let loaded = load::judged(&args.load, around)?;
    match args.output {
        Output::Text => {
            load::tell(&loaded, context);
            if loaded.is_valid() {
                context.ui.data(&names(&loaded));
            }
        }
        Output::Json => {
            let manifest = &loaded.manifest;
            let (errors, warnings) = (manifest.problems(), manifest.warnings());
            let json = problems::json(errors, warnings, manifest.sources());
            context.ui.data(&format!("{json}\n"));
        }
    }
    let exit = match loaded.is_valid() {
        true => Exit::Done,
        false => Exit::Manifest,
    };
    // The program is about to end: taking a million nodes down one by one would only take time.
    std::mem::forget(loaded);
    Ok(exit)
}

/// One line for each document, as kubectl names objects.
fn names(loaded: &Loaded) -> String {
    let line = |content: &Content| match content {
        Content::Shoot(it) => format!("shoot.core.gardener.cloud/{} valid\n", it.metadata.name),
        Content::CloudProfile(it) => format!(
            "cloudprofile.core.gardener.cloud/{} valid\n",
            it.metadata.name
        ),
        Content::SecretBinding(it) => format!(
            "secretbinding.core.gardener.cloud/{} valid\n",
            it.metadata.name
        ),
        Content::Secret(it) => format!("secret/{} valid\n", it.metadata.name),
        Content::MachineDeployment(it) => format!(
            "machinedeployment.cluster.k8s.io/{} valid\n",
            it.metadata.name
        ),
    };
    let documents = loaded.manifest.documents();
    documents.map(|(_, content)| line(content)).collect()
}
