//! Certificate authorities and the leaf certificates they issue.

use super::certificate::{CertificateInfo, public_key_pin};
use super::error::PkiError;
use super::private_key::PrivateKey;
use super::subject;
use super::validity::Validity;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyUsagePurpose, PublicKeyData as _, date_time_ymd,
};
use secrecy::{ExposeSecret as _, SecretString};
use std::time::Duration;

/// A certificate or public key with its private key, both in PEM. The key is not printable, so that it reaches no log, and
/// overwritten when it is dropped.
#[derive(Clone)]
pub(crate) struct PemPair {
    pub(crate) certificate: String,
    pub(crate) key: SecretString,
}

/// A self-signed CA that issues leaf certificates.
pub(crate) struct Authority {
    name: String,
    issuer: Issuer<'static, PrivateKey>,
    pair: PemPair,
    /// Seconds since 1970.
    expires: i64,
}

/// Subject, names and key usages of a leaf certificate.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LeafProfile<'a> {
    pub(crate) common_name: &'a str,
    /// Kubernetes groups of a user.
    pub(crate) organizations: &'a [&'a str],
    /// Subject alternative names: DNS names and IP addresses.
    pub(crate) names: &'a [String],
    pub(crate) server: bool,
    pub(crate) client: bool,
}

impl Authority {
    /// Generates a CA.
    pub(crate) fn new(name: &str, validity: Validity) -> Result<Self, PkiError> {
        let generate = || {
            let key = PrivateKey::generate()?;
            let mut params = params(name, None, &[], validity.not_before(), validity.not_after())?;
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.key_usages = vec![
                KeyUsagePurpose::KeyCertSign,
                KeyUsagePurpose::CrlSign,
                KeyUsagePurpose::DigitalSignature,
            ];
            let pair = PemPair {
                certificate: params.self_signed(&key)?.pem(),
                key: key.pem(),
            };
            Ok(Self {
                name: name.to_owned(),
                issuer: Issuer::new(params, key),
                pair,
                expires: validity.not_after(),
            })
        };
        generate().map_err(|source| failed(name, source))
    }

    /// Loads a CA from its PEM files.
    pub(crate) fn load(pair: PemPair) -> Result<Self, PkiError> {
        let certificate = CertificateInfo::parse(&pair.certificate)?;
        let key = PrivateKey::from_pem(pair.key.expose_secret()).map_err(PkiError::Key)?;
        if public_key_pin(&key.subject_public_key_info()) != certificate.pin {
            return Err(PkiError::KeyMismatch);
        }
        let name = certificate.common_name;
        let issuer = Issuer::from_ca_cert_pem(&pair.certificate, key)
            .map_err(|source| failed(&name, source))?;
        Ok(Self {
            name,
            issuer,
            pair,
            expires: certificate.until,
        })
    }

    pub(crate) fn pair(&self) -> &PemPair {
        &self.pair
    }

    /// Issues a leaf certificate, valid no longer than the CA.
    ///
    /// # Errors
    ///
    /// [`PkiError::Expired`] if the CA is no longer valid.
    pub(crate) fn issue(
        &self,
        profile: &LeafProfile,
        validity: Validity,
    ) -> Result<PemPair, PkiError> {
        let not_after = validity.not_after().min(self.expires);
        if not_after <= validity.now {
            return Err(PkiError::Expired(self.name.clone()));
        }
        let generate = || {
            let key = PrivateKey::generate()?;
            let mut params = params(
                profile.common_name,
                profile.organizations.first().copied(),
                profile.names,
                validity.not_before(),
                not_after,
            )?;
            params.is_ca = IsCa::ExplicitNoCa;
            params.key_usages = vec![
                KeyUsagePurpose::DigitalSignature,
                KeyUsagePurpose::KeyEncipherment,
            ];
            params.extended_key_usages = [
                (profile.server, ExtendedKeyUsagePurpose::ServerAuth),
                (profile.client, ExtendedKeyUsagePurpose::ClientAuth),
            ]
            .into_iter()
            .filter_map(|(enabled, usage)| enabled.then_some(usage))
            .collect();
            params.use_authority_key_identifier_extension = true;
            let signed = params.signed_by(&key, &self.issuer)?;
            let certificate = match profile.organizations {
                [] | [_] => signed.pem(),
                many => subject::with_organizations(
                    signed.der(),
                    profile.common_name,
                    many,
                    self.issuer.key(),
                )?,
            };
            Ok(PemPair {
                certificate,
                key: key.pem(),
            })
        };
        generate().map_err(|source| failed(profile.common_name, source))
    }
}

/// Generates a key pair that signs service account tokens; the certificate field holds the public key.
pub(crate) fn signing_key(name: &str) -> Result<PemPair, PkiError> {
    let key = PrivateKey::generate().map_err(|source| failed(name, source))?;
    Ok(PemPair {
        certificate: key.public_key_pem(),
        key: key.pem(),
    })
}

fn params(
    name: &str,
    organization: Option<&str>,
    names: &[String],
    not_before: i64,
    not_after: i64,
) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    let time = |seconds: i64| {
        let since = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        date_time_ymd(1970, 1, 1) + since
    };
    params.not_before = time(not_before);
    params.not_after = time(not_after);
    params.distinguished_name = DistinguishedName::new();
    if let Some(organization) = organization {
        params
            .distinguished_name
            .push(DnType::OrganizationName, organization);
    }
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}

fn failed(name: &str, source: rcgen::Error) -> PkiError {
    PkiError::Generate {
        name: name.to_owned(),
        source,
    }
}
