//! Roots and keys that are rotated.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A root or key, or several that are rotated together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Credential {
    /// The root of clients and servers, and that of the front proxy.
    Ca,
    EtcdCa,
    ServiceAccountKey,
    EncryptionKey,
}

impl Credential {
    pub(crate) const ALL: [Credential; 4] = [
        Credential::Ca,
        Credential::EtcdCa,
        Credential::ServiceAccountKey,
        Credential::EncryptionKey,
    ];

    /// As in arguments.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Credential::Ca => "ca",
            Credential::EtcdCa => "etcd-ca",
            Credential::ServiceAccountKey => "service-account-key",
            Credential::EncryptionKey => "encryption-key",
        }
    }

    /// The credential of a Secret, by the part of its name after the technical ID.
    pub(crate) fn of_part(part: &str) -> Option<Credential> {
        match part {
            "front-proxy-ca" => Some(Credential::Ca),
            other => Credential::ALL.into_iter().find(|it| it.name() == other),
        }
    }
}

impl fmt::Display for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
