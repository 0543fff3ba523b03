//! TLS of the server, with certificates of both sides.

use crate::clock::TlsClock;
use rustls::RootCertStore;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ServerConfig, WebPkiClientVerifier};
use std::sync::Arc;

/// Requires certificates of clients that `authorities` have signed; all are PEM.
///
/// # Errors
///
/// They are not readable, or the key does not belong to the certificate.
pub(crate) fn server_config(
    certificate: &str,
    key: &str,
    authorities: &str,
) -> Result<ServerConfig, rustls::Error> {
    let unreadable = |_| rustls::Error::General("a certificate or key is not readable".into());
    let read =
        |pem: &str| CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<Vec<_>, _>>();
    let mut roots = RootCertStore::empty();
    for authority in read(authorities).map_err(unreadable)? {
        roots.add(authority)?;
    }
    let provider = Arc::new(default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    let verifier = verifier.build();
    let verifier = verifier.map_err(|it| rustls::Error::General(it.to_string()))?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(unreadable)?;
    let config = ServerConfig::builder_with_details(provider, Arc::new(TlsClock));
    let config = config.with_safe_default_protocol_versions()?;
    let chain = read(certificate).map_err(unreadable)?;
    let mut config = config
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(config)
}
