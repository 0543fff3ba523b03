//! Names of destinations.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where backups are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BackupDestination {
    Directory(PathBuf),
    /// `pvc:NAME`: a volume of the provider cluster, which only pods can write to.
    Claim(String),
    /// `s3://BUCKET/PREFIX`
    Bucket {
        bucket: String,
        /// Without slashes at its ends; may be empty.
        prefix: String,
    },
}

impl BackupDestination {
    /// The destination below this one with the given name.
    pub(crate) fn child(&self, name: &str) -> BackupDestination {
        match self {
            BackupDestination::Directory(path) => BackupDestination::Directory(path.join(name)),
            BackupDestination::Claim(claim) => BackupDestination::Claim(claim.clone()),
            BackupDestination::Bucket { bucket, prefix } => {
                let prefix = match prefix.as_str() {
                    "" => name.to_owned(),
                    prefix => format!("{prefix}/{name}"),
                };
                let bucket = bucket.clone();
                BackupDestination::Bucket { bucket, prefix }
            }
        }
    }
}

impl FromStr for BackupDestination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some(rest) = text.strip_prefix("s3://") else {
            if let Some((scheme, _)) = text.split_once("://") {
                return Err(format!(
                    "unknown scheme {scheme:?}: write a directory or s3://BUCKET/PREFIX"
                ));
            }
            if let Some(claim) = text.strip_prefix("pvc:") {
                let is_valid =
                    |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || b".-".contains(&it);
                return match !claim.is_empty() && claim.bytes().all(is_valid) {
                    true => Ok(BackupDestination::Claim(claim.to_owned())),
                    false => Err(format!("invalid name {claim:?} of a PersistentVolumeClaim")),
                };
            }
            if text.is_empty() {
                return Err("expected a directory or s3://BUCKET/PREFIX".to_owned());
            }
            return Ok(BackupDestination::Directory(PathBuf::from(text)));
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let is_valid =
            |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || b".-".contains(&it);
        if !(3..=63).contains(&bucket.len()) || !bucket.bytes().all(is_valid) {
            return Err(format!("invalid bucket name {bucket:?}"));
        }
        let prefix = prefix.trim_matches('/');
        let is_name = |it: &str| !it.is_empty() && it != "." && it != "..";
        if !prefix.is_empty() && !prefix.split('/').all(is_name) {
            return Err(format!("invalid prefix {prefix:?}"));
        }
        Ok(BackupDestination::Bucket {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
        })
    }
}

impl Display for BackupDestination {
    fn fmt(&self, formatter: &mut Formatter) -> fmt::Result {
        match self {
            BackupDestination::Directory(path) => {
                let path: &Path = path;
                write!(formatter, "{}", path.display())
            }
            BackupDestination::Claim(claim) => write!(formatter, "pvc:{claim}"),
            BackupDestination::Bucket { bucket, prefix } => {
                let slash = if prefix.is_empty() { "" } else { "/" };
                write!(formatter, "s3://{bucket}{slash}{prefix}")
            }
        }
    }
}

/// Checks the URL of an S3 server.
///
/// # Errors
///
/// It is not a URL, or it has credentials, which would be visible where it is given.
pub(crate) fn parse_s3_endpoint(text: &str) -> Result<String, String> {
    let rest = text
        .strip_prefix("https://")
        .or(text.strip_prefix("http://"));
    match rest {
        Some(rest) if !rest.is_empty() && !rest.contains('@') => Ok(text.to_owned()),
        _ => Err("expected a URL such as https://s3.example.org".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_is_a_directory_or_a_bucket() {
        for (text, shown) in [
            ("backups", "backups"),
            ("./s3:/x", "./s3:/x"),
            ("s3://etcd", "s3://etcd"),
            ("pvc:backups", "pvc:backups"),
            ("s3://etcd/", "s3://etcd"),
            ("s3://etcd/lab/dev/", "s3://etcd/lab/dev"),
        ] {
            let parsed: BackupDestination = text.parse().unwrap();
            assert_eq!(parsed.to_string(), shown);
        }
        let below = |text: &str| {
            text.parse::<BackupDestination>()
                .map(|it| it.child("a").to_string())
        };
        assert_eq!(below("backups"), Ok("backups/a".to_owned()));
        assert_eq!(below("s3://etcd"), Ok("s3://etcd/a".to_owned()));
        assert_eq!(below("s3://etcd/lab"), Ok("s3://etcd/lab/a".to_owned()));
        for text in [
            "",
            "gs://etcd",
            "s3://",
            "s3://A",
            "s3://abc/../d",
            "pvc:",
            "pvc:Data",
        ] {
            assert!(text.parse::<BackupDestination>().is_err(), "{text}");
        }
    }
}
