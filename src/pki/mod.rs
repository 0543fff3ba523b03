//! Keys and certificates, all ECDSA P-256. Callers pass the current time in seconds since 1970.

mod authority;
mod certificate;
mod encryption;
mod error;
mod private_key;
mod random;
mod signing_request;
mod subject;
mod validity;

pub(crate) use authority::{Authority, LeafProfile, PemPair, signing_key};
pub(crate) use certificate::{CertificateInfo, certificates, common_name};
pub(crate) use encryption::{
    encryption_configuration, with_first_key_alone, with_second_key, with_second_key_first,
};
pub(crate) use error::PkiError;
pub(crate) use random::{bootstrap_token, random_suffix};
pub(crate) use signing_request::SigningRequestInfo;
pub(crate) use validity::Validity;

#[cfg(test)]
mod tests;
