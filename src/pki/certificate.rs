//! What stands in a certificate.

use super::PkiError;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::net::IpAddr;
use x509_parser::extensions::GeneralName;
use x509_parser::pem::parse_x509_pem;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CertificateInfo {
    pub(crate) common_name: String,
    /// DNS names and addresses.
    pub(crate) names: Vec<String>,
    /// Seconds since 1970.
    pub(crate) from: i64,
    pub(crate) until: i64,
    /// Of its public key, as kubeadm pins roots: `sha256:` and hexadecimal digits.
    pub(crate) pin: String,
}

impl CertificateInfo {
    /// The first one of a PEM text.
    pub(crate) fn parse(pem: &str) -> Result<CertificateInfo, PkiError> {
        let none = |error: String| PkiError::Certificate(error);
        let (_, pem) = parse_x509_pem(pem.as_bytes()).map_err(|it| none(it.to_string()))?;
        let parsed = pem.parse_x509()?;
        let names = parsed
            .subject_alternative_name()
            .map_err(|it| none(it.to_string()))?;
        let names = names.iter().flat_map(|it| &it.value.general_names);
        let common_name = parsed.subject().iter_common_name().next();
        let common_name = common_name.and_then(|it| it.as_str().ok());
        Ok(CertificateInfo {
            common_name: common_name.unwrap_or_default().to_owned(),
            names: names.filter_map(name).collect(),
            from: parsed.validity().not_before.timestamp(),
            until: parsed.validity().not_after.timestamp(),
            pin: pin(parsed.public_key().raw),
        })
    }
}

/// Of a public key in DER.
pub(super) fn pin(key: &[u8]) -> String {
    let mut pin = "sha256:".to_owned();
    for byte in Sha256::digest(key) {
        write!(pin, "{byte:02x}").expect("a String takes all that is written to it");
    }
    pin
}

fn name(name: &GeneralName) -> Option<String> {
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
