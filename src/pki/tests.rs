//! Certificates are read back with x509-parser and, where installed, verified with OpenSSL.

use super::private_key::PrivateKey;
use super::validity::DAY;
use super::*;
use secrecy::{ExposeSecret as _, SecretString};
use std::process::Command;
use x509_parser::parse_x509_certificate;
use zeroize::ZeroizeOnDrop;

const NOW: i64 = 1_767_225_600;

fn der(pem: &str) -> Vec<u8> {
    let (_, pem) = x509_parser::pem::parse_x509_pem(pem.as_bytes()).expect("PEM");
    pem.contents
}

fn root() -> Authority {
    Authority::new("kubernetes", Validity::for_ca(NOW)).expect("a CA")
}

fn server(names: &[String]) -> LeafProfile<'_> {
    LeafProfile {
        common_name: "kube-apiserver",
        names,
        server: true,
        ..LeafProfile::default()
    }
}

#[test]
fn leaf_certificates_of_a_loaded_ca_verify_against_it() {
    let loaded = Authority::load(root().pair().clone()).expect("the same CA");
    let names = ["a.example".to_owned(), "10.0.0.1".to_owned()];
    let leaf = loaded
        .issue(&server(&names), Validity::for_leaf(NOW))
        .expect("a leaf");
    let (root, leaf) = (der(&loaded.pair().certificate), der(&leaf.certificate));
    let (_, root) = parse_x509_certificate(&root).expect("a certificate");
    let (_, leaf) = parse_x509_certificate(&leaf).expect("a certificate");
    leaf.verify_signature(Some(root.public_key()))
        .expect("signed by its CA");
    root.verify_signature(None).expect("self-signed");
    assert_eq!(leaf.issuer().as_raw(), root.subject().as_raw());
    assert!(root.is_ca() && !leaf.is_ca());
    let usage = root.key_usage().expect("one").expect("it has some").value;
    assert!(usage.key_cert_sign() && usage.crl_sign());
}

#[test]
fn a_leaf_has_exactly_the_requested_usages() {
    let root = root();
    for (server, client) in [(true, false), (false, true), (true, true)] {
        let profile = LeafProfile {
            common_name: "a",
            organizations: &["b"],
            server,
            client,
            ..LeafProfile::default()
        };
        let leaf = root
            .issue(&profile, Validity::for_leaf(NOW))
            .expect("a leaf");
        let leaf = der(&leaf.certificate);
        let (_, leaf) = parse_x509_certificate(&leaf).expect("a certificate");
        let extended = leaf.extended_key_usage().expect("one").expect("some").value;
        assert_eq!(
            (extended.server_auth, extended.client_auth),
            (server, client)
        );
        let usage = leaf.key_usage().expect("one").expect("some").value;
        assert!(usage.digital_signature() && usage.key_encipherment() && !usage.key_cert_sign());
        assert_eq!(leaf.subject().to_string(), "O=b, CN=a");
        // etcd checks the address of a client against the names in its certificate, if there are any.
        assert!(leaf.subject_alternative_name().expect("one").is_none());
    }
}

#[test]
fn a_user_can_have_several_groups() {
    let root = root();
    let long = "x".repeat(300);
    for groups in [&["b", "c"][..], &["b", "c", &long, "d"]] {
        let profile = LeafProfile {
            common_name: "a",
            organizations: groups,
            client: true,
            ..LeafProfile::default()
        };
        let leaf = root
            .issue(&profile, Validity::for_leaf(NOW))
            .expect("a leaf");
        let (root, leaf) = (der(&root.pair().certificate), der(&leaf.certificate));
        let (_, root) = parse_x509_certificate(&root).expect("a certificate");
        let (rest, leaf) = parse_x509_certificate(&leaf).expect("a certificate");
        assert!(rest.is_empty());
        leaf.verify_signature(Some(root.public_key()))
            .expect("signed by its CA");
        let read = leaf.subject().iter_organization();
        let read: Vec<_> = read.filter_map(|it| it.as_str().ok()).collect();
        assert_eq!(read, groups);
        let name = leaf.subject().iter_common_name().next().expect("one");
        assert_eq!(name.as_str().ok(), Some("a"));
        let extended = leaf.extended_key_usage().expect("one").expect("some").value;
        assert!(extended.client_auth);
    }
}

#[test]
fn a_parsed_certificate_has_the_issued_values() {
    let names = ["a.example", "10.0.0.1", "::1"].map(str::to_owned);
    let root = root();
    let leaf = root
        .issue(&server(&names), Validity::for_leaf(NOW))
        .expect("a leaf");
    let leaf = CertificateInfo::parse(&leaf.certificate).expect("a certificate");
    assert_eq!(leaf.common_name, "kube-apiserver");
    assert_eq!(leaf.names, names);
    assert_eq!((leaf.from, leaf.until), (NOW - 300, NOW + 365 * DAY));
    let root = CertificateInfo::parse(&root.pair().certificate).expect("a certificate");
    assert_eq!((root.from, root.until), (NOW - 300, NOW + 3650 * DAY));
    assert!(root.pin != leaf.pin && root.pin.len() == "sha256:".len() + 64);
}

#[test]
fn a_leaf_does_not_outlive_its_ca() {
    let root = Authority::new("ca", Validity::for_seconds(NOW, 10 * DAY)).expect("a CA");
    let leaf = root
        .issue(&server(&[]), Validity::for_leaf(NOW))
        .expect("a leaf");
    let leaf = CertificateInfo::parse(&leaf.certificate).expect("a certificate");
    assert_eq!(leaf.until, NOW + 10 * DAY);
    let late = root.issue(&server(&[]), Validity::for_leaf(NOW + 10 * DAY));
    let error = late.err().expect("it is too late").to_string();
    assert_eq!(error, "CA \"ca\" has expired");
}

#[test]
fn a_ca_is_not_loaded_with_the_key_of_another() {
    let (one, other) = (root().pair().clone(), root().pair().clone());
    let secret = one.key.expose_secret();
    let mixed = PemPair {
        certificate: one.certificate.clone(),
        key: other.key,
    };
    assert!(matches!(Authority::load(mixed), Err(PkiError::KeyMismatch)));
    for (certificate, key) in [("", secret), (&*one.certificate, ""), ("x", "y")] {
        let pair = PemPair {
            certificate: certificate.to_owned(),
            key: key.into(),
        };
        let error = Authority::load(pair).err().expect("not a CA");
        assert!(!format!("{error} {error:?}").contains(secret.lines().nth(1).expect("a line")));
    }
}

#[test]
fn bootstrap_tokens_are_valid_and_unique() {
    let is_random =
        |text: &str, count: usize| text.len() == count && text.bytes().all(random_character);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..100 {
        let (id, secret) = bootstrap_token().expect("a token");
        let secret = secret.expose_secret().to_owned();
        assert!(is_random(&id, 6) && is_random(&secret, 16), "{id}.{secret}");
        assert!(seen.insert(secret));
    }
    let all: String = seen.into_iter().collect();
    let kinds: std::collections::BTreeSet<char> = all.chars().collect();
    assert_eq!(kinds.len(), 36);
}

fn random_character(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

#[test]
fn the_encryption_configuration_has_a_32_byte_key_and_reads_no_unencrypted_secrets() {
    use base64::Engine as _;
    let text = encryption_configuration().expect("a configuration");
    let text = text.expose_secret();
    let config: serde_json::Value = serde_yaml::from_str(text).expect("YAML");
    let rule = &config["resources"][0];
    assert_eq!(rule["resources"], serde_json::json!(["secrets"]));
    let key = &rule["providers"][0]["secretbox"]["keys"][0]["secret"];
    let key = base64::engine::general_purpose::STANDARD
        .decode(key.as_str().expect("text"))
        .expect("base64");
    assert!(key.len() == 32 && key != [0; 32]);
    assert_eq!(rule["providers"].as_array().map(Vec::len), Some(1));
    let another = encryption_configuration().expect("another");
    assert_ne!(text, another.expose_secret());
}

/// OpenSSL verifies the chain, and the pin equals the result of the recipe in kubeadm's documentation.
#[test]
fn openssl_accepts_the_certificates_and_computes_the_same_pin() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    let openssl = |args: &[&str]| {
        let output = Command::new("openssl")
            .args(args)
            .current_dir(directory.path())
            .output();
        // Skipped where OpenSSL is not installed.
        let output = output.ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let wrong = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {wrong}");
        Some(text)
    };
    let root = Authority::load(root().pair().clone()).expect("a CA");
    let names = ["a.example".to_owned()];
    let leaf = root
        .issue(&server(&names), Validity::for_leaf(NOW))
        .expect("a leaf");
    let tokens = signing_key("tokens").expect("a key");
    let groups = LeafProfile {
        common_name: "a",
        organizations: &["b", "c"],
        client: true,
        ..LeafProfile::default()
    };
    let client = root
        .issue(&groups, Validity::for_leaf(NOW))
        .expect("a leaf");
    for (name, text) in [
        ("ca.crt", root.pair().certificate.as_str()),
        ("ca.key", root.pair().key.expose_secret()),
        ("tls.crt", &leaf.certificate),
        ("client.crt", &client.certificate),
        ("sa.key", tokens.key.expose_secret()),
    ] {
        std::fs::write(path(name), text).expect("a file");
    }
    let time = NOW.to_string();
    let strict = ["verify", "-x509_strict", "-attime", &time, "-purpose"];
    let server = ["sslserver", "-CAfile", "ca.crt", "tls.crt"];
    if openssl(&[&strict[..], &server].concat()).is_none() {
        return;
    }
    let client = ["sslclient", "-CAfile", "ca.crt", "client.crt"];
    openssl(&[&strict[..], &client].concat());
    openssl(&["ec", "-in", "sa.key", "-noout", "-check"]);
    openssl(&[
        "pkey", "-in", "ca.key", "-pubout", "-outform", "der", "-out", "pub",
    ]);
    let digest = openssl(&["dgst", "-sha256", "-hex", "pub"]).expect("installed");
    let digest = digest.trim().rsplit(' ').next().expect("a word");
    let root = CertificateInfo::parse(&root.pair().certificate).expect("a certificate");
    assert_eq!(root.pin, format!("sha256:{digest}"));
}

/// The bound is checked by the compiler. [`PemPair::key`] is such a type too.
#[test]
fn private_keys_are_overwritten_when_they_are_dropped() {
    fn is_overwritten<T: ZeroizeOnDrop>(_: &T) {}
    let key = PrivateKey::generate().expect("a key");
    is_overwritten(&key);
    let text: SecretString = key.pem();
    is_overwritten(&text);
    is_overwritten(&root().pair().key);
}

#[test]
fn private_keys_are_read_back_from_pem() {
    let key = PrivateKey::generate().expect("a key");
    let pem = key.pem();
    let text = format!("before\n{}\nafter", pem.expose_secret());
    let read = PrivateKey::from_pem(&text).expect("the same key");
    assert_eq!(read.public_key_pem(), key.public_key_pem());
    assert_eq!(read.pem().expose_secret(), pem.expose_secret());
    let lines = || pem.expose_secret().lines();
    assert!(
        lines().all(|line| line.len() <= 64),
        "{} lines",
        lines().count()
    );
    let cut: Vec<&str> = lines().skip(1).collect();
    for broken in [
        "",
        &cut.join("\n"),
        &text.replace("PRIVATE", "PUBLIC"),
        &text.replace('M', "!"),
    ] {
        assert!(PrivateKey::from_pem(broken).is_err());
    }
}
