//! Secrets that are nothing but random.

use super::PkiError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom as _, SystemRandom};

/// Of a bootstrap token: 36 characters, so that 7 times 36 of the 256 values of a byte make each as likely.
const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// Name and secret, as Kubernetes wants them: `[a-z0-9]{6}.[a-z0-9]{16}`.
pub(crate) fn bootstrap_token() -> Result<(String, String), PkiError> {
    Ok((characters(6)?, characters(16)?))
}

/// Five characters that make a name unlike others.
pub(crate) fn random_suffix() -> Result<String, PkiError> {
    characters(5)
}

/// An EncryptionConfiguration for Secrets with a new key. What is not encrypted yet stays readable.
pub(crate) fn encryption_configuration() -> Result<String, PkiError> {
    let key = STANDARD.encode(bytes::<32>()?);
    Ok(format!(
        "apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources:
  - secrets
  providers:
  - secretbox:
      keys:
      - name: key1
        secret: {key}
  - identity: {{}}
"
    ))
}

fn characters(count: usize) -> Result<String, PkiError> {
    let mut text = String::with_capacity(count);
    while text.len() < count {
        let values = bytes::<32>()?.into_iter().filter(|it| *it < 7 * 36);
        let values = values.map(|it| char::from(ALPHABET[usize::from(it) % ALPHABET.len()]));
        text.extend(values.take(count - text.len()));
    }
    Ok(text)
}

fn bytes<const COUNT: usize>() -> Result<[u8; COUNT], PkiError> {
    let mut bytes = [0; COUNT];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| PkiError::Random)?;
    Ok(bytes)
}
