//! The kubeconfig of the provider cluster, where the manifests hold it. Its content is never shown.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use secrecy::{ExposeSecret, SecretString};

use super::context::{BindingLookup, LoadContext};
use super::kubeconfig;
use super::machine_deployments;
use crate::manifest::{Content, DocumentId, Manifest, Problem};
use crate::model::{
    ConfigVar, ConfigVarValue, CredentialsReference, FieldPath, FindingKind, MachineDeployment,
    ReferenceKind, Secret, Shoot,
};
use crate::state::hash::Hash;
use crate::validate;

/// Where the manifests say that the credentials of a Shoot's provider cluster are.
#[derive(Debug, Default)]
pub(crate) struct ProviderCredentials {
    /// The kubeconfig in the Secret that the Shoot's binding names, if both are among the documents.
    pub(crate) kubeconfig: Option<SecretString>,
    /// The kubeconfig that a MachineDeployment of the Shoot holds.
    pub(crate) machine_kubeconfig: Option<SecretString>,
    /// A Secret to read from the provider cluster.
    pub(crate) secret: Option<SecretLocation>,
}

impl ProviderCredentials {
    /// Hash of what selects the provider cluster: equal for Shoots on the same one.
    pub(crate) fn identity(&self) -> Hash {
        let text = |it: &Option<SecretString>| it.as_ref().map(|it| it.expose_secret().to_owned());
        let secret = self.secret.as_ref();
        let secret = secret.filter(|_| self.kubeconfig.is_none());
        Hash::of(&(
            text(&self.kubeconfig),
            text(&self.machine_kubeconfig),
            secret.map(|it| (&it.name, &it.namespace, &it.key, it.binding.is_some())),
        ))
    }
}

/// A Secret in the provider cluster with a kubeconfig.
#[derive(Debug)]
pub(crate) struct SecretLocation {
    pub(crate) name: String,
    /// The namespace that the binding says, or else its own; None leaves it to the provider cluster.
    pub(crate) namespace: Option<String>,
    pub(crate) key: String,
    /// The binding that names it, such as `SecretBinding "a"`; None if a MachineDeployment does.
    pub(crate) binding: Option<String>,
}

/// The binding that a Shoot names, and the field that names it.
struct BindingReference<'m> {
    field: &'static str,
    kind: &'static str,
    name: &'m str,
}

/// A binding among the documents.
struct Binding<'m> {
    document: DocumentId,
    /// Provider types; None if the binding says none.
    provider: Option<&'m str>,
    namespace: Option<&'m str>,
    /// Name and namespace of its Secret.
    secret: (&'m str, Option<&'m str>),
}

impl<'m> Binding<'m> {
    /// Namespace of its Secret: its own unless it says another.
    fn secret_namespace(&self) -> Option<&'m str> {
        let given = self.secret.1.or(self.namespace);
        given.filter(|it| !it.is_empty())
    }
}

/// The credentials of each Shoot by technical ID, in the order of the documents.
pub(crate) fn provider_credentials(manifest: &Manifest) -> Vec<(String, ProviderCredentials)> {
    let shoots = shoots(manifest);
    let all = shoots.iter().enumerate();
    all.map(|(index, (_, shoot))| {
        let own = machine_deployments::of_shoot(manifest, &shoots, index);
        (validate::id(shoot), of_shoot(manifest, shoot, &own))
    })
    .collect()
}

/// Returns true if a Shoot names a binding that is not among the documents.
pub(crate) fn misses_binding(manifest: &Manifest) -> bool {
    let shoots = shoots(manifest);
    let mut all = shoots.iter();
    all.any(|(_, shoot)| reference(shoot).is_some() && binding_of(manifest, shoot).is_none())
}

fn shoots(manifest: &Manifest) -> Vec<(DocumentId, Arc<Shoot>)> {
    let shoot = |(document, content): (DocumentId, &Content)| match content {
        Content::Shoot(shoot) => Some((document, Arc::clone(shoot))),
        _ => None,
    };
    manifest.documents().filter_map(shoot).collect()
}

fn of_shoot(
    manifest: &Manifest,
    shoot: &Shoot,
    deployments: &[Arc<MachineDeployment>],
) -> ProviderCredentials {
    let (mut machine_kubeconfig, mut machine_secret) = (None, None);
    for value in deployments.iter().filter_map(|it| of_machines(it)) {
        match value.resolve() {
            ConfigVarValue::Inline(text) => {
                machine_kubeconfig = machine_kubeconfig.or_else(|| decoded(&text));
            }
            ConfigVarValue::Reference(it) if it.kind == ReferenceKind::Secret => {
                machine_secret = machine_secret.or(Some(SecretLocation {
                    name: it.name,
                    // That of another cluster: Kubermatic's seed.
                    namespace: None,
                    key: it.key,
                    binding: None,
                }));
            }
            ConfigVarValue::Reference(_) => {}
        }
    }
    let bound = binding_of(manifest, shoot).zip(reference(shoot));
    let bound = bound.map(|(binding, reference)| SecretLocation {
        name: binding.secret.0.to_owned(),
        namespace: binding.secret_namespace().map(str::to_owned),
        key: KEY.to_owned(),
        binding: Some(format!("{} {:?}", reference.kind, reference.name)),
    });
    let kubeconfig = secret_of(manifest, shoot).and_then(|(_, secret)| text_of(secret));
    ProviderCredentials {
        kubeconfig: kubeconfig.map(SecretString::from),
        machine_kubeconfig: machine_kubeconfig.map(SecretString::from),
        secret: bound.or(machine_secret),
    }
}

/// The provider type of all Shoots.
const PROVIDER_TYPE: &str = "kubevirt";

/// The key of a kubeconfig in a Secret.
const KEY: &str = "kubeconfig";

/// Reports bindings that are missing, Secrets of bindings without a valid kubeconfig, and invalid kubeconfigs of
/// MachineDeployments.
pub(super) fn check(
    manifest: &mut Manifest,
    shoots: &[(DocumentId, Arc<Shoot>)],
    context: &LoadContext,
) {
    let mut problems = Vec::new();
    for (_, shoot) in shoots {
        problems.extend(problem_of_secret(manifest, shoot, context.allow_exec));
    }
    let bindings = shoots.iter().filter_map(|it| binding_of(manifest, &it.1));
    let bindings: BTreeMap<_, _> = bindings.map(|it| (it.document, it)).collect();
    for (document, binding) in bindings {
        problems.extend(problem_of_provider(&binding).map(|it| (document, it)));
    }
    for (document, content) in manifest.documents() {
        if let Content::MachineDeployment(it) = content {
            let problem = problem_of_machines(it, context.allow_exec);
            problems.extend(problem.map(|it| (document, it)));
        }
    }
    for (document, content) in manifest.documents() {
        if let Content::CredentialsBinding(it) = content {
            let problem = problem_of_reference(&it.credentials_ref);
            problems.extend(problem.map(|it| (document, it)));
        }
    }
    for (document, problem) in problems {
        match context.bindings {
            // Another kubeconfig is used.
            BindingLookup::Skipped => manifest.warn(document, problem),
            _ => manifest.report(document, problem),
        }
    }
    for (document, shoot) in shoots {
        report_missing_binding(manifest, *document, shoot, context.bindings);
    }
}

fn report_missing_binding(
    manifest: &mut Manifest,
    document: DocumentId,
    shoot: &Shoot,
    lookup: BindingLookup,
) {
    let Some(BindingReference { field, kind, name }) = reference(shoot) else {
        return;
    };
    if lookup == BindingLookup::Skipped || binding_of(manifest, shoot).is_some() {
        return;
    }
    let path = FieldPath::root().child("spec").child(field);
    let message = format!("{kind} {name:?} not found among the manifests");
    let hint = "pass it with -f, select the provider cluster with --kubeconfig, or remove the field to use KUBECONFIG";
    let problem = Problem::new(path, FindingKind::Required, "shoot/binding", message);
    let problem = problem.hint(Some(hint));
    match lookup {
        BindingLookup::Required => manifest.report(document, problem),
        _ => manifest.warn(document, problem),
    }
}

fn problem_of_secret(
    manifest: &Manifest,
    shoot: &Shoot,
    allow_exec: bool,
) -> Option<(DocumentId, Problem)> {
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
    let path = root.child(key).child(KEY);
    let problem = match text_of(secret) {
        None => Problem::new(
            path,
            FindingKind::Invalid,
            "secret/kubeconfig",
            "is not base64-encoded text",
        ),
        Some(text) => kubeconfig::problem(&text, path, "secret/kubeconfig", allow_exec)?,
    };
    Some((document, problem))
}

/// The binding of a Shoot must be for its provider type; that of Gardener may list several types, separated by commas.
fn problem_of_provider(binding: &Binding<'_>) -> Option<Problem> {
    let given = binding.provider?;
    if given.split(',').any(|it| it.trim() == PROVIDER_TYPE) {
        return None;
    }
    let path = FieldPath::root().child("provider").child("type");
    let message = format!("unsupported value {given:?}");
    let code = "binding/provider-type";
    let problem = Problem::new(path, FindingKind::NotSupported, code, message);
    Some(problem.hint(Some(format!("use {PROVIDER_TYPE}"))))
}

/// Only a Secret can hold a kubeconfig; a WorkloadIdentity is for clouds.
fn problem_of_reference(reference: &CredentialsReference) -> Option<Problem> {
    let (version, kind) = (reference.api_version.as_str(), reference.kind.as_str());
    // Empty values are reported as missing.
    if version.is_empty() || kind.is_empty() || (version, kind) == ("v1", "Secret") {
        return None;
    }
    let path = FieldPath::root().child("credentialsRef").child("kind");
    let message = format!("unsupported credentials \"{version}/{kind}\"");
    let code = "credentials-binding/kind";
    let problem = Problem::new(path, FindingKind::NotSupported, code, message);
    Some(problem.hint(Some("refer to a Secret (v1) with a kubeconfig")))
}

/// A text that is not base64 is reported by the conversion.
fn problem_of_machines(deployment: &MachineDeployment, allow_exec: bool) -> Option<Problem> {
    let ConfigVarValue::Inline(text) = of_machines(deployment)?.resolve() else {
        return None;
    };
    let steps = "spec.template.spec.providerSpec.value.cloudProviderSpec.auth.kubeconfig";
    let path = steps.split('.');
    let path = path.fold(FieldPath::root(), |it, step| it.child(step));
    let code = "machine-deployment/kubeconfig";
    kubeconfig::problem(&decoded(&text)?, path, code, allow_exec)
}

/// How the namespace of an object has to match the one that is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NamespaceMatch {
    Exact,
    /// An absent namespace matches any, since manifests are written by hand.
    Lenient,
}

impl NamespaceMatch {
    /// Best match first: an object of the same name without a namespace must not hide the exact one.
    const ALL: [NamespaceMatch; 2] = [NamespaceMatch::Exact, NamespaceMatch::Lenient];

    fn is_same(self, given: Option<&str>, wanted: Option<&str>) -> bool {
        let is_open = given.is_none() || wanted.is_none();
        given == wanted || (self == NamespaceMatch::Lenient && is_open)
    }
}

/// The binding that a Shoot names; an empty name is none.
fn reference(shoot: &Shoot) -> Option<BindingReference<'_>> {
    let spec = &shoot.spec;
    let named = [
        (
            "credentialsBindingName",
            "CredentialsBinding",
            &spec.credentials_binding_name,
        ),
        (
            "secretBindingName",
            "SecretBinding",
            &spec.secret_binding_name,
        ),
    ];
    let mut named = named.into_iter().filter_map(|(field, kind, name)| {
        let name = name.as_deref().filter(|it| !it.is_empty())?;
        Some(BindingReference { field, kind, name })
    });
    named.next()
}

/// The binding that a Shoot names, if it is among the documents.
fn binding_of<'m>(manifest: &'m Manifest, shoot: &Shoot) -> Option<Binding<'m>> {
    let wanted = reference(shoot)?;
    let namespace = shoot.metadata.namespace.as_deref();
    let find = |by: NamespaceMatch| {
        manifest.documents().find_map(|(document, content)| {
            let (metadata, provider, secret) = match content {
                Content::SecretBinding(it) if wanted.kind == "SecretBinding" => {
                    let secret = &it.secret_ref;
                    (
                        &it.metadata,
                        &it.provider,
                        (&secret.name, &secret.namespace),
                    )
                }
                Content::CredentialsBinding(it) if wanted.kind == "CredentialsBinding" => {
                    let secret = &it.credentials_ref;
                    (
                        &it.metadata,
                        &it.provider,
                        (&secret.name, &secret.namespace),
                    )
                }
                _ => return None,
            };
            let own = metadata.namespace.as_deref();
            let found = metadata.name == wanted.name && by.is_same(own, namespace);
            found.then_some(Binding {
                document,
                provider: provider.as_ref().map(|it| it.type_.as_str()),
                namespace: own,
                secret: (secret.0.as_str(), secret.1.as_deref()),
            })
        })
    };
    NamespaceMatch::ALL.into_iter().find_map(find)
}

/// The Secret that a Shoot's binding names, if it is among the documents.
fn secret_of<'m>(manifest: &'m Manifest, shoot: &Shoot) -> Option<(DocumentId, &'m Secret)> {
    let binding = binding_of(manifest, shoot)?;
    let (name, wanted) = (binding.secret.0, binding.secret_namespace());
    let find = |by: NamespaceMatch| {
        manifest
            .documents()
            .find_map(|(id, content)| match content {
                Content::Secret(secret) => {
                    let found = secret.metadata.name == name
                        && by.is_same(secret.metadata.namespace.as_deref(), wanted);
                    found.then_some((id, secret.as_ref()))
                }
                _ => None,
            })
    };
    NamespaceMatch::ALL.into_iter().find_map(find)
}

/// The kubeconfig in a Secret.
fn text_of(secret: &Secret) -> Option<String> {
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

/// The kubeconfig field of a MachineDeployment.
fn of_machines(deployment: &MachineDeployment) -> Option<&ConfigVar> {
    let value = &deployment.spec.template.spec.provider_spec.value;
    value.cloud_provider_spec.auth.as_ref()?.kubeconfig.as_ref()
}
