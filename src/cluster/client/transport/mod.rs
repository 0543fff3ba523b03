//! Transport: sends one request and reads the response within a deadline.

#[cfg(test)]
mod bounds_tests;
pub(crate) mod in_flight;
pub(super) mod lines;
pub(super) mod response;
pub(crate) mod tls;

use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::backoff::Backoff;
use crate::cluster::client::error::{Error, MAX_RETRY_AFTER, RequestInfo};
use http::response::Parts;
use in_flight::InFlight;
use kube::client::Body;
use kube::core::Status;
use lines::Lines;
use response::{ReadError, ResponseLimits};
use serde_json::Value;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use tracing::{Instrument as _, Span};

pub(crate) const JSON: &str = "application/json";
/// JSON, or nothing: KubeVirt refuses to answer some requests to those who accept only JSON.
pub(crate) const JSON_OR_NOTHING: &str = "application/json, */*";
/// Limit for retries of requests that change nothing.
const RETRY_WINDOW: Duration = Duration::from_secs(30);

impl ApiClient {
    /// A request that is sent elsewhere, or that will be sent again: for people it waits for its response meanwhile.
    pub(crate) fn in_flight(&self, what: &RequestInfo) -> InFlight {
        InFlight::new(what, &self.server)
    }

    pub(crate) async fn send(
        &self,
        what: RequestInfo,
        limit: Duration,
        request: ApiRequest,
    ) -> Result<Value, Error> {
        let mut limits = ResponseLimits::object();
        self.send_within(&mut limits, what, limit, request).await
    }

    async fn send_within(
        &self,
        limits: &mut ResponseLimits,
        what: RequestInfo,
        limit: Duration,
        request: ApiRequest,
    ) -> Result<Value, Error> {
        let (request, body) = request.take_body();
        let request = request.build(body)?.map(Body::from);
        let exchange = async {
            let _in_flight = InFlight::new(&what, &self.server);
            let begun = Instant::now();
            let answer = timeout(limit, self.exchange(limits, &what, request)).await;
            Span::current().record("ms", begun.elapsed().as_millis());
            match answer {
                Ok(_) => tracing::debug!("finished"),
                Err(_) => tracing::debug!("timed out"),
            }
            answer
        };
        exchange
            .instrument(what.span())
            .await
            .unwrap_or_else(|_| Err(timeout_error(&what, limit)))
    }

    /// Sends a request that changes nothing, and retries transient errors.
    ///
    /// A server that was never reached is not retried: most likely its address is wrong. Neither is a timeout, which
    /// took long enough.
    pub(crate) async fn send_with_retry(
        &self,
        what: RequestInfo,
        limit: Duration,
        request: ApiRequest,
    ) -> Result<Value, Error> {
        let mut limits = ResponseLimits::object();
        self.retry_within(&mut limits, what, limit, request).await
    }

    /// Like [`ApiClient::send_with_retry`], for responses with limits in common.
    pub(in crate::cluster::client) async fn retry_within(
        &self,
        limits: &mut ResponseLimits,
        what: RequestInfo,
        limit: Duration,
        request: ApiRequest,
    ) -> Result<Value, Error> {
        let begun = Instant::now();
        let mut backoff = Backoff::default();
        loop {
            let sent = self.send_within(limits, what.clone(), limit, request.clone());
            let error = match sent.await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let asked = match &error {
                Error::Throttled { retry_after, .. } => *retry_after,
                Error::Server { .. } | Error::InvalidResponse { .. } => None,
                Error::Unreachable { .. }
                    if self.server_time().is_some() || !error.is_connection_failure() =>
                {
                    None
                }
                _ => return Err(error),
            };
            if begun.elapsed() + asked.unwrap_or_default() > RETRY_WINDOW {
                return Err(error);
            }
            tracing::debug!(%error, "retrying");
            let _in_flight = self.in_flight(&what);
            backoff.wait().await;
            sleep(asked.unwrap_or_default()).await;
        }
    }

    async fn exchange(
        &self,
        limits: &mut ResponseLimits,
        what: &RequestInfo,
        request: http::Request<Body>,
    ) -> Result<Value, Error> {
        let (head, body) = self.open(what, request).await?;
        let body = self.read(limits, what, body).await?;
        if !head.status.is_success() {
            return Err(self.error_of(what, &head, &body));
        }
        limits.parse(&body).await.map_err(|it| it.of(what))
    }

    /// Sends a request, and returns the response as soon as its body begins.
    async fn open(
        &self,
        what: &RequestInfo,
        request: http::Request<Body>,
    ) -> Result<(Parts, Body), Error> {
        let failed = |it| Error::from_client(what.clone(), &self.server, it);
        let answer = self.client.send(request).await.map_err(failed)?;
        let (head, body) = answer.into_parts();
        Span::current().record("status", head.status.as_u16());
        if let Some(time) = head.headers.get(http::header::DATE) {
            self.clock.record_date(time.to_str().unwrap_or_default());
        }
        Ok((head, body))
    }

    async fn read(
        &self,
        limits: &mut ResponseLimits,
        what: &RequestInfo,
        body: Body,
    ) -> Result<Vec<u8>, Error> {
        limits.read(body).await.map_err(|it| match it {
            ReadError::TooLarge => Error::too_large(what),
            ReadError::Failed(error) => Error::from_client(what.clone(), &self.server, error),
        })
    }

    /// Sends the request of a WATCH, and returns its lines.
    pub(in crate::cluster::client) async fn open_watch(
        &self,
        what: &RequestInfo,
        request: http::Request<Body>,
    ) -> Result<Lines, Error> {
        let _in_flight = self.in_flight(what);
        let (head, body) = self.open(what, request).await?;
        if head.status.is_success() {
            return Ok(Lines::new(body));
        }
        let body = self.read(&mut ResponseLimits::object(), what, body).await?;
        Err(self.error_of(what, &head, &body))
    }

    /// The error of a response that is not a success.
    fn error_of(&self, what: &RequestInfo, head: &Parts, body: &[u8]) -> Error {
        let mut status = serde_json::from_slice::<Status>(body).unwrap_or_else(|_| {
            // A proxy's page, or the one-line message of flow control.
            let text: String = String::from_utf8_lossy(body).chars().take(300).collect();
            Status::failure(&text, "")
        });
        status.code = head.status.as_u16();
        let waits = head.headers.get(http::header::RETRY_AFTER);
        let waits = waits.and_then(|it| it.to_str().ok()?.parse().ok());
        match Error::from_status(what.clone(), &self.server, &status) {
            Error::Throttled {
                what,
                message,
                retry_after,
            } => Error::Throttled {
                what,
                message,
                retry_after: waits
                    .map(|it| Duration::from_secs(it).min(MAX_RETRY_AFTER))
                    .or(retry_after),
            },
            other => other,
        }
    }
}

pub(crate) fn timeout_error(what: &RequestInfo, after: Duration) -> Error {
    Error::Timeout {
        what: what.clone(),
        after,
    }
}

#[derive(Clone)]
pub(crate) struct ApiRequest {
    method: &'static str,
    target: String,
    accept: &'static str,
    body: Option<(&'static str, Vec<u8>)>,
    closes_connection: bool,
}

impl ApiRequest {
    pub(crate) fn new(method: &'static str, path: String) -> ApiRequest {
        ApiRequest {
            method,
            target: path,
            accept: JSON,
            body: None,
            closes_connection: false,
        }
    }

    /// The connection is not used for other requests, and its buffers are freed.
    pub(in crate::cluster::client) fn close_connection(mut self) -> ApiRequest {
        self.closes_connection = true;
        self
    }

    pub(crate) fn accept(mut self, accept: &'static str) -> ApiRequest {
        self.accept = accept;
        self
    }

    pub(crate) fn query(mut self, key: &str, value: &str) -> ApiRequest {
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

    pub(crate) fn body(mut self, media_type: &'static str, body: &Value) -> ApiRequest {
        self.body = Some((media_type, body.to_string().into_bytes()));
        self
    }

    pub(in crate::cluster::client) fn take_body(mut self) -> (ApiRequest, Vec<u8>) {
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
        if self.closes_connection {
            request = request.header(http::header::CONNECTION, "close");
        }
        request.body(body).map_err(|it| {
            Error::InvalidKubeconfig(format!("`{}` is not a valid path: {it}", self.target))
        })
    }
}
