//! Backups in S3 buckets.
//!
//! `backup.json` is uploaded last and deleted first: objects without it are not a backup.

use super::error::StorageError;
use super::found::{FileReader, FoundBackup};
use super::http_connector::HyperConnector;
use super::s3_settings::S3Settings;
use crate::backup::{BackupPath, BackupScope, INDEX};
use futures::{StreamExt as _, TryStreamExt as _, try_join};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{
    Error as ObjectError, MultipartUpload, ObjectStore as _, ObjectStoreExt as _, RetryConfig,
};
use secrecy::ExposeSecret as _;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio_util::bytes::Bytes;
use tokio_util::io::StreamReader;

/// Size of the parts of a large object. Two of them are in memory: one that is uploaded, and the next.
const PART: usize = 8 << 20;
/// Attempts after the first one, and the time that all of them may take.
const RETRIES: usize = 4;
const RETRY_TIMEOUT: Duration = Duration::from_secs(60);
/// Objects of a list. A backup has less than ten.
const MAX_OBJECTS: usize = 100_000;

#[derive(Debug, Clone)]
pub(crate) struct BucketStorage {
    store: Arc<AmazonS3>,
    bucket: String,
    /// Without slashes at its ends; may be empty.
    prefix: String,
}

/// A backup that is being written.
#[derive(Debug)]
pub(super) struct PendingObjects {
    storage: BucketStorage,
    backup: BackupPath,
}

/// The reason why an object could not be uploaded.
#[derive(Debug)]
pub(super) enum UploadError {
    Source(io::Error),
    Server(ObjectError),
}

impl BucketStorage {
    pub(super) fn open(
        bucket: &str,
        prefix: &str,
        settings: &S3Settings,
    ) -> Result<BucketStorage, StorageError> {
        let (Some(id), Some(key)) = (&settings.access_key_id, &settings.secret_access_key) else {
            let why = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set";
            return Err(StorageError::Settings(why.to_owned()));
        };
        let retry = RetryConfig {
            max_retries: RETRIES,
            retry_timeout: RETRY_TIMEOUT,
            ..RetryConfig::default()
        };
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(bucket)
            .with_access_key_id(id)
            .with_secret_access_key(key.expose_secret())
            .with_region(settings.region.as_deref().unwrap_or("us-east-1"))
            .with_retry(retry)
            .with_http_connector(HyperConnector::new(settings)?);
        if let Some(token) = &settings.session_token {
            builder = builder.with_token(token.expose_secret());
        }
        builder = match &settings.endpoint {
            Some(endpoint) => builder
                .with_endpoint(endpoint.trim_end_matches('/'))
                .with_allow_http(endpoint.starts_with("http://")),
            None => builder.with_virtual_hosted_style_request(!bucket.contains('.')),
        };
        let store = builder
            .build()
            .map_err(|error| StorageError::Settings(error.to_string()))?;
        Ok(BucketStorage {
            store: Arc::new(store),
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
        })
    }

    pub(super) fn location(&self, backup: &BackupPath) -> String {
        let prefix = if self.prefix.is_empty() {
            String::new()
        } else {
            format!("/{}", self.prefix)
        };
        format!("s3://{}{prefix}/{backup}", self.bucket)
    }

    pub(super) fn begin(&self, backup: &BackupPath) -> PendingObjects {
        PendingObjects {
            storage: self.clone(),
            backup: backup.clone(),
        }
    }

    fn key(&self, parts: &[&str]) -> Path {
        let prefix = self.prefix.split('/').filter(|it| !it.is_empty());
        Path::from_iter(prefix.chain(parts.iter().copied()))
    }

    fn object(&self, backup: &BackupPath, file: &str) -> Path {
        let name = backup.name.as_str();
        self.key(&[&backup.namespace, &backup.id, name, file])
    }

    fn failed(&self, error: &ObjectError, backup: &BackupPath, file: &str) -> StorageError {
        StorageError::of_object(error, format!("{}/{file}", self.location(backup)))
    }

    pub(super) async fn read(
        &self,
        backup: &BackupPath,
        file: &str,
    ) -> Result<FileReader, StorageError> {
        let response = self.store.get(&self.object(backup, file)).await;
        let response = response.map_err(|error| self.failed(&error, backup, file))?;
        let bytes = response.into_stream().map_err(io::Error::from);
        Ok(Box::new(StreamReader::new(bytes)))
    }

    pub(super) async fn find(&self, scope: &BackupScope) -> Result<Vec<FoundBackup>, StorageError> {
        let parts: Vec<&str> = match (&scope.namespace, &scope.id) {
            (Some(namespace), Some(id)) => vec![namespace, id],
            (Some(namespace), None) => vec![namespace],
            (None, _) => Vec::new(),
        };
        let within = self.key(&parts);
        let depth = self.key(&[]).parts().count();
        let mut objects = self.store.list(Some(&within));
        let mut found: BTreeMap<BackupPath, bool> = BTreeMap::new();
        let what = || format!("s3://{}/{within}", self.bucket);
        let mut left = MAX_OBJECTS;
        while let Some(object) = objects.next().await {
            left = left.checked_sub(1).ok_or_else(|| StorageError::Failed {
                what: what(),
                why: format!("it has more than {MAX_OBJECTS} objects"),
            })?;
            let object = object.map_err(|error| StorageError::of_object(&error, what()))?;
            let parts: Vec<_> = object.location.parts().skip(depth).collect();
            let [namespace, id, name, file] = parts.as_slice() else {
                continue;
            };
            let path = BackupPath::parse(namespace.as_ref(), id.as_ref(), name.as_ref());
            if let Some(path) = path.filter(|it| scope.includes(it)) {
                *found.entry(path).or_default() |= file.as_ref() == INDEX;
            }
        }
        let found = found.into_iter();
        Ok(found
            .map(|(path, is_complete)| FoundBackup { path, is_complete })
            .collect())
    }

    pub(super) async fn delete(&self, backup: &BackupPath) -> Result<(), StorageError> {
        match self.store.delete(&self.object(backup, INDEX)).await {
            Err(ObjectError::NotFound { .. }) => {}
            deleted => deleted.map_err(|error| self.failed(&error, backup, INDEX))?,
        }
        let directory = self.key(&[&backup.namespace, &backup.id, backup.name.as_str()]);
        let failed = |error: ObjectError| self.failed(&error, backup, "");
        let objects: Vec<_> = self
            .store
            .list(Some(&directory))
            .take(MAX_OBJECTS)
            .try_collect()
            .await
            .map_err(failed)?;
        for object in objects {
            self.store.delete(&object.location).await.map_err(failed)?;
        }
        Ok(())
    }
}

impl PendingObjects {
    pub(super) async fn put(
        &self,
        file: &str,
        source: &mut (impl AsyncRead + Unpin + Send),
    ) -> Result<(), UploadError> {
        let (store, key) = (&self.storage.store, self.storage.object(&self.backup, file));
        let first = next_part(source).await.map_err(UploadError::Source)?;
        if first.len() < PART {
            let stored = store.put(&key, first.into()).await;
            return stored.map(drop).map_err(UploadError::Server);
        }
        let mut upload = store
            .put_multipart(&key)
            .await
            .map_err(UploadError::Server)?;
        let uploaded = upload_parts(&mut *upload, first, source).await;
        if uploaded.is_err()
            && let Err(error) = upload.abort().await
        {
            tracing::warn!(%error, "cannot abort the multipart upload of {key}");
        }
        uploaded
    }

    pub(super) async fn read(&self, file: &str) -> Result<FileReader, StorageError> {
        self.storage.read(&self.backup, file).await
    }

    pub(super) fn failed(&self, error: &ObjectError, file: &str) -> StorageError {
        self.storage.failed(error, &self.backup, file)
    }

    /// Deletes what was uploaded.
    pub(super) async fn discard(&self) {
        if let Err(error) = self.storage.delete(&self.backup).await {
            tracing::warn!(%error, "cannot delete an incomplete backup");
        }
    }
}

/// Uploads a part while the next one is read.
async fn upload_parts(
    upload: &mut dyn MultipartUpload,
    first: Bytes,
    source: &mut (impl AsyncRead + Unpin + Send),
) -> Result<(), UploadError> {
    let mut part = first;
    while !part.is_empty() {
        let sent = upload.put_part(part.into());
        let sent = async { sent.await.map_err(UploadError::Server) };
        let next = async { next_part(source).await.map_err(UploadError::Source) };
        ((), part) = try_join!(sent, next)?;
    }
    let completed = upload.complete().await;
    completed.map(drop).map_err(UploadError::Server)
}

/// The next part; shorter than [`PART`] only at the end.
async fn next_part(source: &mut (impl AsyncRead + Unpin)) -> io::Result<Bytes> {
    let mut part = Vec::new();
    source.take(PART as u64).read_to_end(&mut part).await?;
    Ok(part.into())
}
