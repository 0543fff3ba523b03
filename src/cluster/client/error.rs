//! What can go wrong at an API server, told apart by typed status and never by text.

use crate::pki::PkiError;
use crate::state::failure::{Class, Failure};
use kube::core::Status;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;
use thiserror::Error;

/// Each shows as a lower-case fragment that names the object and the cause.
#[derive(Debug, Error)]
pub(crate) enum Error {
    #[error("no kubeconfig: {0}")]
    NoKubeconfig(String),
    #[error("the kubeconfig cannot be used: {0}")]
    Kubeconfig(String),
    #[error("the kubeconfig in the manifest runs a program, `{command}`")]
    ExecNotAllowed { command: String },
    #[error("no credentials for {server}: {message}")]
    Credentials { server: String, message: String },
    #[error("{server} does not answer: {}", deepest(source.as_ref()))]
    Unreachable {
        server: String,
        source: Box<dyn StdError + Send + Sync>,
    },
    #[error("{server} cannot be trusted: {}", deepest(source.as_ref()))]
    Untrusted {
        server: String,
        source: Box<dyn StdError + Send + Sync>,
    },
    #[error("{what}: no answer within {} s", after.as_secs())]
    Timeout { what: What, after: Duration },
    #[error("not logged in at {server}: {message}")]
    NotLoggedIn { server: String, message: String },
    #[error("not allowed to {what}: {message}")]
    NotAllowed { what: What, message: String },
    /// The server's words tell what was asked, used and limited.
    #[error("{}: {message}", what.object())]
    Quota { what: What, message: String },
    #[error("{} changed meanwhile", what.object())]
    Conflict { what: What },
    /// The history that a watch or a page goes on from is no longer kept.
    #[error("{what}: the server keeps no such old state")]
    Expired { what: What },
    #[error("{} not found", what.object())]
    NotFound { what: What },
    #[error("{} exists already", what.object())]
    Exists { what: What },
    #[error("{} exists and is not kvshoot's, or of another shoot", what.object())]
    Foreign { what: What },
    #[error("{} is refused: {message}", what.object())]
    Invalid { what: What, message: String },
    #[error("{what}: the server asks to wait: {message}")]
    Throttled {
        what: What,
        /// In the server's words.
        message: String,
        retry_after: Option<Duration>,
    },
    #[error("{what}: the server failed with {code}: {message}")]
    Server {
        what: What,
        code: u16,
        message: String,
    },
    #[error("{what}: the answer makes no sense: {message}")]
    Senseless { what: What, message: String },
    /// Deciding which of two states is newer needs numbers.
    #[error(
        "{what}: resourceVersion `{version}` is not a number, so this server cannot be worked with"
    )]
    Version { what: What, version: String },
    /// What the decision rested on is no longer so.
    #[error("machine {0} is ready again")]
    Ready(String),
    #[error("{}", held(holder, *since))]
    Held {
        /// Who holds the lease, in the holder's own words.
        holder: String,
        /// Seconds since 1970, by the holder's clock; None when it does not say.
        since: Option<i64>,
    },
    /// Nobody can have taken it unseen: writes wait until it is renewed or lost.
    #[error("the lease {lease} could not be renewed in time")]
    Stale { lease: String },
    #[error("the lease {lease} was lost: {message}")]
    Fenced { lease: String, message: String },
    /// Says nothing of what is in them.
    #[error("Secret {secret}: {source}")]
    Keys { secret: String, source: PkiError },
    /// The shoot's own API server was not found yet.
    #[error("the shoot's API server is not reached yet")]
    NotInside,
    #[error("{0}")]
    Missing(String),
    #[error("namespace {0} does not exist")]
    NoNamespace(String),
}

/// The request that an error is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct What {
    /// As in a Role: get, list, watch, create, update, patch, delete.
    pub(crate) verb: &'static str,
    /// As in a Role: `virtualmachines.kubevirt.io`.
    pub(crate) resource: Box<str>,
    /// As in a manifest: `VirtualMachine`.
    pub(crate) kind: Box<str>,
    pub(crate) name: Option<Box<str>>,
    pub(crate) namespace: Option<Box<str>>,
}

/// What an error means for whoever asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It may pass: the same again, after a while.
    Again,
    /// The world is not as it was thought to be: look, and plan anew.
    Look,
    /// The same again would be refused again.
    Refuse(Class),
}

impl What {
    /// A request for what no resource names.
    pub(crate) fn get(thing: &'static str) -> What {
        What {
            verb: "get",
            resource: thing.into(),
            kind: thing.into(),
            name: None,
            namespace: None,
        }
    }

    /// The object, or the kind and where it is looked for.
    fn object(&self) -> String {
        match (&self.name, &self.namespace) {
            (Some(name), _) => format!("{} {name}", self.kind),
            (None, Some(namespace)) => format!("{} in namespace {namespace}", self.resource),
            (None, None) => self.resource.to_string(),
        }
    }
}

impl Error {
    pub(crate) fn verdict(&self) -> Verdict {
        match self {
            Error::Unreachable { .. }
            | Error::Timeout { .. }
            | Error::Throttled { .. }
            | Error::Stale { .. }
            | Error::Server { .. }
            | Error::Senseless { .. } => Verdict::Again,
            Error::Conflict { .. }
            | Error::Expired { .. }
            | Error::Exists { .. }
            | Error::NotInside
            | Error::Ready(_) => Verdict::Look,
            Error::NotAllowed { .. } | Error::NotLoggedIn { .. } | Error::Credentials { .. } => {
                Verdict::Refuse(Class::NotAllowed)
            }
            Error::Quota { .. } => Verdict::Refuse(Class::Quota),
            Error::Foreign { .. } => Verdict::Refuse(Class::Foreign),
            Error::NotFound { .. }
            | Error::Missing(_)
            | Error::NoNamespace(_)
            | Error::NoKubeconfig(_)
            | Error::Kubeconfig(_)
            | Error::ExecNotAllowed { .. } => Verdict::Refuse(Class::Missing),
            Error::Invalid { .. } => Verdict::Refuse(Class::Refused),
            Error::Version { .. } | Error::Keys { .. } => Verdict::Refuse(Class::Infrastructure),
            Error::Untrusted { .. } | Error::Held { .. } | Error::Fenced { .. } => {
                Verdict::Refuse(Class::Unreachable)
            }
        }
    }

    /// For the plan: what would be refused again, or has passed too often.
    pub(crate) fn failure(&self) -> Failure {
        let class = match self.verdict() {
            Verdict::Refuse(class) => class,
            Verdict::Again => Class::Unreachable,
            Verdict::Look => Class::Infrastructure,
        };
        Failure::new(class, self.to_string())
    }

    /// Whether the request may have been carried out all the same.
    pub(crate) fn is_ambiguous(&self) -> bool {
        match self {
            Error::Unreachable { .. } | Error::Timeout { .. } | Error::Senseless { .. } => true,
            Error::Server { code, .. } => *code >= 500,
            _ => false,
        }
    }

    /// Nobody listens at the address, or there is no way to it.
    pub(crate) fn is_no_connection(&self) -> bool {
        use std::io::ErrorKind;
        let Error::Unreachable { source, .. } = self else {
            return false;
        };
        let source: &(dyn StdError + 'static) = source.as_ref();
        // What ends a connection that there was.
        chain(source)
            .filter_map(|it| it.downcast_ref::<std::io::Error>())
            .any(|it| {
                !matches!(
                    it.kind(),
                    ErrorKind::ConnectionReset
                        | ErrorKind::ConnectionAborted
                        | ErrorKind::BrokenPipe
                        | ErrorKind::UnexpectedEof
                )
            })
    }

    /// By code and reason; the words of the quota admission are the one text that is looked at,
    /// for it answers with nothing else that tells it from a missing right.
    pub(crate) fn of_status(what: What, server: &str, status: &Status) -> Error {
        let message = plain(&status.message);
        let retry_after = status
            .details
            .as_ref()
            .and_then(|it| (it.retry_after_seconds > 0).then_some(it.retry_after_seconds))
            .map(|it| Duration::from_secs(it.into()));
        match (status.code, status.reason.as_str()) {
            (401, _) => Error::NotLoggedIn {
                server: server.to_owned(),
                message,
            },
            (403, _) => match message.find("exceeded quota") {
                Some(at) => Error::Quota {
                    message: message[at..].to_owned(),
                    what,
                },
                None => Error::NotAllowed { what, message },
            },
            (404, _) => match missing_namespace(&what, status) {
                Some(name) => Error::NoNamespace(name.to_owned()),
                None => Error::NotFound { what },
            },
            (_, "AlreadyExists") => Error::Exists { what },
            (409, _) => Error::Conflict { what },
            (410, _) => Error::Expired { what },
            (429, _) => Error::Throttled {
                what,
                message,
                retry_after,
            },
            // A deadline of the server itself, and what says when to come again.
            (408, _) => Error::Server {
                what,
                code: 408,
                message,
            },
            (code, _) if code >= 500 || code == 0 => Error::Server {
                what,
                code,
                message,
            },
            _ => Error::Invalid { what, message },
        }
    }

    pub(crate) fn of_client(what: What, server: &str, error: kube::Error) -> Error {
        let server = server.to_owned();
        match error {
            kube::Error::Api(status) => Error::of_status(what, &server, &status),
            kube::Error::Auth(error) => Error::Credentials {
                server,
                message: credentials(&error),
            },
            kube::Error::SerdeError(error) => Error::Senseless {
                what,
                message: error.to_string(),
            },
            other => {
                let source: Box<dyn StdError + Send + Sync> = Box::new(other);
                if is_untrusted(source.as_ref()) {
                    Error::Untrusted { server, source }
                } else {
                    Error::Unreachable { server, source }
                }
            }
        }
    }
}

/// A write to a namespace that is not there is answered as if the object were missing.
fn missing_namespace<'a>(what: &What, status: &'a Status) -> Option<&'a str> {
    let details = status.details.as_ref()?;
    (details.kind == "namespaces" && &*what.resource != "namespaces").then_some(&*details.name)
}

/// What a credential plugin printed may be the credential, so only its name and end are told.
fn credentials(error: &kube::client::AuthError) -> String {
    match error {
        kube::client::AuthError::AuthExecRun { cmd, out } => {
            // Its environment stands before it, as JSON.
            let program = cmd.split("}\" \"").nth(1);
            let program = program.and_then(|it| it.split('"').next());
            let program = program.unwrap_or("the credential plugin");
            format!("{program} ended with {}", out.status)
        }
        kube::client::AuthError::AuthExecParse(_) => {
            "the credential plugin did not print an ExecCredential".to_owned()
        }
        other => other.to_string(),
    }
}

/// A certificate that does not fit: no repetition mends it.
fn is_untrusted(error: &(dyn StdError + 'static)) -> bool {
    chain(error).any(|it| {
        let kind = it.downcast_ref::<std::io::Error>().map(|it| it.kind());
        kind == Some(std::io::ErrorKind::InvalidData)
    })
}

/// From the outermost to the deepest; what an I/O error wraps is a link too, which `source` passes over.
fn chain<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |it| next(*it))
}

fn next<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    let wrapped = error
        .downcast_ref::<std::io::Error>()
        .and_then(|it| it.get_ref());
    match wrapped {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}

/// The end of the chain says what happened; the links before it say through which layer it went.
fn deepest(error: &(dyn StdError + 'static)) -> String {
    let deepest = chain(error).last().unwrap_or(error);
    plain(&deepest.to_string())
}

/// One line, as it fits into a sentence.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn held(holder: &str, since: Option<i64>) -> String {
    let since = since
        .and_then(|it| jiff::Timestamp::from_second(it).ok())
        .map_or_else(String::new, |it| format!(" since {it}"));
    format!("the shoot is held by {holder}{since}")
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if let Some(name) = &self.name {
            write!(f, " {name}")?;
        }
        if let Some(namespace) = &self.namespace {
            write!(f, " in namespace {namespace}")?;
        }
        Ok(())
    }
}
