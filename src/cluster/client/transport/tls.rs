//! TLS whose certificates are judged by the clock of a sandbox.
//!
//! kube takes the clock of this computer, which no setting changes, so this builds what kube would build.

use crate::clock::{self, TlsClock};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ClientBuilder, ConfigExt as _};
use kube::{Client, Config, Error};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider as _;
use rustls::{DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme};
use std::sync::Arc;
use tower::BoxError;
use tower::util::MapErr;

/// Connects to a server, and requires that its certificate is valid now.
///
/// # Errors
///
/// The certificates of the settings are invalid.
pub(in crate::cluster) fn https_connector(
    config: &Config,
) -> Result<HttpsConnector<HttpConnector>, Error> {
    let Some(verifier) = verifier(config)? else {
        return config.rustls_https_connector();
    };
    let mut tls = config.rustls_client_config()?;
    tls.dangerous().set_certificate_verifier(Arc::new(verifier));
    let mut builder = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http();
    if let Some(name) = &config.tls_server_name {
        let name = ServerName::try_from(name.clone()).map_err(invalid)?;
        builder = builder.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    Ok(builder.enable_http1().build())
}

/// A client for these settings.
///
/// # Errors
///
/// As those of [`https_connector`].
pub(in crate::cluster) fn client(config: Config) -> Result<Client, Error> {
    if clock::seconds_ahead() == 0 {
        return Client::try_from(config);
    }
    let mut connector = TimeoutConnector::new(https_connector(&config)?);
    connector.set_connect_timeout(config.connect_timeout);
    let http: HttpClient<_, Body> = HttpClient::builder(TokioExecutor::new()).build(connector);
    let http = MapErr::new(http, BoxError::from);
    let client = ClientBuilder::new(http, &config.default_namespace)
        .with_layer(&config.extra_headers_layer()?);
    Ok(match config.auth_layer()? {
        Some(auth) => client
            .with_layer(&auth)
            .with_layer(&config.base_uri_layer())
            .build(),
        None => client.with_layer(&config.base_uri_layer()).build(),
    })
}

/// `None` if the clock is that of this computer, or servers are not verified.
fn verifier(config: &Config) -> Result<Option<ByClock>, Error> {
    let roots = config
        .root_cert
        .as_ref()
        .filter(|_| !config.accept_invalid_certs);
    let Some(roots) = roots.filter(|_| clock::seconds_ahead() != 0) else {
        return Ok(None);
    };
    let mut store = RootCertStore::empty();
    for root in roots {
        store
            .add(CertificateDer::from(root.clone()))
            .map_err(invalid)?;
    }
    let provider = Arc::new(default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider);
    Ok(Some(ByClock(verifier.build().map_err(invalid)?)))
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::Service(error.into())
}

/// Judges by the clock of the sandbox, whatever time it is given.
#[derive(Debug)]
struct ByClock(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for ByClock {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        let now = TlsClock.current_time().unwrap_or(now);
        self.0
            .verify_server_cert(certificate, intermediates, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.0
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.0
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
