//! Content of the Secret of a root or key at the next step of its rotation, made from its content before.
//!
//! | content | root | signing key | encryption key |
//! |---|---|---|---|
//! | alone | `tls.*`, `ca.crt` | `key`, `pub` | one key |
//! | announced | also `next.*`, whose certificate is in `ca.crt` | also `next-key`, whose public key is in `pub` | the new key second |
//! | leading | `tls.*` is the new one, `old.*` the one before | `key` is the new one | the new key first |

use crate::cluster::execute::certificates::GeneratedSecret;
use crate::cluster::objects::core::secret::PartialSecret;
use crate::pki::{self, Authority, CertificateInfo, PemPair, PkiError, Validity};
use crate::state::action::KeyMaterial;
use crate::state::hash::Hash;
use crate::state::names;
use crate::state::record::rotation::{KeyContent, KeyGeneration};
use secrecy::{ExposeSecret as _, SecretString};

/// End of each public key in a file of several.
const END: &str = "-----END PUBLIC KEY-----\n";

/// `existing` has the content before. The result has no annotation of the generation: that is known before.
pub(super) fn next_content(
    what: &KeyMaterial,
    existing: &PartialSecret,
    now: i64,
) -> Result<GeneratedSecret, PkiError> {
    match what {
        KeyMaterial::Root {
            common_name,
            generation,
        } => root(existing, common_name, *generation, now),
        KeyMaterial::SigningKey(generation) => signing_key(existing, generation.content),
        KeyMaterial::EncryptionKey(generation) => encryption_key(existing, *generation),
        KeyMaterial::Leaf(leaf) => Err(PkiError::CaNotFound(leaf.root.to_string())),
    }
}

fn value(existing: &PartialSecret, key: &str) -> Result<SecretString, PkiError> {
    let missing = || PkiError::Incomplete(key.to_owned());
    existing.text(key).ok_or_else(missing)
}

fn pair(existing: &PartialSecret, name: &str) -> Result<PemPair, PkiError> {
    let certificate = value(existing, &format!("{name}.crt"))?;
    Ok(PemPair {
        certificate: certificate.expose_secret().to_owned(),
        key: value(existing, &format!("{name}.key"))?,
    })
}

fn root(
    existing: &PartialSecret,
    common_name: &str,
    generation: KeyGeneration,
    now: i64,
) -> Result<GeneratedSecret, PkiError> {
    let current = pair(existing, "tls")?;
    let (signer, beside) = match generation.content {
        KeyContent::Announced => {
            // Verifiers find the issuer by its name, so that the new one needs another.
            let name = format!("{common_name}-{}", generation.number);
            let next = Authority::new(&name, Validity::for_ca(now))?;
            (current, Some(("next", next.pair().clone())))
        }
        KeyContent::Leading => (pair(existing, "next")?, Some(("old", current))),
        KeyContent::Alone => (current, None),
    };
    let mut made = GeneratedSecret::default();
    let mut bundle = signer.certificate.clone();
    if let Some((name, pair)) = beside {
        bundle.push_str(&pair.certificate);
        if generation.content == KeyContent::Leading {
            let old = CertificateInfo::parse(&pair.certificate)?;
            let key = Hash::of(&old.pin).to_string();
            made.annotations.insert(names::PREVIOUS_KEY, key);
        }
        let (certificate, key) = match name {
            "next" => ("next.crt", "next.key"),
            _ => ("old.crt", "old.key"),
        };
        made.data.insert(certificate, pair.certificate.into());
        made.data.insert(key, pair.key);
    }
    made.add_certificate(&signer, &signer, bundle.clone())?;
    made.annotations
        .insert(names::CERTIFICATE_AUTHORITY, bundle);
    Ok(made)
}

fn signing_key(existing: &PartialSecret, content: KeyContent) -> Result<GeneratedSecret, PkiError> {
    let key = value(existing, "key")?;
    let public = value(existing, "pub")?;
    let public: Vec<&str> = public.expose_secret().split_inclusive(END).collect();
    let (key, public, next) = match (content, public.as_slice()) {
        (KeyContent::Announced, [old]) => {
            let next = pki::signing_key("service account tokens")?;
            let public = format!("{old}{}", next.certificate);
            (key, public, Some(next.key))
        }
        (KeyContent::Leading, [old, new]) => {
            (value(existing, "next-key")?, format!("{new}{old}"), None)
        }
        (KeyContent::Alone, [new, _]) => (key, (*new).to_owned(), None),
        _ => return Err(PkiError::Incomplete("pub".to_owned())),
    };
    let mut made = GeneratedSecret::default();
    made.data.insert("key", key);
    made.data.insert("pub", public.into());
    if let Some(next) = next {
        made.data.insert("next-key", next);
    }
    Ok(made)
}

fn encryption_key(
    existing: &PartialSecret,
    generation: KeyGeneration,
) -> Result<GeneratedSecret, PkiError> {
    let config = value(existing, "config.yaml")?;
    let config = match generation.content {
        KeyContent::Announced => {
            // Names are not used twice: stored objects begin with the name of their key.
            let name = format!("key{}", generation.number + 1);
            pki::with_second_key(&config, &name)
        }
        KeyContent::Leading => pki::with_second_key_first(&config),
        KeyContent::Alone => pki::with_first_key_alone(&config),
    };
    let mut made = GeneratedSecret::default();
    made.data.insert("config.yaml", config?);
    Ok(made)
}

#[cfg(test)]
#[path = "rotated_secret_tests.rs"]
mod tests;
