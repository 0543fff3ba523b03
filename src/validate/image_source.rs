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

/// Returns the source of a root disk; `None` if it has no osImage, or an invalid one.
pub(super) fn of_root_disk(disk: &RootDisk) -> Option<ImageSource> {
    let image = disk.os_image.as_deref()?;
    let is_registry = ["docker://", "oci-archive://"]
        .iter()
        .any(|it| image.starts_with(it));
    let is_http = ["http://", "https://"]
        .iter()
        .any(|it| image.starts_with(it));
    let guessed = match (is_registry, is_http) {
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
        "registry" if is_registry => Some(ImageSource::Registry {
            url: image.to_owned(),
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
