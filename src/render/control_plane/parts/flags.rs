//! Builder for a program's command line. Flags keep their order.

use std::collections::BTreeMap;
use std::fmt::Display;

/// Cipher suites of TLS 1.2: forward secrecy and authenticated encryption. Those of TLS 1.3 cannot be chosen.
pub(crate) const CIPHER_SUITES: [&str; 6] = [
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
];
/// The oldest version of TLS, as components of Kubernetes name it.
pub(crate) const MIN_TLS_VERSION: &str = "VersionTLS12";

#[derive(Debug)]
pub(crate) struct Flags(Vec<String>);

impl Flags {
    /// Starts with the program, because the image's entry point may be a different one.
    pub(crate) fn of(program: &str) -> Flags {
        Flags(vec![program.to_owned()])
    }

    #[must_use]
    pub(crate) fn set(mut self, name: &str, value: impl Display) -> Flags {
        self.0.push(format!("--{name}={value}"));
        self
    }

    /// Sets the flag if there is a value; otherwise the program's default applies.
    #[must_use]
    pub(crate) fn given(self, name: &str, value: Option<impl Display>) -> Flags {
        match value {
            Some(value) => self.set(name, value),
            None => self,
        }
    }

    /// `name=key=value,key=value`.
    #[must_use]
    pub(crate) fn pairs<V: Display>(
        self,
        name: &str,
        pairs: Option<&BTreeMap<String, V>>,
    ) -> Flags {
        let pairs = pairs.filter(|it| !it.is_empty()).map(|pairs| {
            let pairs = pairs.iter().map(|(key, value)| format!("{key}={value}"));
            pairs.collect::<Vec<_>>().join(",")
        });
        self.given(name, pairs)
    }

    /// Versions and cipher suites of a server of Kubernetes.
    #[must_use]
    pub(crate) fn tls(self) -> Flags {
        self.set("tls-min-version", MIN_TLS_VERSION)
            .set("tls-cipher-suites", CIPHER_SUITES.join(","))
    }

    /// Comma-separated values.
    #[must_use]
    pub(crate) fn list(self, name: &str, values: &[String]) -> Flags {
        let values = (!values.is_empty()).then(|| values.join(","));
        self.given(name, values)
    }

    pub(crate) fn done(self) -> Vec<String> {
        self.0
    }
}
