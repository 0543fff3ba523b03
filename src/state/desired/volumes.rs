//! Volumes as CDI describes them: claims and sources.

use crate::state::json::set_if_some;
use crate::validate::{ImageSource, VolumeApi, VolumeSpec};
use serde_json::{Value, json};

/// Source of a DataVolume.
pub(crate) fn source(source: &ImageSource, own_namespace: &str) -> Value {
    match source {
        ImageSource::Http {
            url,
            headers,
            headers_secret,
            secret,
        } => {
            let mut http = json!({ "url": url });
            let headers = (!headers.is_empty()).then(|| json!(headers));
            set_if_some(&mut http, "extraHeaders", headers);
            let headers = headers_secret.as_ref().map(|it| json!([it]));
            set_if_some(&mut http, "secretExtraHeaders", headers);
            set_if_some(&mut http, "secretRef", secret.as_ref().map(|it| json!(it)));
            json!({ "http": http })
        }
        ImageSource::Registry {
            url,
            by_node,
            secret,
        } => {
            let how = if *by_node { "node" } else { "pod" };
            let mut registry = json!({ "url": url, "pullMethod": how });
            set_if_some(
                &mut registry,
                "secretRef",
                secret.as_ref().map(|it| json!(it)),
            );
            json!({ "registry": registry })
        }
        // Machines clone the golden volume, so this is only its name.
        ImageSource::Own(name) => json!({ "pvc": { "namespace": own_namespace, "name": name } }),
        ImageSource::Claim { namespace, name } => {
            let namespace = namespace.as_deref().unwrap_or(own_namespace);
            json!({ "pvc": { "namespace": namespace, "name": name } })
        }
    }
}

/// Part of a source that is hashed. For a plain HTTP source the URL alone, since existing machines carry that hash.
pub(crate) fn hashed(of: &ImageSource) -> Value {
    match of {
        ImageSource::Http {
            url,
            headers,
            headers_secret: None,
            secret: None,
        } if headers.is_empty() => json!(url),
        other => source(other, ""),
    }
}

/// Spec of the PersistentVolumeClaim for one disk.
pub(crate) fn claim(volume: &VolumeSpec) -> Value {
    let mut claim = json!({
        "resources": { "requests": { "storage": volume.size.to_string() } },
        "storageClassName": volume.class,
    });
    let access = match &volume.api {
        VolumeApi::Pvc { access } => Some(access),
        VolumeApi::Storage { access } => access.as_ref(),
    };
    set_if_some(&mut claim, "accessModes", access.map(|it| json!([it])));
    claim
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http(url: &str, secret: Option<&str>) -> ImageSource {
        ImageSource::Http {
            url: url.to_owned(),
            headers: Vec::new(),
            headers_secret: None,
            secret: secret.map(str::to_owned),
        }
    }

    /// Machines carry hashes of sources for years.
    #[test]
    fn the_hash_of_a_plain_source_never_changes() {
        assert_eq!(hashed(&http("https://a/b", None)), json!("https://a/b"));
        assert_ne!(
            hashed(&http("https://a/b", Some("c"))),
            json!("https://a/b")
        );
    }

    #[test]
    fn sources_have_the_form_that_cdi_expects() {
        let claim = |namespace: Option<&str>| ImageSource::Claim {
            namespace: namespace.map(str::to_owned),
            name: "disk".to_owned(),
        };
        let registry = ImageSource::Registry {
            url: "docker://a/b".to_owned(),
            by_node: true,
            secret: None,
        };
        let headers = ImageSource::Http {
            url: "https://a/b".to_owned(),
            headers: vec!["A: b".to_owned()],
            headers_secret: Some("more".to_owned()),
            secret: Some("user".to_owned()),
        };
        for (given, wanted) in [
            (
                claim(None),
                json!({ "pvc": { "namespace": "ns", "name": "disk" } }),
            ),
            (
                claim(Some("x")),
                json!({ "pvc": { "namespace": "x", "name": "disk" } }),
            ),
            (
                registry,
                json!({ "registry": { "url": "docker://a/b", "pullMethod": "node" } }),
            ),
            (
                headers,
                json!({ "http": {
                    "url": "https://a/b", "extraHeaders": ["A: b"], "secretExtraHeaders": ["more"], "secretRef": "user",
                } }),
            ),
        ] {
            assert_eq!(source(&given, "ns"), wanted);
        }
    }
}
