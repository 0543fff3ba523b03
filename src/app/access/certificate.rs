//! Client certificates for a cluster, as kubeconfig, exec and tunnel use them.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::cluster::{ApiClient, ClientCertificate};
use crate::render::system::rbac::ADMINS;
use crate::state::names;
use std::time::Duration;

/// The longest validity without `--force`. Certificates cannot be revoked.
const MAX_TTL: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Members bypass RBAC, so that their permissions cannot be revoked either.
const MASTERS: &str = "system:masters";
/// The longest common name in X.509.
const MAX_NAME: usize = 64;

/// Validity and group of a client certificate.
#[derive(Debug, Clone)]
pub(crate) struct AccessOptions {
    pub(crate) ttl: Duration,
    pub(crate) subject: SubjectOptions,
}

/// Group of a client certificate, and what it may be.
#[derive(Debug, Clone)]
pub(crate) struct SubjectOptions {
    /// Replaces the group of cluster administrators.
    pub(crate) group: Option<String>,
    /// Allows more than 30 days, and the group system:masters.
    pub(crate) force: bool,
}

/// The subject of a certificate, and its validity.
#[derive(Debug)]
struct Subject<'a> {
    user: String,
    group: &'a str,
    seconds: i64,
}

impl AccessOptions {
    /// Issues a certificate with the CA of the shoot.
    pub(crate) async fn issue(
        &self,
        provider: &ApiClient,
        id: &str,
        context: &Context,
    ) -> Result<ClientCertificate, CommandError> {
        let Subject {
            user,
            group,
            seconds,
        } = self.subject(&context.config.user())?;
        let groups = [group];
        let issued = provider.client_certificate(id, &user, &groups, seconds);
        issued.await.map_err(failed)
    }

    fn subject(&self, user: &str) -> Result<Subject<'_>, CommandError> {
        let SubjectOptions { group, force } = &self.subject;
        let group = group.as_deref().unwrap_or(ADMINS);
        let refused = |what: String| {
            Err(CommandError::new(Exit::Usage, what).hint("pass --force to allow it"))
        };
        if self.ttl.is_zero() {
            let message = "--ttl must be longer than 0s";
            return Err(CommandError::new(Exit::Usage, message).hint("for example --ttl 8h"));
        }
        if self.ttl > MAX_TTL && !force {
            return refused(
                "--ttl is limited to 30 days, since certificates cannot be revoked".to_owned(),
            );
        }
        if group == MASTERS && !force {
            return refused(format!("permissions of group {MASTERS} cannot be revoked"));
        }
        let mut common_name = format!("kvshoot:admin:{user}");
        while common_name.len() > MAX_NAME {
            common_name.pop();
        }
        Ok(Subject {
            user: common_name,
            group,
            seconds: i64::try_from(self.ttl.as_secs()).unwrap_or(i64::MAX),
        })
    }
}

/// The default name of a context: the name of the shoot, with its project unless it is `local`.
pub(crate) fn context_name(id: &str) -> String {
    match names::parts(id) {
        ("local", name) => name.to_owned(),
        (project, name) => format!("{project}-{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(ttl: u64, group: Option<&str>, force: bool) -> AccessOptions {
        AccessOptions {
            ttl: Duration::from_secs(ttl),
            subject: SubjectOptions {
                group: group.map(str::to_owned),
                force,
            },
        }
    }

    #[test]
    fn users_are_administrators_by_a_group_that_can_be_unbound() {
        let usual = options(3600, None, false);
        let subject = usual.subject("ann").unwrap();
        assert_eq!(subject.user, "kvshoot:admin:ann");
        assert_eq!(subject.group, "kvshoot:cluster-admins");
        assert_eq!(subject.seconds, 3600);
        let viewers = options(3600, Some("viewers"), false);
        assert_eq!(viewers.subject("ann").unwrap().group, "viewers");
        let long = usual.subject(&"ä".repeat(60)).unwrap();
        assert!(long.user.len() <= MAX_NAME);
    }

    #[test]
    fn irrevocable_permissions_need_force() {
        let month = MAX_TTL.as_secs();
        assert!(options(month, None, false).subject("ann").is_ok());
        assert!(options(month + 1, None, false).subject("ann").is_err());
        assert!(options(month + 1, None, true).subject("ann").is_ok());
        assert!(options(60, Some(MASTERS), false).subject("ann").is_err());
        assert!(options(60, Some(MASTERS), true).subject("ann").is_ok());
        assert!(options(0, None, true).subject("ann").is_err());
    }

    #[test]
    fn a_context_is_named_after_its_shoot() {
        assert_eq!(context_name("shoot--local--dev"), "dev");
        assert_eq!(context_name("shoot--team--dev"), "team-dev");
    }
}
