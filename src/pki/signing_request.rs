//! Parsed certificate signing requests (PKCS#10). They come from machines, so nothing in them is trusted.

use super::certificate::public_key_pin;
use super::error::PkiError;
use std::net::IpAddr;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::cri_attributes::ParsedCriAttribute;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::FromDer as _;
use x509_parser::x509::AttributeTypeAndValue;

/// Largest PEM text that is parsed, in bytes. kubelets send about 500.
const MAX_SIZE: usize = 16 * 1024;
/// Largest number of subject alternative names.
const MAX_NAMES: usize = 32;

/// The fields of a signing request that a signer copies into the certificate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SigningRequestInfo {
    pub(crate) common_name: String,
    pub(crate) organizations: Vec<String>,
    pub(crate) dns_names: Vec<String>,
    pub(crate) addresses: Vec<IpAddr>,
    /// Hash of the public key in the format of [`super::CertificateInfo::pin`].
    pub(crate) pin: String,
}

impl SigningRequestInfo {
    /// Parses a PEM text with exactly one request.
    ///
    /// # Errors
    ///
    /// The text is too long or malformed; or the request contains a field that a kubelet does not send: another part of
    /// the subject than one common name and organizations, more than one list of extensions, another extension than
    /// alternative names, or another kind of alternative name than DNS names and IP addresses. Signers read such fields
    /// in different ways.
    pub(crate) fn parse(pem: &[u8]) -> Result<SigningRequestInfo, PkiError> {
        let invalid = |error: &str| PkiError::SigningRequest(error.to_owned());
        if pem.len() > MAX_SIZE {
            return Err(invalid("larger than 16 KiB"));
        }
        let (rest, pem) = parse_x509_pem(pem).map_err(|_| invalid("not PEM"))?;
        if pem.label != "CERTIFICATE REQUEST" || !rest.trim_ascii().is_empty() {
            return Err(invalid("not exactly one PEM block CERTIFICATE REQUEST"));
        }
        let (rest, parsed) = X509CertificationRequest::from_der(&pem.contents)
            .map_err(|_| invalid("not a PKCS#10 request"))?;
        if !rest.is_empty() {
            return Err(invalid("data after the request"));
        }
        let body = &parsed.certification_request_info;
        let mut info = SigningRequestInfo {
            pin: public_key_pin(body.subject_pki.raw),
            ..SigningRequestInfo::default()
        };
        let subject = &body.subject;
        let known = subject.iter_common_name().count() + subject.iter_organization().count();
        if known != subject.iter_attributes().count() || subject.iter_common_name().count() != 1 {
            return Err(invalid("subject has other fields than CN and O"));
        }
        let text = |it: &AttributeTypeAndValue| it.as_str().map(str::to_owned);
        for name in subject.iter_common_name() {
            info.common_name = text(name).map_err(|_| invalid("CN is not text"))?;
        }
        for name in subject.iter_organization() {
            let name = text(name).map_err(|_| invalid("O is not text"))?;
            info.organizations.push(name);
        }
        let mut extensions = Vec::new();
        for attribute in body.iter_attributes() {
            match attribute.parsed_attribute() {
                ParsedCriAttribute::ExtensionRequest(it) => extensions.push(it),
                _ => return Err(invalid("unexpected attribute")),
            }
        }
        let extensions = match extensions.as_slice() {
            [] => return Ok(info),
            [one] => &one.extensions,
            _ => return Err(invalid("more than one list of extensions")),
        };
        match extensions.as_slice() {
            [] => {}
            [one] => match one.parsed_extension() {
                ParsedExtension::SubjectAlternativeName(it) => {
                    info.add_names(&it.general_names)?;
                }
                _ => return Err(invalid("unexpected extension")),
            },
            _ => return Err(invalid("more than one extension")),
        }
        Ok(info)
    }

    fn add_names(&mut self, names: &[GeneralName]) -> Result<(), PkiError> {
        let invalid = |error: &str| PkiError::SigningRequest(error.to_owned());
        if names.len() > MAX_NAMES {
            return Err(invalid("more than 32 alternative names"));
        }
        for name in names {
            match name {
                GeneralName::DNSName(it) => self.dns_names.push((*it).to_owned()),
                GeneralName::IPAddress(bytes) => {
                    let v4 = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
                    let address = v4.or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from));
                    let address = address.map_err(|_| invalid("malformed IP address"))?;
                    self.addresses.push(address.to_canonical());
                }
                _ => {
                    return Err(invalid(
                        "alternative name is neither DNS name nor IP address",
                    ));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{
        CertificateParams, CustomExtension, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
        KeyPair, SanType,
    };

    fn params(common_name: &str, names: &[&str]) -> CertificateParams {
        let names: Vec<String> = names.iter().map(|it| (*it).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names");
        params.distinguished_name = DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::CommonName, common_name);
        params
            .distinguished_name
            .push(DnType::OrganizationName, "system:nodes");
        params
    }

    fn pem(params: &CertificateParams) -> String {
        let key = KeyPair::generate().expect("a key");
        let request = params.serialize_request(&key).expect("a request");
        request.pem().expect("PEM")
    }

    fn refusal(text: &[u8]) -> String {
        match SigningRequestInfo::parse(text) {
            Err(error) => error.to_string(),
            Ok(info) => panic!("accepted: {info:?}"),
        }
    }

    #[test]
    fn the_fields_of_a_kubelets_request_are_read() {
        let names = ["m-0", "10.0.0.5", "fd00::5"];
        let info = SigningRequestInfo::parse(pem(&params("system:node:m-0", &names)).as_bytes());
        let info = info.expect("a request");
        assert_eq!(info.common_name, "system:node:m-0");
        assert_eq!(info.organizations, ["system:nodes"]);
        assert_eq!(info.dns_names, ["m-0"]);
        let addresses: Vec<String> = info.addresses.iter().map(ToString::to_string).collect();
        assert_eq!(addresses, ["10.0.0.5", "fd00::5"]);
        assert!(info.pin.starts_with("sha256:"), "{}", info.pin);
        let bare = SigningRequestInfo::parse(pem(&params("x", &[])).as_bytes()).expect("a request");
        assert!(bare.dns_names.is_empty() && bare.addresses.is_empty());
        assert_ne!(bare.pin, info.pin);
    }

    #[test]
    fn requests_with_fields_that_no_kubelet_sends_are_refused() {
        let mut other = params("system:node:m-0", &[]);
        other
            .distinguished_name
            .push(DnType::OrganizationalUnitName, "x");
        assert!(refusal(pem(&other).as_bytes()).contains("other fields than CN and O"));

        let mut none = params("", &[]);
        none.distinguished_name = DistinguishedName::new();
        assert!(refusal(pem(&none).as_bytes()).contains("other fields than CN and O"));

        for name in [
            SanType::URI("spiffe://a/b".try_into().expect("text")),
            SanType::Rfc822Name("a@b.c".try_into().expect("text")),
        ] {
            let mut named = params("system:node:m-0", &["m-0"]);
            named.subject_alt_names.push(name);
            assert!(refusal(pem(&named).as_bytes()).contains("neither DNS name nor IP"));
        }

        let mut usage = params("system:node:m-0", &["m-0"]);
        usage.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        assert!(refusal(pem(&usage).as_bytes()).contains("extension"));

        let mut custom = params("system:node:m-0", &[]);
        let content = vec![0x05, 0x00];
        let extension = CustomExtension::from_oid_content(&[1, 2, 3, 4], content);
        custom.custom_extensions = vec![extension];
        assert!(refusal(pem(&custom).as_bytes()).contains("extension"));

        let names: Vec<String> = (0..33).map(|it| format!("m-{it}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert!(refusal(pem(&params("x", &names)).as_bytes()).contains("more than 32"));
    }

    #[test]
    fn malformed_and_oversized_texts_are_refused() {
        let good = pem(&params("system:node:m-0", &["m-0"]));
        assert!(refusal(b"").contains("not PEM"));
        assert!(refusal(format!("{good}{good}").as_bytes()).contains("exactly one"));
        let other = good.replace("CERTIFICATE REQUEST", "CERTIFICATE");
        assert!(refusal(other.as_bytes()).contains("exactly one"));
        assert!(refusal(&[b'a'; MAX_SIZE + 1]).contains("16 KiB"));
        let (_, block) = parse_x509_pem(good.as_bytes()).expect("PEM");
        // Every prefix of the content is refused, and none makes the parser panic.
        for length in 0..block.contents.len() {
            let text = pem::encode(&block.contents[..length]);
            let error = SigningRequestInfo::parse(text.as_bytes());
            assert!(error.is_err(), "{length}");
        }
        // Neither does a changed byte, whether the result is valid or not.
        for index in 0..block.contents.len() {
            for mask in [0x01, 0x20, 0x80, 0xff] {
                let mut changed = block.contents.clone();
                changed[index] ^= mask;
                drop(SigningRequestInfo::parse(pem::encode(&changed).as_bytes()));
            }
        }
        let long = [block.contents.as_slice(), &[0]].concat();
        assert!(refusal(pem::encode(&long).as_bytes()).contains("data after"));
    }

    mod pem {
        use base64::Engine as _;
        use base64::engine::general_purpose::STANDARD;

        pub(super) fn encode(content: &[u8]) -> String {
            let text = STANDARD.encode(content);
            let lines: Vec<&str> = text
                .as_bytes()
                .chunks(64)
                .map(|it| std::str::from_utf8(it).expect("ASCII"))
                .collect();
            let label = "CERTIFICATE REQUEST";
            format!(
                "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
                lines.join("\n")
            )
        }
    }
}
