//! Errors of generating, parsing and issuing.

use x509_parser::nom;

/// No message contains a private key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PkiError {
    #[error("cannot generate keys for {name}: {source}")]
    Generate { name: String, source: rcgen::Error },
    #[error("not a valid certificate: {0}")]
    Certificate(String),
    #[error("not a valid signing request of a kubelet: {0}")]
    SigningRequest(String),
    #[error("not a valid private key: {0}")]
    Key(rcgen::Error),
    #[error("the private key does not match the certificate")]
    KeyMismatch,
    #[error("CA \"{0}\" has expired")]
    Expired(String),
    #[error("CA \"{0}\" not found")]
    CaNotFound(String),
    #[error("its key {0:?} is missing or not as kvshoot writes it")]
    Incomplete(String),
    #[error("the operating system's random number generator failed")]
    Random,
}

impl From<nom::Err<x509_parser::error::X509Error>> for PkiError {
    fn from(error: nom::Err<x509_parser::error::X509Error>) -> PkiError {
        PkiError::Certificate(error.to_string())
    }
}
