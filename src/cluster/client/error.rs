//! Errors of API servers, classified by typed status and never by message.

use crate::pki::PkiError;
use crate::state::failure::{ErrorClass, Failure};
use kube::core::Status;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;
use thiserror::Error;
use tracing::{Span, field};

/// The longest time for which a server can ask to be left alone.
pub(crate) const MAX_RETRY_AFTER: Duration = Duration::from_secs(5 * 60);

/// Each is displayed as a lower-case fragment with the object and the cause.
#[derive(Debug, Error)]
pub(crate) enum Error {
    #[error("kubeconfig not found: {0}")]
    KubeconfigNotFound(String),
    #[error("invalid kubeconfig: {0}")]
    InvalidKubeconfig(String),
    #[error("the kubeconfig in the manifest uses the exec plugin `{command}`")]
    ExecNotAllowed { command: String },
    #[error("no credentials for {server}: {message}")]
    Credentials { server: String, message: String },
    #[error("connection to {server} failed: {}", root_cause(source.as_ref()))]
    Unreachable {
        server: String,
        source: Box<dyn StdError + Send + Sync>,
    },
    #[error("the certificate of {server} is not trusted: {}", root_cause(source.as_ref()))]
    Untrusted {
        server: String,
        source: Box<dyn StdError + Send + Sync>,
    },
    #[error("{what}: no response within {}s", after.as_secs())]
    Timeout { what: RequestInfo, after: Duration },
    #[error("authentication to {server} failed: {message}")]
    Unauthenticated { server: String, message: String },
    #[error("not allowed to {what}: {message}")]
    Forbidden { what: RequestInfo, message: String },
    /// The server's message has the requested, used and limited amounts.
    #[error("{}: {message}", what.object())]
    QuotaExceeded { what: RequestInfo, message: String },
    #[error("{} was modified concurrently", what.object())]
    Conflict { what: RequestInfo },
    /// The server no longer has the history that a watch or the next page needs.
    #[error("{what}: resource version expired")]
    Expired { what: RequestInfo },
    #[error("{} not found", what.object())]
    NotFound { what: RequestInfo },
    #[error("{} already exists", what.object())]
    AlreadyExists { what: RequestInfo },
    #[error("{} exists but does not belong to this shoot", what.object())]
    NotOwned { what: RequestInfo },
    #[error("{} was rejected: {message}", what.object())]
    Rejected { what: RequestInfo, message: String },
    #[error("{what}: too many requests: {message}")]
    Throttled {
        what: RequestInfo,
        /// Message of the server.
        message: String,
        retry_after: Option<Duration>,
    },
    #[error("{what}: server error {code}: {message}")]
    Server {
        what: RequestInfo,
        code: u16,
        message: String,
    },
    #[error("{what}: invalid response: {message}")]
    InvalidResponse { what: RequestInfo, message: String },
    /// More bytes, values, items or pages than any cluster has that kvshoot can manage.
    #[error("{what}: the response is too large")]
    ResponseTooLarge { what: RequestInfo },
    #[error("{what}: more objects than fit into the memory of kvshoot")]
    TooManyObjects { what: RequestInfo },
    /// A field of an object is missing or has another type. The message has its path, and no values.
    #[error("invalid {}: {message}", what.object())]
    InvalidObject { what: RequestInfo, message: String },
    /// Ordering two versions of an object needs numbers.
    #[error("{what}: resourceVersion `{version}` is not a number; this server is not supported")]
    UnorderedVersion { what: RequestInfo, version: String },
    /// The reason for the action no longer holds.
    #[error("machine {0} is ready again")]
    MachineReady(String),
    /// The API server of before would still answer with what it was started with.
    #[error("pod {0} is still terminating")]
    Terminating(String),
    /// The storage provider has not made a volume larger in time.
    #[error("{0} for more than 10 minutes")]
    NotExpanded(String),
    #[error("{}", lease_held_message(holder, *since))]
    LeaseHeld {
        /// Holder of the lease, as written by the holder.
        holder: String,
        /// Seconds since 1970 by the holder's clock; None if unknown.
        since: Option<i64>,
    },
    /// The lease cannot have been taken unnoticed: writes wait until it is renewed or lost.
    #[error("lease {lease} was not renewed in time")]
    LeaseStale { lease: String },
    #[error("lease {lease} was lost: {message}")]
    LeaseLost { lease: String, message: String },
    /// Never includes key material.
    #[error("Secret {secret}: {source}")]
    Certificate { secret: String, source: PkiError },
    /// The shoot's API server has not been reached yet.
    #[error("the shoot's API server has not been reached yet")]
    ShootNotReached,
    #[error("{0}")]
    Missing(String),
    #[error("namespace {0} does not exist")]
    NamespaceNotFound(String),
}

/// The request that an error belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestInfo {
    /// As in a Role: get, list, watch, create, update, patch, delete.
    pub(crate) verb: &'static str,
    /// As in a Role: `virtualmachines.kubevirt.io`.
    pub(crate) resource: Box<str>,
    /// As in a manifest: `VirtualMachine`.
    pub(crate) kind: Box<str>,
    pub(crate) name: Option<Box<str>>,
    pub(crate) namespace: Option<Box<str>>,
}

/// Reaction to an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retryability {
    /// Transient: retry after a while.
    Retry,
    /// The assumed state is outdated: observe and plan again.
    Replan,
    /// A retry would fail the same way.
    Fatal(ErrorClass),
}

impl RequestInfo {
    /// A request that is not about a resource.
    pub(crate) fn get(thing: &'static str) -> RequestInfo {
        RequestInfo {
            verb: "get",
            resource: thing.into(),
            kind: thing.into(),
            name: None,
            namespace: None,
        }
    }

    /// Span of the request in the log: names only, since contents and queries may be confidential.
    pub(crate) fn span(&self) -> Span {
        let object = match (&self.namespace, &self.name) {
            (Some(namespace), Some(name)) => format!("{namespace}/{name}"),
            (Some(namespace), None) => format!("{namespace}/"),
            (None, name) => name.as_deref().unwrap_or_default().to_owned(),
        };
        let (verb, kind) = (self.verb, &self.kind);
        tracing::debug_span!("request", verb, %kind, object, status = field::Empty, ms = field::Empty)
    }

    /// The object, or the kind and its namespace.
    fn object(&self) -> String {
        match (&self.name, &self.namespace) {
            (Some(name), _) => format!("{} {name}", self.kind),
            (None, Some(namespace)) => format!("{} in namespace {namespace}", self.resource),
            (None, None) => self.resource.to_string(),
        }
    }
}

impl Error {
    pub(crate) fn retryability(&self) -> Retryability {
        match self {
            Error::Unreachable { .. }
            | Error::Timeout { .. }
            | Error::Throttled { .. }
            | Error::LeaseStale { .. }
            | Error::Terminating(_)
            | Error::Server { .. }
            | Error::InvalidResponse { .. } => Retryability::Retry,
            Error::Conflict { .. }
            | Error::Expired { .. }
            | Error::AlreadyExists { .. }
            | Error::ShootNotReached
            | Error::MachineReady(_) => Retryability::Replan,
            Error::Forbidden { .. } | Error::Unauthenticated { .. } | Error::Credentials { .. } => {
                Retryability::Fatal(ErrorClass::NotAllowed)
            }
            Error::QuotaExceeded { .. } => Retryability::Fatal(ErrorClass::Quota),
            Error::NotOwned { .. } => Retryability::Fatal(ErrorClass::Foreign),
            Error::NotFound { .. }
            | Error::Missing(_)
            | Error::NamespaceNotFound(_)
            | Error::KubeconfigNotFound(_)
            | Error::InvalidKubeconfig(_)
            | Error::ExecNotAllowed { .. } => Retryability::Fatal(ErrorClass::Missing),
            Error::Rejected { .. } => Retryability::Fatal(ErrorClass::Refused),
            Error::InvalidObject { .. }
            | Error::NotExpanded(_)
            | Error::ResponseTooLarge { .. }
            | Error::TooManyObjects { .. }
            | Error::UnorderedVersion { .. }
            | Error::Certificate { .. } => Retryability::Fatal(ErrorClass::Infrastructure),
            Error::Untrusted { .. } | Error::LeaseHeld { .. } | Error::LeaseLost { .. } => {
                Retryability::Fatal(ErrorClass::Unreachable)
            }
        }
    }

    /// The failure as the planner records it: fatal, or retried too often.
    pub(crate) fn failure(&self) -> Failure {
        let class = match self.retryability() {
            Retryability::Fatal(class) => class,
            Retryability::Retry => ErrorClass::Unreachable,
            Retryability::Replan => ErrorClass::Infrastructure,
        };
        Failure::new(class, self.to_string())
    }

    /// True if the request may have been carried out nevertheless.
    pub(crate) fn is_ambiguous(&self) -> bool {
        match self {
            Error::Unreachable { .. }
            | Error::Timeout { .. }
            | Error::InvalidResponse { .. }
            | Error::ResponseTooLarge { .. } => true,
            Error::Server { code, .. } => *code >= 500,
            _ => false,
        }
    }

    /// True if nothing listens at the address, or it is unreachable.
    pub(crate) fn is_connection_failure(&self) -> bool {
        use std::io::ErrorKind;
        let Error::Unreachable { source, .. } = self else {
            return false;
        };
        let source: &(dyn StdError + 'static) = source.as_ref();
        // These end an established connection.
        error_chain(source)
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

    pub(crate) fn too_large(what: &RequestInfo) -> Error {
        Error::ResponseTooLarge { what: what.clone() }
    }

    /// Classifies by code and reason. The message of the quota admission is the only text that is inspected, since its
    /// status is otherwise the same as that of a missing permission.
    pub(crate) fn from_status(what: RequestInfo, server: &str, status: &Status) -> Error {
        let message = single_line(&status.message);
        let retry_after = status
            .details
            .as_ref()
            .and_then(|it| (it.retry_after_seconds > 0).then_some(it.retry_after_seconds))
            .map(|it| Duration::from_secs(it.into()).min(MAX_RETRY_AFTER));
        match (status.code, status.reason.as_str()) {
            (401, _) => Error::Unauthenticated {
                server: server.to_owned(),
                message,
            },
            (403, _) => match message.find("exceeded quota") {
                Some(at) => Error::QuotaExceeded {
                    message: message[at..].to_owned(),
                    what,
                },
                None => Error::Forbidden { what, message },
            },
            (404, _) => match missing_namespace(&what, status) {
                Some(name) => Error::NamespaceNotFound(name.to_owned()),
                None => Error::NotFound { what },
            },
            (_, "AlreadyExists") => Error::AlreadyExists { what },
            (409, _) => Error::Conflict { what },
            (410, _) => Error::Expired { what },
            (429, _) => Error::Throttled {
                what,
                message,
                retry_after,
            },
            // The server's own deadline, with a time to retry after.
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
            _ => Error::Rejected { what, message },
        }
    }

    pub(crate) fn from_client(what: RequestInfo, server: &str, error: kube::Error) -> Error {
        let server = server.to_owned();
        match error {
            kube::Error::Api(status) => Error::from_status(what, &server, &status),
            kube::Error::Auth(error) => Error::Credentials {
                server,
                message: credentials_message(&error),
            },
            kube::Error::SerdeError(error) => Error::InvalidResponse {
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

/// A write to a missing namespace is answered as if the object were missing.
fn missing_namespace<'a>(what: &RequestInfo, status: &'a Status) -> Option<&'a str> {
    let details = status.details.as_ref()?;
    (details.kind == "namespaces" && &*what.resource != "namespaces").then_some(&*details.name)
}

/// The output of a credential plugin may hold the credential, so only its name and exit status are shown.
fn credentials_message(error: &kube::client::AuthError) -> String {
    match error {
        kube::client::AuthError::AuthExecRun { cmd, out } => {
            // The environment precedes the program, as JSON.
            let program = cmd.split("}\" \"").nth(1);
            let program = program.and_then(|it| it.split('"').next());
            let program = program.unwrap_or("the credential plugin");
            format!("{program} exited with {}", out.status)
        }
        kube::client::AuthError::AuthExecParse(_) => {
            "the credential plugin did not print an ExecCredential".to_owned()
        }
        other => other.to_string(),
    }
}

/// True for a certificate that is not trusted; a retry does not help.
fn is_untrusted(error: &(dyn StdError + 'static)) -> bool {
    error_chain(error).any(|it| {
        let kind = it.downcast_ref::<std::io::Error>().map(|it| it.kind());
        kind == Some(std::io::ErrorKind::InvalidData)
    })
}

/// Errors from the outermost to the innermost, including those wrapped in I/O errors, which `source` skips.
fn error_chain<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |it| next_source(*it))
}

fn next_source<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    let wrapped = error
        .downcast_ref::<std::io::Error>()
        .and_then(|it| it.get_ref());
    match wrapped {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}

/// The innermost error describes what happened; the outer ones only name the layers.
fn root_cause(error: &(dyn StdError + 'static)) -> String {
    let deepest = error_chain(error).last().unwrap_or(error);
    single_line(&deepest.to_string())
}

/// The most bytes of a text of a server that an error shows.
const MAX_TEXT: usize = 4_000;

/// Collapses white space, so that the text fits into a sentence, and cuts what is longer than any sentence.
fn single_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > MAX_TEXT {
            line.truncate(line.floor_char_boundary(MAX_TEXT));
            return line + "…";
        }
    }
    line
}

fn lease_held_message(holder: &str, since: Option<i64>) -> String {
    let since = since
        .and_then(|it| jiff::Timestamp::from_second(it).ok())
        .map_or_else(String::new, |it| format!(" since {it}"));
    format!("the shoot is locked by {holder}{since}")
}

impl fmt::Display for RequestInfo {
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
