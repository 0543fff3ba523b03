//! HTTP for S3 with the libraries that the Kubernetes client uses: hyper, and rustls with ring.

use super::error::StorageError;
use super::s3_settings::S3Settings;
use async_trait::async_trait;
use http::Method;
use http_body_util::{BodyExt as _, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector as TcpConnector;
use hyper_util::rt::TokioExecutor;
use object_store::client::{
    ClientOptions, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest,
    HttpRequestBody, HttpResponse, HttpResponseBody, HttpService,
};
use rustls::ClientConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls_platform_verifier::Verifier;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Time limit for a connection, with its TLS handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit for the next byte in either direction. There is none for a whole request: links may be slow.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of a response that is not the content of an object, such as a page of a list. They are read into memory.
const MAX_ANSWER: usize = 8 << 20;

type Connector = TimeoutConnector<HttpsConnector<TcpConnector>>;

/// Makes the HTTP client of a bucket.
#[derive(Debug)]
pub(super) struct HyperConnector(HyperClient);

#[derive(Debug, Clone)]
struct HyperClient(Client<Connector, HttpRequestBody>);

impl HyperConnector {
    /// # Errors
    ///
    /// The certificate authorities cannot be read.
    pub(super) fn new(settings: &S3Settings) -> Result<HyperConnector, StorageError> {
        let mut tcp = TcpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(tls(settings.ca_bundle.as_deref())?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let mut connector = TimeoutConnector::new(https);
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        connector.set_read_timeout(Some(IDLE_TIMEOUT));
        connector.set_write_timeout(Some(IDLE_TIMEOUT));
        // A server responds after the last byte of an upload, however long that took.
        connector.set_reset_reader_on_write(true);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(HyperConnector(HyperClient(client)))
    }
}

impl HttpConnector for HyperConnector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.0.clone()))
    }
}

#[async_trait]
impl HttpService for HyperClient {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let is_object = request.method() == Method::GET && request.uri().query().is_none();
        let response = self.0.request(request).await.map_err(|error| {
            let kind = match error.is_connect() {
                true => HttpErrorKind::Connect,
                false => HttpErrorKind::Interrupted,
            };
            HttpError::new(kind, error)
        })?;
        let failed = |error| HttpError::new(HttpErrorKind::Interrupted, io::Error::other(error));
        let most = match is_object && response.status().is_success() {
            true => usize::MAX,
            false => MAX_ANSWER,
        };
        let limited = |body| HttpResponseBody::new(Limited::new(body, most).map_err(failed));
        Ok(response.map(limited))
    }
}

fn tls(ca_bundle: Option<&Path>) -> Result<ClientConfig, StorageError> {
    let invalid = |why: String| StorageError::Settings(why);
    let authorities: Vec<CertificateDer<'static>> = match ca_bundle {
        None => Vec::new(),
        Some(file) => {
            let name = file.display();
            let pem = fs::read(file).map_err(|error| invalid(format!("{name}: {error}")))?;
            CertificateDer::pem_slice_iter(&pem)
                .collect::<Result<_, _>>()
                .map_err(|error| invalid(format!("{name}: {error}")))?
        }
    };
    let provider = Arc::new(default_provider());
    let verifier = Verifier::new_with_extra_roots(authorities, Arc::clone(&provider))
        .map_err(|error| invalid(error.to_string()))?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| invalid(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(config)
}
