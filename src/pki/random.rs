//! Random secrets and name suffixes.

use super::error::PkiError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom as _, SystemRandom};
use secrecy::SecretString;
use zeroize::Zeroizing;

/// Characters of a bootstrap token. Bytes from 7 * 36 = 252 on are rejected, so all 36 are equally likely.
const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// Generates the ID and secret of a bootstrap token, `[a-z0-9]{6}` and `[a-z0-9]{16}`.
pub(crate) fn bootstrap_token() -> Result<(String, SecretString), PkiError> {
    let secret = Zeroizing::new(characters(16)?);
    Ok((characters(6)?, secret.as_str().into()))
}

/// Five random characters that make a name unique.
pub(crate) fn random_suffix() -> Result<String, PkiError> {
    characters(5)
}

/// An EncryptionConfiguration for Secrets with a new key.
///
/// It is for a new etcd, so there are no unencrypted Secrets. Without the provider `identity`, one that someone wrote into
/// etcd unencrypted is an error instead of a Secret.
pub(crate) fn encryption_configuration() -> Result<SecretString, PkiError> {
    let key = Zeroizing::new(STANDARD.encode(bytes::<32>()?.as_slice()));
    let text = Zeroizing::new(format!(
        "apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources:
  - secrets
  providers:
  - secretbox:
      keys:
      - name: key1
        secret: {}
",
        key.as_str()
    ));
    Ok(text.as_str().into())
}

fn characters(count: usize) -> Result<String, PkiError> {
    let mut text = String::with_capacity(count);
    while text.len() < count {
        let missing = count - text.len();
        text.extend(
            bytes::<32>()?
                .iter()
                .copied()
                .filter(|byte| *byte < 7 * 36)
                .map(|byte| char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]))
                .take(missing),
        );
    }
    Ok(text)
}

fn bytes<const COUNT: usize>() -> Result<Zeroizing<[u8; COUNT]>, PkiError> {
    let mut bytes = Zeroizing::new([0; COUNT]);
    SystemRandom::new()
        .fill(bytes.as_mut_slice())
        .map_err(|_| PkiError::Random)?;
    Ok(bytes)
}
