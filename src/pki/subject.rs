//! Subjects with several organizations: for Kubernetes each is a group of the user, and rcgen writes but one.

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

/// Place of the subject behind version, serial number, algorithm, issuer and validity.
const SUBJECT: usize = 5;

/// The same certificate for another subject, signed anew, in PEM.
pub(super) fn replaced(
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
    // No bits of the last byte are unused.
    let signature = [vec![0], issuer.sign(&content)?].concat();
    let signature = tagged(BIT_STRING, &signature);
    Ok(pem(&tagged(
        SEQUENCE,
        &[&content, algorithm, &signature].concat(),
    )))
}

fn subject(common_name: &str, organizations: &[&str]) -> Vec<u8> {
    let one = |kind: &[u8], text: &str| {
        let text = tagged(UTF8_STRING, text.as_bytes());
        tagged(SET, &tagged(SEQUENCE, &[kind, &text].concat()))
    };
    let all = organizations.iter().map(|it| one(&ORGANIZATION, it));
    let all = all.chain([one(&COMMON_NAME, common_name)]);
    tagged(SEQUENCE, &all.collect::<Vec<_>>().concat())
}

/// What a sequence holds, each with its tag and length.
fn fields(sequence: &[u8]) -> Option<Vec<&[u8]>> {
    let (start, end) = span(sequence)?;
    let mut rest = sequence.get(start..end)?;
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let (field, behind) = rest.split_at_checked(span(rest)?.1)?;
        fields.push(field);
        rest = behind;
    }
    Some(fields)
}

/// Where the content of a value begins and ends.
fn span(value: &[u8]) -> Option<(usize, usize)> {
    let first = usize::from(*value.get(1)?);
    if first < 0x80 {
        return Some((2, 2 + first));
    }
    let start = 2 + (first - 0x80);
    let length = value.get(2..start)?.iter();
    let length = length.fold(0, |sum, byte| sum << 8 | usize::from(*byte));
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
        let (line, behind) = rest.split_at(rest.len().min(64));
        lines.push(line);
        rest = behind;
    }
    lines.push("-----END CERTIFICATE-----\n");
    lines.join("\n")
}
