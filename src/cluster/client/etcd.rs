//! Client of a member of a shoot's etcd, by its JSON gateway.

use super::certificate_authority::ClientCertificate;
use super::error::{Error, RequestInfo};
use super::transport::{ApiRequest, JSON};
use super::tunnel::Tunnel;
use crate::cluster::client::api_client::ApiClient;
use crate::state::names;
use serde_json::{Value, json};
use std::time::Duration;

/// Client port of etcd.
const CLIENT_PORT: u16 = 2379;
/// Lifetime of the client certificate, in seconds: longer than any run.
const CERTIFICATE_LIFETIME: i64 = 24 * 60 * 60;
/// The part of the Secret's name with etcd's certificate authority.
const AUTHORITY: &str = "etcd-ca";

/// Client of one member, through a tunnel that closes with it.
pub(crate) struct EtcdClient {
    member: String,
    client: ApiClient,
}

impl ApiClient {
    /// Issues a client certificate for the etcd of a shoot. It is not stored.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] while the shoot has no certificate authority for etcd.
    pub(crate) async fn etcd_certificate(&self, id: &str) -> Result<ClientCertificate, Error> {
        let secret = names::control_plane(id, AUTHORITY);
        // Without names: etcd would compare them with the address of the client.
        let user = names::FIELD_MANAGER;
        self.certificate_of(id, &secret, user, &[], CERTIFICATE_LIFETIME)
            .await
    }
}

impl EtcdClient {
    /// Connects to a member, which has the name of its pod.
    ///
    /// # Errors
    ///
    /// The pod does not accept a connection, or port-forward is forbidden.
    pub(crate) async fn connect(
        provider: &ApiClient,
        member: &str,
        credentials: &ClientCertificate,
    ) -> Result<EtcdClient, Error> {
        let tunnel = Tunnel::to_pod(provider, member, CLIENT_PORT).await?;
        let client = ApiClient::from_credentials(&tunnel.url(), credentials).await?;
        Ok(EtcdClient {
            member: member.to_owned(),
            client: client.via_tunnel(tunnel),
        })
    }

    /// The connection, for other requests to this member.
    pub(super) fn api(&self) -> &ApiClient {
        &self.client
    }

    /// Status of this member.
    pub(crate) async fn status(&self, limit: Duration) -> Result<Value, Error> {
        self.ask("get", "maintenance/status", json!({}), limit)
            .await
    }

    /// The members as a quorum of them agrees. Without a quorum there is no answer.
    pub(crate) async fn members(&self, limit: Duration) -> Result<Value, Error> {
        let body = json!({ "linearizable": true });
        self.ask("list", "cluster/member/list", body, limit).await
    }

    /// Adds a member that does not vote yet.
    pub(crate) async fn add_learner(&self, peer_url: &str, limit: Duration) -> Result<(), Error> {
        let body = json!({ "peerURLs": [peer_url], "isLearner": true });
        let added = self.ask("create", "cluster/member/add", body, limit).await;
        unless_refused(added, "Peer URLs already exists")
    }

    /// Lets a learner vote.
    pub(crate) async fn promote(&self, id: &str, limit: Duration) -> Result<(), Error> {
        let body = json!({ "ID": id });
        let promoted = self
            .ask("update", "cluster/member/promote", body, limit)
            .await;
        match promoted {
            // It is behind the leader, which passes.
            Err(Error::Rejected { what, message }) if message.contains("in sync with leader") => {
                Err(Error::Server {
                    what,
                    code: 503,
                    message,
                })
            }
            other => unless_refused(other, "can only promote a learner member"),
        }
    }

    pub(crate) async fn remove(&self, id: &str, limit: Duration) -> Result<(), Error> {
        let body = json!({ "ID": id });
        match self
            .ask("delete", "cluster/member/remove", body, limit)
            .await
        {
            Ok(_) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Moves the leadership from this member to another one.
    pub(crate) async fn move_leader(&self, to: &str, limit: Duration) -> Result<(), Error> {
        let body = json!({ "targetID": to });
        let path = "maintenance/transfer-leadership";
        self.ask("update", path, body, limit).await.map(|_| ())
    }

    /// Drops all revisions before `revision`.
    pub(crate) async fn compact(&self, revision: u64, limit: Duration) -> Result<(), Error> {
        let body = json!({ "revision": revision.to_string(), "physical": true });
        let compacted = self.ask("update", "kv/compaction", body, limit).await;
        unless_refused(compacted, "has been compacted")
    }

    /// Gives free space of the database of this member back. It does not answer meanwhile.
    pub(crate) async fn defragment(&self, limit: Duration) -> Result<(), Error> {
        let defragmented = self.ask("update", "maintenance/defragment", json!({}), limit);
        defragmented.await.map(|_| ())
    }

    /// Ends the alarm of a full database of the member with this ID.
    pub(crate) async fn end_alarm(&self, id: &str, limit: Duration) -> Result<(), Error> {
        let body = json!({ "action": "DEACTIVATE", "memberID": id, "alarm": "NOSPACE" });
        self.ask("update", "maintenance/alarm", body, limit)
            .await
            .map(|_| ())
    }

    async fn ask(
        &self,
        verb: &'static str,
        path: &str,
        body: Value,
        limit: Duration,
    ) -> Result<Value, Error> {
        let what = RequestInfo {
            verb,
            resource: "etcd members".into(),
            kind: "etcd member".into(),
            name: Some(self.member.as_str().into()),
            namespace: None,
        };
        let request = ApiRequest::new("POST", format!("/v3/{path}")).body(JSON, &body);
        self.client.send(what, limit, request).await
    }
}

/// Counts a request as done that is refused because it was carried out before.
fn unless_refused(answer: Result<Value, Error>, done: &str) -> Result<(), Error> {
    match answer {
        Ok(_) => Ok(()),
        Err(Error::Rejected { message, .. }) if message.contains(done) => Ok(()),
        Err(error) => Err(error),
    }
}
