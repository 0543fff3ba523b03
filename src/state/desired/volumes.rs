//! Volumes as CDI has them: claims, and what they are filled from.

use crate::state::json::set;
use crate::validate::{Claiming, Source, Volume};
use serde_json::{Value, json};

/// What CDI fills a volume from.
pub(crate) fn source(source: &Source, own_namespace: &str) -> Value {
    match source {
        Source::Http {
            url,
            headers,
            headers_secret,
            secret,
        } => {
            let mut http = json!({ "url": url });
            let headers = (!headers.is_empty()).then(|| json!(headers));
            set(&mut http, "extraHeaders", headers);
            let headers = headers_secret.as_ref().map(|it| json!([it]));
            set(&mut http, "secretExtraHeaders", headers);
            set(&mut http, "secretRef", secret.as_ref().map(|it| json!(it)));
            json!({ "http": http })
        }
        Source::Registry {
            url,
            by_node,
            secret,
        } => {
            let how = if *by_node { "node" } else { "pod" };
            let mut registry = json!({ "url": url, "pullMethod": how });
            set(
                &mut registry,
                "secretRef",
                secret.as_ref().map(|it| json!(it)),
            );
            json!({ "registry": registry })
        }
        // What machines clone is told by its golden volume.
        Source::Own(name) => json!({ "pvc": { "namespace": own_namespace, "name": name } }),
        Source::Claim { namespace, name } => {
            let namespace = namespace.as_deref().unwrap_or(own_namespace);
            json!({ "pvc": { "namespace": namespace, "name": name } })
        }
    }
}

/// What a hash has of a source: of the usual one its URL alone, since machines carry that hash already.
pub(crate) fn hashed(of: &Source) -> Value {
    match of {
        Source::Http {
            url,
            headers,
            headers_secret: None,
            secret: None,
        } if headers.is_empty() => json!(url),
        other => source(other, ""),
    }
}

/// A claim for a disk of one machine.
pub(crate) fn claim(volume: &Volume) -> Value {
    let mut claim = json!({
        "resources": { "requests": { "storage": volume.size.to_string() } },
        "storageClassName": volume.class,
    });
    let access = match &volume.claiming {
        Claiming::Verbatim { access } => Some(access),
        Claiming::Completed { access } => access.as_ref(),
    };
    set(&mut claim, "accessModes", access.map(|it| json!([it])));
    claim
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http(url: &str, secret: Option<&str>) -> Source {
        Source::Http {
            url: url.to_owned(),
            headers: Vec::new(),
            headers_secret: None,
            secret: secret.map(str::to_owned),
        }
    }

    /// Machines carry hashes of sources for years.
    #[test]
    fn a_plain_source_is_hashed_as_it_always_was() {
        assert_eq!(hashed(&http("https://a/b", None)), json!("https://a/b"));
        assert_ne!(
            hashed(&http("https://a/b", Some("c"))),
            json!("https://a/b")
        );
    }

    #[test]
    fn sources_are_as_cdi_has_them() {
        let claim = |namespace: Option<&str>| Source::Claim {
            namespace: namespace.map(str::to_owned),
            name: "disk".to_owned(),
        };
        let registry = Source::Registry {
            url: "docker://a/b".to_owned(),
            by_node: true,
            secret: None,
        };
        let headers = Source::Http {
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
