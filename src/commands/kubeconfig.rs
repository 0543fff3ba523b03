use super::provider::{self, failed};
use super::reach::{AccessArgs, context_name};
use super::shoots::only;
use super::{CommandError, Context, Exit, complete};
use crate::cluster::{self, ApiClient};
use crate::config::kubeconfig::{self, KubeconfigError, Mark};
use crate::config::private::{self, FileError, Lock};
use crate::plan::names;
use clap_complete::engine::ArgValueCompleter;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Get, merge or remove the kubeconfig of a cluster
#[derive(Debug, clap::Args)]
pub(super) struct KubeconfigArgs {
    #[command(subcommand)]
    command: KubeconfigCommand,
}

#[derive(Debug, clap::Subcommand)]
enum KubeconfigCommand {
    Get(GetArgs),
    Merge(MergeArgs),
    Remove(RemoveArgs),
}

/// Print a kubeconfig with a client certificate that is made now and holds for a while
#[derive(Debug, clap::Args)]
struct GetArgs {
    /// Name of the shoot; the only one of the namespace when absent
    #[arg(add = ArgValueCompleter::new(complete::shoots))]
    name: Option<String>,
    #[command(flatten)]
    access: AccessArgs,
    /// Write it to a file that nobody else may read, instead of printing it
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Put a cluster into the kubeconfig of kubectl, or renew what was put there
#[derive(Debug, clap::Args)]
struct MergeArgs {
    /// Name of the shoot; the only one of the namespace when absent
    #[arg(add = ArgValueCompleter::new(complete::shoots))]
    name: Option<String>,
    #[command(flatten)]
    access: AccessArgs,
    /// The kubeconfig, instead of the first one of KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE")]
    into: Option<PathBuf>,
    /// Name of the context, instead of the shoot's
    #[arg(long = "as", value_name = "NAME")]
    named: Option<String>,
    /// Make it the current context
    #[arg(long)]
    switch: bool,
}

/// Take a cluster out of the kubeconfig of kubectl; what others put there stays
#[derive(Debug, clap::Args)]
struct RemoveArgs {
    /// Name of the shoot, which may be gone already
    name: String,
    /// The kubeconfig, instead of all of KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
}

pub(super) fn run(args: &KubeconfigArgs, context: &Context) -> Result<Exit, CommandError> {
    match &args.command {
        KubeconfigCommand::Get(args) => context.block_on(get(args, context))??,
        KubeconfigCommand::Merge(args) => context.block_on(merge(args, context))??,
        KubeconfigCommand::Remove(args) => remove(args, context)?,
    }
    Ok(Exit::Done)
}

async fn get(args: &GetArgs, context: &Context) -> Result<(), CommandError> {
    let provider = provider::connect(context).await?;
    let record = only(&provider, args.name.as_deref()).await?;
    let name = context_name(&record.name);
    let value = made(&provider, &record.name, &name, &args.access, context).await?;
    let text = serde_yaml::to_string(&value).expect("JSON is YAML");
    match &args.file {
        Some(file) => private::write(file, &text).map_err(no_file)?,
        None => context.ui.data(&text),
    }
    Ok(())
}

async fn merge(args: &MergeArgs, context: &Context) -> Result<(), CommandError> {
    let provider = provider::connect(context).await?;
    let record = only(&provider, args.name.as_deref()).await?;
    let name = args.named.clone();
    let name = name.unwrap_or_else(|| context_name(&record.name));
    let value = made(&provider, &record.name, &name, &args.access, context).await?;
    let mark = Mark {
        shoot: record.name.to_string(),
        namespace: provider.namespace().to_string(),
        server: provider.server().to_owned(),
    };
    let file = match &args.into {
        Some(file) => file.clone(),
        None => file_to_merge_into(&name, context)?,
    };
    let _lock = lock(&file, context)?;
    let before = private::read(&file).map_err(no_file)?;
    let after = kubeconfig::merge(&before, &value, &mark, args.switch)
        .map_err(|it| malformed(&file, &it))?;
    private::write(&file, &after).map_err(no_file)?;
    context.ui.data(&format!("context/{name} merged\n"));
    context.ui.hint(&match args.switch {
        true => "kubectl get nodes".to_owned(),
        false => format!("kubectl --context {name} get nodes"),
    });
    Ok(())
}

fn remove(args: &RemoveArgs, context: &Context) -> Result<(), CommandError> {
    let id = names::id_of(&args.name);
    let namespace = context.global.namespace.as_deref();
    let files = match &args.from {
        Some(file) => vec![file.clone()],
        None => context.config.kubeconfigs(),
    };
    let mut any = false;
    for file in files.iter().filter(|it| it.exists()) {
        let _lock = lock(file, context)?;
        let before = private::read(file).map_err(no_file)?;
        let after =
            kubeconfig::remove(&before, &id, namespace).map_err(|it| malformed(file, &it))?;
        if let Some(after) = after {
            private::write(file, &after).map_err(no_file)?;
            any = true;
        }
    }
    match any {
        true => context
            .ui
            .data(&format!("context/{} removed\n", context_name(&id))),
        false => context.ui.status("there is nothing of it to remove"),
    }
    Ok(())
}

/// The kubeconfig with a new certificate, to the address that people reach the shoot by.
async fn made(
    provider: &ApiClient,
    id: &str,
    name: &str,
    access: &AccessArgs,
    context: &Context,
) -> Result<Value, CommandError> {
    let credentials = access.credentials(provider, id, context).await?;
    let addresses = provider.shoot_urls(id).await.map_err(failed)?;
    let [server, others @ ..] = &addresses[..] else {
        let message = "the shoot's API server has no address yet";
        return Err(CommandError::new(Exit::No, message).hint("kvshoot status tells how far it is"));
    };
    if others.is_empty() {
        context.ui.warn(&format!(
            "the shoot has no address outside the provider cluster; {server} is reached from within it"
        ));
        let shoot = context_name(id);
        context.ui.hint(&format!(
            "kvshoot exec {shoot} -- kubectl get nodes, or kvshoot tunnel {shoot}, reach it from here"
        ));
    }
    if let Ok(end) = jiff::Timestamp::from_second(credentials.expires) {
        context
            .ui
            .status(&format!("the certificate holds until {end}"));
    }
    Ok(cluster::kubeconfig(name, server, &credentials))
}

/// That which has the context already, else the one that kubectl would write to.
fn file_to_merge_into(name: &str, context: &Context) -> Result<PathBuf, CommandError> {
    let files = context.config.kubeconfigs();
    let has = |file: &&PathBuf| {
        private::read(file).is_ok_and(|text| kubeconfig::has_context(&text, name))
    };
    let holder = files.iter().find(has).cloned();
    let file = holder.or_else(|| context.config.kubeconfig_to_write());
    file.ok_or_else(|| {
        let message = "there is no home directory for a kubeconfig";
        CommandError::new(Exit::Precondition, message).hint("name a file with --into")
    })
}

fn lock(file: &Path, context: &Context) -> Result<Lock, CommandError> {
    let holder = format!(
        "{}, kvshoot run {}",
        context.config.user_at_host(),
        context.run_id
    );
    Lock::take(file, &holder).map_err(no_file)
}

fn no_file(error: FileError) -> CommandError {
    let told = CommandError::new(Exit::Precondition, error.to_string());
    match error {
        FileError::Locked { path, .. } => told.hint(format!(
            "if no program is at it any more: rm {}",
            path.display()
        )),
        FileError::Io { .. } => told,
    }
}

fn malformed(file: &Path, error: &KubeconfigError) -> CommandError {
    let told = CommandError::new(Exit::Precondition, format!("{}: {error}", file.display()));
    match error {
        KubeconfigError::Taken { .. } => told.hint("--as NAME gives it another name"),
        KubeconfigError::Malformed(_) => told,
    }
}
