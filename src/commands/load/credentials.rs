//! The provider's kubeconfig in a Secret among the manifests. Nothing of it is ever shown.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::manifest::{Content, DocumentId, Manifest, Problem};
use crate::model::{ConfigVar, FieldPath, Kind, Secret, SecretBinding, Shoot};

const KEY: &str = "kubeconfig";

/// Every Secret that the binding of a Shoot names has to hold a kubeconfig.
pub(super) fn check(manifest: &mut Manifest, shoots: &[(DocumentId, Arc<Shoot>)]) {
    let mut problems = Vec::new();
    for (_, shoot) in shoots {
        problems.extend(wrong(manifest, shoot));
    }
    for (document, problem) in problems {
        manifest.tell(document, problem);
    }
}

fn wrong(manifest: &Manifest, shoot: &Shoot) -> Option<(DocumentId, Problem)> {
    let (document, secret) = secret_of(manifest, shoot)?;
    let root = FieldPath::root();
    if !secret.data.contains_key(KEY) && !secret.string_data.contains_key(KEY) {
        let path = root.child("data").child(KEY);
        let problem = Problem::new(path, Kind::Required, "secret/kubeconfig", "is required").hint(
            Some("the Secret of a shoot holds the kubeconfig of its provider cluster"),
        );
        return Some((document, problem));
    }
    let key = if secret.string_data.contains_key(KEY) {
        "stringData"
    } else {
        "data"
    };
    let why = match kubeconfig(secret) {
        None => "is no base64 of a text",
        Some(text) if !is_kubeconfig(&text) => "is no kubeconfig",
        Some(_) => return None,
    };
    let path = root.child(key).child(KEY);
    Some((
        document,
        Problem::new(path, Kind::Invalid, "secret/kubeconfig", why),
    ))
}

/// Absent namespaces match every one: files are written by hand.
fn is_same(given: Option<&str>, wanted: Option<&str>) -> bool {
    given.is_none() || wanted.is_none() || given == wanted
}

/// The binding among the documents that a Shoot names.
pub(super) fn binding_of<'m>(manifest: &'m Manifest, shoot: &Shoot) -> Option<&'m SecretBinding> {
    let name = shoot.spec.secret_binding_name.as_deref()?;
    let namespace = shoot.metadata.namespace.as_deref();
    manifest.documents().find_map(|(_, it)| match it {
        Content::SecretBinding(it) => {
            let found =
                it.metadata.name == name && is_same(it.metadata.namespace.as_deref(), namespace);
            found.then_some(it.as_ref())
        }
        _ => None,
    })
}

/// The Secret among the documents that a Shoot's binding leads to.
pub(super) fn secret_of<'m>(
    manifest: &'m Manifest,
    shoot: &Shoot,
) -> Option<(DocumentId, &'m Secret)> {
    let binding = binding_of(manifest, shoot)?;
    let own = binding.metadata.namespace.as_deref();
    let wanted = binding.secret_ref.namespace.as_deref().or(own);
    manifest.documents().find_map(|(id, it)| match it {
        Content::Secret(secret) => {
            let found = secret.metadata.name == binding.secret_ref.name
                && is_same(secret.metadata.namespace.as_deref(), wanted);
            found.then_some((id, secret.as_ref()))
        }
        _ => None,
    })
}

/// The text of the kubeconfig in a Secret.
pub(super) fn kubeconfig(secret: &Secret) -> Option<String> {
    if let Some(text) = secret.string_data.get(KEY) {
        return Some(text.clone());
    }
    decoded(secret.data.get(KEY)?)
}

/// The text in a text of base64.
pub(super) fn decoded(text: &str) -> Option<String> {
    let encoded: String = text.split_whitespace().collect();
    let text = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
    Some(text).filter(|it| !it.is_empty())
}

/// What MachineDeployments say of the way to the provider cluster.
pub(super) fn of_machines(manifest: &Manifest) -> impl Iterator<Item = &ConfigVar> {
    manifest.documents().filter_map(|(_, it)| match it {
        Content::MachineDeployment(it) => {
            let value = &it.spec.template.spec.provider_spec.value;
            value.cloud_provider_spec.auth.as_ref()?.kubeconfig.as_ref()
        }
        _ => None,
    })
}

/// Enough of one to tell a slip of the hand; whoever connects reads it in earnest.
fn is_kubeconfig(text: &str) -> bool {
    let parsed = serde_yaml::from_str::<serde_json::Value>(text);
    parsed.is_ok_and(|it| it.get("clusters").is_some_and(serde_json::Value::is_array))
}
