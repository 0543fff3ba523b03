//! A reverse proxy between the program and the sandbox's API server: it numbers requests, and makes trouble on demand.
//!
//! Behind the trouble stands the real server. What was let through is carried out even when the program is gone.

use super::kvshoot::Kvshoot;
use super::provider::Provider;
use futures::StreamExt;
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use jiff::SignedDuration;
use kube::client::Body;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

/// Ends a connection.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("cut")]
    Cut,
    #[error(transparent)]
    Below(#[from] hyper::Error),
    #[error(transparent)]
    Above(#[from] kube::Error),
    #[error(transparent)]
    Head(#[from] http::Error),
    #[error(transparent)]
    Forwarding(#[from] tokio::task::JoinError),
}

type Answer = Response<UnsyncBoxBody<Bytes, Fault>>;
type Script = Arc<dyn Fn(&RecordedRequest) -> Reaction + Send + Sync>;

pub(crate) const LEASES: &str = "leases.coordination.k8s.io";
/// How long the program has to make something of an answer before it is killed, unless it asks for more before.
const AFTER_ANSWER: Duration = Duration::from_millis(30);

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordedRequest {
    /// As in a Role.
    pub(crate) verb: &'static str,
    /// As in a Role: `virtualmachines.kubevirt.io`.
    pub(crate) resource: String,
    pub(crate) name: String,
    /// Its number among the writes, from 1; 0 for a read, a question about rights, and what concerns the lease.
    pub(crate) write: usize,
    /// Its number among those of the same verb and resource, from 1.
    pub(crate) nth: usize,
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reaction {
    Forward,
    /// Forwarded after a while.
    Delay(Duration),
    /// Answered with this code and never forwarded; seconds for `Retry-After`.
    Answer(u16, Option<u32>),
    /// The connection ends; forwarded before that, or not.
    Reset {
        forwarded: bool,
    },
    /// No answer ever comes; forwarded all the same, or not.
    Swallow {
        forwarded: bool,
    },
    /// A watch that tells with its first event that it is too old.
    Expired,
    Kill(Phase),
}

/// When the program is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Before,
    Unanswered,
    Answered,
}

pub(crate) struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    listening: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    client: kube::Client,
    state: Mutex<State>,
    /// Nothing gets through, in neither direction.
    frozen: watch::Sender<bool>,
    victim: watch::Sender<Option<Pid>>,
    /// How far the server's clock is ahead, as it tells it.
    ahead: Mutex<SignedDuration>,
    /// Ends the watches there are.
    cut: Notify,
    /// A request came while the program was about to be killed.
    asked: Notify,
}

struct State {
    script: Script,
    seen: Vec<RecordedRequest>,
    writes: usize,
    counts: HashMap<(&'static str, String), usize>,
    /// The program is about to be killed: nothing more gets through.
    closed: bool,
}

impl Proxy {
    pub(crate) fn new(provider: &Provider) -> Proxy {
        let (frozen, victim) = (watch::Sender::new(false), watch::Sender::new(None));
        let shared = Arc::new(Shared {
            client: provider.client(),
            state: Mutex::new(State::new(Arc::new(|_| Reaction::Forward))),
            frozen,
            victim,
            ahead: Mutex::default(),
            cut: Notify::new(),
            asked: Notify::new(),
        });
        let listener = provider.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let proxy = Proxy {
            address: listener.local_addr().unwrap(),
            shared,
            listening: Mutex::default(),
        };
        proxy.listen(provider, listener);
        proxy
    }

    /// The program with this proxy in place of the API server.
    pub(crate) fn kvshoot(&self, provider: &Provider) -> Kvshoot {
        let text = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "proxy",
            "clusters": [{ "name": "proxy", "cluster": { "server": format!("http://{}", self.address) } }],
            "users": [{ "name": "proxy", "user": {} }],
            "contexts": [{ "name": "proxy", "context": {
                "cluster": "proxy", "user": "proxy", "namespace": provider.namespace,
            } }],
        });
        let kvshoot = Kvshoot::new().file("proxy.kubeconfig", &text.to_string());
        let path = kvshoot.home().join("proxy.kubeconfig");
        kvshoot.env("KUBECONFIG", path.to_str().unwrap())
    }

    /// Decides from now on; numbers begin anew, and who was killed is forgotten.
    pub(crate) fn script(
        &self,
        script: impl Fn(&RecordedRequest) -> Reaction + Send + Sync + 'static,
    ) {
        *self.shared.state() = State::new(Arc::new(script));
        self.shared.victim.send_replace(None);
    }

    /// Lets all through from now on.
    pub(crate) fn forward_all(&self) {
        self.script(|_| Reaction::Forward);
    }

    /// Whom [`Reaction::Kill`] kills. Requests to be killed at wait for this to be known.
    pub(crate) fn victim(&self, pid: Pid) {
        self.shared.victim.send_replace(Some(pid));
    }

    /// From now on the server says that it is so many hours later.
    pub(crate) fn advance_clock(&self, hours: i64) {
        *self.shared.ahead.lock().unwrap() = SignedDuration::from_hours(hours);
    }

    pub(crate) fn freeze(&self, frozen: bool) {
        self.shared.frozen.send_replace(frozen);
    }

    pub(crate) fn cut_watches(&self) {
        self.shared.cut.notify_waiters();
    }

    /// Connections end, and new ones are refused.
    pub(crate) fn shut_down(&self) {
        if let Some(listening) = self.listening.lock().unwrap().take() {
            listening.abort();
        }
    }

    pub(crate) fn restart(&self, provider: &Provider) {
        let listener = provider.block_on(TcpListener::bind(self.address)).unwrap();
        self.listen(provider, listener);
    }

    /// All requests since the script was given.
    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.state().seen.clone()
    }

    /// All writes since then, but for those to the lease.
    pub(crate) fn writes(&self) -> Vec<RecordedRequest> {
        let mut seen = self.requests();
        seen.retain(|it| it.write > 0);
        seen
    }

    fn listen(&self, provider: &Provider, listener: TcpListener) {
        let shared = self.shared.clone();
        provider.block_on(async {
            let listening = tokio::spawn(accept(listener, shared));
            *self.listening.lock().unwrap() = Some(listening);
        });
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shut_down();
    }
}

/// Connections end with it.
async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        // Else small answers wait for what nobody sends.
        stream.set_nodelay(true).unwrap();
        let shared = shared.clone();
        let service = service_fn(move |request| {
            let shared = shared.clone();
            async move { shared.serve(request).await }
        });
        connections.spawn(async move {
            let server = hyper::server::conn::http1::Builder::new();
            // An error is how a connection is cut.
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

impl State {
    fn new(script: Script) -> State {
        State {
            script,
            seen: Vec::new(),
            writes: 0,
            counts: HashMap::new(),
            closed: false,
        }
    }

    /// Numbers it, and says what becomes of it; nothing when the program is about to be killed.
    fn note(&mut self, verb: &'static str, resource: String, name: String) -> Option<Reaction> {
        if self.closed {
            return None;
        }
        let is_write = !matches!(verb, "get" | "list" | "watch");
        let is_beside = resource == LEASES || resource.ends_with(".authorization.k8s.io");
        let counts = is_write && !is_beside;
        self.writes += usize::from(counts);
        let nth = self.counts.entry((verb, resource.clone())).or_default();
        *nth += 1;
        let seen = RecordedRequest {
            verb,
            resource,
            name,
            write: if counts { self.writes } else { 0 },
            nth: *nth,
        };
        let act = (self.script)(&seen);
        self.seen.push(seen);
        self.closed = matches!(act, Reaction::Kill(_));
        Some(act)
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|it| it.into_inner())
    }

    async fn serve(self: Arc<Self>, request: Request<Incoming>) -> Result<Answer, Fault> {
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        self.wait_while_frozen().await;
        let (verb, resource, name) = read(&head, &body);
        let act = self.state().note(verb, resource, name);
        let Some(act) = act else {
            self.asked.notify_one();
            return std::future::pending().await;
        };
        let forward = async {
            let shared = self.clone();
            // On its own, so that it is carried out whatever becomes of the program.
            tokio::spawn(async move { shared.forward(head, body).await }).await?
        };
        match act {
            Reaction::Forward => forward.await,
            Reaction::Delay(time) => {
                sleep(time).await;
                forward.await
            }
            Reaction::Answer(code, retry_after) => Ok(status(code, retry_after)),
            Reaction::Reset { forwarded } => {
                if forwarded {
                    whole(forward.await?).await?;
                }
                Err(Fault::Cut)
            }
            Reaction::Swallow { forwarded } => {
                if forwarded {
                    whole(forward.await?).await?;
                }
                std::future::pending().await
            }
            Reaction::Expired => Ok(expired()),
            Reaction::Kill(Phase::Before) => self.kill().await,
            Reaction::Kill(Phase::Unanswered) => {
                whole(forward.await?).await?;
                self.kill().await
            }
            Reaction::Kill(Phase::Answered) => {
                let answer = whole(forward.await?).await?;
                tokio::spawn(async move {
                    tokio::select! {
                        () = self.asked.notified() => {}
                        () = sleep(AFTER_ANSWER) => {}
                    }
                    self.kill().await
                });
                Ok(answer)
            }
        }
    }

    /// Never answers.
    async fn kill(&self) -> Result<Answer, Fault> {
        let mut victim = self.victim.subscribe();
        // The sender is in `self`. It may have come to its own end after the last answer.
        if let Ok(Some(pid)) = victim.wait_for(Option::is_some).await.map(|it| *it) {
            let _ = kill_process(pid, Signal::KILL);
        }
        std::future::pending().await
    }

    async fn forward(
        self: Arc<Self>,
        head: http::request::Parts,
        body: Bytes,
    ) -> Result<Answer, Fault> {
        let mut request = Request::builder()
            .method(head.method)
            .uri(head.uri.path_and_query().unwrap().as_str());
        for name in [http::header::ACCEPT, http::header::CONTENT_TYPE] {
            if let Some(value) = head.headers.get(&name) {
                request = request.header(name, value);
            }
        }
        let request = request.body(Body::from(body.to_vec()))?;
        let answer = self.client.send(request).await?;
        let (mut head, body) = answer.into_parts();
        // Of this hop alone.
        for name in [http::header::TRANSFER_ENCODING, http::header::CONNECTION] {
            head.headers.remove(name);
        }
        if let Some(date) = head.headers.get_mut(http::header::DATE) {
            let ahead = *self.ahead.lock().unwrap();
            *date = moved(date.to_str().unwrap(), ahead).parse().unwrap();
        }
        let frames = futures::stream::unfold((body, self), |(mut body, shared)| async {
            let frame = tokio::select! {
                frame = body.frame() => frame?.map_err(Fault::from),
                () = shared.cut.notified() => Err(Fault::Cut),
            };
            shared.wait_while_frozen().await;
            Some((frame, (body, shared)))
        });
        Ok(Response::from_parts(
            head,
            StreamBody::new(frames).boxed_unsync(),
        ))
    }

    async fn wait_while_frozen(&self) {
        let mut frozen = self.frozen.subscribe();
        // The sender is in `self`, so there is no end to wait for.
        let _ = frozen.wait_for(|it| !it).await;
    }
}

/// Waits for something that comes soon if at all.
pub(crate) fn wait_until(condition: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(180);
    while !condition() {
        assert!(Instant::now() < end, "it does not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Reads the answer to its end.
async fn whole(answer: Answer) -> Result<Answer, Fault> {
    let (head, body) = answer.into_parts();
    let body = body.collect().await?.to_bytes();
    Ok(Response::from_parts(head, full(body)))
}

fn full(body: impl Into<Bytes>) -> UnsyncBoxBody<Bytes, Fault> {
    let body = Full::new(body.into());
    body.map_err(|never| match never {}).boxed_unsync()
}

fn reason(code: u16) -> &'static str {
    match code {
        403 => "Forbidden",
        409 => "Conflict",
        410 => "Expired",
        422 => "Invalid",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        _ => "Unknown",
    }
}

fn failure(code: u16) -> serde_json::Value {
    serde_json::json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "metadata": {},
        "code": code, "reason": reason(code), "message": "made up by the proxy",
    })
}

fn status(code: u16, retry_after: Option<u32>) -> Answer {
    let mut answer = Response::new(full(failure(code).to_string()));
    *answer.status_mut() = StatusCode::from_u16(code).unwrap();
    if let Some(seconds) = retry_after {
        let headers = answer.headers_mut();
        headers.insert(http::header::RETRY_AFTER, seconds.into());
    }
    answer
}

fn expired() -> Answer {
    let event = serde_json::json!({ "type": "ERROR", "object": failure(410) });
    let line = Bytes::from(format!("{event}\n"));
    let frames = futures::stream::iter([Ok(Frame::data(line))]);
    Response::new(StreamBody::new(frames.boxed()).boxed_unsync())
}

/// A date as HTTP has it, so much later.
fn moved(date: &str, ahead: SignedDuration) -> String {
    const FORM: &str = "%a, %d %b %Y %H:%M:%S GMT";
    let date = jiff::civil::DateTime::strptime(FORM, date).unwrap();
    (date + ahead).strftime(FORM).to_string()
}

/// Verb, resource and name, as a Role has them.
fn read(head: &http::request::Parts, body: &[u8]) -> (&'static str, String, String) {
    let parts: Vec<&str> = head.uri.path().split('/').skip(1).collect();
    let (group, rest) = match parts.as_slice() {
        ["api", _, rest @ ..] => ("", rest),
        ["apis", group, _, rest @ ..] => (*group, rest),
        other => ("", other),
    };
    let rest = match rest {
        ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
        other => other,
    };
    let plural = rest.first().copied().unwrap_or("discovery");
    let resource = match group {
        "" => plural.to_owned(),
        _ => format!("{plural}.{group}"),
    };
    let is_watch = head.uri.query().is_some_and(|it| it.contains("watch=true"));
    let verb = match (head.method.as_str(), rest.len()) {
        ("GET", _) if is_watch => "watch",
        ("GET", 1) => "list",
        ("GET", _) => "get",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        _ => "delete",
    };
    let named = || {
        let object: serde_json::Value = serde_json::from_slice(body).ok()?;
        Some(object["metadata"]["name"].as_str()?.to_owned())
    };
    let name = match rest.get(1) {
        Some(name) => (*name).to_owned(),
        None => named().unwrap_or_default(),
    };
    (verb, resource, name)
}
