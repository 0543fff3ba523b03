//! Private keys in memory.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{Error, KeyPair, PublicKeyData, SignatureAlgorithm, SigningKey};
use secrecy::SecretString;
use zeroize::{Zeroize as _, ZeroizeOnDrop, Zeroizing};

const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";

/// A private key whose serialized form is overwritten when it is dropped.
///
/// ring also has the number that it signs with; it does not overwrite it.
pub(super) struct PrivateKey(KeyPair);

impl PrivateKey {
    pub(super) fn generate() -> Result<PrivateKey, Error> {
        KeyPair::generate().map(PrivateKey)
    }

    /// Reads the first key of a PEM text, in PKCS#8.
    pub(super) fn from_pem(text: &str) -> Result<PrivateKey, Error> {
        let der = der(text).ok_or(Error::CouldNotParseKeyPair)?;
        KeyPair::try_from(der.as_slice()).map(PrivateKey)
    }

    /// Serializes the key in PKCS#8 as PEM. The encoder of rcgen would leave copies behind.
    pub(super) fn pem(&self) -> SecretString {
        let der = self.0.serialized_der();
        let mut encoded = Zeroizing::new(vec![0; der.len().div_ceil(3) * 4]);
        STANDARD
            .encode_slice(der, &mut encoded)
            .expect("the buffer has the size of the result");
        // Growing would leave a copy behind.
        let size = BEGIN.len() + END.len() + 2 + encoded.len() + encoded.len().div_ceil(64);
        let mut text = Zeroizing::new(String::with_capacity(size));
        text.push_str(BEGIN);
        text.push('\n');
        for line in encoded.chunks(64) {
            text.extend(line.iter().map(|byte| char::from(*byte)));
            text.push('\n');
        }
        text.push_str(END);
        text.push('\n');
        text.as_str().into()
    }

    pub(super) fn public_key_pem(&self) -> String {
        self.0.public_key_pem()
    }
}

impl Drop for PrivateKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl ZeroizeOnDrop for PrivateKey {}

impl PublicKeyData for PrivateKey {
    fn der_bytes(&self) -> &[u8] {
        self.0.der_bytes()
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        self.0.algorithm()
    }
}

impl SigningKey for PrivateKey {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        self.0.sign(message)
    }
}

fn der(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let (_, body) = text.split_once(BEGIN)?;
    let (body, _) = body.split_once(END)?;
    let mut encoded = Zeroizing::new(Vec::with_capacity(body.len()));
    encoded.extend(body.bytes().filter(|byte| !byte.is_ascii_whitespace()));
    let mut der = Zeroizing::new(vec![0; encoded.len()]);
    let length = STANDARD
        .decode_slice(encoded.as_slice(), der.as_mut_slice())
        .ok()?;
    der.truncate(length);
    Some(der)
}
