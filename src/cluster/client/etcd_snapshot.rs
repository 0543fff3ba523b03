//! Snapshot of a shoot's etcd, streamed from one member.

use super::error::{Error, RequestInfo};
use super::etcd::EtcdClient;
use super::transport::response::ReadError;
use super::transport::{ApiRequest, JSON, timeout_error};
use crate::cluster::client::api_client::ApiClient;
use crate::state::names;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::Stream;
use futures::future::join_all;
use futures::stream::{BoxStream, StreamExt as _};
use kube::client::Body;
use serde::Deserialize;
use serde_json::{Value, json};
use std::io;
use std::time::Duration;
use tokio::time::timeout;
use tokio_util::bytes::Bytes;
use tokio_util::io::StreamReader;
use tracing::Instrument as _;

/// Members that a shoot has at most.
const MEMBERS: usize = 3;
/// Time limit for the status of a member.
const STATUS_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit for the next piece of a snapshot.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of a snapshot: twice the largest quota of a shoot's etcd, which a database may exceed a little.
const MAX_BYTES: u64 = 16 << 30;

/// A snapshot that is being read, and the state of etcd before it.
pub(crate) struct EtcdSnapshot {
    /// Version of etcd.
    pub(crate) version: String,
    /// In hexadecimal, as in the logs of etcd.
    pub(crate) cluster_id: String,
    /// The snapshot has this revision or a later one.
    pub(crate) revision: u64,
    /// The snapshot, with its hash at the end, which the reader has to check. An error of etcd is an error of the reader.
    pub(crate) bytes: StreamReader<BoxStream<'static, io::Result<Bytes>>, Bytes>,
}

/// A line of the response: a piece, or an error after the response has begun with 200.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum SnapshotLine {
    Result {
        /// In base64.
        #[serde(default)]
        blob: String,
    },
    Error {
        #[serde(default)]
        message: String,
    },
}

/// Numbers are strings in etcd's JSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MemberStatus {
    header: ResponseHeader,
    version: String,
    #[serde(default)]
    raft_applied_index: String,
}

#[derive(Deserialize)]
struct ResponseHeader {
    cluster_id: String,
    revision: String,
}

impl EtcdSnapshot {
    /// Requests a snapshot from the first member that agrees with a quorum.
    ///
    /// # Errors
    ///
    /// That of the last member that was asked.
    pub(crate) async fn open(provider: &ApiClient, id: &str) -> Result<EtcdSnapshot, Error> {
        let credentials = provider.etcd_certificate(id).await?;
        let mut last = None;
        for ordinal in 0..MEMBERS {
            let member = format!("{}-{ordinal}", names::control_plane(id, "etcd"));
            let opened = async {
                let client = EtcdClient::connect(provider, &member, &credentials).await?;
                EtcdSnapshot::of_member(&client, &member).await
            };
            match opened.await {
                Ok(snapshot) => return Ok(snapshot),
                Err(error @ Error::Forbidden { .. }) => return Err(error),
                Err(error) => {
                    tracing::debug!(%error, "no snapshot of {member}");
                    // Members that do not exist explain nothing.
                    last = last.or(Some(error));
                }
            }
        }
        Err(last.unwrap_or_else(|| Error::Missing(format!("no member of the etcd of {id}"))))
    }

    /// Requests a snapshot from the member that has applied most. A quorum may have acknowledged more. Returns the name
    /// of its pod, too.
    ///
    /// # Errors
    ///
    /// No member answers.
    pub(crate) async fn open_without_quorum(
        provider: &ApiClient,
        id: &str,
    ) -> Result<(String, EtcdSnapshot), Error> {
        let credentials = provider.etcd_certificate(id).await?;
        let members = (0..MEMBERS).map(|it| format!("{}-{it}", names::control_plane(id, "etcd")));
        let asked = members.map(async |member| {
            let client = EtcdClient::connect(provider, &member, &credentials)
                .await
                .ok()?;
            let status = client.status(STATUS_TIMEOUT).await.ok()?;
            Some((applied(status)?, member, client))
        });
        let answers = join_all(asked).await.into_iter().flatten();
        let Some((_, member, client)) = answers.max_by_key(|it| it.0) else {
            return Err(Error::Missing(format!(
                "no member of the etcd of {id} answers"
            )));
        };
        let snapshot = EtcdSnapshot::of_client(&client, &member).await?;
        Ok((member, snapshot))
    }

    async fn of_member(client: &EtcdClient, member: &str) -> Result<EtcdSnapshot, Error> {
        // A member that answers this has applied all that was acknowledged before.
        client.members(STATUS_TIMEOUT).await?;
        EtcdSnapshot::of_client(client, member).await
    }

    async fn of_client(client: &EtcdClient, member: &str) -> Result<EtcdSnapshot, Error> {
        let status = client.status(STATUS_TIMEOUT).await?;
        let what = request_info(member);
        let (version, cluster_id, revision) =
            read_status(status).ok_or_else(|| Error::InvalidResponse {
                what: what.clone(),
                message: "not the status of a member".to_owned(),
            })?;
        let bytes = StreamReader::new(pieces(client.api(), what).await?.boxed());
        Ok(EtcdSnapshot {
            version,
            cluster_id,
            revision,
            bytes,
        })
    }
}

fn request_info(member: &str) -> RequestInfo {
    RequestInfo {
        verb: "get",
        resource: "etcd snapshots".into(),
        kind: "snapshot of etcd member".into(),
        name: Some(member.into()),
        namespace: None,
    }
}

/// Number of changes that a member has applied.
fn applied(status: Value) -> Option<u64> {
    let status: MemberStatus = serde_json::from_value(status).ok()?;
    status.raft_applied_index.parse().ok()
}

fn read_status(status: Value) -> Option<(String, String, u64)> {
    let status: MemberStatus = serde_json::from_value(status).ok()?;
    let cluster_id: u64 = status.header.cluster_id.parse().ok()?;
    let revision = status.header.revision.parse().ok()?;
    Some((status.version, format!("{cluster_id:x}"), revision))
}

/// The pieces of a snapshot. The client, and with it its tunnel, lives as long as the stream.
async fn pieces(
    client: &ApiClient,
    what: RequestInfo,
) -> Result<impl Stream<Item = io::Result<Bytes>> + Send + use<>, Error> {
    let request = ApiRequest::new("POST", "/v3/maintenance/snapshot".to_owned());
    let (request, body) = request.body(JSON, &json!({})).take_body();
    let request = request.build(body)?.map(Body::from);
    let lines = timeout(IDLE_TIMEOUT, client.open_watch(&what, request))
        .instrument(what.span())
        .await
        .map_err(|_| timeout_error(&what, IDLE_TIMEOUT))??;
    let state = (lines, client.clone(), what);
    let pieces = futures::stream::unfold(state, async |(mut lines, client, what)| {
        let in_flight = client.in_flight(&what);
        let piece = match timeout(IDLE_TIMEOUT, lines.next()).await {
            Ok(None) => return None,
            Ok(Some(Ok(line))) => read_line(&line),
            Ok(Some(Err(ReadError::TooLarge))) => Err("a line of the response is too long".into()),
            Ok(Some(Err(ReadError::Failed(error)))) => Err(error.to_string()),
            Err(_) => Err(format!("no data from etcd for {}s", IDLE_TIMEOUT.as_secs())),
        };
        drop(in_flight);
        Some((piece.map_err(io::Error::other), (lines, client, what)))
    });
    Ok(limited(pieces, MAX_BYTES))
}

/// Ends with an error after `most` bytes, so that no etcd fills up the destination.
fn limited(
    pieces: impl Stream<Item = io::Result<Bytes>> + Send,
    most: u64,
) -> impl Stream<Item = io::Result<Bytes>> + Send {
    let mut left = most;
    pieces.map(move |piece| {
        let piece = piece?;
        let rest = left.checked_sub(piece.len() as u64);
        left = rest.ok_or_else(|| io::Error::other("the snapshot is too large"))?;
        Ok(piece)
    })
}

fn read_line(line: &[u8]) -> Result<Bytes, String> {
    match serde_json::from_slice(line) {
        Ok(SnapshotLine::Result { blob }) => match STANDARD.decode(blob) {
            Ok(bytes) => Ok(bytes.into()),
            Err(_) => Err("a piece of the snapshot is not base64".to_owned()),
        },
        Ok(SnapshotLine::Error { message }) => Err(format!("etcd: {message}")),
        // The error of the parser could quote data.
        Err(_) => Err("a line of the response is not a piece of a snapshot".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_snapshot_without_end_is_an_error() {
        let pieces =
            |count| futures::stream::iter((0..count).map(|_| Ok(Bytes::from_static(b"abc"))));
        let read = |count| limited(pieces(count), 7).collect::<Vec<_>>();
        let lengths = |read: Vec<io::Result<Bytes>>| -> Vec<Option<usize>> {
            let read = read.into_iter();
            read.map(|it| it.ok().map(|it| it.len())).collect()
        };
        assert_eq!(lengths(read(2).await), [Some(3), Some(3)]);
        assert_eq!(lengths(read(3).await), [Some(3), Some(3), None]);
    }

    #[test]
    fn a_line_is_a_piece_or_an_error() {
        let line = br#"{"result":{"remaining_bytes":"7","blob":"YWJj","version":"3.6.0"}}"#;
        assert_eq!(read_line(line), Ok(Bytes::from_static(b"abc")));
        let line = br#"{"error":{"code":13,"message":"snapshot: database closed"}}"#;
        assert_eq!(
            read_line(line),
            Err("etcd: snapshot: database closed".to_owned())
        );
        for line in ["", "{}", "c2VjcmV0", r#"{"result":{"blob":"%"}}"#] {
            let error = read_line(line.as_bytes()).unwrap_err();
            assert!(!error.contains("c2VjcmV0"), "{error}");
        }
    }

    #[test]
    fn the_status_of_a_member_has_its_numbers_as_strings() {
        let header = json!({ "cluster_id": "14841639068965178418", "revision": "812" });
        let status = json!({
            "header": header, "version": "3.6.8", "dbSize": "1", "raftAppliedIndex": "907",
        });
        assert_eq!(applied(status.clone()), Some(907));
        let expected = ("3.6.8".to_owned(), "cdf818194e3a8c32".to_owned(), 812);
        assert_eq!(read_status(status), Some(expected));
        assert_eq!(read_status(json!({ "version": "3.6.8" })), None);
    }
}
