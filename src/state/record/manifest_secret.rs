//! The Secret with the manifest of a shoot whose pools have user data, which may contain passwords and keys.
//!
//! The record, a ConfigMap, has the manifest without user data, and the name of the Secret. A hash of the manifest is part
//! of that name, so the record of each manifest has its own Secret: whenever a run is killed, the one that the record
//! names has its content, or there is nothing yet that the content would be needed for.

use super::manifest::{SHOOT, manifest_of};
use crate::state::action::{Desired, Payload};
use crate::state::hash::Hash;
use crate::state::json::{from_yaml, to_yaml};
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::names;
use crate::validate::ValidShoot;
use serde_json::Value;
use std::collections::BTreeMap;

/// Key of the record with the name of the Secret.
pub(crate) const NAME: &str = "manifest-secret";
/// Key of the Secret with the manifest.
pub(crate) const MANIFEST: &str = "shoot.yaml";

const USER_DATA: &str = "userData";

/// The Secret; None if no pool has user data.
pub(crate) fn wanted(shoot: &ValidShoot) -> Option<Desired> {
    let mut manifest = manifest_of(&shoot.manifest);
    let hash = Hash::of_json(&manifest);
    let name = names::manifest_secret(&shoot.id, hash);
    remove_user_data(&mut manifest, &name).then(|| Desired {
        key: ObjectKey::provider(ObjectKind::Secret, name),
        hash,
        payload: Payload::Plain,
    })
}

/// The manifest as the record has it: a comment replaces user data, so that it stays valid.
pub(crate) fn without_user_data(mut manifest: Value, secret: &str) -> Value {
    remove_user_data(&mut manifest, secret);
    manifest
}

/// Returns whether there was user data.
fn remove_user_data(manifest: &mut Value, secret: &str) -> bool {
    let workers = manifest.pointer_mut("/spec/provider/workers");
    let workers = workers.and_then(Value::as_array_mut).into_iter().flatten();
    let configs = workers.filter_map(|it| it.get_mut("providerConfig"));
    let texts = configs.filter_map(|it| it.get_mut(USER_DATA));
    let mut is_any = false;
    for text in texts {
        *text = format!("#cloud-config\n# In Secret {secret}\n").into();
        is_any = true;
    }
    is_any
}

/// The name of the Secret in the data of a record; None if the record has the whole manifest.
pub(crate) fn name(data: &BTreeMap<String, String>) -> Option<&str> {
    data.get(NAME).map(String::as_str)
}

/// The data of a record with the whole manifest, from the text in the Secret; None if it is not the manifest of the record.
pub(crate) fn complete(
    id: &str,
    mut data: BTreeMap<String, String>,
    text: &str,
) -> Option<BTreeMap<String, String>> {
    let manifest = from_yaml(text)?;
    let name = names::manifest_secret(id, Hash::of_json(&manifest));
    if data.remove(NAME)? != name {
        return None;
    }
    data.insert(SHOOT.to_owned(), to_yaml(&manifest));
    Some(data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render;
    use crate::state::facts::Facts;
    use crate::state::record;
    use crate::validate::testing::{SHOOT as PLAIN, valid_for_tests};

    const SECRET: &str = "#cloud-config\npassword: \"correct horse: yes\"\nruncmd: [date]\n";

    fn shoot() -> ValidShoot {
        let config = serde_json::json!({
            "apiVersion": "kubevirt.provider.extensions.gardener.cloud/v1alpha1",
            "kind": "WorkerConfig",
            "userData": SECRET,
        });
        let with = format!("      minimum: 1\n      providerConfig: {config}\n");
        valid_for_tests(&PLAIN.replacen("      minimum: 1\n", &with, 1))
    }

    fn data(object: &Value, field: &str) -> BTreeMap<String, String> {
        serde_json::from_value(object[field].clone()).expect("texts")
    }

    #[test]
    fn user_data_is_in_the_secret_and_not_in_the_record() {
        let shoot = shoot();
        let facts = Facts::default();
        let wanted = wanted(&shoot).expect("it has user data");
        let record = render::objects(&shoot, &facts, &record::wanted(&shoot, &facts)).remove(0);
        assert!(!record.to_string().contains("correct horse"));
        let record = data(&record, "data");
        assert_eq!(name(&record), Some(&*wanted.key.name));
        let secret = render::objects(&shoot, &facts, &wanted).remove(0);
        assert_eq!(secret["metadata"]["name"], *wanted.key.name);
        assert_eq!(secret["metadata"]["ownerReferences"][0]["name"], *shoot.id);
        let text = &data(&secret, "stringData")[MANIFEST];
        let all = complete(&shoot.id, record.clone(), text).expect("they belong together");
        assert_eq!(all[SHOOT], to_yaml(&manifest_of(&shoot.manifest)));
        assert_eq!(name(&all), None);
        let edited = text.replace("correct horse", "battery staple");
        assert_ne!(edited, *text);
        for other in [edited.as_str(), "", "- [", &record[SHOOT]] {
            assert_eq!(complete(&shoot.id, record.clone(), other), None, "{other}");
        }
    }

    #[test]
    fn a_manifest_without_user_data_has_no_secret() {
        assert_eq!(wanted(&valid_for_tests(PLAIN)), None);
    }
}
