//! Destinations of backups: directories and S3 buckets, and backups that are written, listed, verified and deleted there.
//!
//! A backup becomes visible at once, when all its files were read back and agree with their hashes. Memory is bounded
//! whatever the size of a file.

mod backup_storage;
mod bucket;
mod content;
mod directory;
mod error;
mod found;
mod http_connector;
mod pending;
mod s3_settings;
#[cfg(test)]
mod s3_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod verification;
mod writer;

pub(crate) use backup_storage::BackupStorage;
pub(crate) use content::{open_content, read_text};
pub(crate) use error::StorageError;
pub(crate) use found::FoundBackup;
pub(crate) use s3_settings::S3Settings;
pub(crate) use verification::{read_index, verify};
pub(crate) use writer::BackupWriter;
