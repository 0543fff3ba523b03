//! Roots, and what they issue.

use super::{CertificateInfo, Validity, PemPair, PkiError, subject};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PublicKeyData, date_time_ymd,
};
use std::time::Duration;

/// A root that issues leaves.
pub(crate) struct Authority {
    name: String,
    issuer: Issuer<'static, KeyPair>,
    pair: PemPair,
    expires: i64,
}

/// Whom a leaf names, and what it is good for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LeafProfile<'a> {
    pub(crate) common_name: &'a str,
    /// Groups of a user.
    pub(crate) organizations: &'a [&'a str],
    /// DNS names and addresses.
    pub(crate) names: &'a [String],
    pub(crate) server: bool,
    pub(crate) client: bool,
}

impl Authority {
    pub(crate) fn new(name: &str, life: Validity) -> Result<Self, PkiError> {
        let make = || {
            let key = KeyPair::generate()?;
            let mut params = params(name, None, &[], life.from(), life.until())?;
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.key_usages = vec![
                KeyUsagePurpose::KeyCertSign,
                KeyUsagePurpose::CrlSign,
                KeyUsagePurpose::DigitalSignature,
            ];
            let pair = PemPair {
                certificate: params.self_signed(&key)?.pem(),
                key: key.serialize_pem(),
            };
            Ok(Self {
                name: name.to_owned(),
                issuer: Issuer::new(params, key),
                pair,
                expires: life.until(),
            })
        };
        make().map_err(|source| failed(name, source))
    }

    /// A root that was made before.
    pub(crate) fn load(pair: PemPair) -> Result<Self, PkiError> {
        let certificate = CertificateInfo::parse(&pair.certificate)?;
        let key = KeyPair::from_pem(&pair.key).map_err(PkiError::Key)?;
        if super::certificate::pin(&key.subject_public_key_info()) != certificate.pin {
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

    /// A leaf does not outlive its root.
    pub(crate) fn issue(&self, profile: &LeafProfile, life: Validity) -> Result<PemPair, PkiError> {
        let until = life.until().min(self.expires);
        if until <= life.now {
            return Err(PkiError::Expired(self.name.clone()));
        }
        let make = || {
            let key = KeyPair::generate()?;
            let mut params = params(
                profile.common_name,
                profile.organizations.first().copied(),
                profile.names,
                life.from(),
                until,
            )?;
            params.is_ca = IsCa::ExplicitNoCa;
            params.key_usages = vec![
                KeyUsagePurpose::DigitalSignature,
                KeyUsagePurpose::KeyEncipherment,
            ];
            let usages = [
                (profile.server, ExtendedKeyUsagePurpose::ServerAuth),
                (profile.client, ExtendedKeyUsagePurpose::ClientAuth),
            ];
            let usages = usages.into_iter().filter(|it| it.0).map(|it| it.1);
            params.extended_key_usages = usages.collect();
            params.use_authority_key_identifier_extension = true;
            let signed = params.signed_by(&key, &self.issuer)?;
            let certificate = match profile.organizations {
                [] | [_] => signed.pem(),
                many => {
                    subject::replaced(signed.der(), profile.common_name, many, self.issuer.key())?
                }
            };
            Ok(PemPair {
                certificate,
                key: key.serialize_pem(),
            })
        };
        make().map_err(|source| failed(profile.common_name, source))
    }
}

/// A key pair that signs tokens.
pub(crate) fn signing_key(name: &str) -> Result<PemPair, PkiError> {
    let key = KeyPair::generate().map_err(|source| failed(name, source))?;
    Ok(PemPair {
        certificate: key.public_key_pem(),
        key: key.serialize_pem(),
    })
}

fn params(
    name: &str,
    organization: Option<&str>,
    names: &[String],
    from: i64,
    until: i64,
) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    let time = |seconds: i64| {
        let since = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        date_time_ymd(1970, 1, 1) + since
    };
    params.not_before = time(from);
    params.not_after = time(until);
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
