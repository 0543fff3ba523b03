//! `secrets.json` and `secrets.age`: the Secrets that a restore needs, as a list for `kubectl apply -f -`.

use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::{self, Debug, Formatter};

/// A Secret without what belongs to one provider cluster: no namespace, owner, UID or version.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct BackedUpSecret {
    api_version: String,
    kind: String,
    metadata: SecretMetadata,
    #[serde(rename = "type")]
    secret_type: String,
    /// In base64.
    data: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretMetadata {
    name: String,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SecretList {
    api_version: String,
    kind: String,
    items: Vec<BackedUpSecret>,
}

/// All Secrets of a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyBundle(pub(crate) Vec<BackedUpSecret>);

/// Keys that cannot be read. The text has none of them.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a list of Secrets")]
pub(crate) struct KeyBundleError;

impl BackedUpSecret {
    /// Labels and annotations make it the shoot's again; `data` is in base64.
    pub(crate) fn new(
        name: &str,
        [labels, annotations]: [BTreeMap<String, String>; 2],
        secret_type: &str,
        data: BTreeMap<String, String>,
    ) -> BackedUpSecret {
        BackedUpSecret {
            api_version: "v1".to_owned(),
            kind: "Secret".to_owned(),
            metadata: SecretMetadata {
                name: name.to_owned(),
                labels,
                annotations,
            },
            secret_type: secret_type.to_owned(),
            data,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.metadata.name
    }

    pub(crate) fn secret_type(&self) -> &str {
        &self.secret_type
    }

    /// Labels and annotations.
    pub(crate) fn metadata(&self) -> [&BTreeMap<String, String>; 2] {
        [&self.metadata.labels, &self.metadata.annotations]
    }

    /// In base64.
    pub(crate) fn data(&self) -> &BTreeMap<String, String> {
        &self.data
    }
}

impl KeyBundle {
    pub(crate) fn encode(&self) -> SecretString {
        let list = SecretList {
            api_version: "v1".to_owned(),
            kind: "List".to_owned(),
            items: self.0.clone(),
        };
        let json = serde_json::to_string_pretty(&list).expect("a list has no maps with other keys");
        SecretString::from(json + "\n")
    }

    /// # Errors
    ///
    /// The text is not a list of Secrets.
    pub(crate) fn decode(text: &SecretString) -> Result<KeyBundle, KeyBundleError> {
        // The error of the parser may quote a key.
        let list: SecretList =
            serde_json::from_str(text.expose_secret()).map_err(|_| KeyBundleError)?;
        let is_secret = |it: &BackedUpSecret| it.kind == "Secret" && it.api_version == "v1";
        match list.items.iter().all(is_secret) {
            true => Ok(KeyBundle(list.items)),
            false => Err(KeyBundleError),
        }
    }
}

/// Its data must not be printed.
impl Debug for BackedUpSecret {
    fn fmt(&self, formatter: &mut Formatter) -> fmt::Result {
        let keys: Vec<&String> = self.data.keys().collect();
        formatter
            .debug_struct("BackedUpSecret")
            .field("name", &self.metadata.name)
            .field("keys", &keys)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backup::testing::key_bundle;

    #[test]
    fn keys_are_a_list_for_kubectl_and_are_read_back() {
        let keys = key_bundle();
        let text = keys.encode();
        let json: serde_json::Value = serde_json::from_str(text.expose_secret()).unwrap();
        assert_eq!(
            (&json["kind"], &json["apiVersion"]),
            (&"List".into(), &"v1".into())
        );
        assert_eq!(json["items"][0]["metadata"]["name"], "dev-ca");
        assert_eq!(json["items"][0]["data"]["ca.key"], "c2VjcmV0");
        assert_eq!(KeyBundle::decode(&text), Ok(keys));
    }

    #[test]
    fn neither_errors_nor_debug_output_have_keys() {
        assert!(!format!("{:?}", key_bundle()).contains("c2VjcmV0"));
        let text = SecretString::from(r#"{"items": [{"data": "c2VjcmV0"}]}"#);
        let error = KeyBundle::decode(&text).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("c2VjcmV0"));
    }
}
