//! Facts of a shoot at one point in time, for commands that do not watch: the kinds that a command needs, listed once
//! and parsed as in a run.

use super::client::error::Error;
use super::client::request::{ObjectList, ResourceRef};
use super::client::resources::{self, ResourceScope};
use super::observe::cache::Cache;
use super::observe::watcher::{list_kind, selector};
use super::records::RecordSnapshot;
use crate::cluster::client::api_client::ApiClient;
use crate::state::facts::{Facts, ShootApi};
use crate::state::key::{ClusterSide, ObjectKind};
use crate::state::names::{self, role};
use futures::future::{join, try_join_all};
use std::time::Duration;

/// The kinds that a command needs, in the provider cluster and in the shoot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FactsScope {
    provider: &'static [ObjectKind],
    /// If empty, the shoot's API server is not contacted.
    shoot: &'static [ObjectKind],
}

impl FactsScope {
    /// VMs without their nodes.
    pub(crate) const MACHINES: FactsScope = FactsScope {
        provider: &[ObjectKind::Machine, ObjectKind::VirtualMachineInstance],
        shoot: &[],
    };
    pub(crate) const NODES: FactsScope = FactsScope {
        shoot: &[ObjectKind::Node],
        ..FactsScope::MACHINES
    };
    pub(crate) const IMAGES: FactsScope = FactsScope {
        provider: &[ObjectKind::ImageVolume],
        shoot: &[],
    };
    /// Facts that certificates of kubelets depend on.
    pub(crate) const CERTIFICATES: FactsScope = FactsScope {
        provider: &[
            ObjectKind::Machine,
            ObjectKind::VirtualMachineInstance,
            ObjectKind::Service,
        ],
        shoot: &[
            ObjectKind::Node,
            ObjectKind::BootstrapToken,
            ObjectKind::SigningRequest,
        ],
    };
    /// Everything that the health of a shoot depends on.
    pub(crate) const HEALTH: FactsScope = FactsScope {
        provider: &[
            ObjectKind::Machine,
            ObjectKind::VirtualMachineInstance,
            ObjectKind::ImageVolume,
            ObjectKind::StatefulSet,
            ObjectKind::Deployment,
            ObjectKind::Secret,
        ],
        shoot: &[
            ObjectKind::Node,
            ObjectKind::Deployment,
            ObjectKind::DaemonSet,
            ObjectKind::ApiService,
            ObjectKind::SigningRequest,
        ],
    };
}

#[cfg(test)]
impl FactsScope {
    pub(super) fn kinds(self) -> Vec<ResourceScope> {
        let provider = self.provider.iter().map(|it| (ClusterSide::Provider, *it));
        let shoot = self.shoot.iter().map(|it| (ClusterSide::Shoot, *it));
        provider.chain(shoot).collect()
    }
}

/// A kind, with the version and the objects of its LIST.
type ListedKind = (ResourceScope, ObjectList);

impl ApiClient {
    /// Lists what a command needs of a shoot. An API server of the shoot that does not answer is part of the facts.
    ///
    /// # Errors
    ///
    /// The provider cluster does not answer, listing is forbidden, or an object is invalid.
    pub(crate) async fn list_facts(
        &self,
        record: &RecordSnapshot,
        scope: FactsScope,
    ) -> Result<Facts, Error> {
        let mut cache = Cache::of_record(&record.name, &record.uid);
        let provider = list_kinds(self, ClusterSide::Provider, scope.provider, &record.name);
        let (provider, shoot) = join(provider, self.list_shoot(scope.shoot, &record.name)).await;
        self.fill(&mut cache, provider?)?;
        cache.static_facts.shoot_api = match shoot {
            _ if scope.shoot.is_empty() => ShootApi::Absent,
            Ok(listed) => {
                self.fill(&mut cache, listed)?;
                ShootApi::Reachable
            }
            Err(error) => ShootApi::Unreachable(error.to_string().into()),
        };
        Ok(self.facts_now(cache))
    }

    /// Lists the golden volumes of all shoots of the namespace. They are foreign objects, as no record is read.
    ///
    /// # Errors
    ///
    /// The provider cluster does not answer, listing is forbidden, or an object is invalid.
    pub(crate) async fn list_all_images(&self) -> Result<Facts, Error> {
        let selector = names::role_selector(role::IMAGE);
        let resource_ref = ResourceRef::all(&resources::DATA_VOLUME, Some(self.namespace()));
        let listed = self.list(resource_ref, Some(&selector)).await?;
        let mut cache = Cache::new("");
        let scope = (ClusterSide::Provider, ObjectKind::ImageVolume);
        self.fill(&mut cache, vec![(scope, listed)])?;
        Ok(self.facts_now(cache))
    }

    async fn list_shoot(&self, kinds: &[ObjectKind], id: &str) -> Result<Vec<ListedKind>, Error> {
        if kinds.is_empty() {
            return Ok(Vec::new());
        }
        let server = self.shoot_client(id).await?;
        list_kinds(&server, ClusterSide::Shoot, kinds, id).await
    }

    fn fill(&self, cache: &mut Cache, listed: Vec<ListedKind>) -> Result<(), Error> {
        for (scope, list) in listed {
            let (version, items) = (&list.version, &list.items);
            cache.list(scope, version, items, Duration::ZERO, self.server_time())?;
        }
        Ok(())
    }

    fn facts_now(&self, mut cache: Cache) -> Facts {
        cache.static_facts.namespace = self.namespace().clone();
        cache.static_facts.time = self.server_time().unwrap_or_default();
        cache.facts(Duration::ZERO)
    }
}

/// Lists kinds at the same time. Instances only add details, so that they may be forbidden.
async fn list_kinds(
    server: &ApiClient,
    side: ClusterSide,
    kinds: &[ObjectKind],
    id: &str,
) -> Result<Vec<ListedKind>, Error> {
    let lists = kinds.iter().map(async |kind| {
        let scope = (side, *kind);
        match list_kind(server, scope, &selector(scope, id)).await {
            Err(Error::Forbidden { .. }) if *kind == ObjectKind::VirtualMachineInstance => Ok(None),
            other => Ok(Some((scope, other?))),
        }
    });
    let lists = try_join_all(lists).await?;
    Ok(lists.into_iter().flatten().collect())
}
