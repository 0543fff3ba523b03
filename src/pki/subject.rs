//! Subjects with several organizations. Kubernetes reads each as a group of the user; rcgen writes only one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{Error, SigningKey};

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const UTF8_STRING: u8 = 0x0c;
const BIT_STRING: u8 = 0x03;

/// Object identifiers 2.5.4.3 and 2.5.4.10.
const COMMON_NAME: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x03];
const ORGANIZATION: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x0a];

/// Index of the subject in a TBSCertificate, after version, serial number, algorithm, issuer and validity.
const SUBJECT: usize = 5;

/// Replaces the subject of a DER-encoded certificate, signs it again and returns it in PEM.
pub(super) fn with_organizations(
    certificate: &[u8],
    common_name: &str,
    organizations: &[&str],
    issuer: &impl SigningKey,
) -> Result<String, Error> {
    let parts = fields(certificate).ok_or(Error::CouldNotParseCertificate)?;
    let [content, algorithm, _] = parts[..] else {
        return Err(Error::CouldNotParseCertificate);
    };
    let mut content = fields(content).ok_or(Error::CouldNotParseCertificate)?;
    let subject = subject(common_name, organizations);
    *content
        .get_mut(SUBJECT)
        .ok_or(Error::CouldNotParseCertificate)? = &subject;
    let content = tagged(SEQUENCE, &content.concat());
    // A BIT STRING begins with the number of unused bits.
    let signature = [vec![0], issuer.sign(&content)?].concat();
    let signature = tagged(BIT_STRING, &signature);
    Ok(pem(&tagged(
        SEQUENCE,
        &[&content, algorithm, &signature].concat(),
    )))
}

fn subject(common_name: &str, organizations: &[&str]) -> Vec<u8> {
    let attribute = |kind: &[u8], text: &str| {
        let text = tagged(UTF8_STRING, text.as_bytes());
        tagged(SET, &tagged(SEQUENCE, &[kind, &text].concat()))
    };
    let attributes: Vec<_> = organizations
        .iter()
        .map(|organization| attribute(&ORGANIZATION, organization))
        .chain([attribute(&COMMON_NAME, common_name)])
        .collect();
    tagged(SEQUENCE, &attributes.concat())
}

/// Elements of a DER sequence, each with its tag and length.
fn fields(sequence: &[u8]) -> Option<Vec<&[u8]>> {
    let (start, end) = span(sequence)?;
    let mut rest = sequence.get(start..end)?;
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let (field, remaining) = rest.split_at_checked(span(rest)?.1)?;
        fields.push(field);
        rest = remaining;
    }
    Some(fields)
}

/// Start and end of the content of a DER value.
fn span(value: &[u8]) -> Option<(usize, usize)> {
    let first = usize::from(*value.get(1)?);
    if first < 0x80 {
        return Some((2, 2 + first));
    }
    let start = 2 + (first - 0x80);
    let length = value
        .get(2..start)?
        .iter()
        .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    Some((start, start + length))
}

fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut value = vec![tag];
    let length = content.len().to_be_bytes();
    let length = &length[length.iter().take_while(|it| **it == 0).count()..];
    match (length, u8::try_from(length.len())) {
        ([], _) => value.push(0),
        ([one], _) if *one < 0x80 => value.push(*one),
        (many, count) => {
            value.push(0x80 | count.unwrap_or_default());
            value.extend(many);
        }
    }
    value.extend(content);
    value
}

fn pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut lines = vec!["-----BEGIN CERTIFICATE-----"];
    let mut rest = &*text;
    while !rest.is_empty() {
        let (line, remaining) = rest.split_at(rest.len().min(64));
        lines.push(line);
        rest = remaining;
    }
    lines.push("-----END CERTIFICATE-----\n");
    lines.join("\n")
}
