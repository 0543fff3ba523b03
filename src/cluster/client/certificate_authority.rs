//! The roots of a shoot, read from their Secrets, and certificates that are kept nowhere.

use super::error::Error;
use super::request::Place;
use super::resources;
use crate::cluster::client::api_client::Provider;
use crate::cluster::json::text;
use crate::pki::{Authority, CertificateInfo, LeafProfile, PemPair, PkiError, Validity};
use crate::state::names;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::SecretString;
use serde_json::Value;

/// A root, and all roots that are trusted beside it.
pub(crate) struct Root {
    pub(crate) authority: Authority,
    /// In PEM.
    pub(crate) bundle: String,
}

/// What leads into a shoot, in PEM.
#[derive(Debug)]
pub(crate) struct ClientCertificate {
    pub(crate) certificate: String,
    pub(crate) key: SecretString,
    /// The roots that the API server's certificate is of.
    pub(crate) ca: String,
    /// Seconds since 1970.
    pub(crate) expires: i64,
}

impl Provider {
    /// A certificate for a client of a shoot's API server: a user and its groups. It is written nowhere.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] when the shoot has no root yet.
    pub(crate) async fn client_certificate(
        &self,
        id: &str,
        user: &str,
        groups: &[&str],
        seconds: i64,
    ) -> Result<ClientCertificate, Error> {
        let secret = names::control_plane(id, names::part::CA);
        let root = self.root(id, &secret).await?;
        let profile = LeafProfile {
            common_name: user,
            organizations: groups,
            client: true,
            ..LeafProfile::default()
        };
        let issue = || {
            let life = Validity::for_seconds(self.time(), seconds);
            let pair = root.authority.issue(&profile, life)?;
            Ok(ClientCertificate {
                expires: CertificateInfo::parse(&pair.certificate)?.until,
                certificate: pair.certificate,
                key: pair.key.into(),
                ca: root.bundle.clone(),
            })
        };
        issue().map_err(|source| keys(&secret, source))
    }

    /// When the first certificate of a shoot expires, in seconds since 1970, and the name of its Secret.
    pub(crate) async fn first_expiry(&self, id: &str) -> Result<Option<(i64, String)>, Error> {
        let (shoot, role) = (names::selector(id), names::role::CERTIFICATE);
        let selector = format!("{shoot},{}={role}", names::COMPONENT);
        let place = Place::all(&resources::SECRET, Some(self.namespace()));
        let listed = self.list(place, Some(&selector)).await?;
        let expiry = |object: &Value| {
            let metadata = &object["metadata"];
            let expires = text(&metadata["annotations"][names::NOT_AFTER]);
            Some((expires.parse().ok()?, text(&metadata["name"]).to_owned()))
        };
        Ok(listed.items.iter().filter_map(expiry).min())
    }

    /// The root in a Secret of the shoot `id`.
    pub(crate) async fn root(&self, id: &str, secret: &str) -> Result<Root, Error> {
        let place = Place::one(&resources::SECRET, self.namespace(), secret);
        let there = self.get_secret(place).await?;
        let labels = &there["metadata"]["labels"];
        if labels[names::MANAGED_BY] != names::KVSHOOT || labels[names::PART_OF] != id {
            return Err(Error::Foreign {
                what: place.what("get"),
            });
        }
        let data = &there["data"];
        let pair = PemPair {
            certificate: decoded(&data["tls.crt"]),
            key: decoded(&data["tls.key"]),
        };
        let authority = Authority::load(pair).map_err(|source| keys(secret, source))?;
        Ok(Root {
            authority,
            bundle: decoded(&data["ca.crt"]),
        })
    }

    /// By the clock of the server, that answered just now; by this computer's when answers bear no date.
    pub(crate) fn time(&self) -> i64 {
        self.server_time()
            .unwrap_or_else(|| jiff::Timestamp::now().as_second())
    }
}

pub(crate) fn keys(secret: &str, source: PkiError) -> Error {
    Error::Keys {
        secret: secret.to_owned(),
        source,
    }
}

/// Nothing for what is no text: it is then no certificate either.
fn decoded(value: &Value) -> String {
    let bytes = STANDARD.decode(text(value)).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}
