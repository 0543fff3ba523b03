//! Logs of services on nodes, which kubelets read from the journal (NodeLogQuery).

use super::LogLines;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::{Error, RequestInfo};
use crate::cluster::client::resources;
use crate::cluster::client::transport::{ApiRequest, timeout_error};
use crate::cluster::support_bundle::redact::Redactor;
use kube::client::Body;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::timeout;

/// Limit for a kubelet to return its log.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// The most bytes of a log.
const MAX_BYTES: usize = 16 << 20;

/// The answer of a kubelet to the question for a log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NodeLog {
    /// Lines without secrets.
    Text(String),
    /// The kubelet does not read the journal for others. Holds its answer, if there is one.
    NotOffered(String),
}

impl ApiClient {
    /// Reads the last `lines` of a service's log on a node. The client is that of the shoot.
    ///
    /// # Errors
    ///
    /// It is forbidden, the API server or the kubelet does not answer, or the log is too large.
    pub(crate) async fn node_log(
        &self,
        node: &str,
        service: &str,
        lines: usize,
    ) -> Result<NodeLog, Error> {
        let what = RequestInfo {
            verb: "get",
            resource: "nodes/proxy".into(),
            kind: resources::NODE.kind.into(),
            name: Some(node.into()),
            namespace: None,
        };
        let request = ApiRequest::new("GET", format!("/api/v1/nodes/{node}/proxy/logs/"))
            .accept("*/*")
            .query("query", service)
            .query("tailLines", &lines.to_string());
        let request = request.build(Vec::new())?.map(Body::from);
        let _in_flight = self.in_flight(&what);
        let read = async {
            match self.open_watch(&what, request).await {
                Ok(opened) => {
                    let lines = LogLines::new(opened, what.clone(), &self.server);
                    let text = read(lines, MAX_BYTES).await?;
                    text.ok_or_else(|| Error::too_large(&what))
                }
                Err(error) => refusal(error).map(NodeLog::NotOffered),
            }
        };
        let read = timeout(READ_TIMEOUT, read).await;
        read.map_err(|_| timeout_error(&what, READ_TIMEOUT))?
    }
}

/// The answer of a kubelet that does not offer logs.
///
/// # Errors
///
/// The error is another one.
fn refusal(error: Error) -> Result<String, Error> {
    match error {
        Error::NotFound { .. } => Ok(String::new()),
        Error::Rejected { message, .. }
        | Error::Server {
            code: 405 | 501,
            message,
            ..
        } => Ok(message),
        other => Err(other),
    }
}

/// None if the log has more than `most` bytes.
async fn read(mut log: LogLines, most: usize) -> Result<Option<NodeLog>, Error> {
    let mut text = String::new();
    while let Some(line) = log.next().await {
        let line = line?;
        if text.is_empty() && is_listing(&line) {
            let answer = "it lists the files of /var/log instead".to_owned();
            return Ok(Some(NodeLog::NotOffered(answer)));
        }
        // An empty line counts, too.
        if text.len() + line.len() >= most {
            return Ok(None);
        }
        text += &line;
        text.push('\n');
    }
    let text = Redactor::new(&BTreeSet::new()).log(&text);
    Ok(Some(NodeLog::Text(text)))
}

/// A kubelet that does not know the query answers with the files in `/var/log`, as HTML.
fn is_listing(line: &str) -> bool {
    let line = line.trim_start().to_ascii_lowercase();
    line.starts_with("<pre>") || line.starts_with("<!doctype html")
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{Request, Response};
    use std::io;

    async fn ask(status: u16, body: &str) -> Result<NodeLog, Error> {
        let body = body.as_bytes().to_vec();
        let service = tower::service_fn(move |request: Request<Body>| {
            let target = request.uri().to_string();
            let path = "/api/v1/nodes/a/proxy/logs/?query=kubelet&tailLines=5";
            assert!(target.ends_with(path), "{target}");
            let answer = Response::builder().status(status);
            let answer = answer.body(Body::from(body.clone()));
            std::future::ready(Ok::<_, io::Error>(answer.expect("an answer")))
        });
        let client = kube::Client::new(service, "ns");
        let server = ApiClient::new(client, "https://server".to_owned(), "ns", Vec::new());
        server.node_log("a", "kubelet", 5).await
    }

    #[tokio::test]
    async fn a_kubelet_reads_its_journal_or_says_that_it_does_not() {
        let lines = ask(200, "one\ntwo\n").await.expect("a log");
        assert_eq!(lines, NodeLog::Text("one\ntwo\n".to_owned()));
        for (status, body) in [
            (
                200,
                "<!doctype html>\n<pre>\n<a href=\"syslog\">syslog</a>\n</pre>\n",
            ),
            (200, "<pre>\n<a href=\"syslog\">syslog</a>\n</pre>\n"),
            (404, "404 page not found\n"),
            (405, "logs endpoint is disabled.\n"),
        ] {
            let answer = ask(status, body).await.expect("an answer");
            assert!(
                matches!(answer, NodeLog::NotOffered(_)),
                "{body}: {answer:?}"
            );
        }
        let error = ask(403, "{}").await.expect_err("no permission");
        assert!(matches!(error, Error::Forbidden { .. }), "{error}");
        assert!(ask(503, "dial tcp: refused").await.is_err());
    }

    #[tokio::test]
    async fn a_log_without_end_is_too_large_even_if_its_lines_are_empty() {
        for line in ["\n", "a long line\n"] {
            let error = ask(200, &line.repeat(MAX_BYTES / line.len() + 1)).await;
            let error = error.expect_err(line);
            assert!(matches!(error, Error::ResponseTooLarge { .. }), "{error}");
        }
    }

    #[tokio::test]
    async fn tokens_are_not_shown() {
        let log = ask(200, "I1123 token=0123456789abcdef0123 x\n").await;
        let expected = "I1123 token=<redacted> x\n".to_owned();
        assert_eq!(log.expect("a log"), NodeLog::Text(expected));
    }
}
