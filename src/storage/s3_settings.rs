//! Settings of S3 besides the name of a destination.

use secrecy::SecretString;
use std::path::PathBuf;

/// Endpoint and credentials of S3, by default those of the usual environment variables.
#[derive(Debug, Clone, Default)]
pub(crate) struct S3Settings {
    /// URL of a server other than AWS.
    pub(crate) endpoint: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) access_key_id: Option<String>,
    pub(crate) secret_access_key: Option<SecretString>,
    pub(crate) session_token: Option<SecretString>,
    /// PEM file with certificate authorities to trust besides those of the system.
    pub(crate) ca_bundle: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_do_not_print_their_secrets() {
        let settings = S3Settings {
            secret_access_key: Some("hidden".into()),
            session_token: Some("hidden".into()),
            ..S3Settings::default()
        };
        assert!(!format!("{settings:?}").contains("hidden"));
    }
}
