//! Prerequisites of a shoot that others provide: whether they exist, and of which kind.

use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::objects::access_review::PartialAccessReview;
use crate::cluster::objects::metadata::PartialObject;
use crate::cluster::objects::reader::read;
use crate::cluster::objects::storage::PartialStorageProfile;
use crate::state::names;
use crate::state::prerequisite::{Lookup, Prerequisite, PrerequisiteKind};
use futures::future::try_join_all;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Looks up each prerequisite; instancetypes and preferences also in namespace `templates`.
pub(crate) async fn read_prerequisites(
    provider: &ApiClient,
    wanted: &BTreeSet<Prerequisite>,
    templates: Option<&str>,
) -> Result<BTreeMap<Prerequisite, Lookup>, Error> {
    let lookups = wanted.iter().map(async |it| {
        let found = match it.prerequisite_kind {
            PrerequisiteKind::Instancetype => {
                let (own, shared) = (&resources::INSTANCETYPE, &resources::CLUSTER_INSTANCETYPE);
                find_type(provider, it, own, shared, templates).await?
            }
            PrerequisiteKind::Preference => {
                let (own, shared) = (&resources::PREFERENCE, &resources::CLUSTER_PREFERENCE);
                find_type(provider, it, own, shared, templates).await?
            }
            PrerequisiteKind::PersistentVolumeClaim => find_claim(provider, &it.name).await?.into(),
            PrerequisiteKind::ClonePermission => {
                find_clone_permission(provider, &it.name).await?.into()
            }
            PrerequisiteKind::SharedStorageClass => find_shared_access(provider, it).await?.into(),
            PrerequisiteKind::PriorityClass => {
                find_priority_class(provider, &it.name).await?.into()
            }
        };
        Ok::<_, Error>((it.clone(), found))
    });
    Ok(try_join_all(lookups).await?.into_iter().collect())
}

impl From<Option<&'static str>> for Lookup {
    fn from(kind: Option<&'static str>) -> Lookup {
        kind.map_or(Lookup::NotFound, |it| Lookup::Found(it.into()))
    }
}

/// Searches the namespace, the templates and the cluster-wide objects.
async fn find_type(
    provider: &ApiClient,
    wanted: &Prerequisite,
    own: &'static Resource,
    shared: &'static Resource,
    templates: Option<&str>,
) -> Result<Lookup, Error> {
    let is_meant = |it: &Resource| wanted.kind.as_deref().is_none_or(|kind| kind == it.kind);
    if is_meant(own) {
        let here = ResourceRef::one(own, provider.namespace(), &wanted.name);
        if find_unmanaged(provider, here).await?.is_some() {
            return Ok(Lookup::Found(own.kind.into()));
        }
        let template = templates.map(|it| ResourceRef::one(own, it, &wanted.name));
        if let Some(template) = template
            && let Some(mut template) = find_unmanaged(provider, template).await?
        {
            return Ok(Lookup::Template(template["spec"].take().into()));
        }
    }
    let resource_ref = ResourceRef {
        resource: shared,
        namespace: None,
        name: Some(&wanted.name),
    };
    Ok(match is_meant(shared) {
        false => None,
        true => match exists(provider, resource_ref).await {
            // A tenant may use cluster-wide objects without reading them; KubeVirt reports missing ones.
            Ok(true) | Err(Error::Forbidden { .. }) => Some(shared.kind),
            Ok(false) => None,
            Err(error) => return Err(error),
        },
    }
    .into())
}

/// Objects that a shoot owns are not prerequisites.
async fn find_unmanaged(
    provider: &ApiClient,
    resource_ref: ResourceRef<'_>,
) -> Result<Option<Value>, Error> {
    let Some(found) = get_optional(provider, resource_ref).await? else {
        return Ok(None);
    };
    let object: PartialObject = read(resource_ref.resource, &found)?;
    let is_ours = object.metadata.label(names::MANAGED_BY) == Some(names::KVSHOOT);
    Ok(Some(found).filter(|_| !is_ours))
}

/// Access modes by CDI's StorageProfile; if it has none, as configured.
async fn find_shared_access(
    provider: &ApiClient,
    wanted: &Prerequisite,
) -> Result<Option<&'static str>, Error> {
    let resource_ref = ResourceRef {
        resource: &resources::STORAGE_PROFILE,
        namespace: None,
        name: Some(&wanted.name),
    };
    let profile = match provider.get_with_retry(resource_ref).await {
        Err(Error::NotFound { .. } | Error::Forbidden { .. }) => PartialStorageProfile::default(),
        other => read(&resources::STORAGE_PROFILE, &other?)?,
    };
    let modes = profile.access_modes();
    let is_shared = match modes.as_slice() {
        [] => wanted.kind.is_some(),
        modes => modes.contains(&"ReadWriteMany"),
    };
    Ok(is_shared.then_some(resources::STORAGE_PROFILE.kind))
}

/// A tenant may use a PriorityClass without reading it.
async fn find_priority_class(
    provider: &ApiClient,
    name: &str,
) -> Result<Option<&'static str>, Error> {
    let resource_ref = ResourceRef {
        resource: &resources::PRIORITY_CLASS,
        namespace: None,
        name: Some(name),
    };
    let is_there = match exists(provider, resource_ref).await {
        Err(Error::Forbidden { .. }) => true,
        other => other?,
    };
    Ok(is_there.then_some(resources::PRIORITY_CLASS.kind))
}

async fn find_claim(provider: &ApiClient, name: &str) -> Result<Option<&'static str>, Error> {
    let Some((namespace, name)) = name.split_once('/') else {
        return Ok(None);
    };
    let resource_ref = ResourceRef::one(&resources::CLAIM, namespace, name);
    match exists(provider, resource_ref).await {
        // CDI checks the permission to clone a claim of another namespace; reading it is not needed.
        Err(Error::Forbidden { .. }) if namespace != &**provider.namespace() => {
            Ok(Some(resources::CLAIM.kind))
        }
        other => Ok(other?.then_some(resources::CLAIM.kind)),
    }
}

/// CDI accepts either permission, and virt-controller checks those of the machines' service account. If the check
/// itself is forbidden, the permission is assumed: a waiting machine reports the opposite.
async fn find_clone_permission(
    provider: &ApiClient,
    name: &str,
) -> Result<Option<&'static str>, Error> {
    let Some((namespace, name)) = name.split_once('/') else {
        return Ok(None);
    };
    let own = provider.namespace();
    for (group, resource, subresource) in [
        ("cdi.kubevirt.io", "datavolumes", "source"),
        ("", "pods", ""),
    ] {
        let attributes = json!({
            "verb": "create", "namespace": namespace, "name": name,
            "group": group, "resource": resource, "subresource": subresource,
        });
        if is_allowed(provider, (own, "default"), attributes).await? != Some(false) {
            return Ok(Some(resources::DATA_VOLUME_SOURCE.kind));
        }
    }
    Ok(None)
}

/// Returns whether the CSI driver of a shoot may read PersistentVolumes: it reads the capacity there before and after it
/// expands a volume. False if the check is forbidden, since a volume that never expands is worse than one that says so.
pub(crate) async fn may_expand_volumes(provider: &ApiClient, id: &str) -> Result<bool, Error> {
    let account = names::control_plane(id, names::part::CSI_CONTROLLER);
    let attributes = json!({ "verb": "get", "group": "", "resource": resources::VOLUME.plural });
    let account = (&**provider.namespace(), account.as_str());
    Ok(is_allowed(provider, account, attributes).await? == Some(true))
}

/// Returns whether a service account, given by namespace and name, may do this. None if the check is forbidden.
async fn is_allowed(
    provider: &ApiClient,
    (namespace, account): (&str, &str),
    attributes: Value,
) -> Result<Option<bool>, Error> {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": resources::ACCESS_REVIEW.kind,
        "spec": {
            "user": format!("system:serviceaccount:{namespace}:{account}"),
            "groups": [
                "system:serviceaccounts",
                format!("system:serviceaccounts:{namespace}"),
                "system:authenticated",
            ],
            "resourceAttributes": attributes,
        },
    });
    let resource_ref = ResourceRef::all(&resources::ACCESS_REVIEW, None);
    match provider.review(resource_ref, &review).await {
        Err(Error::Forbidden { .. }) => Ok(None),
        other => {
            let review: PartialAccessReview = read(&resources::ACCESS_REVIEW, &other?)?;
            Ok(Some(review.status.allowed))
        }
    }
}

async fn exists(provider: &ApiClient, resource_ref: ResourceRef<'_>) -> Result<bool, Error> {
    Ok(get_optional(provider, resource_ref).await?.is_some())
}

async fn get_optional(
    provider: &ApiClient,
    resource_ref: ResourceRef<'_>,
) -> Result<Option<Value>, Error> {
    match provider.get_with_retry(resource_ref).await {
        Ok(found) => Ok(Some(found)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
