//! Secrets of keys and certificates.

use crate::state::hash::Hash;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Data of a Secret with keys and certificates, without the keys.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct ObservedSecret {
    /// Hash of all its data.
    pub(crate) checksum: Hash,
    /// Its `tls.crt`, if it is a certificate.
    pub(crate) certificate: Option<ObservedCertificate>,
    /// Hash of the public key of the root before, while its certificates are trusted.
    pub(crate) previous: Option<Hash>,
    /// Its `ca.crt`.
    pub(crate) ca: Option<Arc<str>>,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct ObservedCertificate {
    /// DNS names and addresses.
    pub(crate) names: BTreeSet<Arc<str>>,
    /// Hash of its public key.
    pub(crate) key: Hash,
    /// Hash of the issuer's public key.
    pub(crate) issuer: Hash,
    /// Seconds since 1970.
    pub(crate) issued: i64,
    pub(crate) expires: i64,
}
