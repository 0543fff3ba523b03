//! Requests to the members of etcd, and what the record knows of them.

use super::executor::Executor;
use crate::cluster::client::error::{Error, RequestInfo};
use crate::cluster::client::etcd::EtcdClient;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources;
use crate::state::action::EtcdRequest;
use crate::state::facts::EtcdStatus;
use crate::state::record::ETCD;
use crate::state::record::etcd::EtcdRecord;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// Limit for a defragmentation, which takes about a second per 100 MB.
const DEFRAGMENTATION_TIMEOUT: Duration = Duration::from_secs(60);

/// The database is full of what is still used.
const FULL: &str = "the database of etcd is full, and old revisions are not the reason: delete objects of the shoot";

impl Executor {
    /// Sends a request to a member, or for its volume.
    ///
    /// # Errors
    ///
    /// [`Error::Server`] while a member has just connected, or a learner is behind: both pass.
    pub(crate) async fn change_members(&self, request: &EtcdRequest) -> Result<(), Error> {
        let limit = self.write_timeout()?;
        match request {
            EtcdRequest::AddLearner { peer_url } => {
                self.voter().await?.add_learner(peer_url, limit).await
            }
            EtcdRequest::Promote { id } => self.voter().await?.promote(id, limit).await,
            EtcdRequest::Remove { id } => self.voter().await?.remove(id, limit).await,
            EtcdRequest::Expand { claim, uid, size } => self.expand(claim, uid, size).await,
            EtcdRequest::Defragment { member } => {
                let client = self.member(*member).await?;
                client.defragment(DEFRAGMENTATION_TIMEOUT).await?;
                self.observer.etcd.observe_if_possible().await;
                Ok(())
            }
            EtcdRequest::FreeSpace { members, quota } => self.free_space(members, *quota).await,
            EtcdRequest::MoveLeader { from, to } => {
                self.member(*from).await?.move_leader(to, limit).await
            }
        }
    }

    /// Requests a larger size; the storage provider then expands the volume while it is used.
    async fn expand(&self, claim: &str, uid: &str, size: &str) -> Result<(), Error> {
        let namespace = self.provider.namespace();
        let resource_ref = ResourceRef::one(&resources::CLAIM, namespace, claim);
        let patch = json!({
            "metadata": { "uid": uid },
            "spec": { "resources": { "requests": { "storage": size } } },
        });
        let limit = self.write_timeout()?;
        self.provider.patch(resource_ref, &patch, limit).await?;
        self.observer.etcd.observe_if_possible().await;
        Ok(())
    }

    /// An alarm that ends before the space is free would come back with the next write.
    async fn free_space(&self, members: &[u32], quota: u64) -> Result<(), Error> {
        let revision = self.etcd_statuses().iter().map(|it| it.revision).max();
        let revision = revision.unwrap_or_default();
        let voter = self.voter().await?;
        voter.compact(revision, self.write_timeout()?).await?;
        for ordinal in members {
            let member = self.member(*ordinal).await?;
            member.defragment(DEFRAGMENTATION_TIMEOUT).await?;
        }
        self.observer.etcd.observe_if_possible().await;
        self.observer.store.wait_published().await;
        let statuses = self.etcd_statuses();
        if statuses.iter().any(|it| it.size > quota / 10 * 9) {
            return Err(Error::Missing(FULL.to_owned()));
        }
        for status in &statuses {
            voter
                .end_alarm(&status.member_id, self.write_timeout()?)
                .await?;
        }
        Ok(())
    }

    /// The latest statuses of the members.
    fn etcd_statuses(&self) -> Vec<EtcdStatus> {
        let facts = self.observer.store.latest();
        let pods = facts.etcd.iter().flat_map(|it| it.pods.values());
        pods.filter_map(|it| it.status.clone()).collect()
    }

    /// Connects to a member that votes and answers.
    async fn voter(&self) -> Result<Arc<EtcdClient>, Error> {
        let facts = self.observer.store.latest();
        let etcd = facts.etcd.as_deref();
        let membership = etcd.and_then(|it| it.membership.as_ref().ok());
        let voters = membership.map(|it| it.voters()).unwrap_or_default();
        let answers = |it: &&u32| {
            let pod = etcd.and_then(|etcd| etcd.pods.get(it));
            pod.is_some_and(|it| it.status.is_some() && !it.is_leaving)
        };
        match voters.iter().find(answers) {
            Some(ordinal) => self.member(*ordinal).await,
            None => Err(changed()),
        }
    }

    async fn member(&self, ordinal: u32) -> Result<Arc<EtcdClient>, Error> {
        let facts = self.observer.store.latest();
        let pod = facts.etcd.as_ref().and_then(|it| it.pods.get(&ordinal));
        match pod {
            Some(pod) => self.observer.etcd.connect(ordinal, &pod.uid).await,
            None => Err(changed()),
        }
    }

    /// Writes the cluster of etcd to the record: from then on, no member founds another one.
    pub(crate) async fn record_etcd(&self, etcd: &EtcdRecord) -> Result<(), Error> {
        let facts = self.observer.store.latest();
        let Some(record) = &facts.record else {
            return Err(Error::Missing("the record does not exist".to_owned()));
        };
        let text = serde_json::to_string(etcd).expect("numbers and text");
        self.patch_record(record, &json!({ ETCD: text })).await
    }
}

/// The members are others than those that were observed.
fn changed() -> Error {
    Error::Conflict {
        what: RequestInfo::get("members of etcd"),
    }
}
