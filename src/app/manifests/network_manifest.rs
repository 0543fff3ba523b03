//! The network manifest of a profile: one file, by URL and digest, cached by its digest.

use super::addons_checks::{accept, report_duplicates};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::cluster::download;
use crate::manifest::ManifestObjects;
use crate::model::NetworkManifest;
use crate::validate::{ManifestSet, ValidShoot};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The most bytes of a local file, as of a download.
const MAX_BYTES: u64 = 16 << 20;

/// Returns the network add-on of a shoot; None when the profile has no manifest for its network type.
pub(super) async fn of(
    shoot: &ValidShoot,
    context: &Context,
) -> Result<Option<ManifestSet>, CommandError> {
    let offered = &shoot.profile.spec.provider_config.network_manifests;
    let wanted = &shoot.networking.type_;
    let Some(manifest) = offered.iter().find(|it| it.type_ == *wanted) else {
        return Ok(None);
    };
    let bytes = fetch(manifest, context).await?;
    let mut objects = ManifestObjects::default();
    objects.add(manifest.url.clone(), bytes);
    report_duplicates(&mut objects, 0, &mut HashMap::new());
    accept(&objects, context)?;
    Ok(Some(ManifestSet {
        name: wanted.clone(),
        objects: objects.all.into_iter().map(|it| it.1).collect(),
    }))
}

/// Returns the file from the cache or from its URL. Its digest is checked in both cases.
async fn fetch(manifest: &NetworkManifest, context: &Context) -> Result<Vec<u8>, CommandError> {
    let cached = cache_path(&manifest.digest, context);
    let before = cached.as_ref().and_then(|it| fs::read(it).ok());
    if let Some(bytes) = before.filter(|it| digest(it) == manifest.digest) {
        return Ok(bytes);
    }
    let url = &manifest.url;
    let bytes = match url.strip_prefix("file://") {
        Some(path) => local_file(Path::new(path), &context.provider.allow_files),
        None => download(url).await,
    };
    let bytes = bytes.map_err(|why| {
        let message = format!(
            "cannot download the manifest of network {} from {url}",
            manifest.type_
        );
        let hint = format!(
            "pass --addons DIR with {}.yaml to avoid the download",
            manifest.type_
        );
        let error = CommandError::new(Exit::Precondition, message);
        error.cause(why).hint(hint)
    })?;
    let found = digest(&bytes);
    if found != manifest.digest {
        let message = format!("digest mismatch for {url}");
        let mut error = CommandError::new(Exit::Precondition, message);
        // The digest of a local file would confirm guesses of its content.
        if !url.starts_with("file:") {
            error = error.cause(format!("SHA-256 is {found}"));
        }
        return Err(error
            .cause(format!("the profile expects {}", manifest.digest))
            .hint("nothing was changed; review the file before you update the digest"));
    }
    if let Some(path) = cached {
        write_cache(&path, &bytes);
    }
    Ok(bytes)
}

/// Reads a file that a manifest names, if it is in one of the folders that the user allows.
///
/// # Errors
///
/// A message that is the same for all other files, whether they exist or not.
fn local_file(path: &Path, folders: &[PathBuf]) -> Result<Vec<u8>, String> {
    let real = fs::canonicalize(path).ok().filter(|path| {
        let folders = folders.iter().filter_map(|it| fs::canonicalize(it).ok());
        path.is_file() && folders.into_iter().any(|it| path.starts_with(it))
    });
    let Some(real) = real else {
        return Err("no such file in a folder of --allow-files".to_owned());
    };
    let mut bytes = Vec::new();
    let read = File::open(real).and_then(|it| it.take(MAX_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|it| it.to_string())?;
    match bytes.len() as u64 > MAX_BYTES {
        true => Err(format!("the file is larger than {MAX_BYTES} bytes")),
        false => Ok(bytes),
    }
}

fn cache_path(digest: &str, context: &Context) -> Option<PathBuf> {
    let cache = context.config.cache_dir()?;
    Some(cache.join("manifests").join(digest))
}

/// A failure is not an error: the file is downloaded again.
fn write_cache(path: &Path, bytes: &[u8]) {
    let directory = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(directory)
        .and_then(|()| tempfile::NamedTempFile::new_in(directory))
        .and_then(|file| {
            fs::write(file.path(), bytes)?;
            file.persist(path).map_err(|it| it.error)
        });
    if let Err(error) = written {
        tracing::debug!(%error, "cannot cache the network manifest");
    }
}

fn digest(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{MAX_BYTES, local_file};
    use std::fs::{self, File};
    use std::path::Path;

    #[test]
    fn only_regular_files_in_allowed_folders_are_read() {
        let home = tempfile::tempdir().unwrap();
        let (inside, outside) = (home.path().join("in"), home.path().join("out"));
        let other = home.path().join("inner");
        for folder in [&inside, &outside, &other] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("a.yaml"), "a").unwrap();
        }
        std::os::unix::fs::symlink(outside.join("a.yaml"), inside.join("link")).unwrap();
        let large = File::create(inside.join("large")).unwrap();
        large.set_len(MAX_BYTES + 1).unwrap();
        let folders = [inside.clone()];
        assert_eq!(
            local_file(&inside.join("a.yaml"), &folders),
            Ok(b"a".to_vec())
        );
        let refused = Err("no such file in a folder of --allow-files".to_owned());
        for path in [
            inside.join("link"),
            inside.join("missing"),
            inside.join("../out/a.yaml"),
            outside.join("a.yaml"),
            outside.join("missing"),
            other.join("a.yaml"),
            inside.clone(),
            Path::new("/dev/zero").to_owned(),
        ] {
            assert_eq!(local_file(&path, &folders), refused, "{}", path.display());
        }
        assert_eq!(local_file(&inside.join("a.yaml"), &[]), refused);
        assert!(local_file(&inside.join("large"), &folders).is_err());
    }
}
