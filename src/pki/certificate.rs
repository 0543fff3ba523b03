//! Parsed certificates.

use super::error::PkiError;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::IpAddr;
use x509_parser::extensions::GeneralName;
use x509_parser::pem::{Pem, parse_x509_pem};

/// The fields of an X.509 certificate that kvshoot reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CertificateInfo {
    pub(crate) common_name: String,
    /// Subject alternative names: DNS names and IP addresses.
    pub(crate) names: Vec<String>,
    /// Seconds since 1970.
    pub(crate) from: i64,
    /// Seconds since 1970.
    pub(crate) until: i64,
    /// Hash of the public key in kubeadm's format: `sha256:` and hexadecimal digits.
    pub(crate) pin: String,
}

/// The certificates in a PEM text, in DER. Everything else in it is left out.
pub(crate) fn certificates(pem: &str) -> BTreeSet<Vec<u8>> {
    let blocks = Pem::iter_from_buffer(pem.as_bytes()).flatten();
    let certificates = blocks.filter(|it| it.label == "CERTIFICATE");
    certificates.map(|it| it.contents).collect()
}

/// The common name in a certificate in DER; None if it has none, or is not readable.
pub(crate) fn common_name(certificate: &[u8]) -> Option<String> {
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let name = parsed.subject().iter_common_name().next()?;
    name.as_str().ok().map(str::to_owned)
}

impl CertificateInfo {
    /// Parses the first certificate of a PEM text.
    pub(crate) fn parse(pem: &str) -> Result<CertificateInfo, PkiError> {
        let invalid = |error: String| PkiError::Certificate(error);
        let (_, pem) = parse_x509_pem(pem.as_bytes()).map_err(|it| invalid(it.to_string()))?;
        let parsed = pem.parse_x509()?;
        let names = parsed
            .subject_alternative_name()
            .map_err(|it| invalid(it.to_string()))?;
        let names = names
            .iter()
            .flat_map(|extension| &extension.value.general_names)
            .filter_map(subject_alternative_name)
            .collect();
        let common_name = parsed
            .subject()
            .iter_common_name()
            .next()
            .and_then(|it| it.as_str().ok());
        Ok(CertificateInfo {
            common_name: common_name.unwrap_or_default().to_owned(),
            names,
            from: parsed.validity().not_before.timestamp(),
            until: parsed.validity().not_after.timestamp(),
            pin: public_key_pin(parsed.public_key().raw),
        })
    }
}

/// Hashes a DER-encoded public key like kubeadm's `--discovery-token-ca-cert-hash`.
pub(super) fn public_key_pin(key: &[u8]) -> String {
    let mut pin = "sha256:".to_owned();
    for byte in Sha256::digest(key) {
        write!(pin, "{byte:02x}").expect("writing to a String cannot fail");
    }
    pin
}

fn subject_alternative_name(name: &GeneralName) -> Option<String> {
    match name {
        GeneralName::DNSName(it) => Some((*it).to_owned()),
        GeneralName::IPAddress(bytes) => {
            let v4 = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
            let address = v4.or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from));
            address.ok().map(|it| it.to_string())
        }
        _ => None,
    }
}
