use super::*;
use crate::pki::LeafProfile;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, json};

const NOW: i64 = 1_767_225_600;

/// The Secret as it is stored.
fn stored(made: &GeneratedSecret) -> PartialSecret {
    let data = made.data.iter().map(|(key, it)| {
        let value = STANDARD.encode(it.expose_secret());
        ((*key).to_owned(), json!(value))
    });
    let data: Map<_, _> = data.collect();
    let metadata = json!({ "name": "a", "uid": "1", "resourceVersion": "1" });
    serde_json::from_value(json!({ "metadata": metadata, "data": data })).expect("a Secret")
}

fn at(number: u32, content: KeyContent) -> KeyGeneration {
    KeyGeneration { number, content }
}

/// The contents of a rotation, the first one given.
fn rotated(what: &KeyMaterial, first: GeneratedSecret) -> [GeneratedSecret; 4] {
    let next = |before: &GeneratedSecret, content| {
        let what = what.clone().at(at(1, content));
        next_content(&what, &stored(before), NOW).expect("the content before")
    };
    let announced = next(&first, KeyContent::Announced);
    let leading = next(&announced, KeyContent::Leading);
    let alone = next(&leading, KeyContent::Alone);
    [first, announced, leading, alone]
}

fn text<'a>(made: &'a GeneratedSecret, key: &str) -> &'a str {
    made.data[key].expose_secret()
}

fn keys(made: &GeneratedSecret) -> Vec<&str> {
    made.data.keys().copied().collect()
}

#[test]
fn the_new_root_is_trusted_before_it_signs_and_the_old_one_after() {
    let what = KeyMaterial::Root {
        common_name: "kubernetes",
        generation: at(0, KeyContent::Alone),
    };
    let root = Authority::new("kubernetes", Validity::for_ca(NOW)).expect("a root");
    let mut first = GeneratedSecret::default();
    let bundle = root.pair().certificate.clone();
    first
        .add_certificate(root.pair(), root.pair(), bundle)
        .expect("a certificate");
    let [first, announced, leading, alone] = rotated(&what, first);
    let (old, new) = (text(&first, "tls.crt"), text(&alone, "tls.crt"));
    assert_ne!(old, new);
    assert_eq!(text(&announced, "tls.crt"), old);
    assert_eq!(text(&announced, "ca.crt"), format!("{old}{new}"));
    assert_eq!(text(&leading, "tls.crt"), new);
    assert_eq!(text(&leading, "ca.crt"), format!("{new}{old}"));
    assert_eq!(text(&leading, "old.key"), text(&first, "tls.key"));
    assert_eq!(text(&alone, "ca.crt"), new);
    assert_eq!(keys(&alone), ["ca.crt", "tls.crt", "tls.key"]);
    assert_eq!(
        leading.annotations[names::PREVIOUS_KEY],
        first.annotations[names::CERTIFICATE_KEY]
    );
    assert!(!alone.annotations.contains_key(names::PREVIOUS_KEY));
    // The key belongs to the certificate, so that it signs.
    let signer = pair(&stored(&leading), "tls").expect("a pair");
    let signer = Authority::load(signer).expect("a root");
    let profile = LeafProfile {
        common_name: "a",
        ..LeafProfile::default()
    };
    assert!(signer.issue(&profile, Validity::for_leaf(NOW)).is_ok());
}

#[test]
fn the_new_signing_key_is_known_before_it_signs_and_the_old_one_after() {
    let what = KeyMaterial::SigningKey(at(0, KeyContent::Alone));
    let pair = pki::signing_key("tokens").expect("a key");
    let mut first = GeneratedSecret::default();
    first.data.insert("key", pair.key);
    first.data.insert("pub", pair.certificate.into());
    let [first, announced, leading, alone] = rotated(&what, first);
    let (old, new) = (text(&first, "pub"), text(&alone, "pub"));
    assert_ne!(old, new);
    assert_eq!(text(&announced, "key"), text(&first, "key"));
    assert_eq!(text(&announced, "pub"), format!("{old}{new}"));
    assert_eq!(text(&leading, "key"), text(&announced, "next-key"));
    assert_eq!(text(&leading, "pub"), format!("{new}{old}"));
    assert_eq!(text(&alone, "key"), text(&leading, "key"));
    assert_eq!(keys(&leading), ["key", "pub"]);
    assert_eq!(keys(&alone), ["key", "pub"]);
}

#[test]
fn a_secret_with_another_content_is_not_changed() {
    let pair = pki::signing_key("tokens").expect("a key");
    let mut first = GeneratedSecret::default();
    first.data.insert("key", pair.key);
    first.data.insert("pub", pair.certificate.into());
    for content in [KeyContent::Leading, KeyContent::Alone] {
        let what = KeyMaterial::SigningKey(at(1, content));
        assert!(next_content(&what, &stored(&first), NOW).is_err());
    }
    let what = KeyMaterial::Root {
        common_name: "kubernetes",
        generation: at(1, KeyContent::Announced),
    };
    assert!(next_content(&what, &stored(&first), NOW).is_err());
}
