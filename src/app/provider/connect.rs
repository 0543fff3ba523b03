//! Connecting to the provider cluster that options, manifests and the environment select.

use super::sandbox;
use crate::app::context::Context;
use crate::app::error::{CommandError, failed};
use crate::cluster::{Kubeconfigs, Overrides, Provider, Right, Source};
use crate::load::ProviderCredentials;
use secrecy::SecretString;

/// Connects to the provider cluster that options and the environment select.
pub(crate) async fn connect(context: &Context) -> Result<Provider, CommandError> {
    connect_to(context, source(context, None, None).await?).await
}

/// Connects without printing anything, for shell completion. `at` replaces options and environment.
pub(crate) async fn connect_quietly(context: &Context, at: Option<Source>) -> Option<Provider> {
    let options = &context.provider;
    let source = match (at, options.sandbox.as_deref()) {
        (Some(source), _) => source,
        // A stopped sandbox does not answer; that is noticed later.
        (None, Some(name)) => sandbox::source(context, name)?,
        (None, None) => source(context, None, None).await.ok()?,
    };
    let provider = Provider::connect(source, options.namespace.as_deref()).await;
    provider.ok()
}

/// Connects to the provider cluster of manifests: an explicit option wins, then the Secret of the SecretBinding among
/// the documents, then that Secret in the provider cluster of the environment.
pub(crate) async fn connect_for(
    context: &Context,
    credentials: ProviderCredentials,
) -> Result<Provider, CommandError> {
    let is_settled = credentials.kubeconfig.is_some() || has_option(context);
    let machines = credentials.machine_kubeconfig;
    if machines.is_some() && (is_settled || environment_has_kubeconfig(context)) {
        context.ui.warn(
            "auth.kubeconfig of the MachineDeployment is ignored: options, SecretBinding or environment select the provider cluster",
        );
    }
    let source_of_all = source(context, credentials.kubeconfig, machines).await?;
    let provider = connect_to(context, source_of_all).await?;
    let Some((name, key)) = credentials.secret.filter(|_| !is_settled) else {
        return Ok(provider);
    };
    match provider.kubeconfig(&name, &key).await.map_err(failed)? {
        Some(text) => connect_to(context, source(context, Some(text), None).await?).await,
        None => Ok(provider),
    }
}

/// Formats permissions that are missing in the provider's namespace as a lower-case fragment.
pub(crate) fn format_missing(provider: &Provider, missing: &[Right]) -> String {
    let rights: Vec<String> = missing.iter().map(ToString::to_string).collect();
    let namespace = provider.namespace();
    format!(
        "missing permissions in namespace {namespace}: {}",
        rights.join(", ")
    )
}

async fn connect_to(context: &Context, source: Source) -> Result<Provider, CommandError> {
    let namespace = context.provider.namespace.as_deref();
    let provider = Provider::connect(source, namespace).await.map_err(failed)?;
    provider
        .warnings()
        .iter()
        .for_each(|warning| context.ui.warn(warning));
    Ok(provider)
}

/// Options win; then the Secret among the manifests, the environment, and the MachineDeployment's kubeconfig.
async fn source(
    context: &Context,
    secret: Option<SecretString>,
    machines: Option<SecretString>,
) -> Result<Source, CommandError> {
    let options = &context.provider;
    if let Some(name) = options.sandbox.as_deref() {
        return Ok(Source::Files(Kubeconfigs {
            files: vec![sandbox::kubeconfig(context, name).await?],
            ..Kubeconfigs::default()
        }));
    }
    let overrides = Overrides {
        context: options.context.clone(),
        cluster: options.cluster.clone(),
        user: options.user.clone(),
    };
    if let Some(file) = &options.kubeconfig {
        return Ok(Source::Files(Kubeconfigs {
            files: vec![file.clone()],
            overrides,
        }));
    }
    let of_text = |text| Source::Text {
        text,
        allow_exec: options.allow_exec,
    };
    if let Some(text) = secret {
        return Ok(of_text(text));
    }
    let files = context.config.kubeconfigs();
    if !files.iter().any(|file| file.exists()) {
        if context.config.in_cluster() {
            return Ok(Source::InCluster);
        }
        if let Some(text) = machines {
            return Ok(of_text(text));
        }
    }
    Ok(Source::Files(Kubeconfigs { files, overrides }))
}

fn environment_has_kubeconfig(context: &Context) -> bool {
    let mut files = context.config.kubeconfigs().into_iter();
    files.any(|file| file.exists()) || context.config.in_cluster()
}

fn has_option(context: &Context) -> bool {
    context.provider.kubeconfig.is_some() || context.provider.sandbox.is_some()
}
