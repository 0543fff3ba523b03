//! Keys and certificates, all ECDSA P-256. Callers pass the current time in seconds since 1970.

mod authority;
mod certificate;
mod error;
mod private_key;
mod random;
mod signing_request;
mod subject;
mod validity;

pub(crate) use authority::{Authority, LeafProfile, PemPair, signing_key};
pub(crate) use certificate::CertificateInfo;
pub(crate) use error::PkiError;
pub(crate) use random::{bootstrap_token, encryption_configuration, random_suffix};
pub(crate) use signing_request::SigningRequestInfo;
pub(crate) use validity::Validity;

#[cfg(test)]
mod tests;
