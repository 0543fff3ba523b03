//! Random secrets and name suffixes.

use super::error::PkiError;
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

/// Random bytes.
pub(super) fn bytes<const COUNT: usize>() -> Result<Zeroizing<[u8; COUNT]>, PkiError> {
    let mut bytes = Zeroizing::new([0; COUNT]);
    SystemRandom::new()
        .fill(bytes.as_mut_slice())
        .map_err(|_| PkiError::Random)?;
    Ok(bytes)
}
