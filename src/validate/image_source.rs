//! The source of the image on a root disk.

use super::names;
use crate::model::RootDisk;

/// Source that CDI imports or clones a root disk from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ImageSource {
    Http {
        url: String,
        /// HTTP headers; not secret.
        headers: Vec<String>,
        /// Secret with additional headers.
        headers_secret: Option<String>,
        /// Secret with user and password.
        secret: Option<String>,
    },
    Registry {
        url: String,
        /// True if the node's container runtime pulls the image, rather than the importer.
        by_node: bool,
        secret: Option<String>,
    },
    /// A PersistentVolumeClaim that each machine clones, by default in the namespace of the shoot's objects.
    Claim {
        namespace: Option<String>,
        name: String,
    },
    /// One of the shoot's preallocated disks, by name.
    Own(String),
}

impl ImageSource {
    /// The source for display: a URL or a name.
    pub(crate) fn display(&self) -> String {
        match self {
            ImageSource::Http { url, .. } | ImageSource::Registry { url, .. } => url.clone(),
            ImageSource::Claim {
                namespace: Some(namespace),
                name,
            } => format!("{namespace}/{name}"),
            ImageSource::Claim { name, .. } | ImageSource::Own(name) => name.clone(),
        }
    }
}

/// Schemes of registries that CDI reads, and `oci`, which other tools write for the same protocol as `docker`.
const REGISTRIES: [&str; 3] = ["docker", "oci-archive", "oci"];

/// Returns a registry URL as CDI reads it, or None for other URLs.
fn registry_url(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let known = REGISTRIES.iter().find(|it| **it == scheme)?;
    let scheme = if *known == "oci" { "docker" } else { *known };
    Some(format!("{scheme}://{rest}"))
}

/// Returns the source of a URL in a CloudProfile: HTTP, or a registry that the node's container runtime pulls from.
pub(super) fn of_url(url: &str) -> ImageSource {
    match registry_url(url) {
        Some(url) => ImageSource::Registry {
            url,
            by_node: true,
            secret: None,
        },
        None => ImageSource::Http {
            url: url.to_owned(),
            headers: Vec::new(),
            headers_secret: None,
            secret: None,
        },
    }
}

/// Returns the source of a root disk; `None` if it has no osImage, or an invalid one.
pub(super) fn of_root_disk(disk: &RootDisk) -> Option<ImageSource> {
    let image = disk.os_image.as_deref()?;
    let registry = registry_url(image);
    let is_http = ["http://", "https://"]
        .iter()
        .any(|it| image.starts_with(it));
    let guessed = match (registry.is_some(), is_http) {
        (true, _) => "registry",
        (_, true) => "http",
        _ => "pvc",
    };
    let secret = disk.data_volume_secret_ref.clone();
    match disk.source.as_deref().unwrap_or(guessed) {
        "http" if is_http => Some(ImageSource::Http {
            url: image.to_owned(),
            headers: disk.extra_headers.clone(),
            headers_secret: disk.extra_headers_secret_ref.clone(),
            secret,
        }),
        "registry" => Some(ImageSource::Registry {
            url: registry?,
            by_node: disk.pull_method.as_deref() != Some("pod"),
            secret,
        }),
        "pvc" => {
            let (namespace, name) = match image.split_once('/') {
                Some((namespace, name)) => (Some(namespace), name),
                None => (None, image),
            };
            let is_named =
                namespace.is_none_or(names::is_dns_label) && names::is_dns_subdomain(name);
            is_named.then(|| ImageSource::Claim {
                namespace: namespace.map(str::to_owned),
                name: name.to_owned(),
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> String {
        match of_url(url) {
            ImageSource::Registry { url, .. } => format!("registry {url}"),
            other => format!("http {}", other.display()),
        }
    }

    #[test]
    fn registries_and_web_servers_are_different_sources() {
        assert_eq!(of("https://a/b.img"), "http https://a/b.img");
        assert_eq!(of("docker://a/b:c"), "registry docker://a/b:c");
        assert_eq!(of("DOCKER://a/b:c"), "registry docker://a/b:c");
        assert_eq!(of("oci://a/b:c"), "registry docker://a/b:c");
    }

    #[test]
    fn a_root_disk_takes_the_same_registries() {
        let disk = |source: Option<&str>, image: &str| RootDisk {
            os_image: Some(image.to_owned()),
            source: source.map(str::to_owned),
            ..RootDisk::default()
        };
        let shown = |it: &RootDisk| of_root_disk(it).map(|it| it.display());
        let expected = Some("docker://a/b".to_owned());
        assert_eq!(shown(&disk(None, "oci://a/b")), expected);
        assert_eq!(shown(&disk(Some("registry"), "docker://a/b")), expected);
        assert_eq!(shown(&disk(Some("registry"), "https://a/b")), None);
    }
}
