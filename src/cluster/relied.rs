//! Whether what a shoot relies on is there, and of which kind.

use super::Provider;
use super::error::Error;
use super::kinds::{self, Resource};
use super::project::items;
use super::request::Place;
use crate::plan::relied::{Family, Relied};
use futures::future::try_join_all;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Of each its kind; None for what is not there.
pub(super) async fn find(
    provider: &Provider,
    wanted: &BTreeSet<Relied>,
) -> Result<BTreeMap<Relied, Option<Arc<str>>>, Error> {
    let looks = wanted.iter().map(async |it| {
        let found = find_one(provider, it).await?;
        Ok::<_, Error>((it.clone(), found.map(Arc::from)))
    });
    Ok(try_join_all(looks).await?.into_iter().collect())
}

async fn find_one(provider: &Provider, wanted: &Relied) -> Result<Option<&'static str>, Error> {
    let (own, shared) = match wanted.family {
        Family::Instancetype => (&kinds::INSTANCETYPE, &kinds::CLUSTER_INSTANCETYPE),
        Family::Preference => (&kinds::PREFERENCE, &kinds::CLUSTER_PREFERENCE),
        Family::Claim => return claim(provider, &wanted.name).await,
        Family::Cloning => return cloning(provider, &wanted.name).await,
        Family::Shared => return shared(provider, wanted).await,
    };
    let is_meant = |it: &Resource| wanted.kind.as_deref().is_none_or(|kind| kind == it.kind);
    if is_meant(own) {
        let place = Place::one(own, provider.namespace(), &wanted.name);
        if is_there(provider, place).await? {
            return Ok(Some(own.kind));
        }
    }
    let place = Place {
        resource: shared,
        namespace: None,
        name: Some(&wanted.name),
    };
    match is_meant(shared) {
        false => Ok(None),
        true => match is_there(provider, place).await {
            // A tenant may use what he may not read; whether it is there KubeVirt says.
            Ok(true) | Err(Error::NotAllowed { .. }) => Ok(Some(shared.kind)),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        },
    }
}

/// By what CDI knows of a StorageClass; where it knows nothing, by who vouches for it.
async fn shared(provider: &Provider, wanted: &Relied) -> Result<Option<&'static str>, Error> {
    let place = Place {
        resource: &kinds::STORAGE_PROFILE,
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
    Ok(is_shared.then_some(kinds::STORAGE_PROFILE.kind))
}

async fn claim(provider: &Provider, name: &str) -> Result<Option<&'static str>, Error> {
    let Some((namespace, name)) = name.split_once('/') else {
        return Ok(None);
    };
    let place = Place::one(&kinds::CLAIM, namespace, name);
    match is_there(provider, place).await {
        // That of another namespace may be cloned by who may not see it; CDI asks for that right itself.
        Err(Error::NotAllowed { .. }) if namespace != &**provider.namespace() => {
            Ok(Some(kinds::CLAIM.kind))
        }
        other => Ok(other?.then_some(kinds::CLAIM.kind)),
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
            "kind": kinds::ACCESS_REVIEW.kind,
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
        let place = Place::all(&kinds::ACCESS_REVIEW, None);
        let is_allowed = match provider.review(place, &review).await {
            Err(Error::NotAllowed { .. }) => true,
            other => other?["status"]["allowed"] == true,
        };
        if is_allowed {
            return Ok(Some(kinds::DATA_VOLUME_SOURCE.kind));
        }
    }
    Ok(None)
}

async fn is_there(provider: &Provider, place: Place<'_>) -> Result<bool, Error> {
    match provider.get_again(place).await {
        Ok(_) => Ok(true),
        Err(Error::NotFound { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
