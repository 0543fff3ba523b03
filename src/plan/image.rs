//! Golden volumes: one import for each image, size and class, which machines clone.

use super::desired::Golden;
use super::item::{Class, Content, Failure, Key, Kind, Need, Plan, State, Wanted};
use super::names::{self, role};
use super::object::{metadata, set};
use super::observed::{Fact, Facts, Import, Observed};
use super::{Site, present};
use crate::validate::{Claiming, Source, Volume};
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) fn add(
    plan: &mut Plan,
    observed: &Observed,
    golden: &Golden,
    needs: &Arc<[Need]>,
) -> Need {
    let wanted = Wanted {
        key: Key::provider(Kind::Image, golden.name.clone()),
        hash: golden.hash,
        content: Content::Plain,
    };
    let state = present(observed, wanted, |it| match &it.fact {
        Fact::Image(import) => progress(golden, import),
        _ => State::Waiting("import has not started".into()),
    });
    plan.add(
        observed,
        format!("image/{}", golden.name).into(),
        title(golden),
        needs.clone(),
        state,
    )
}

fn title(golden: &Golden) -> String {
    let zone = golden
        .zone
        .as_ref()
        .map(|it| format!(" in zone {it}"))
        .unwrap_or_default();
    format!(
        "Import image {} {} ({} on {}{zone})",
        golden.image, golden.version, golden.volume.size, golden.volume.class
    )
    .replace("  ", " ")
}

fn progress(golden: &Golden, import: &Import) -> State {
    if import.done {
        return State::Done;
    }
    if let Some(words) = &import.failed {
        return State::Failed(Failure::new(
            Class::Infrastructure,
            format!("import of {} failed: {words}", golden.source.told()),
        ));
    }
    let Some(percent) = import.percent else {
        return State::Waiting(
            import
                .waits
                .as_deref()
                .unwrap_or("import has not started")
                .into(),
        );
    };
    let speed = import
        .speed
        .map(|it| format!(", {} MiB/s", it >> 20))
        .unwrap_or_default();
    let waits = import
        .waits
        .as_ref()
        .map(|it| format!(": {it}"))
        .unwrap_or_default();
    State::Waiting(format!("import at {percent:.0}%{speed}{waits}"))
}

/// The DataVolume: bound immediately, because no pod uses it, and kept after completion.
pub(super) fn object(golden: &Golden, site: &Site, facts: &Facts) -> Value {
    let mut metadata = metadata(site, role::IMAGE, &golden.name, golden.hash);
    let annotations = &mut metadata["annotations"];
    annotations["cdi.kubevirt.io/storage.bind.immediate.requested"] = json!("true");
    annotations["cdi.kubevirt.io/storage.deleteAfterCompletion"] = json!("false");
    for (key, value) in &golden.annotations {
        annotations[key] = json!(value);
    }
    let image = format!("{} {}", golden.image, golden.version);
    annotations[names::IMAGE] = json!(image.trim_end());
    if let Some(zone) = &golden.zone {
        annotations[names::ZONE] = json!(zone);
        // CDI copies annotations to the claim, and provisioners choose the zone by this one.
        if let Some(host) = facts.hosts.get(zone.as_str()) {
            annotations["volume.kubernetes.io/selected-node"] = json!(&*host.first);
        }
    }
    json!({
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataVolume",
        "metadata": metadata,
        "spec": data_volume(source(&golden.source, site.namespace), &golden.volume),
    })
}

/// The spec of a DataVolume.
pub(super) fn data_volume(source: Value, volume: &Volume) -> Value {
    let field = match volume.claiming {
        Claiming::Verbatim { .. } => "pvc",
        Claiming::Completed { .. } => "storage",
    };
    json!({ "source": source, field: claim(volume) })
}

/// The source of a DataVolume, in CDI's form.
pub(super) fn source(source: &Source, own_namespace: &str) -> Value {
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
        // A machine clones its golden volume.
        Source::Own(name) => json!({ "pvc": { "namespace": own_namespace, "name": name } }),
        Source::Claim { namespace, name } => {
            let namespace = namespace.as_deref().unwrap_or(own_namespace);
            json!({ "pvc": { "namespace": namespace, "name": name } })
        }
    }
}

/// The hashed part of a source: for a plain one only its URL, because existing machines carry that hash.
pub(super) fn hashed(of: &Source) -> Value {
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

/// The claim spec for a disk of one machine.
pub(super) fn claim(volume: &Volume) -> Value {
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
    fn the_hash_of_a_plain_source_is_stable() {
        assert_eq!(hashed(&http("https://a/b", None)), json!("https://a/b"));
        assert_ne!(
            hashed(&http("https://a/b", Some("c"))),
            json!("https://a/b")
        );
    }

    #[test]
    fn sources_have_the_form_of_cdi() {
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
