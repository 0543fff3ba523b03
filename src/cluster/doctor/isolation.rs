//! Isolation of the shoots of a namespace from each other.

use super::check_result::{CheckResult, passed, warning};
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::records::NamespaceScope;

const SUBJECT: &str = "isolation";

impl ApiClient {
    /// Warns if several shoots share the namespace; nothing is reported if records cannot be listed.
    ///
    /// # Errors
    ///
    /// The server does not answer.
    pub(crate) async fn check_isolation(&self) -> Result<Option<CheckResult>, Error> {
        match self.records(NamespaceScope::Current).await {
            Ok(records) => Ok(Some(judge(records.len(), self.namespace()))),
            Err(Error::Forbidden { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn judge(shoots: usize, namespace: &str) -> CheckResult {
    match shoots {
        0 | 1 => passed(SUBJECT, format!("no other shoots in namespace {namespace}")),
        _ => CheckResult {
            hint: Some("use a namespace for each group of people who trust each other".to_owned()),
            ..warning(
                SUBJECT,
                format!(
                    "{shoots} shoots share namespace {namespace}: the administrators of one can read and delete load balancers and volumes of the others, and the accounts of keep and evacuate can read the keys of all"
                ),
            )
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::doctor::check_result::CheckStatus;

    #[test]
    fn several_shoots_in_a_namespace_are_a_warning() {
        assert_eq!(judge(0, "lab").status, CheckStatus::Passed);
        assert_eq!(judge(1, "lab").status, CheckStatus::Passed);
        let shared = judge(2, "lab");
        assert_eq!(shared.status, CheckStatus::Warning);
        assert!(shared.message.starts_with("2 shoots share namespace lab"));
        assert!(shared.message.contains("accounts of keep and evacuate"));
    }
}
