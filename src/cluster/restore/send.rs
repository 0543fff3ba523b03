//! Sending a snapshot to an empty member of etcd, as a leader sends one to a member that is behind.
//!
//! The images of etcd have no shell, and files cannot be copied into their pods. Every etcd accepts snapshots on its peer
//! port, though: it writes the bytes to a file of its data directory before it looks at the message that came with them.
//! This message is for another member, so etcd keeps the file and does nothing with it. The hash at the end of the file is
//! checked later, by `etcdutl`.

use super::raft_message::snapshot_message;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::certificate_authority::ClientCertificate;
use crate::cluster::client::error::{Error, RequestInfo};
use crate::cluster::client::etcd::EtcdClient;
use crate::cluster::client::transport::timeout_error;
use crate::cluster::client::transport::tls::https_connector;
use crate::cluster::client::tunnel::Tunnel;
use crate::cluster::objects::etcd::EtcdMemberStatus;
use crate::cluster::objects::reader::read_response;
use crate::state::names::{self, part};
use futures::{Stream, StreamExt as _};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use std::io;
use std::pin::Pin;
use std::time::Duration;
use tokio::io::AsyncRead;
use tokio::time::timeout;
use tokio_util::bytes::Bytes;
use tokio_util::io::ReaderStream;

/// The bytes of a snapshot, with its hash at the end.
pub(crate) type SnapshotSource = Box<dyn AsyncRead + Send + Unpin>;
type Frames = Pin<Box<dyn Stream<Item = io::Result<Frame<Bytes>>> + Send>>;

const PEER_PORT: u16 = 2380;
/// Bytes that are read at a time.
const CHUNK: usize = 64 << 10;
const STATUS_TIMEOUT: Duration = Duration::from_secs(10);
/// etcd closes a connection on its peer port after this time.
const SEND_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// Answer of etcd once it has stored the snapshot.
const STORED: &str = "cannot process message to mismatch member";

/// Number in the name of the file of a snapshot: it differs for other snapshots.
pub(crate) fn snapshot_number(sha256: &[u8; 32]) -> u64 {
    let first = sha256.first_chunk().expect("it is longer");
    // An index of raft that is not 0.
    u64::from_be_bytes(*first) >> 1 | 1
}

impl ApiClient {
    /// Sends a snapshot to the first member of a shoot's etcd. Sending one that was stored before changes nothing.
    ///
    /// # Errors
    ///
    /// The member does not answer, or the snapshot cannot be read to its end: then nothing is stored.
    pub(crate) async fn send_snapshot(
        &self,
        id: &str,
        number: u64,
        source: SnapshotSource,
    ) -> Result<(), Error> {
        let member = format!("{}-0", names::control_plane(id, part::ETCD));
        let credentials = self.etcd_certificate(id).await?;
        let cluster_id = cluster_id(self, &member, &credentials).await?;
        let tunnel = Tunnel::to_pod(self, &member, PEER_PORT).await?;
        let what = RequestInfo {
            verb: "create",
            resource: "etcd snapshots".into(),
            kind: "snapshot of etcd member".into(),
            name: Some(member.as_str().into()),
            namespace: None,
        };
        let _in_flight = self.in_flight(&what);
        let sent = send(&tunnel, &credentials, &cluster_id, number, source, &what);
        let sent = timeout(SEND_TIMEOUT, sent).await;
        sent.unwrap_or_else(|_| Err(timeout_error(&what, SEND_TIMEOUT)))
    }
}

/// In hexadecimal, as in headers.
async fn cluster_id(
    provider: &ApiClient,
    member: &str,
    credentials: &ClientCertificate,
) -> Result<String, Error> {
    let what = RequestInfo::get("status of etcd");
    let client = EtcdClient::connect(provider, member, credentials).await?;
    let status: EtcdMemberStatus =
        read_response(what.clone(), &client.status(STATUS_TIMEOUT).await?)?;
    let number: Result<u64, _> = status.header.cluster_id.parse();
    let number = number.map_err(|_| Error::InvalidResponse {
        what,
        message: "the ID of the cluster is not a number".to_owned(),
    })?;
    Ok(format!("{number:x}"))
}

async fn send(
    tunnel: &Tunnel,
    credentials: &ClientCertificate,
    cluster_id: &str,
    number: u64,
    source: SnapshotSource,
    what: &RequestInfo,
) -> Result<(), Error> {
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| Error::Unreachable {
        server: "etcd".to_owned(),
        source: error,
    };
    let config = ApiClient::config(&tunnel.url(), credentials).await?;
    let connector = https_connector(&config);
    let connector = connector.map_err(|error| failed(error.into()))?;
    let client: Client<_, StreamBody<Frames>> =
        Client::builder(TokioExecutor::new()).build(connector);
    let request = http::Request::post(format!("{}/raft/snapshot", tunnel.url()))
        .header("Content-Type", "application/octet-stream")
        .header("X-Server-From", "1")
        .header("X-Server-Version", "3.6.0")
        .header("X-Min-Cluster-Version", "3.0.0")
        .header("X-Etcd-Cluster-ID", cluster_id)
        .body(StreamBody::new(frames(number, source)))
        .map_err(|error| failed(error.into()))?;
    let answer = client.request(request).await;
    let (head, body) = answer.map_err(|error| failed(error.into()))?.into_parts();
    let body = http_body_util::Limited::new(body, CHUNK).collect().await;
    let body = body.map_err(failed)?.to_bytes();
    let message = String::from_utf8_lossy(&body).trim().to_owned();
    // Members before 3.5.5 apply it, which changes nothing: it is older than all that they know.
    match head.status.is_success() || message.contains(STORED) {
        true => Ok(()),
        false => Err(Error::Rejected {
            what: what.clone(),
            message: format!("{}: {message}", head.status),
        }),
    }
}

fn frames(number: u64, source: SnapshotSource) -> Frames {
    let message = futures::stream::iter([Ok(Bytes::from(snapshot_message(number)))]);
    let content = ReaderStream::with_capacity(source, CHUNK);
    Box::pin(message.chain(content).map(|it| it.map(Frame::data)))
}
