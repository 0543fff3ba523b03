//! Secrets with their data, for the few that are read: kubeconfigs and certificate authorities.

use crate::cluster::objects::metadata::PartialObjectMeta;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::SecretString;
use serde::Deserialize;
use std::collections::BTreeMap;
use zeroize::{Zeroize as _, ZeroizeOnDrop, Zeroizing};

/// Not `Debug`: its data must not be printed. They are overwritten when it is dropped.
#[derive(Deserialize)]
pub(crate) struct PartialSecret {
    pub(crate) metadata: PartialObjectMeta,
    /// In base64.
    #[serde(default)]
    data: BTreeMap<String, String>,
    #[serde(default, rename = "type")]
    secret_type: String,
}

impl PartialSecret {
    /// A value as text; None if it is missing or not UTF-8.
    pub(crate) fn text(&self, key: &str) -> Option<SecretString> {
        let bytes = Zeroizing::new(STANDARD.decode(self.data.get(key)?).ok()?);
        Some(std::str::from_utf8(&bytes).ok()?.into())
    }

    /// Type, and all data in base64.
    pub(crate) fn into_data(mut self) -> (String, BTreeMap<String, String>) {
        let secret_type = std::mem::take(&mut self.secret_type);
        (secret_type, std::mem::take(&mut self.data))
    }
}

impl Drop for PartialSecret {
    fn drop(&mut self) {
        self.data.values_mut().for_each(String::zeroize);
    }
}

impl ZeroizeOnDrop for PartialSecret {}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret as _;
    use serde_json::json;

    fn is_overwritten_when_dropped<T: ZeroizeOnDrop>(_: &T) {}

    #[test]
    fn values_are_text_or_missing() {
        let data = json!({ "a": "b25l", "b": "/w==", "c": "#" });
        let metadata = json!({ "name": "a", "uid": "1", "resourceVersion": "1" });
        let object = json!({ "metadata": metadata, "data": data });
        let secret: PartialSecret = serde_json::from_value(object).expect("a Secret");
        is_overwritten_when_dropped(&secret);
        let text = |key| secret.text(key).map(|it| it.expose_secret().to_owned());
        assert_eq!(text("a").as_deref(), Some("one"));
        assert_eq!([text("b"), text("c"), text("d")], [None, None, None]);
    }
}
