//! Connecting to the provider cluster that options, manifests and the environment select.

use super::sandbox;
use super::sandbox_clock::follow_clock_of;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::cluster::{
    ApiClient, KubeconfigFiles, KubeconfigOverrides, KubeconfigSource, Permission,
};
use crate::load::{ProviderCredentials, SecretLocation};
use secrecy::SecretString;

/// Connects to the provider cluster that options and the environment select.
pub(crate) async fn connect(context: &Context) -> Result<ApiClient, CommandError> {
    connect_to(context, source(context, None, None).await?).await
}

/// Connects without printing anything, for shell completion. `at` replaces options and environment.
pub(crate) async fn connect_quietly(
    context: &Context,
    at: Option<KubeconfigSource>,
) -> Option<ApiClient> {
    let options = &context.provider;
    let source = match (at, options.sandbox.as_deref()) {
        (Some(source), _) => source,
        // A stopped sandbox does not answer; that is noticed later.
        (None, Some(name)) => sandbox::source(context, name)?,
        (None, None) => source(context, None, None).await.ok()?,
    };
    let provider = ApiClient::connect(source, options.namespace.as_deref()).await;
    let provider = provider.ok()?;
    follow_clock_of(provider.server(), context);
    Some(provider)
}

/// Connects to the provider cluster of a Shoot: an explicit option wins, then the Secret of its binding among the
/// documents, then that Secret in the provider cluster of the environment.
///
/// # Errors
///
/// The Secret of a binding cannot be read: another provider cluster must not be taken instead.
pub(crate) async fn connect_for(
    context: &Context,
    credentials: ProviderCredentials,
) -> Result<ApiClient, CommandError> {
    let is_settled = credentials.kubeconfig.is_some() || has_option(context);
    let machines = credentials.machine_kubeconfig;
    if machines.is_some() && (is_settled || environment_has_kubeconfig(context)) {
        context.ui.warn(
            "auth.kubeconfig of the MachineDeployment is ignored: options, binding or environment select the provider cluster",
        );
    }
    let source_of_all = source(context, credentials.kubeconfig, machines).await?;
    let provider = connect_to(context, source_of_all).await?;
    let Some(secret) = credentials.secret.filter(|_| !is_settled) else {
        return Ok(provider);
    };
    let read = provider.namespace();
    let found = provider.kubeconfig(&secret.name, &secret.key).await;
    match (found.map_err(failed)?, &secret.binding) {
        (Some(text), binding) => {
            // The namespace of a binding can be one of the garden, which the provider cluster does not have.
            if let Some((binding, namespace)) = binding.as_ref().zip(other_namespace(&secret, read))
            {
                let name = &secret.name;
                context.ui.warn(&format!(
                    "Secret {name:?} of {binding} is read from namespace {read:?} instead of {namespace:?}"
                ));
            }
            connect_to(context, source(context, Some(text), None).await?).await
        }
        (None, None) => Ok(provider),
        (None, Some(binding)) => Err(not_found(&secret, binding, read)),
    }
}

/// The namespace that a binding says, if it is not the one that is read.
fn other_namespace<'s>(secret: &'s SecretLocation, read: &str) -> Option<&'s str> {
    secret.namespace.as_deref().filter(|it| *it != read)
}

fn not_found(secret: &SecretLocation, binding: &str, read: &str) -> CommandError {
    let name = &secret.name;
    let (message, hint) = match other_namespace(secret, read) {
        Some(namespace) => (
            format!(
                "Secret {name:?} of {binding} is in namespace {namespace:?}, but kvshoot reads namespace {read:?}"
            ),
            format!("pass -n {namespace}, or add the Secret to the manifests"),
        ),
        None => (
            format!("Secret {name:?} of {binding} not found or not readable in namespace {read:?}"),
            "add the Secret to the manifests, or select the provider cluster with --kubeconfig"
                .to_owned(),
        ),
    };
    CommandError::new(Exit::Precondition, message).hint(hint)
}

/// Formats permissions that are missing in the provider's namespace as a lower-case fragment.
pub(crate) fn format_missing(provider: &ApiClient, missing: &[Permission]) -> String {
    let rights: Vec<String> = missing.iter().map(ToString::to_string).collect();
    let namespace = provider.namespace();
    format!(
        "missing permissions in namespace {namespace}: {}",
        rights.join(", ")
    )
}

async fn connect_to(
    context: &Context,
    source: KubeconfigSource,
) -> Result<ApiClient, CommandError> {
    let namespace = context.provider.namespace.as_deref();
    let provider = ApiClient::connect(source, namespace)
        .await
        .map_err(failed)?;
    follow_clock_of(provider.server(), context);
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
) -> Result<KubeconfigSource, CommandError> {
    let options = &context.provider;
    if let Some(name) = options.sandbox.as_deref() {
        return Ok(KubeconfigSource::Files(KubeconfigFiles {
            files: vec![sandbox::kubeconfig(context, name).await?],
            ..KubeconfigFiles::default()
        }));
    }
    let overrides = KubeconfigOverrides {
        context: options.context.clone(),
        cluster: options.cluster.clone(),
        user: options.user.clone(),
    };
    if let Some(file) = &options.kubeconfig {
        return Ok(KubeconfigSource::Files(KubeconfigFiles {
            files: vec![file.clone()],
            overrides,
        }));
    }
    let of_text = |text| KubeconfigSource::Text {
        text,
        allow_exec: options.allow_exec,
    };
    if let Some(text) = secret {
        return Ok(of_text(text));
    }
    let files = context.config.kubeconfigs();
    if !files.iter().any(|file| file.exists()) {
        if context.config.in_cluster() {
            return Ok(KubeconfigSource::InCluster);
        }
        if let Some(text) = machines {
            return Ok(of_text(text));
        }
    }
    Ok(KubeconfigSource::Files(KubeconfigFiles {
        files,
        overrides,
    }))
}

fn environment_has_kubeconfig(context: &Context) -> bool {
    let mut files = context.config.kubeconfigs().into_iter();
    files.any(|file| file.exists()) || context.config.in_cluster()
}

/// Returns true if an option selects the provider cluster, so that manifests do not.
pub(crate) fn has_option(context: &Context) -> bool {
    context.provider.kubeconfig.is_some() || context.provider.sandbox.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_is_not_found_is_told_with_the_namespace_of_its_binding() {
        let error = |namespace: Option<&str>| {
            let secret = SecretLocation {
                name: "kubevirt".to_owned(),
                namespace: namespace.map(str::to_owned),
                key: "kubeconfig".to_owned(),
                binding: None,
            };
            not_found(&secret, "SecretBinding \"provider\"", "x").message
        };
        let unreadable = "Secret \"kubevirt\" of SecretBinding \"provider\" not found or not readable in namespace \"x\"";
        assert_eq!(error(None), unreadable);
        assert_eq!(error(Some("x")), unreadable);
        assert_eq!(
            error(Some("garden-b")),
            "Secret \"kubevirt\" of SecretBinding \"provider\" is in namespace \"garden-b\", but kvshoot reads namespace \"x\""
        );
    }
}
