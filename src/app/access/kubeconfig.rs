//! `kvshoot kubeconfig`.

use super::certificate::{AccessOptions, context_name};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::inspect::shoot_summary::find_or_only;
use crate::app::provider::connect::connect;
use crate::cluster::{self, ApiClient};
use crate::config::kubeconfig::{self, EntryOwner, KubeconfigError};
use crate::config::secure_file::{self, FileError, FileLock};
use crate::state::json::{SecretJson, to_yaml};
use crate::state::names;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Options of `kvshoot kubeconfig get`.
#[derive(Debug)]
pub(crate) struct GetOptions {
    /// Display name of the shoot; the only one of the namespace if None.
    pub(crate) name: Option<String>,
    pub(crate) access: AccessOptions,
    /// Written with mode 0600; standard output if None.
    pub(crate) file: Option<PathBuf>,
}

/// Options of `kvshoot kubeconfig merge`.
#[derive(Debug)]
pub(crate) struct MergeOptions {
    /// Display name of the shoot; the only one of the namespace if None.
    pub(crate) name: Option<String>,
    pub(crate) access: AccessOptions,
    /// The kubeconfig to change; kubectl's if None.
    pub(crate) into: Option<PathBuf>,
    /// Name of the context; the name of the shoot if None.
    pub(crate) context_name: Option<String>,
    /// Makes it the current context.
    pub(crate) switch: bool,
}

/// Options of `kvshoot kubeconfig remove`.
#[derive(Debug)]
pub(crate) struct RemoveOptions {
    /// Display name of the shoot, which may no longer exist.
    pub(crate) name: String,
    /// The kubeconfig to change; all of kubectl's if None.
    pub(crate) from: Option<PathBuf>,
}

/// Prints a kubeconfig, or writes it to a file.
pub(crate) async fn get(options: &GetOptions, context: &Context) -> Result<(), CommandError> {
    let provider = connect(context).await?;
    let record = find_or_only(&provider, options.name.as_deref(), context).await?;
    let name = context_name(&record.name);
    let value = new_kubeconfig(&provider, &record.name, &name, &options.access, context).await?;
    let text = Zeroizing::new(to_yaml(&*value));
    match &options.file {
        Some(file) => secure_file::write(file, &text).map_err(file_error)?,
        None => context.ui.data(&text),
    }
    Ok(())
}

/// Merges a cluster into a kubeconfig.
pub(crate) async fn merge(options: &MergeOptions, context: &Context) -> Result<(), CommandError> {
    let provider = connect(context).await?;
    let record = find_or_only(&provider, options.name.as_deref(), context).await?;
    let name = options.context_name.clone();
    let name = name.unwrap_or_else(|| context_name(&record.name));
    let value = new_kubeconfig(&provider, &record.name, &name, &options.access, context).await?;
    let mark = EntryOwner {
        shoot: record.name.to_string(),
        namespace: provider.namespace().to_string(),
        server: provider.server().to_owned(),
    };
    let file = match &options.into {
        Some(file) => file.clone(),
        None => file_to_merge_into(&name, context)?,
    };
    let _lock = lock(&file, context)?;
    let before = Zeroizing::new(secure_file::read(&file).map_err(file_error)?);
    let after = kubeconfig::merge(&before, &value, &mark, options.switch)
        .map(Zeroizing::new)
        .map_err(|it| malformed(&file, &it))?;
    back_up(&file, context)?;
    secure_file::write(&file, &after).map_err(file_error)?;
    context.ui.data(&format!("context/{name} merged\n"));
    context.ui.hint(&match options.switch {
        true => "kubectl get nodes".to_owned(),
        false => format!("kubectl --context {name} get nodes"),
    });
    Ok(())
}

/// Removes a cluster from kubeconfigs. Other entries are kept.
pub(crate) fn remove(options: &RemoveOptions, context: &Context) -> Result<(), CommandError> {
    let id = names::id_of(&options.name);
    let namespace = context.provider.namespace.as_deref();
    let files = match &options.from {
        Some(file) => vec![file.clone()],
        None => context.config.kubeconfigs(),
    };
    let mut is_changed = false;
    for file in files.iter().filter(|it| it.exists()) {
        let _lock = lock(file, context)?;
        let before = secure_file::read(file).map_err(file_error)?;
        let after =
            kubeconfig::remove(&before, &id, namespace).map_err(|it| malformed(file, &it))?;
        if let Some(after) = after {
            back_up(file, context)?;
            secure_file::write(file, &after).map_err(file_error)?;
            is_changed = true;
        }
    }
    match is_changed {
        true => context
            .ui
            .data(&format!("context/{} removed\n", context_name(&id))),
        false => context
            .ui
            .status(&format!("no context of shoot {} found", options.name)),
    }
    Ok(())
}

fn back_up(file: &Path, context: &Context) -> Result<(), CommandError> {
    if let Some(copy) = secure_file::back_up(file).map_err(file_error)? {
        tracing::debug!(copy = %copy.display(), "copied the kubeconfig");
        context
            .ui
            .status(&format!("The previous kubeconfig is {}", copy.display()));
    }
    Ok(())
}

/// A kubeconfig with a new certificate and the external address of the shoot.
async fn new_kubeconfig(
    provider: &ApiClient,
    id: &str,
    name: &str,
    access: &AccessOptions,
    context: &Context,
) -> Result<SecretJson, CommandError> {
    let certificate = access.issue(provider, id, context).await?;
    let addresses = provider.shoot_urls(id).await.map_err(failed)?;
    let [server, others @ ..] = &addresses[..] else {
        let message = "the API server of the shoot has no address yet";
        let status = context.hint_command(&["status", &context_name(id)]);
        return Err(CommandError::new(Exit::No, message).hint(format!("show its status: {status}")));
    };
    if others.is_empty() {
        context.ui.warn(&format!(
            "the API server has no external address; {server} is reachable only inside the provider cluster"
        ));
        let shoot = context_name(id);
        let exec = context.hint_command(&["exec", &shoot, "--", "kubectl", "get", "nodes"]);
        let tunnel = context.hint_command(&["tunnel", &shoot]);
        context
            .ui
            .hint(&format!("to reach it from here: {exec}, or {tunnel}"));
    }
    if let Ok(end) = jiff::Timestamp::from_second(certificate.expires) {
        context
            .ui
            .status(&format!("the certificate is valid until {end}"));
    }
    Ok(cluster::kubeconfig(name, server, &certificate))
}

/// The kubeconfig that has the context, or the one that kubectl writes to.
fn file_to_merge_into(name: &str, context: &Context) -> Result<PathBuf, CommandError> {
    let files = context.config.kubeconfigs();
    let has = |file: &&PathBuf| {
        secure_file::read(file).is_ok_and(|text| kubeconfig::has_context(&text, name))
    };
    let holder = files.iter().find(has).cloned();
    let file = holder.or_else(|| context.config.kubeconfig_to_write());
    file.ok_or_else(|| {
        let message = "cannot find a kubeconfig: no home directory";
        CommandError::new(Exit::Precondition, message).hint("pass --into FILE")
    })
}

fn lock(file: &Path, context: &Context) -> Result<FileLock, CommandError> {
    let holder = format!(
        "{}, kvshoot run {}",
        context.config.user_at_host(),
        context.run_id
    );
    FileLock::acquire(file, &holder).map_err(file_error)
}

fn file_error(error: FileError) -> CommandError {
    let converted = CommandError::new(Exit::Precondition, error.to_string());
    match error {
        FileError::Locked { path, .. } => converted.hint(format!(
            "if no other process uses it: rm {}",
            path.display()
        )),
        FileError::Io { .. } => converted,
    }
}

fn malformed(file: &Path, error: &KubeconfigError) -> CommandError {
    let converted = CommandError::new(Exit::Precondition, format!("{}: {error}", file.display()));
    match error {
        KubeconfigError::Taken { .. } => converted.hint("pass --as NAME to use another name"),
        KubeconfigError::Malformed(_) => converted,
    }
}
