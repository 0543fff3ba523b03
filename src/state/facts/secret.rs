//! Secrets of keys and certificates.

use crate::state::hash::Hash;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Keys and certificates.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Secret {
    /// Of all of its data.
    pub(crate) checksum: Hash,
    /// Its `tls.crt`, if that is one.
    pub(crate) certificate: Option<Certificate>,
    /// Its `ca.crt`.
    pub(crate) ca: Option<Arc<str>>,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Certificate {
    /// DNS names and addresses.
    pub(crate) names: BTreeSet<Arc<str>>,
    /// Of its own key.
    pub(crate) key: Hash,
    /// Of the key that signed it.
    pub(crate) issuer: Hash,
    /// Seconds since 1970.
    pub(crate) issued: i64,
    pub(crate) expires: i64,
}
