//! EncryptionConfigurations, and the keys in them.

use super::error::PkiError;
use super::random::bytes;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// An EncryptionConfiguration for Secrets with a new key.
///
/// It is for a new etcd, so there are no unencrypted Secrets. Without the provider `identity`, one that someone wrote into
/// etcd unencrypted is an error instead of a Secret.
pub(crate) fn encryption_configuration() -> Result<SecretString, PkiError> {
    let key = random_key()?;
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

fn random_key() -> Result<Zeroizing<String>, PkiError> {
    Ok(Zeroizing::new(STANDARD.encode(bytes::<32>()?.as_slice())))
}

#[derive(Serialize, Deserialize)]
struct Configuration {
    #[serde(flatten)]
    kind: Map<String, Value>,
    resources: Vec<EncryptedResources>,
}

#[derive(Serialize, Deserialize)]
struct EncryptedResources {
    resources: Vec<String>,
    providers: Vec<Provider>,
}

#[derive(Serialize, Deserialize)]
struct Provider {
    secretbox: Keys,
}

#[derive(Serialize, Deserialize)]
struct Keys {
    keys: Vec<Key>,
}

#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
struct Key {
    name: String,
    secret: String,
}

/// Adds a new key behind the only one: objects can be read with it, and are written with the first.
pub(crate) fn with_second_key(config: &SecretString, name: &str) -> Result<SecretString, PkiError> {
    edit(config, |keys| {
        if keys.len() != 1 {
            return Err(incomplete());
        }
        keys.push(Key {
            name: name.to_owned(),
            secret: random_key()?.to_string(),
        });
        Ok(())
    })
}

/// Puts the second of two keys first, so that objects are written with it.
pub(crate) fn with_second_key_first(config: &SecretString) -> Result<SecretString, PkiError> {
    edit(config, |keys| match keys.len() {
        2 => {
            keys.reverse();
            Ok(())
        }
        _ => Err(incomplete()),
    })
}

/// Removes the second of two keys: objects that were written with it are lost.
pub(crate) fn with_first_key_alone(config: &SecretString) -> Result<SecretString, PkiError> {
    edit(config, |keys| match keys.len() {
        2 => {
            keys.truncate(1);
            Ok(())
        }
        _ => Err(incomplete()),
    })
}

fn edit(
    config: &SecretString,
    change: impl Fn(&mut Vec<Key>) -> Result<(), PkiError>,
) -> Result<SecretString, PkiError> {
    // The cause may quote a key.
    let parsed = serde_yaml::from_str(config.expose_secret());
    let mut config: Configuration = parsed.map_err(|_| incomplete())?;
    let resources = config.resources.iter_mut();
    for provider in resources.flat_map(|it| &mut it.providers) {
        change(&mut provider.secretbox.keys)?;
    }
    let text = serde_yaml::to_string(&config).map_err(|_| incomplete())?;
    Ok(text.into())
}

fn incomplete() -> PkiError {
    PkiError::Incomplete("config.yaml".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of the keys, in order.
    fn names(config: &SecretString) -> Vec<String> {
        let lines = config.expose_secret().lines();
        let names = lines.filter_map(|it| it.split_once("name: "));
        names.map(|it| it.1.to_owned()).collect()
    }

    #[test]
    fn keys_come_second_then_first_then_alone() {
        let first = encryption_configuration().expect("a key");
        let both = with_second_key(&first, "key2").expect("one key before");
        assert_eq!(names(&both), ["key1", "key2"]);
        let swapped = with_second_key_first(&both).expect("two keys");
        assert_eq!(names(&swapped), ["key2", "key1"]);
        let alone = with_first_key_alone(&swapped).expect("two keys");
        assert_eq!(names(&alone), ["key2"]);
        let third = with_second_key(&alone, "key3").expect("one key");
        assert_eq!(names(&third), ["key2", "key3"]);
        for text in [&first, &alone] {
            assert!(text.expose_secret().starts_with("apiVersion: apiserver"));
            assert!(text.expose_secret().contains("- secrets\n"));
        }
    }

    #[test]
    fn a_configuration_in_another_state_is_not_changed() {
        let first = encryption_configuration().expect("a key");
        let both = with_second_key(&first, "key2").expect("one key before");
        assert!(with_second_key(&both, "key3").is_err());
        assert!(with_second_key_first(&first).is_err());
        assert!(with_first_key_alone(&first).is_err());
        let error = with_first_key_alone(&"secret: 5ecret".into()).expect_err("no keys");
        assert!(!error.to_string().contains("5ecret"));
    }
}
