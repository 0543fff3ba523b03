//! Logs of containers.

pub(crate) mod node;

use super::error::{Error, RequestInfo};
use super::resources;
use super::transport::lines::Lines;
use super::transport::response::ReadError;
use super::transport::{ApiRequest, timeout_error};
use crate::cluster::client::api_client::ApiClient;
use futures::io::AsyncReadExt as _;
use kube::client::Body;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::timeout;

/// Limit for a kubelet to return one log.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// A container whose log is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContainerRef<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) pod: &'a str,
    pub(crate) name: &'a str,
    /// The previous instance, before the last restart.
    pub(crate) previous: bool,
}

/// The lines of a log, as they arrive.
pub(crate) struct LogLines {
    lines: Lines,
    what: RequestInfo,
    server: String,
}

impl LogLines {
    pub(super) fn new(lines: Lines, what: RequestInfo, server: &str) -> LogLines {
        LogLines {
            lines,
            what,
            server: server.to_owned(),
        }
    }

    /// Returns the next line without its break, or `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Result<String, Error>> {
        let line = self.lines.next().await?;
        let text = |line: Vec<u8>| String::from_utf8_lossy(&line).into_owned();
        Some(line.map(text).map_err(|error| match error {
            ReadError::TooLarge => Error::too_large(&self.what),
            ReadError::Failed(error) => Error::from_client(self.what.clone(), &self.server, error),
        }))
    }
}

/// The end of a container's log.
#[derive(Debug)]
pub(crate) struct LogTail {
    pub(crate) text: String,
    /// Bytes left out before `text`.
    pub(crate) cut: u64,
}

impl ApiClient {
    /// Reads the last `most` bytes of a log, with timestamps.
    ///
    /// # Errors
    ///
    /// The log does not exist, or reading it is forbidden.
    pub(crate) async fn log_tail(
        &self,
        of: ContainerRef<'_>,
        most: usize,
    ) -> Result<LogTail, Error> {
        let query = [("timestamps", "true".to_owned())];
        self.read_log(of, &query, most, READ_TIMEOUT).await
    }

    /// Reads the last `lines` of a log, as far as they have at most `most` bytes. A server may send more lines.
    ///
    /// # Errors
    ///
    /// The log does not exist, reading it is forbidden, or it takes longer than `limit`.
    pub(crate) async fn last_log_lines(
        &self,
        of: ContainerRef<'_>,
        lines: usize,
        most: usize,
        limit: Duration,
    ) -> Result<LogTail, Error> {
        let query = [("tailLines", lines.to_string())];
        self.read_log(of, &query, most, limit).await
    }

    /// The last `lines` of a log, and those that follow until the container ends.
    ///
    /// # Errors
    ///
    /// The log does not exist, reading it is forbidden, or the server does not answer.
    pub(crate) async fn follow_log(
        &self,
        of: ContainerRef<'_>,
        lines: usize,
    ) -> Result<LogLines, Error> {
        let query = [
            ("tailLines", lines.to_string()),
            ("follow", "true".to_owned()),
        ];
        let (what, request) = log_request(of, &query)?;
        let opened = self.open_watch(&what, request.map(Body::from));
        // Headers arrive at once, even if nothing was written yet.
        let opened = timeout(READ_TIMEOUT, opened).await;
        let lines = opened.map_err(|_| timeout_error(&what, READ_TIMEOUT))??;
        Ok(LogLines::new(lines, what, &self.server))
    }

    async fn read_log(
        &self,
        of: ContainerRef<'_>,
        query: &[(&str, String)],
        most: usize,
        limit: Duration,
    ) -> Result<LogTail, Error> {
        let (what, request) = log_request(of, query)?;
        let _in_flight = self.in_flight(&what);
        let read = async {
            let failed = |it| Error::from_client(what.clone(), &self.server, it);
            let stream = self.client.request_stream(request).await.map_err(failed)?;
            let tail = read_tail(stream, most).await;
            tail.map_err(|it| failed(kube::Error::Service(it.into())))
        };
        timeout(limit, read)
            .await
            .map_err(|_| timeout_error(&what, limit))?
    }
}

fn log_request(
    of: ContainerRef<'_>,
    query: &[(&str, String)],
) -> Result<(RequestInfo, http::Request<Vec<u8>>), Error> {
    let ContainerRef {
        namespace,
        pod,
        name,
        previous,
    } = of;
    let what = RequestInfo {
        verb: "get",
        resource: "pods/log".into(),
        kind: resources::POD.kind.into(),
        name: Some(pod.into()),
        namespace: Some(namespace.into()),
    };
    let path = format!("/api/v1/namespaces/{namespace}/pods/{pod}/log");
    let mut request = ApiRequest::new("GET", path)
        .accept("*/*")
        .query("container", name);
    for (key, value) in query {
        request = request.query(key, value);
    }
    if previous {
        request = request.query("previous", "true");
    }
    Ok((what, request.build(Vec::new())?))
}

/// Reads to the end and keeps at most `most` bytes.
async fn read_tail(stream: impl futures::AsyncRead, most: usize) -> std::io::Result<LogTail> {
    let mut stream = std::pin::pin!(stream);
    let mut kept: VecDeque<u8> = VecDeque::new();
    let (mut cut, mut block) = (0, vec![0; 64 << 10]);
    loop {
        let read = stream.read(&mut block).await?;
        if read == 0 {
            break;
        }
        kept.extend(&block[..read]);
        let over = kept.len().saturating_sub(most);
        kept.drain(..over);
        cut += over as u64;
    }
    let mut bytes: Vec<u8> = kept.into();
    if cut > 0 {
        // A partial line is misleading: half a token is not recognized as one.
        let line = bytes.iter().position(|it| *it == b'\n');
        let line = line.map_or(bytes.len(), |it| it + 1);
        bytes.drain(..line);
        cut += line as u64;
    }
    Ok(LogTail {
        text: String::from_utf8_lossy(&bytes).into_owned(),
        cut,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn complete_lines_are_kept_and_the_rest_is_counted() {
        for (most, text, cut) in [
            (100, "one\ntwo\nthree\n", 0),
            (11, "two\nthree\n", 4),
            (9, "three\n", 8),
            (7, "three\n", 8),
            (3, "", 14),
        ] {
            let log: &[u8] = b"one\ntwo\nthree\n";
            let tail = read_tail(log, most).await.expect("bytes in memory");
            assert_eq!((&*tail.text, tail.cut), (text, cut), "{most}");
        }
    }
}
