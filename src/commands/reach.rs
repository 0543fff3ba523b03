//! Who may enter a shoot, and for how long: what kubeconfig, exec and tunnel have in common.

use super::provider::failed;
use super::running::duration;
use super::{CommandError, Context, Exit};
use crate::cluster::{ApiClient, ClientCertificate};
use crate::plan::{ADMINS, names};
use std::time::Duration;

/// A certificate cannot be taken back, so it holds no longer without a word.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Its members may do everything, whatever roles there are: that cannot be taken back either.
const MASTERS: &str = "system:masters";
/// What X.509 lets a common name be.
const LONGEST_NAME: usize = 64;

/// Whom a client certificate is made out to
#[derive(Debug, clap::Args)]
pub(super) struct AccessArgs {
    /// How long the certificate holds
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = duration)]
    ttl: Duration,
    /// Group to be in, instead of the cluster's administrators
    #[arg(long, value_name = "GROUP")]
    as_group: Option<String>,
    /// Allow more than 30 days, and the group system:masters
    #[arg(long)]
    force: bool,
}

/// Whom a certificate is made out to.
#[derive(Debug)]
struct Subject<'a> {
    user: String,
    group: &'a str,
    seconds: i64,
}

impl AccessArgs {
    /// Makes the certificate: out of the shoot's root, which nobody else needs to be asked for.
    pub(super) async fn credentials(
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
        let made = provider.client_certificate(id, &user, &groups, seconds);
        made.await.map_err(failed)
    }

    fn subject(&self, user: &str) -> Result<Subject<'_>, CommandError> {
        let group = self.as_group.as_deref().unwrap_or(ADMINS);
        let refused = |what: String| {
            Err(CommandError::new(Exit::Usage, what).hint("--force allows it all the same"))
        };
        if self.ttl.is_zero() {
            let message = "a certificate that holds no time is of no use";
            return Err(CommandError::new(Exit::Usage, message).hint("--ttl 8h"));
        }
        if self.ttl > LONGEST && !self.force {
            return refused(
                "a certificate cannot be taken back, so it holds for 30 days at most".to_owned(),
            );
        }
        if group == MASTERS && !self.force {
            return refused(format!("the rights of {MASTERS} cannot be taken back"));
        }
        let mut common_name = format!("kvshoot:admin:{user}");
        while common_name.len() > LONGEST_NAME {
            common_name.pop();
        }
        Ok(Subject {
            user: common_name,
            group,
            seconds: i64::try_from(self.ttl.as_secs()).unwrap_or(i64::MAX),
        })
    }
}

/// What a context is called: as the shoot is, with its project if that is not the usual one.
pub(super) fn context_name(id: &str) -> String {
    match names::parts(id) {
        ("local", name) => name.to_owned(),
        (project, name) => format!("{project}-{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(ttl: u64, group: Option<&str>, force: bool) -> AccessArgs {
        AccessArgs {
            ttl: Duration::from_secs(ttl),
            as_group: group.map(str::to_owned),
            force,
        }
    }

    #[test]
    fn people_are_administrators_by_a_group_that_can_be_taken_from_them() {
        let usual = args(3600, None, false);
        let subject = usual.subject("ann").unwrap();
        assert_eq!(subject.user, "kvshoot:admin:ann");
        assert_eq!(subject.group, "kvshoot:cluster-admins");
        assert_eq!(subject.seconds, 3600);
        let viewers = args(3600, Some("viewers"), false);
        assert_eq!(viewers.subject("ann").unwrap().group, "viewers");
        let long = usual.subject(&"ä".repeat(60)).unwrap();
        assert!(long.user.len() <= LONGEST_NAME);
    }

    #[test]
    fn what_cannot_be_taken_back_needs_a_word() {
        let month = LONGEST.as_secs();
        assert!(args(month, None, false).subject("ann").is_ok());
        assert!(args(month + 1, None, false).subject("ann").is_err());
        assert!(args(month + 1, None, true).subject("ann").is_ok());
        assert!(args(60, Some(MASTERS), false).subject("ann").is_err());
        assert!(args(60, Some(MASTERS), true).subject("ann").is_ok());
        assert!(args(0, None, true).subject("ann").is_err());
    }

    #[test]
    fn a_context_is_called_as_its_shoot() {
        assert_eq!(context_name("shoot--local--dev"), "dev");
        assert_eq!(context_name("shoot--team--dev"), "team-dev");
    }
}
