//! Parsing of Secrets with keys and certificates: their annotations; their data are not read.

use crate::cluster::objects::metadata::PartialObjectMeta;
use crate::state::facts::{ObservedCertificate, ObservedSecret};
use crate::state::hash::Hash;
use crate::state::names;

pub(super) fn parse_secret(metadata: &PartialObjectMeta) -> ObservedSecret {
    let hash = |key: &str| {
        let text = metadata.annotation(key);
        text.and_then(Hash::parse).unwrap_or_default()
    };
    let number = |key: &str| metadata.annotation(key)?.parse::<i64>().ok();
    let list = metadata.annotation(names::CERTIFICATE_NAMES);
    let certificate = number(names::NOT_AFTER).map(|expires| ObservedCertificate {
        names: list
            .unwrap_or_default()
            .split(',')
            .filter(|it| !it.is_empty())
            .map(Into::into)
            .collect(),
        key: hash(names::CERTIFICATE_KEY),
        issuer: hash(names::CERTIFICATE_ISSUER),
        issued: number(names::NOT_BEFORE).unwrap_or_default(),
        expires,
    });
    ObservedSecret {
        checksum: hash(names::CHECKSUM),
        certificate,
        previous: metadata
            .annotation(names::PREVIOUS_KEY)
            .and_then(Hash::parse),
        ca: metadata
            .annotation(names::CERTIFICATE_AUTHORITY)
            .map(Into::into),
    }
}
