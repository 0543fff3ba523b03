//! A reverse proxy between the program and the API server of the sandbox. It numbers requests and injects faults.
//!
//! The real server handles all forwarded requests, even after the program has been killed.

use super::kvshoot::Kvshoot;
use super::provider::Provider;
use futures::StreamExt;
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
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

/// An error that ends a connection.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("cut")]
    Cut,
    #[error(transparent)]
    Client(#[from] hyper::Error),
    #[error(transparent)]
    Server(#[from] kube::Error),
    #[error(transparent)]
    Head(#[from] http::Error),
    #[error(transparent)]
    Forwarding(#[from] tokio::task::JoinError),
}

type Answer = Response<UnsyncBoxBody<Bytes, Fault>>;
type Script = Arc<dyn Fn(&RecordedRequest) -> Reaction + Send + Sync>;

pub(crate) const LEASES: &str = "leases.coordination.k8s.io";
/// Time between a response and the kill, in which the program can handle the response; its next request ends it early.
const AFTER_ANSWER: Duration = Duration::from_millis(30);

/// A request that the proxy has received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordedRequest {
    /// Verb as in a Role.
    pub(crate) verb: &'static str,
    /// Resource and group, for example `virtualmachines.kubevirt.io`; a subresource follows after a slash.
    pub(crate) resource: String,
    pub(crate) name: String,
    /// Number among the writes, from 1; 0 for reads, access reviews and leases.
    pub(crate) write: usize,
    /// Number among the requests with the same verb and resource, from 1.
    pub(crate) nth: usize,
}

/// The reaction of the proxy to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reaction {
    Forward,
    /// Forwards the request after a delay.
    Delay(Duration),
    /// Responds with this code, without forwarding; `Retry-After` in seconds.
    Answer(u16, Option<u32>),
    /// Closes the connection; forwards the request before that if `forwarded`.
    Reset {
        forwarded: bool,
    },
    /// Never responds; forwards the request if `forwarded`.
    Swallow {
        forwarded: bool,
    },
    /// Responds with a watch whose first event is the error 410 (expired).
    Expired,
    Kill(Phase),
}

/// Time of the kill: before the request is forwarded, before the response, or after it.
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
    /// Blocks both directions.
    frozen: watch::Sender<bool>,
    victim: watch::Sender<Option<Pid>>,
    /// Offset of the server's clock in its Date headers.
    ahead: Mutex<SignedDuration>,
    /// Ends all watches.
    cut: Notify,
    /// A request arrived while a kill is pending.
    next_request: Notify,
}

struct State {
    script: Script,
    requests: Vec<RecordedRequest>,
    writes: usize,
    counts: HashMap<(&'static str, String), usize>,
    /// A kill is pending: no request is forwarded.
    closed: bool,
}

impl Proxy {
    pub(crate) fn new(provider: &Provider) -> Proxy {
        Proxy::with_client(provider, provider.client())
    }

    /// Forwards with the credentials of this client.
    pub(crate) fn with_client(provider: &Provider, client: kube::Client) -> Proxy {
        let (frozen, victim) = (watch::Sender::new(false), watch::Sender::new(None));
        let shared = Arc::new(Shared {
            client,
            state: Mutex::new(State::new(Arc::new(|_| Reaction::Forward))),
            frozen,
            victim,
            ahead: Mutex::default(),
            cut: Notify::new(),
            next_request: Notify::new(),
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

    /// Returns the program with this proxy as the API server.
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

    /// Sets the script. Resets the recorded requests, the numbers and the victim.
    pub(crate) fn script(
        &self,
        script: impl Fn(&RecordedRequest) -> Reaction + Send + Sync + 'static,
    ) {
        *self.shared.state() = State::new(Arc::new(script));
        self.shared.victim.send_replace(None);
    }

    /// Forwards all requests from now on.
    pub(crate) fn forward_all(&self) {
        self.script(|_| Reaction::Forward);
    }

    /// Sets the process that [`Reaction::Kill`] kills. Such requests wait until it is set.
    pub(crate) fn victim(&self, pid: Pid) {
        self.shared.victim.send_replace(Some(pid));
    }

    /// Sets the clock of the server forward, in its responses.
    pub(crate) fn advance_clock(&self, hours: i64) {
        *self.shared.ahead.lock().unwrap() = SignedDuration::from_hours(hours);
    }

    pub(crate) fn freeze(&self, frozen: bool) {
        self.shared.frozen.send_replace(frozen);
    }

    pub(crate) fn cut_watches(&self) {
        self.shared.cut.notify_waiters();
    }

    /// Closes all connections and refuses new ones.
    pub(crate) fn shut_down(&self) {
        if let Some(listening) = self.listening.lock().unwrap().take() {
            listening.abort();
        }
    }

    pub(crate) fn restart(&self, provider: &Provider) {
        let listener = provider.block_on(TcpListener::bind(self.address)).unwrap();
        self.listen(provider, listener);
    }

    /// Returns all requests since the script was set.
    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.state().requests.clone()
    }

    /// Returns the writes since then, without those of leases.
    pub(crate) fn writes(&self) -> Vec<RecordedRequest> {
        let mut requests = self.requests();
        requests.retain(|it| it.write > 0);
        requests
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

/// Accepts connections, which are closed when the task is aborted.
async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        // Otherwise Nagle's algorithm delays small responses.
        stream.set_nodelay(true).unwrap();
        let shared = shared.clone();
        let service = service_fn(move |request| {
            let shared = shared.clone();
            async move { shared.serve(request).await }
        });
        connections.spawn(async move {
            let server = hyper::server::conn::http1::Builder::new();
            // The service returns an error to close the connection.
            let connection = server.serve_connection(TokioIo::new(stream), service);
            let _ = connection.with_upgrades().await;
        });
    }
}

impl State {
    fn new(script: Script) -> State {
        State {
            script,
            requests: Vec::new(),
            writes: 0,
            counts: HashMap::new(),
            closed: false,
        }
    }

    /// Records a request and returns the reaction to it; None while a kill is pending.
    fn record(&mut self, verb: &'static str, resource: String, name: String) -> Option<Reaction> {
        if self.closed {
            return None;
        }
        let is_write = !matches!(verb, "get" | "list" | "watch");
        let is_uncounted = resource == LEASES || resource.ends_with(".authorization.k8s.io");
        let counts = is_write && !is_uncounted;
        self.writes += usize::from(counts);
        let nth = self.counts.entry((verb, resource.clone())).or_default();
        *nth += 1;
        let request = RecordedRequest {
            verb,
            resource,
            name,
            write: if counts { self.writes } else { 0 },
            nth: *nth,
        };
        let act = (self.script)(&request);
        self.requests.push(request);
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
        let act = self.state().record(verb, resource, name);
        let Some(act) = act else {
            self.next_request.notify_one();
            return std::future::pending().await;
        };
        let forward = async {
            let shared = self.clone();
            // A separate task, so that the request completes even if the program is killed.
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
                    buffered(forward.await?).await?;
                }
                Err(Fault::Cut)
            }
            Reaction::Swallow { forwarded } => {
                if forwarded {
                    buffered(forward.await?).await?;
                }
                std::future::pending().await
            }
            Reaction::Expired => Ok(expired()),
            Reaction::Kill(Phase::Before) => self.kill().await,
            Reaction::Kill(Phase::Unanswered) => {
                buffered(forward.await?).await?;
                self.kill().await
            }
            Reaction::Kill(Phase::Answered) => {
                let answer = buffered(forward.await?).await?;
                tokio::spawn(async move {
                    tokio::select! {
                        () = self.next_request.notified() => {}
                        () = sleep(AFTER_ANSWER) => {}
                    }
                    self.kill().await
                });
                Ok(answer)
            }
        }
    }

    /// Kills the victim and never responds.
    async fn kill(&self) -> Result<Answer, Fault> {
        let mut victim = self.victim.subscribe();
        // The sender is in `self`. The program may have exited after the last response.
        if let Ok(Some(pid)) = victim.wait_for(Option::is_some).await.map(|it| *it) {
            let _ = kill_process(pid, Signal::KILL);
        }
        std::future::pending().await
    }

    async fn forward(
        self: Arc<Self>,
        mut head: http::request::Parts,
        body: Bytes,
    ) -> Result<Answer, Fault> {
        let tunnel = head.extensions.remove::<OnUpgrade>();
        let mut request = Request::builder()
            .method(head.method)
            .uri(head.uri.path_and_query().unwrap().as_str());
        let is_tunnel = head.headers.contains_key(http::header::UPGRADE);
        for (name, value) in &head.headers {
            let is_content = [http::header::ACCEPT, http::header::CONTENT_TYPE].contains(name);
            if is_content || (is_tunnel && name != http::header::HOST) {
                request = request.header(name, value);
            }
        }
        let request = request.body(Body::from(body.to_vec()))?;
        let mut answer = self.client.send(request).await?;
        if let Some(tunnel) = tunnel
            && answer.status() == StatusCode::SWITCHING_PROTOCOLS
        {
            let server = hyper::upgrade::on(&mut answer);
            tokio::spawn(carry(tunnel, server));
            return Ok(answer.map(|_| full(Bytes::new())));
        }
        let (mut head, body) = answer.into_parts();
        // Hop-by-hop headers.
        for name in [http::header::TRANSFER_ENCODING, http::header::CONNECTION] {
            head.headers.remove(name);
        }
        if let Some(date) = head.headers.get_mut(http::header::DATE) {
            let ahead = *self.ahead.lock().unwrap();
            *date = shifted(date.to_str().unwrap(), ahead).parse().unwrap();
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
        // The sender is in `self`, so this cannot fail.
        let _ = frozen.wait_for(|it| !it).await;
    }
}

/// Carries a tunnel, such as that of a port-forward.
async fn carry(client: OnUpgrade, server: OnUpgrade) {
    if let Ok((client, server)) = tokio::try_join!(client, server) {
        let (mut client, mut server) = (TokioIo::new(client), TokioIo::new(server));
        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
    }
}

/// Waits until a condition holds, at most 3 minutes.
pub(crate) fn wait_until(condition: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(180);
    while !condition() {
        assert!(Instant::now() < end, "timed out waiting for a condition");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Reads the complete response.
async fn buffered(answer: Answer) -> Result<Answer, Fault> {
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
        "code": code, "reason": reason(code), "message": "injected by the proxy",
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

/// Shifts a date in the format of HTTP.
fn shifted(date: &str, ahead: SignedDuration) -> String {
    const FORM: &str = "%a, %d %b %Y %H:%M:%S GMT";
    let date = jiff::civil::DateTime::strptime(FORM, date).unwrap();
    (date + ahead).strftime(FORM).to_string()
}

/// Returns verb, resource and name, as in a Role.
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
    let mut resource = match group {
        "" => plural.to_owned(),
        _ => format!("{plural}.{group}"),
    };
    if let Some(subresource) = rest.get(2) {
        resource = format!("{resource}/{subresource}");
    }
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
