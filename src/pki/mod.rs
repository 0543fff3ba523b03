//! Keys and certificates: ECDSA P-256, as short as they can be said. What time it is comes in, as seconds since 1970.

mod authority;
mod certificate;
mod random;
mod subject;

pub(crate) use authority::{Authority, LeafProfile, signing_key};
pub(crate) use certificate::CertificateInfo;
pub(crate) use random::{bootstrap_token, encryption_configuration, random_suffix};

use x509_parser::nom;

/// None of these says what a private key is.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PkiError {
    #[error("cannot make the keys of {name}: {source}")]
    Generate { name: String, source: rcgen::Error },
    #[error("the certificate is none: {0}")]
    Certificate(String),
    #[error("the private key is none: {0}")]
    Key(rcgen::Error),
    #[error("the private key is not that of the certificate")]
    KeyMismatch,
    #[error("the root {0} has expired")]
    Expired(String),
    #[error("there is no root {0} to issue it")]
    CaNotFound(String),
    #[error("the operating system gives no random numbers")]
    Random,
}

/// A certificate, or a public key, and the private key to it; both in PEM. Shows neither when it is printed.
#[derive(Clone)]
pub(crate) struct PemPair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// How long a certificate holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Validity {
    now: i64,
    seconds: i64,
}

/// Clocks may go wrong by so much: certificates hold since before they were made, as those of kubeadm.
const BACKDATED: i64 = 5 * 60;

const DAY: i64 = 24 * 60 * 60;

impl Validity {
    /// Of a root, as kubeadm has it: ten years.
    pub(crate) fn for_ca(now: i64) -> Validity {
        Validity::for_seconds(now, 10 * 365 * DAY)
    }

    /// Of a leaf, as kubeadm has it: one year.
    pub(crate) fn for_leaf(now: i64) -> Validity {
        Validity::for_seconds(now, 365 * DAY)
    }

    pub(crate) fn for_seconds(now: i64, seconds: i64) -> Validity {
        Validity { now, seconds }
    }

    fn from(self) -> i64 {
        self.now.saturating_sub(BACKDATED)
    }

    fn until(self) -> i64 {
        self.now.saturating_add(self.seconds)
    }
}

impl From<nom::Err<x509_parser::error::X509Error>> for PkiError {
    fn from(error: nom::Err<x509_parser::error::X509Error>) -> PkiError {
        PkiError::Certificate(error.to_string())
    }
}

#[cfg(test)]
mod tests;
