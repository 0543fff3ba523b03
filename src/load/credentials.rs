//! The kubeconfig of the provider cluster, where the manifests hold it. Its content is never shown.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use secrecy::SecretString;

use crate::manifest::{Content, DocumentId, Manifest, Problem};
use crate::model::{
    ConfigVar, ConfigVarValue, FieldPath, FindingKind, ReferenceKind, Secret, SecretBinding, Shoot,
};

/// Where the manifests say that the credentials of the provider cluster are.
#[derive(Debug, Default)]
pub(crate) struct ProviderCredentials {
    /// The kubeconfig in the Secret that a Shoot's binding names, if both are among the documents.
    pub(crate) kubeconfig: Option<SecretString>,
    /// The kubeconfig that a MachineDeployment holds.
    pub(crate) machine_kubeconfig: Option<SecretString>,
    /// Name and key of a Secret to read from the provider cluster.
    pub(crate) secret: Option<(String, String)>,
}

/// Finds the credentials of the provider cluster among the documents.
pub(crate) fn provider_credentials(manifest: &Manifest) -> ProviderCredentials {
    let shoots = || {
        manifest
            .documents()
            .filter_map(|(_, content)| match content {
                Content::Shoot(shoot) => Some(shoot),
                _ => None,
            })
    };
    let of_secret = |shoot| kubeconfig(secret_of(manifest, shoot)?.1);
    let of_machines = of_machines(manifest).map(ConfigVar::resolve);
    let (mut machine_kubeconfig, mut machine_secret) = (None, None);
    for value in of_machines {
        match value {
            ConfigVarValue::Inline(text) => {
                machine_kubeconfig = machine_kubeconfig.or_else(|| decoded(&text));
            }
            ConfigVarValue::Reference(it) if it.kind == ReferenceKind::Secret => {
                machine_secret = machine_secret.or(Some((it.name, it.key)));
            }
            ConfigVarValue::Reference(_) => {}
        }
    }
    let bound = shoots().find_map(|shoot| binding_of(manifest, shoot));
    let bound = bound.map(|binding| (binding.secret_ref.name.clone(), KEY.to_owned()));
    ProviderCredentials {
        kubeconfig: shoots()
            .find_map(|shoot| of_secret(shoot))
            .map(SecretString::from),
        machine_kubeconfig: machine_kubeconfig.map(SecretString::from),
        secret: bound.or(machine_secret),
    }
}

/// The key of a kubeconfig in a Secret.
const KEY: &str = "kubeconfig";

/// Reports Secrets of bindings without a valid kubeconfig.
pub(super) fn check(manifest: &mut Manifest, shoots: &[(DocumentId, Arc<Shoot>)]) {
    let mut problems = Vec::new();
    for (_, shoot) in shoots {
        problems.extend(find_problem(manifest, shoot));
    }
    for (document, problem) in problems {
        manifest.report(document, problem);
    }
}

fn find_problem(manifest: &Manifest, shoot: &Shoot) -> Option<(DocumentId, Problem)> {
    let (document, secret) = secret_of(manifest, shoot)?;
    let root = FieldPath::root();
    if !secret.data.contains_key(KEY) && !secret.string_data.contains_key(KEY) {
        let path = root.child("data").child(KEY);
        let problem = Problem::new(
            path,
            FindingKind::Required,
            "secret/kubeconfig",
            "is required",
        )
        .hint(Some(
            "the Secret must hold the kubeconfig of the provider cluster",
        ));
        return Some((document, problem));
    }
    let key = if secret.string_data.contains_key(KEY) {
        "stringData"
    } else {
        "data"
    };
    let why = match kubeconfig(secret) {
        None => "is not base64-encoded text",
        Some(text) if !is_kubeconfig(&text) => "is not a kubeconfig",
        Some(_) => return None,
    };
    let path = root.child(key).child(KEY);
    Some((
        document,
        Problem::new(path, FindingKind::Invalid, "secret/kubeconfig", why),
    ))
}

/// An absent namespace matches any, since manifests are written by hand.
fn is_same(given: Option<&str>, wanted: Option<&str>) -> bool {
    given.is_none() || wanted.is_none() || given == wanted
}

/// The SecretBinding that a Shoot names, if it is among the documents.
fn binding_of<'m>(manifest: &'m Manifest, shoot: &Shoot) -> Option<&'m SecretBinding> {
    let name = shoot.spec.secret_binding_name.as_deref()?;
    let namespace = shoot.metadata.namespace.as_deref();
    manifest.documents().find_map(|(_, content)| match content {
        Content::SecretBinding(binding) => {
            let found = binding.metadata.name == name
                && is_same(binding.metadata.namespace.as_deref(), namespace);
            found.then_some(binding.as_ref())
        }
        _ => None,
    })
}

/// The Secret that a Shoot's binding names, if it is among the documents.
fn secret_of<'m>(manifest: &'m Manifest, shoot: &Shoot) -> Option<(DocumentId, &'m Secret)> {
    let binding = binding_of(manifest, shoot)?;
    let own = binding.metadata.namespace.as_deref();
    let wanted = binding.secret_ref.namespace.as_deref().or(own);
    manifest
        .documents()
        .find_map(|(id, content)| match content {
            Content::Secret(secret) => {
                let found = secret.metadata.name == binding.secret_ref.name
                    && is_same(secret.metadata.namespace.as_deref(), wanted);
                found.then_some((id, secret.as_ref()))
            }
            _ => None,
        })
}

/// The kubeconfig in a Secret.
fn kubeconfig(secret: &Secret) -> Option<String> {
    if let Some(text) = secret.string_data.get(KEY) {
        return Some(text.clone());
    }
    decoded(secret.data.get(KEY)?)
}

/// Decodes base64, ignoring white space; None unless it holds non-empty text.
fn decoded(text: &str) -> Option<String> {
    let encoded: String = text.split_whitespace().collect();
    let text = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
    Some(text).filter(|it| !it.is_empty())
}

/// The kubeconfig fields of MachineDeployments.
fn of_machines(manifest: &Manifest) -> impl Iterator<Item = &ConfigVar> {
    manifest
        .documents()
        .filter_map(|(_, content)| match content {
            Content::MachineDeployment(deployment) => {
                let value = &deployment.spec.template.spec.provider_spec.value;
                value.cloud_provider_spec.auth.as_ref()?.kubeconfig.as_ref()
            }
            _ => None,
        })
}

/// A shallow check for typing mistakes; connecting reads it completely.
fn is_kubeconfig(text: &str) -> bool {
    let parsed = serde_yaml::from_str::<serde_json::Value>(text);
    parsed.is_ok_and(|it| it.get("clusters").is_some_and(serde_json::Value::is_array))
}
