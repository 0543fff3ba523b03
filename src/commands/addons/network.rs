//! The network of a profile: one file, by URL and digest, kept by its digest once it was fetched.

use super::{accept, twice};
use crate::cluster::download;
use crate::commands::{CommandError, Context, Exit};
use crate::manifest::Objects;
use crate::model::NetworkManifest;
use crate::validate::{Bundle, ValidShoot};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// None where the profile names no manifests of the shoot's network.
pub(super) async fn of(
    shoot: &ValidShoot,
    context: &Context,
) -> Result<Option<Bundle>, CommandError> {
    let offered = &shoot.profile.spec.provider_config.network_manifests;
    let wanted = &shoot.networking.type_;
    let Some(manifest) = offered.iter().find(|it| it.type_ == *wanted) else {
        return Ok(None);
    };
    let bytes = fetch(manifest, context).await?;
    let mut objects = Objects::default();
    objects.add(manifest.url.clone(), bytes);
    twice(&mut objects, 0, &mut HashMap::new());
    accept(&objects, context)?;
    Ok(Some(Bundle {
        name: wanted.clone(),
        objects: objects.all.into_iter().map(|it| it.1).collect(),
    }))
}

/// Nothing is made of what is not the file that was meant, wherever it comes from.
async fn fetch(manifest: &NetworkManifest, context: &Context) -> Result<Vec<u8>, CommandError> {
    let kept = kept(&manifest.digest, context);
    let before = kept.as_ref().and_then(|it| fs::read(it).ok());
    if let Some(bytes) = before.filter(|it| digest(it) == manifest.digest) {
        return Ok(bytes);
    }
    let url = &manifest.url;
    let bytes = match url.strip_prefix("file://") {
        Some(path) => fs::read(path).map_err(|it| it.to_string()),
        None => download(url).await,
    };
    let bytes = bytes.map_err(|why| {
        let message = format!(
            "cannot fetch the manifests of {} from {url}",
            manifest.type_
        );
        let hint = format!(
            "--addons DIR with {}.yaml in it needs no download",
            manifest.type_
        );
        let told = CommandError::new(Exit::Precondition, message);
        told.cause(why).hint(hint)
    })?;
    let found = digest(&bytes);
    if found != manifest.digest {
        let message = format!("{url} is not the file that the profile means");
        return Err(CommandError::new(Exit::Precondition, message)
            .cause(format!("its SHA-256 is {found}"))
            .cause(format!("the profile says {}", manifest.digest))
            .hint("nothing was changed; see what is in it before you change the digest"));
    }
    if let Some(path) = kept {
        keep(&path, &bytes);
    }
    Ok(bytes)
}

fn kept(digest: &str, context: &Context) -> Option<PathBuf> {
    let cache = context.config.cache_dir()?;
    Some(cache.join("manifests").join(digest))
}

/// What cannot be kept is fetched again.
fn keep(path: &Path, bytes: &[u8]) {
    let folder = path.parent().unwrap_or(path);
    let kept = fs::create_dir_all(folder)
        .and_then(|()| tempfile::NamedTempFile::new_in(folder))
        .and_then(|file| {
            fs::write(file.path(), bytes)?;
            file.persist(path).map_err(|it| it.error)
        });
    if let Err(error) = kept {
        tracing::debug!(%error, "manifests are not kept");
    }
}

fn digest(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
