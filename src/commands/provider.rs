//! From flags, manifests and the environment to a provider cluster; and from its errors to words.

use super::load::{self, Around, Before, Loaded, Texts};
use super::{CommandError, Context, Exit};
use crate::cluster::{Error, Kubeconfigs, Overrides, Provider, Right, Source};
use crate::manifest::{Content, Manifest};
use crate::model::{Holder, Reference, Shoot};
use crate::state::failure::ErrorClass;
use crate::state::record;
use crate::validate::machine_deployment::Looked;
use secrecy::SecretString;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

/// The key of a kubeconfig in the Secret of a binding.
const KUBECONFIG: &str = "kubeconfig";

/// The provider that flags, variables and files lead to.
pub(super) async fn connect(context: &Context) -> Result<Provider, CommandError> {
    connect_to(context, source(context, None, None).await?).await
}

/// The same for who may say nothing: `at` stands in for flags and variables.
pub(super) async fn connect_quietly(context: &Context, at: Option<Source>) -> Option<Provider> {
    let global = &context.global;
    let source = match (at, global.sandbox()) {
        (Some(source), _) => source,
        // Whether it runs shows when it is asked.
        (None, Some(name)) => super::sandbox::source(context, name)?,
        (None, None) => source(context, None, None).await.ok()?,
    };
    let provider = Provider::connect(source, global.namespace.as_deref()).await;
    provider.ok()
}

async fn connect_to(context: &Context, source: Source) -> Result<Provider, CommandError> {
    let provider = Provider::connect(source, context.global.namespace.as_deref())
        .await
        .map_err(failed)?;
    provider
        .warnings()
        .iter()
        .for_each(|it| context.ui.warn(it));
    Ok(provider)
}

/// What was typed wins; then the Secret among the manifests, then the environment; and where that says nothing, what
/// a MachineDeployment says.
async fn source(
    context: &Context,
    secret: Option<SecretString>,
    machines: Option<SecretString>,
) -> Result<Source, CommandError> {
    let global = &context.global;
    if let Some(name) = global.sandbox() {
        return Ok(Source::Files(Kubeconfigs {
            files: vec![super::sandbox::kubeconfig(context, name).await?],
            ..Kubeconfigs::default()
        }));
    }
    let overrides = Overrides {
        context: global.context.clone(),
        cluster: global.cluster.clone(),
        user: global.user.clone(),
    };
    if let Some(file) = &global.kubeconfig {
        return Ok(Source::Files(Kubeconfigs {
            files: vec![file.clone()],
            overrides,
        }));
    }
    if let Some(text) = secret {
        return Ok(Source::Text {
            text,
            allow_exec: global.allow_exec,
        });
    }
    let files = context.config.kubeconfigs();
    if !files.iter().any(|it| it.exists()) {
        if context.config.in_cluster() {
            return Ok(Source::InCluster);
        }
        if let Some(text) = machines {
            return Ok(Source::Text {
                text,
                allow_exec: global.allow_exec,
            });
        }
    }
    Ok(Source::Files(Kubeconfigs { files, overrides }))
}

/// Manifests that are judged against what was applied last, and the provider that they are for.
pub(super) struct Ready {
    pub(super) provider: Provider,
    pub(super) loaded: Loaded,
    /// Technical IDs of the shoots that are there already.
    pub(super) known: HashMap<String, Before>,
}

/// Reads manifests, connects, and judges: a first time for the shoots' names and the way to the provider, and
/// again with what the provider has recorded. What is wrong with a manifest is told even when nobody answers.
pub(super) async fn ready(texts: &Texts, context: &Context) -> Result<Ready, CommandError> {
    let (ids, references) = (RefCell::new(Vec::new()), RefCell::new(BTreeSet::new()));
    let note = |id: &str| {
        ids.borrow_mut().push(id.to_owned());
        None
    };
    let first = load::judge_texts(
        texts,
        Around {
            look: &|it| {
                references.borrow_mut().insert(it.clone());
                Looked::Later
            },
            ..around(context, &note)?
        },
    );
    let (ids, references) = (ids.take(), references.take());
    let looked = async {
        let provider = provider_of(context, &first).await?;
        let mut known = HashMap::new();
        for id in ids {
            if let Some(record) = provider.record(&id).await.map_err(failed)? {
                known.extend(before(&record.data).map(|it| (id, it)));
            }
        }
        let mut values = HashMap::new();
        for reference in references {
            let looked = look(&provider, &reference, context).await?;
            values.insert(reference, looked);
        }
        Ok::<_, CommandError>((provider, known, values))
    };
    let (provider, known, values) = match looked.await {
        Ok(found) => found,
        Err(error) => {
            load::accept(first, context)?;
            return Err(error);
        }
    };
    let loaded = load::judge_texts(
        texts,
        Around {
            look: &|it| values.get(it).cloned().unwrap_or(Looked::Offline),
            ..around(context, &|id| known.get(id).cloned())?
        },
    );
    Ok(Ready {
        provider,
        loaded: load::accept(loaded, context)?,
        known,
    })
}

/// A value that a MachineDeployment takes from elsewhere. Kubermatic's namespaces are not those of the provider.
async fn look(
    provider: &Provider,
    reference: &Reference,
    context: &Context,
) -> Result<Looked, CommandError> {
    let (namespace, name) = (provider.namespace(), &reference.name);
    if *reference.namespace != **namespace {
        let (holder, elsewhere) = (reference.holder, &reference.namespace);
        let told = format!("{holder} {name} is read in namespace {namespace}, not in {elsewhere}");
        context.ui.warn(&told);
    }
    let looked = match reference.holder {
        Holder::Secret => provider.secret_value(name, &reference.key).await,
        Holder::ConfigMap => provider.value(name, &reference.key).await,
    };
    Ok(match looked {
        Ok(Some(text)) => Looked::Found(text),
        Ok(None) => Looked::Missing("there is no such key".to_owned()),
        Err(Error::NotFound { .. }) => {
            Looked::Missing(format!("it is not in namespace {namespace}"))
        }
        Err(error @ Error::NotAllowed { .. }) => Looked::Missing(error.to_string()),
        Err(error) => return Err(failed(error)),
    })
}

/// With the profiles of the configuration directory.
pub(super) fn around<'a>(
    context: &Context,
    before: &'a dyn Fn(&str) -> Option<Before>,
) -> Result<Around<'a>, CommandError> {
    let cannot = |error: std::io::Error| {
        CommandError::new(
            Exit::Precondition,
            "cannot read the profiles of the configuration directory",
        )
        .cause(error.to_string())
    };
    let files = context.config.profiles().map_err(cannot)?;
    let read = |path: std::path::PathBuf| Ok((path.display().to_string(), std::fs::read(&path)?));
    let profiles = files
        .into_iter()
        .map(read)
        .collect::<Result<_, _>>()
        .map_err(cannot)?;
    Ok(Around {
        profiles,
        before,
        ..Around::default()
    })
}

/// Where the manifests lead to: what was typed, the Secret of the binding among them, or that of the binding in
/// the provider cluster that the environment leads to.
async fn provider_of(context: &Context, loaded: &Loaded) -> Result<Provider, CommandError> {
    let shoots = || {
        loaded.manifest.documents().filter_map(|(_, it)| match it {
            Content::Shoot(shoot) => Some(shoot),
            _ => None,
        })
    };
    let given = shoots().find_map(|it| loaded.kubeconfig(it));
    let is_settled = given.is_some() || is_typed(context);
    let machines = loaded.kubeconfig_of_machines();
    if machines.is_some() && (is_settled || environment_says(context)) {
        let why = "flags, bindings and environment say where the provider is";
        context.ui.warn(&format!(
            "auth.kubeconfig of the MachineDeployment is not used: {why}"
        ));
    }
    let provider = connect_to(context, source(context, given, machines).await?).await?;
    let bound = shoots().find_map(|it| loaded.secret_reference(it));
    let bound = bound.map(|it| (it.name.clone(), KUBECONFIG.to_owned()));
    let Some((name, key)) = bound
        .or_else(|| loaded.secret_of_machines())
        .filter(|_| !is_settled)
    else {
        return Ok(provider);
    };
    match provider.kubeconfig(&name, &key).await.map_err(failed)? {
        Some(text) => connect_to(context, source(context, Some(text), None).await?).await,
        None => Ok(provider),
    }
}

fn environment_says(context: &Context) -> bool {
    let mut files = context.config.kubeconfigs().into_iter();
    files.any(|it| it.exists()) || context.config.in_cluster()
}

fn is_typed(context: &Context) -> bool {
    context.global.kubeconfig.is_some() || context.global.sandbox().is_some()
}

/// What a record holds of the last apply; None when another program has changed it beyond reading.
pub(super) fn before(data: &std::collections::BTreeMap<String, String>) -> Option<Before> {
    let texts = [record::SHOOT, record::PROFILE]
        .map(|key| Some((key.to_owned(), data.get(key)?.clone().into_bytes())));
    let manifest = Manifest::parse(texts.into_iter().collect::<Option<Vec<_>>>()?);
    let (mut shoot, mut profile) = (None, None);
    for (_, content) in manifest.documents() {
        match content {
            Content::Shoot(it) => shoot = Some(Shoot::clone(it)),
            Content::CloudProfile(it) => profile = Some(it.as_ref().clone()),
            _ => {}
        }
    }
    Some((shoot?, profile?))
}

/// Rights that are missing in the provider's namespace, as a lower-case fragment.
pub(super) fn not_allowed(provider: &Provider, missing: &[Right]) -> String {
    let rights: Vec<String> = missing.iter().map(ToString::to_string).collect();
    let namespace = provider.namespace();
    format!(
        "not allowed in namespace {namespace}: {}",
        rights.join(", ")
    )
}

/// An error at the door, in a person's words.
pub(super) fn failed(error: Error) -> CommandError {
    let exit = exit_of(&error);
    let told = CommandError::new(exit, error.to_string());
    match &error {
        Error::NoKubeconfig(_) => told
            .hint("name one with --kubeconfig or KUBECONFIG")
            .hint("to try kvshoot without a provider cluster: kvshoot sandbox up, and --sandbox"),
        Error::ExecNotAllowed { .. } => told.hint("--allow-exec lets it"),
        Error::NoNamespace(_) => told.hint("kvshoot apply --create-namespace makes it"),
        Error::Held { .. } => told.hint("--lock-timeout 10m waits for it"),
        Error::Foreign { .. } => {
            told.hint("give the shoot another name, or remove that object if nobody needs it")
        }
        _ => told,
    }
}

fn exit_of(error: &Error) -> Exit {
    use crate::cluster::Verdict;
    match error {
        Error::NoKubeconfig(_) | Error::Kubeconfig(_) | Error::ExecNotAllowed { .. } => {
            Exit::Precondition
        }
        Error::Untrusted { .. }
        | Error::Missing(_)
        | Error::NoNamespace(_)
        | Error::Version { .. } => Exit::Precondition,
        Error::Held { .. } => Exit::Held,
        Error::Fenced { .. } => Exit::Partly,
        Error::NotFound { .. } => Exit::NotFound,
        other => match other.verdict() {
            Verdict::Refuse(class) => exit_of_class(class, false),
            Verdict::Again | Verdict::Look => Exit::Precondition,
        },
    }
}

/// `changed` says whether something was done before it failed.
pub(super) fn exit_of_class(class: ErrorClass, changed: bool) -> Exit {
    match class {
        ErrorClass::NotAllowed => Exit::NotAllowed,
        ErrorClass::Foreign | ErrorClass::Missing | ErrorClass::Unreachable if changed => {
            Exit::Partly
        }
        ErrorClass::Foreign | ErrorClass::Missing | ErrorClass::Unreachable => Exit::Precondition,
        ErrorClass::Quota | ErrorClass::Refused | ErrorClass::Infrastructure => {
            Exit::Infrastructure
        }
        ErrorClass::Guest => Exit::Guest,
    }
}
