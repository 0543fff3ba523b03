//! Whether what a shoot relies on is there, and of which kind.

use crate::cluster::client::api_client::Provider;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::Place;
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::json::items;
use crate::state::names;
use crate::state::prerequisite::{Family, Found, Relied};
use futures::future::try_join_all;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What is there of each; instancetypes and preferences also among the `templates` of a namespace.
pub(crate) async fn find(
    provider: &Provider,
    wanted: &BTreeSet<Relied>,
    templates: Option<&str>,
) -> Result<BTreeMap<Relied, Found>, Error> {
    let looks = wanted.iter().map(async |it| {
        let found = match it.family {
            Family::Instancetype => {
                let (own, shared) = (&resources::INSTANCETYPE, &resources::CLUSTER_INSTANCETYPE);
                find_type(provider, it, own, shared, templates).await?
            }
            Family::Preference => {
                let (own, shared) = (&resources::PREFERENCE, &resources::CLUSTER_PREFERENCE);
                find_type(provider, it, own, shared, templates).await?
            }
            Family::Claim => claim(provider, &it.name).await?.into(),
            Family::Cloning => cloning(provider, &it.name).await?.into(),
            Family::Shared => shared(provider, it).await?.into(),
        };
        Ok::<_, Error>((it.clone(), found))
    });
    Ok(try_join_all(looks).await?.into_iter().collect())
}

impl From<Option<&'static str>> for Found {
    fn from(kind: Option<&'static str>) -> Found {
        kind.map_or(Found::Nothing, |it| Found::There(it.into()))
    }
}

/// In the namespace, among the templates, and in the whole cluster.
async fn find_type(
    provider: &Provider,
    wanted: &Relied,
    own: &'static Resource,
    shared: &'static Resource,
    templates: Option<&str>,
) -> Result<Found, Error> {
    let is_meant = |it: &Resource| wanted.kind.as_deref().is_none_or(|kind| kind == it.kind);
    if is_meant(own) {
        let here = Place::one(own, provider.namespace(), &wanted.name);
        if of_others(provider, here).await?.is_some() {
            return Ok(Found::There(own.kind.into()));
        }
        let template = templates.map(|it| Place::one(own, it, &wanted.name));
        if let Some(template) = template
            && let Some(mut template) = of_others(provider, template).await?
        {
            return Ok(Found::Template(template["spec"].take().into()));
        }
    }
    let place = Place {
        resource: shared,
        namespace: None,
        name: Some(&wanted.name),
    };
    Ok(match is_meant(shared) {
        false => None,
        true => match is_there(provider, place).await {
            // A tenant may use what he may not read; whether it is there KubeVirt says.
            Ok(true) | Err(Error::NotAllowed { .. }) => Some(shared.kind),
            Ok(false) => None,
            Err(error) => return Err(error),
        },
    }
    .into())
}

/// What a shoot keeps for its machines is nobody else's.
async fn of_others(provider: &Provider, place: Place<'_>) -> Result<Option<Value>, Error> {
    let found = look(provider, place).await?;
    let is_ours = |it: &Value| it["metadata"]["labels"][names::MANAGED_BY] == names::KVSHOOT;
    Ok(found.filter(|it| !is_ours(it)))
}

/// By what CDI knows of a StorageClass; where it knows nothing, by who vouches for it.
async fn shared(provider: &Provider, wanted: &Relied) -> Result<Option<&'static str>, Error> {
    let place = Place {
        resource: &resources::STORAGE_PROFILE,
        namespace: None,
        name: Some(&wanted.name),
    };
    let profile = match provider.get_again(place).await {
        Err(Error::NotFound { .. } | Error::NotAllowed { .. }) => Value::Null,
        other => other?,
    };
    let sets = items(&profile["status"]["claimPropertySets"]).iter();
    let modes: Vec<&Value> = sets.flat_map(|it| items(&it["accessModes"])).collect();
    let is_shared = match modes.as_slice() {
        [] => wanted.kind.is_some(),
        modes => modes.iter().any(|it| *it == "ReadWriteMany"),
    };
    Ok(is_shared.then_some(resources::STORAGE_PROFILE.kind))
}

async fn claim(provider: &Provider, name: &str) -> Result<Option<&'static str>, Error> {
    let Some((namespace, name)) = name.split_once('/') else {
        return Ok(None);
    };
    let place = Place::one(&resources::CLAIM, namespace, name);
    match is_there(provider, place).await {
        // That of another namespace may be cloned by who may not see it; CDI asks for that right itself.
        Err(Error::NotAllowed { .. }) if namespace != &**provider.namespace() => {
            Ok(Some(resources::CLAIM.kind))
        }
        other => Ok(other?.then_some(resources::CLAIM.kind)),
    }
}

/// Either right is enough for CDI, and virt-controller asks for that of the machines' account. Where nobody may ask
/// whether somebody else may, it is taken to be so: a machine that waits for it says so.
async fn cloning(provider: &Provider, name: &str) -> Result<Option<&'static str>, Error> {
    let Some((namespace, name)) = name.split_once('/') else {
        return Ok(None);
    };
    for (group, resource, subresource) in [
        ("cdi.kubevirt.io", "datavolumes", "source"),
        ("", "pods", ""),
    ] {
        let own = provider.namespace();
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": resources::ACCESS_REVIEW.kind,
            "spec": {
                "user": format!("system:serviceaccount:{own}:default"),
                "groups": [
                    "system:serviceaccounts",
                    format!("system:serviceaccounts:{own}"),
                    "system:authenticated",
                ],
                "resourceAttributes": {
                    "verb": "create", "namespace": namespace, "name": name,
                    "group": group, "resource": resource, "subresource": subresource,
                },
            },
        });
        let place = Place::all(&resources::ACCESS_REVIEW, None);
        let is_allowed = match provider.review(place, &review).await {
            Err(Error::NotAllowed { .. }) => true,
            other => other?["status"]["allowed"] == true,
        };
        if is_allowed {
            return Ok(Some(resources::DATA_VOLUME_SOURCE.kind));
        }
    }
    Ok(None)
}

async fn is_there(provider: &Provider, place: Place<'_>) -> Result<bool, Error> {
    Ok(look(provider, place).await?.is_some())
}

async fn look(provider: &Provider, place: Place<'_>) -> Result<Option<Value>, Error> {
    match provider.get_again(place).await {
        Ok(found) => Ok(Some(found)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
