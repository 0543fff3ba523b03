//! Keys and certificates: ECDSA P-256, as short as they can be said.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

#[derive(Debug, thiserror::Error)]
#[error("cannot make the certificate of {name}")]
pub(crate) struct PkiError {
    name: String,
    source: rcgen::Error,
}

/// A certificate, or a public key, and the private key to it; both in PEM.
#[derive(Clone)]
pub(crate) struct Pair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// A root that issues leaves.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pair: Pair,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Result<Self, PkiError> {
        Self::make(name).map_err(|source| failed(name, source))
    }

    fn make(name: &str) -> Result<Self, rcgen::Error> {
        let key = KeyPair::generate()?;
        let mut params = params(name, &[], Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let pair = Pair {
            certificate: params.self_signed(&key)?.pem(),
            key: key.serialize_pem(),
        };
        Ok(Self {
            issuer: Issuer::new(params, key),
            pair,
        })
    }

    pub(crate) fn pair(&self) -> &Pair {
        &self.pair
    }

    /// Issues a leaf for servers and clients alike; `sans` are DNS names and addresses.
    pub(crate) fn issue(
        &self,
        name: &str,
        organizations: &[&str],
        sans: &[&str],
    ) -> Result<Pair, PkiError> {
        let make = || {
            let key = KeyPair::generate()?;
            let sans = sans.iter().map(ToString::to_string).collect();
            let mut params = params(name, organizations, sans)?;
            params.is_ca = IsCa::ExplicitNoCa;
            params.key_usages = vec![
                KeyUsagePurpose::DigitalSignature,
                KeyUsagePurpose::KeyEncipherment,
            ];
            params.extended_key_usages = vec![
                ExtendedKeyUsagePurpose::ServerAuth,
                ExtendedKeyUsagePurpose::ClientAuth,
            ];
            params.use_authority_key_identifier_extension = true;
            Ok(Pair {
                certificate: params.signed_by(&key, &self.issuer)?.pem(),
                key: key.serialize_pem(),
            })
        };
        make().map_err(|source| failed(name, source))
    }
}

/// A key pair that signs tokens.
pub(crate) fn signing_key(name: &str) -> Result<Pair, PkiError> {
    let key = KeyPair::generate().map_err(|source| failed(name, source))?;
    Ok(Pair {
        certificate: key.public_key_pem(),
        key: key.serialize_pem(),
    })
}

fn params(
    name: &str,
    organizations: &[&str],
    sans: Vec<String>,
) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(sans)?;
    // What a sandbox has is thrown away, not renewed.
    params.not_before = date_time_ymd(2025, 1, 1);
    params.not_after = date_time_ymd(2045, 1, 1);
    params.distinguished_name = rcgen::DistinguishedName::new();
    for organization in organizations {
        let value = *organization;
        params
            .distinguished_name
            .push(DnType::OrganizationName, value);
    }
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}

fn failed(name: &str, source: rcgen::Error) -> PkiError {
    PkiError {
        name: name.to_owned(),
        source,
    }
}
