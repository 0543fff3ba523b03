//! Errors of destinations.

use object_store::Error as ObjectError;
use std::error::Error as StdError;
use std::io;

/// Codes of S3.
const DENIED: [&str; 6] = [
    "AccessDenied",
    "AllAccessDisabled",
    "ExpiredToken",
    "InvalidAccessKeyId",
    "InvalidToken",
    "SignatureDoesNotMatch",
];
const FULL: [&str; 3] = ["InsufficientStorage", "QuotaExceeded", "StorageFull"];

/// An error of a destination or a backup.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StorageError {
    #[error("{what}: {why}")]
    Failed { what: String, why: String },
    #[error("{what} not found")]
    NotFound { what: String },
    #[error("access to {what} denied: {why}")]
    Denied { what: String, why: String },
    /// No space, or a quota is used up.
    #[error("no space left for {what}: {why}")]
    Full { what: String, why: String },
    /// The data to back up could not be read.
    #[error("cannot read {what}: {why}")]
    Source { what: String, why: String },
    #[error("{file} is damaged: {why}")]
    Damaged { file: String, why: String },
    #[error("none of the identities can decrypt {file}")]
    NoMatchingIdentity { file: String },
    #[error("only pods can use PersistentVolumeClaim {claim}")]
    PodsOnly { claim: String },
    #[error("invalid settings: {0}")]
    Settings(String),
}

impl StorageError {
    pub(super) fn of_file(error: &io::Error, what: impl Into<String>) -> StorageError {
        let (what, why) = (what.into(), error.to_string());
        match error.kind() {
            io::ErrorKind::NotFound => StorageError::NotFound { what },
            io::ErrorKind::PermissionDenied => StorageError::Denied { what, why },
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => StorageError::Full { what, why },
            _ => StorageError::Failed { what, why },
        }
    }

    pub(super) fn of_object(error: &ObjectError, what: impl Into<String>) -> StorageError {
        let what = what.into();
        let full = chain(error);
        let why = server_message(&full).unwrap_or_else(|| shortened(&full));
        let code = why.split(':').next().unwrap_or_default();
        match error {
            ObjectError::NotFound { .. } => StorageError::NotFound { what },
            ObjectError::PermissionDenied { .. } | ObjectError::Unauthenticated { .. } => {
                StorageError::Denied { what, why }
            }
            // Errors of lists have no kind of their own.
            _ if code == "NoSuchBucket" => StorageError::NotFound { what },
            _ if DENIED.contains(&code) => StorageError::Denied { what, why },
            _ if FULL.contains(&code) => StorageError::Full { what, why },
            _ => StorageError::Failed { what, why },
        }
    }

    pub(super) fn damaged(file: &str, why: impl Into<String>) -> StorageError {
        let (file, why) = (file.to_owned(), why.into());
        StorageError::Damaged { file, why }
    }
}

/// Code and message of a response of S3, which is XML.
fn server_message(text: &str) -> Option<String> {
    let element = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        let (value, _) = rest.split_once("</")?;
        Some(shortened(value))
    };
    let code = element("Code")?;
    Some(match element("Message") {
        Some(message) => format!("{code}: {message}"),
        None => code,
    })
}

/// The error and its causes, without repetitions.
fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// Responses quote requests; nothing of interest is that long.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 400;
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_of_s3_is_its_code_and_message() {
        let xml = "403 Forbidden: <?xml version=\"1.0\"?><Error><Code>SignatureDoesNotMatch</Code>\
                   <Message>check your key</Message><StringToSign>long</StringToSign></Error>";
        let source = io::Error::other(xml).into();
        let path = "lab/dev".to_owned();
        let error = ObjectError::PermissionDenied { path, source };
        assert_eq!(
            StorageError::of_object(&error, "s3://b/lab/dev").to_string(),
            "access to s3://b/lab/dev denied: SignatureDoesNotMatch: check your key"
        );
    }

    #[test]
    fn long_errors_are_cut_between_characters() {
        assert_eq!(shortened(&"é".repeat(1000)).chars().count(), 401);
    }
}
