//! age recipients and identities.

use age::secrecy::SecretString;
use age::{Encryptor, Identity, IdentityFile, Recipient, tag, tagpq, x25519};
use std::fmt::{self, Debug, Formatter};
use std::io::{self, BufReader, Write};

/// A recipient or identity that cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidKey {
    #[error("invalid recipient {0:?}: expected the line \"age1…\" that age-keygen prints")]
    Recipient(String),
    #[error("this is a secret key; pass its recipient, which age-keygen -y prints")]
    SecretKey,
    #[error("no recipients found")]
    NoRecipients,
    #[error("invalid identity: expected a file of age-keygen, with a line \"AGE-SECRET-KEY-1…\"")]
    Identity,
}

/// Those who can decrypt a backup.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Recipients(Vec<String>);

/// Secret keys that decrypt a backup.
pub(crate) struct Identities(Vec<Box<dyn Identity + Send + Sync>>);

impl Recipients {
    /// Reads recipients, one per line; empty lines and those with `#` are skipped.
    ///
    /// # Errors
    ///
    /// There are none, or one is not a recipient.
    pub(crate) fn parse(text: &str) -> Result<Recipients, InvalidKey> {
        let lines = text.lines().map(str::trim);
        let mut recipients: Vec<String> = lines
            .filter(|it| !it.is_empty() && !it.starts_with('#'))
            .map(|line| parse(line).map(|_| line.to_owned()))
            .collect::<Result<_, _>>()?;
        recipients.sort();
        recipients.dedup();
        match recipients.is_empty() {
            true => Err(InvalidKey::NoRecipients),
            false => Ok(Recipients(recipients)),
        }
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.0
    }

    pub(super) fn encrypt<W: Write>(&self, output: W) -> io::Result<age::stream::StreamWriter<W>> {
        let recipients: Vec<Box<dyn Recipient>> = self
            .0
            .iter()
            .map(|it| parse(it))
            .collect::<Result<_, _>>()
            .map_err(io::Error::other)?;
        let recipients = recipients.iter().map(|it| &**it);
        let encryptor = Encryptor::with_recipients(recipients).map_err(io::Error::other)?;
        encryptor.wrap_output(output)
    }
}

impl Identities {
    /// Reads a file of age-keygen.
    ///
    /// # Errors
    ///
    /// It has no identity, or one of another kind.
    pub(crate) fn parse(text: &SecretString) -> Result<Identities, InvalidKey> {
        use age::secrecy::ExposeSecret as _;
        // The errors of the parser quote the file.
        let file = IdentityFile::from_buffer(BufReader::new(text.expose_secret().as_bytes()));
        let identities = file.ok().and_then(|it| it.into_identities().ok());
        match identities {
            Some(identities) if !identities.is_empty() => Ok(Identities(identities)),
            _ => Err(InvalidKey::Identity),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &dyn Identity> {
        self.0.iter().map(|it| {
            let identity: &dyn Identity = &**it;
            identity
        })
    }
}

/// Recipients are public.
impl Debug for Recipients {
    fn fmt(&self, formatter: &mut Formatter) -> fmt::Result {
        formatter.debug_list().entries(&self.0).finish()
    }
}

impl Debug for Identities {
    fn fmt(&self, formatter: &mut Formatter) -> fmt::Result {
        formatter.write_str("Identities")
    }
}

/// Recipients of age-keygen, of hardware keys, and those that resist quantum computers.
fn parse(line: &str) -> Result<Box<dyn Recipient>, InvalidKey> {
    if line.to_uppercase().starts_with("AGE-SECRET-KEY-") {
        return Err(InvalidKey::SecretKey);
    }
    fn boxed(recipient: impl Recipient + 'static) -> Box<dyn Recipient> {
        Box::new(recipient)
    }
    let native = line.parse::<x25519::Recipient>().map(boxed).ok();
    let native = native.or_else(|| line.parse::<tag::Recipient>().map(boxed).ok());
    let native = native.or_else(|| line.parse::<tagpq::Recipient>().map(boxed).ok());
    native.ok_or_else(|| InvalidKey::Recipient(line.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backup::testing::identity;
    use age::secrecy::ExposeSecret as _;

    #[test]
    fn recipients_are_read_as_by_age() {
        let (_, recipient) = identity();
        let text = format!("# ours\n\n  {recipient}\n{recipient}\n");
        let recipients = Recipients::parse(&text).unwrap();
        assert_eq!(recipients.names(), [recipient.as_str()]);
        assert_eq!(Recipients::parse("# none\n"), Err(InvalidKey::NoRecipients));
        let mistyped = recipient.replace("age1", "age2");
        assert_eq!(
            Recipients::parse(&mistyped),
            Err(InvalidKey::Recipient(mistyped))
        );
    }

    #[test]
    fn a_secret_key_in_place_of_a_recipient_is_not_repeated() {
        let (secret, _) = identity();
        let error = Recipients::parse(secret.expose_secret()).unwrap_err();
        assert_eq!(error, InvalidKey::SecretKey);
        assert!(!error.to_string().contains("SECRET-KEY"));
        let broken = SecretString::from("AGE-SECRET-KEY-1BROKEN");
        let error = Identities::parse(&broken).unwrap_err();
        assert!(!error.to_string().contains("BROKEN"));
    }
}
