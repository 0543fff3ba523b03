//! Certificate authorities of a shoot, read from their Secrets, and client certificates, which are never stored.

use super::error::Error;
use super::request::ResourceRef;
use super::resources;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::objects::core::secret::PartialSecret;
use crate::cluster::objects::reader::read;
use crate::pki::{Authority, CertificateInfo, LeafProfile, PemPair, PkiError, Validity};
use crate::state::names;
use secrecy::{ExposeSecret as _, SecretString};

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

/// Credentials of a server of kvshoot, in PEM.
pub(crate) struct ServingCertificate {
    pub(crate) certificate: String,
    pub(crate) key: SecretString,
    /// Certificates of the authorities that sign those of its clients.
    pub(crate) ca: String,
}

impl ClientCertificate {
    /// Certificate and key in one text, so that a reader never gets the certificate of one and the key of another.
    pub(crate) fn pem(&self) -> SecretString {
        let key = self.key.expose_secret();
        let mut text = String::with_capacity(self.certificate.len() + key.len());
        text.push_str(&self.certificate);
        text.push_str(key);
        text.into()
    }
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
        self.certificate_of(id, &secret, user, groups, seconds)
            .await
    }

    /// Issues a client certificate of the authority in a Secret of shoot `id`.
    pub(super) async fn certificate_of(
        &self,
        id: &str,
        secret: &str,
        user: &str,
        groups: &[&str],
        seconds: i64,
    ) -> Result<ClientCertificate, Error> {
        let root = self.certificate_authority(id, secret).await?;
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
                key: pair.key,
                ca: root.bundle.clone(),
            })
        };
        issue().map_err(|source| certificate_error(secret, source))
    }

    /// Issues a certificate for a server with these names, by the authority of shoot `id`.
    pub(crate) async fn serving_certificate(
        &self,
        id: &str,
        hosts: &[String],
        seconds: i64,
    ) -> Result<ServingCertificate, Error> {
        let secret = names::control_plane(id, names::part::CA);
        let root = self.certificate_authority(id, &secret).await?;
        let common_name = hosts.first().map_or("", String::as_str);
        let profile = LeafProfile {
            common_name,
            names: hosts,
            server: true,
            ..LeafProfile::default()
        };
        let validity = Validity::for_seconds(self.current_time(), seconds);
        let pair = root.authority.issue(&profile, validity);
        let pair = pair.map_err(|source| certificate_error(&secret, source))?;
        Ok(ServingCertificate {
            certificate: pair.certificate,
            key: pair.key,
            ca: root.bundle,
        })
    }

    /// Reads the certificate authority in a Secret of shoot `id`.
    pub(crate) async fn certificate_authority(
        &self,
        id: &str,
        secret: &str,
    ) -> Result<CertificateAuthority, Error> {
        self.authority_named(id, secret, "tls").await
    }

    /// Reads the authority before the newest one in a Secret of shoot `id`; its certificates are still trusted.
    pub(crate) async fn previous_authority(
        &self,
        id: &str,
        secret: &str,
    ) -> Result<CertificateAuthority, Error> {
        self.authority_named(id, secret, "old").await
    }

    /// `name` is that of the files, without `.crt` and `.key`.
    async fn authority_named(
        &self,
        id: &str,
        secret: &str,
        name: &str,
    ) -> Result<CertificateAuthority, Error> {
        let resource_ref = ResourceRef::one(&resources::SECRET, self.namespace(), secret);
        let existing = self.get_secret(resource_ref).await?;
        let existing: PartialSecret = read(&resources::SECRET, &existing)?;
        if !existing.metadata.belongs_to(id) {
            return Err(Error::NotOwned {
                what: resource_ref.request_info("get"),
            });
        }
        // A value that is not text is not PEM either.
        let pem = |key: &str| existing.text(key).unwrap_or_default();
        let certificate = |key: &str| pem(key).expose_secret().to_owned();
        let pair = PemPair {
            certificate: certificate(&format!("{name}.crt")),
            key: pem(&format!("{name}.key")),
        };
        let authority =
            Authority::load(pair).map_err(|source| certificate_error(secret, source))?;
        Ok(CertificateAuthority {
            authority,
            bundle: certificate("ca.crt"),
        })
    }

    /// Seconds since 1970 by the server's clock; by the local clock if responses have no date.
    pub(crate) fn current_time(&self) -> i64 {
        self.server_time()
            .unwrap_or_else(|| crate::clock::now().as_second())
    }
}

pub(crate) fn certificate_error(secret: &str, source: PkiError) -> Error {
    Error::Certificate {
        secret: secret.to_owned(),
        source,
    }
}
