//! Certificate authorities of a shoot, read from their Secrets, and client certificates, which are never stored.

use super::error::Error;
use super::request::ResourceRef;
use super::resources;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::json::text;
use crate::pki::{Authority, CertificateInfo, LeafProfile, PemPair, PkiError, Validity};
use crate::state::names;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::SecretString;
use serde_json::Value;

/// A certificate authority, and all certificates that are trusted with it.
pub(crate) struct CertificateAuthority {
    pub(crate) authority: Authority,
    /// In PEM.
    pub(crate) bundle: String,
}

/// Credentials for a shoot's API server, in PEM.
#[derive(Debug)]
pub(crate) struct ClientCertificate {
    pub(crate) certificate: String,
    pub(crate) key: SecretString,
    /// Certificates of the authorities that sign the API server's certificate.
    pub(crate) ca: String,
    /// Seconds since 1970.
    pub(crate) expires: i64,
}

impl ApiClient {
    /// Issues a client certificate for a shoot's API server, for a user and its groups. It is not stored.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] while the shoot has no certificate authority.
    pub(crate) async fn client_certificate(
        &self,
        id: &str,
        user: &str,
        groups: &[&str],
        seconds: i64,
    ) -> Result<ClientCertificate, Error> {
        let secret = names::control_plane(id, names::part::CA);
        let root = self.certificate_authority(id, &secret).await?;
        let profile = LeafProfile {
            common_name: user,
            organizations: groups,
            client: true,
            ..LeafProfile::default()
        };
        let issue = || {
            let life = Validity::for_seconds(self.current_time(), seconds);
            let pair = root.authority.issue(&profile, life)?;
            Ok(ClientCertificate {
                expires: CertificateInfo::parse(&pair.certificate)?.until,
                certificate: pair.certificate,
                key: pair.key.into(),
                ca: root.bundle.clone(),
            })
        };
        issue().map_err(|source| certificate_error(&secret, source))
    }

    /// Earliest expiry of a shoot's certificates, in seconds since 1970, with the name of the Secret.
    pub(crate) async fn earliest_certificate_expiry(
        &self,
        id: &str,
    ) -> Result<Option<(i64, String)>, Error> {
        let (shoot, role) = (names::selector(id), names::role::CERTIFICATE);
        let selector = format!("{shoot},{}={role}", names::COMPONENT);
        let resource_ref = ResourceRef::all(&resources::SECRET, Some(self.namespace()));
        let listed = self.list(resource_ref, Some(&selector)).await?;
        let expiry = |object: &Value| {
            let metadata = &object["metadata"];
            let expires = text(&metadata["annotations"][names::NOT_AFTER]);
            Some((expires.parse().ok()?, text(&metadata["name"]).to_owned()))
        };
        Ok(listed.items.iter().filter_map(expiry).min())
    }

    /// Reads the certificate authority in a Secret of shoot `id`.
    pub(crate) async fn certificate_authority(
        &self,
        id: &str,
        secret: &str,
    ) -> Result<CertificateAuthority, Error> {
        let resource_ref = ResourceRef::one(&resources::SECRET, self.namespace(), secret);
        let existing = self.get_secret(resource_ref).await?;
        let labels = &existing["metadata"]["labels"];
        if labels[names::MANAGED_BY] != names::KVSHOOT || labels[names::PART_OF] != id {
            return Err(Error::NotOwned {
                what: resource_ref.request_info("get"),
            });
        }
        let data = &existing["data"];
        let pair = PemPair {
            certificate: decode_pem(&data["tls.crt"]),
            key: decode_pem(&data["tls.key"]),
        };
        let authority =
            Authority::load(pair).map_err(|source| certificate_error(secret, source))?;
        Ok(CertificateAuthority {
            authority,
            bundle: decode_pem(&data["ca.crt"]),
        })
    }

    /// Seconds since 1970 by the server's clock; by the local clock if responses have no date.
    pub(crate) fn current_time(&self) -> i64 {
        self.server_time()
            .unwrap_or_else(|| jiff::Timestamp::now().as_second())
    }
}

pub(crate) fn certificate_error(secret: &str, source: PkiError) -> Error {
    Error::Certificate {
        secret: secret.to_owned(),
        source,
    }
}

/// Returns an empty text for anything that is not UTF-8: it is not PEM either.
fn decode_pem(value: &Value) -> String {
    let bytes = STANDARD.decode(text(value)).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}
