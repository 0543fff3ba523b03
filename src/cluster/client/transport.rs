//! The wire: a request is built and sent once, its answer read within a deadline.

use super::error::{Error, What};
use crate::cluster::client::api_client::Provider;
use crate::cluster::client::backoff::Backoff;
use kube::client::Body;
use kube::core::Status;
use serde_json::Value;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

pub(crate) const JSON: &str = "application/json";
/// How long passing errors may keep an answer back that nothing depends on but the question.
const PATIENCE: Duration = Duration::from_secs(30);

impl Provider {
    pub(crate) async fn ask(
        &self,
        what: What,
        limit: Duration,
        request: Request,
    ) -> Result<Value, Error> {
        let (request, body) = request.take_body();
        let request = request.build(body)?.map(Body::from);
        match timeout(limit, self.answer(&what, request)).await {
            Ok(answer) => answer,
            Err(_) => Err(timed_out(&what, limit)),
        }
    }

    /// For what changes nothing: it is asked again for a while when an error may pass.
    ///
    /// A server that was never reached is not waited for: most likely its address is wrong. Nor is one that does
    /// not answer, for that took long enough.
    pub(crate) async fn ask_again(
        &self,
        what: What,
        limit: Duration,
        request: Request,
    ) -> Result<Value, Error> {
        let begun = Instant::now();
        let mut backoff = Backoff::default();
        loop {
            let error = match self.ask(what.clone(), limit, request.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let asked = match &error {
                Error::Throttled { retry_after, .. } => *retry_after,
                Error::Server { .. } | Error::Senseless { .. } => None,
                Error::Unreachable { .. }
                    if self.server_time().is_some() || !error.is_no_connection() =>
                {
                    None
                }
                _ => return Err(error),
            };
            if begun.elapsed() + asked.unwrap_or_default() > PATIENCE {
                return Err(error);
            }
            tracing::debug!(%error, "asking again");
            backoff.wait().await;
            sleep(asked.unwrap_or_default()).await;
        }
    }

    async fn answer(&self, what: &What, request: http::Request<Body>) -> Result<Value, Error> {
        let failed = |it| Error::of_client(what.clone(), &self.server, it);
        let answer = self.client.send(request).await.map_err(failed)?;
        let (head, body) = answer.into_parts();
        if let Some(time) = head.headers.get(http::header::DATE) {
            self.clock.heard(time.to_str().unwrap_or_default());
        }
        let body = body.collect_bytes().await.map_err(failed)?;
        if head.status.is_success() {
            // An answer may hold what is secret, so none of it is told.
            return serde_json::from_slice(&body).map_err(|_| Error::Senseless {
                what: what.clone(),
                message: "it is not JSON".to_owned(),
            });
        }
        let code = head.status.as_u16();
        let mut status = serde_json::from_slice::<Status>(&body).unwrap_or_else(|_| {
            // A proxy's page, or the flow control's single line.
            let text: String = String::from_utf8_lossy(&body).chars().take(300).collect();
            Status::failure(&text, "")
        });
        status.code = code;
        let waits = head.headers.get(http::header::RETRY_AFTER);
        let waits = waits.and_then(|it| it.to_str().ok()?.parse().ok());
        Err(
            match Error::of_status(what.clone(), &self.server, &status) {
                Error::Throttled {
                    what,
                    message,
                    retry_after,
                } => Error::Throttled {
                    what,
                    message,
                    retry_after: waits.map(Duration::from_secs).or(retry_after),
                },
                other => other,
            },
        )
    }
}

pub(crate) fn timed_out(what: &What, after: Duration) -> Error {
    Error::Timeout {
        what: what.clone(),
        after,
    }
}

#[derive(Clone)]
pub(crate) struct Request {
    method: &'static str,
    target: String,
    accept: &'static str,
    body: Option<(&'static str, Vec<u8>)>,
}

impl Request {
    pub(crate) fn new(method: &'static str, path: String) -> Request {
        Request {
            method,
            target: path,
            accept: JSON,
            body: None,
        }
    }

    pub(crate) fn accept(mut self, accept: &'static str) -> Request {
        self.accept = accept;
        self
    }

    pub(crate) fn query(mut self, key: &str, value: &str) -> Request {
        self.target
            .push(if self.target.contains('?') { '&' } else { '?' });
        self.target.push_str(key);
        self.target.push('=');
        for byte in value.bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                    self.target.push(byte.into());
                }
                _ => self.target.push_str(&format!("%{byte:02X}")),
            }
        }
        self
    }

    pub(crate) fn body(mut self, media_type: &'static str, body: &Value) -> Request {
        self.body = Some((media_type, body.to_string().into_bytes()));
        self
    }

    fn take_body(mut self) -> (Request, Vec<u8>) {
        let body = self.body.as_mut().map(|(_, it)| std::mem::take(it));
        (self, body.unwrap_or_default())
    }

    pub(crate) fn build(self, body: Vec<u8>) -> Result<http::Request<Vec<u8>>, Error> {
        let mut request = http::Request::builder()
            .method(self.method)
            .uri(&self.target)
            .header(http::header::ACCEPT, self.accept);
        if let Some((media_type, _)) = &self.body {
            request = request.header(http::header::CONTENT_TYPE, *media_type);
        }
        request
            .body(body)
            .map_err(|it| Error::Kubeconfig(format!("`{}` makes no address: {it}", self.target)))
    }
}
