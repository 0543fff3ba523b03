//! API servers in memory, of a provider cluster and of a shoot, that accept everything and may answer with anything.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

/// Port of the API servers of shoots.
const API_PORT: u16 = 6443;
/// What every group serves.
const RESOURCES: [&str; 9] = [
    "configmaps",
    "secrets",
    "services",
    "virtualmachines",
    "virtualmachineinstances",
    "virtualmachineinstancetypes",
    "virtualmachinepreferences",
    "datavolumes",
    "datavolumes/source",
];

/// A request, as a server reads it.
pub(super) struct FakeRequest {
    /// Of the shoot's API server.
    pub(super) of_shoot: bool,
    method: String,
    path: String,
    query: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl FakeRequest {
    pub(super) fn is_watch(&self) -> bool {
        self.query.contains_key("watch")
    }

    pub(super) fn is_list(&self) -> bool {
        let in_group = usize::from(self.path.starts_with("/apis/"));
        let parts = self.path.split('/').filter(|it| !it.is_empty()).count() - in_group;
        let parts = parts - 2 * usize::from(self.path.contains("/namespaces/"));
        self.method == "GET" && !self.is_watch() && parts == 3
    }

    /// True if the path ends so.
    pub(super) fn is_for(&self, end: &str) -> bool {
        self.path.ends_with(end)
    }

    /// The labels that the objects must have.
    pub(super) fn selected_labels(&self) -> Value {
        let selector = self.query.get("labelSelector").map_or("", String::as_str);
        let pairs = selector.split(',').filter_map(|it| it.split_once('='));
        let pairs = pairs.filter(|it| !it.0.ends_with('!'));
        pairs
            .map(|(key, value)| (key.to_owned(), Value::from(value)))
            .collect()
    }
}

/// Writes an answer instead of a server, which may never end.
pub(super) type Attack = fn(&FakeRequest, &mut dyn Write) -> io::Result<()>;
/// Selects the requests that are answered by an attack.
pub(super) type Target = fn(&FakeRequest) -> bool;

/// Both servers. Connections end with the program that opened them.
pub(super) struct FakeApi {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    /// Objects by path, of both servers.
    objects: Mutex<BTreeMap<(bool, String), Value>>,
    version: Mutex<u64>,
    attack: Mutex<Option<(Target, Attack)>>,
    /// Address of the shoot's API server.
    shoot: Ipv4Addr,
}

impl FakeApi {
    pub(super) fn start() -> FakeApi {
        // The port is always the same, so that each shoot has an address of its own.
        static NUMBER: AtomicU8 = AtomicU8::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let shared = Arc::new(Shared {
            objects: Mutex::default(),
            version: Mutex::new(1),
            attack: Mutex::default(),
            shoot: Ipv4Addr::new(
                127,
                91,
                u8::try_from(std::process::id() % 250).unwrap(),
                number,
            ),
        });
        let fake = FakeApi {
            address: listener.local_addr().unwrap(),
            shared: shared.clone(),
        };
        thread::spawn(move || {
            for connection in listener.incoming() {
                let shared = shared.clone();
                thread::spawn(move || {
                    let stream = connection.unwrap();
                    stream.set_nodelay(true).unwrap();
                    let _ = shared.serve(BufReader::new(stream), false);
                });
            }
        });
        fake
    }

    pub(super) fn kubeconfig(&self) -> String {
        let address = self.address;
        format!(
            "clusters: [{{name: a, cluster: {{server: 'http://{address}'}}}}]\n\
             contexts: [{{name: a, context: {{cluster: a, namespace: shoots}}}}]\ncurrent-context: a\n"
        )
    }

    pub(super) fn attack(&self, target: Target, attack: Attack) {
        *self.shared.attack.lock().unwrap() = Some((target, attack));
    }

    /// Objects of the provider cluster whose path ends so.
    pub(super) fn objects(&self, end: &str) -> Vec<Value> {
        let objects = self.shared.objects();
        let objects = objects.iter().filter(|it| !it.0.0 && it.0.1.ends_with(end));
        objects.map(|it| it.1.clone()).collect()
    }

    /// Creates an object in the provider cluster.
    pub(super) fn create(&self, collection: &str, object: Value) {
        let request = FakeRequest {
            of_shoot: false,
            method: "POST".to_owned(),
            path: collection.to_owned(),
            query: BTreeMap::new(),
            body: object.to_string().into_bytes(),
        };
        assert_eq!(self.shared.answer(&request).0, 201, "{object}");
    }

    /// Serves the API of the shoot, with a certificate of the authority in this Secret.
    pub(super) fn serve_shoot(&self, authority: &Value) {
        let pem = |key: &str| {
            let text = STANDARD.decode(authority["data"][key].as_str().unwrap());
            String::from_utf8(text.unwrap()).unwrap()
        };
        let config = Arc::new(tls_config(
            &pem("tls.crt"),
            &pem("tls.key"),
            self.shared.shoot,
        ));
        let listener = TcpListener::bind((self.shared.shoot, API_PORT)).unwrap();
        let shared = self.shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (shared, config) = (shared.clone(), config.clone());
                thread::spawn(move || {
                    let stream: TcpStream = stream.unwrap();
                    stream.set_nodelay(true).unwrap();
                    let connection = rustls::ServerConnection::new(config).unwrap();
                    let stream = rustls::StreamOwned::new(connection, stream);
                    let _ = shared.serve(BufReader::new(stream), true);
                });
            }
        });
    }
}

fn tls_config(authority: &str, key: &str, address: Ipv4Addr) -> rustls::ServerConfig {
    let key = rcgen::KeyPair::from_pem(key).unwrap();
    let issuer = rcgen::Issuer::from_ca_cert_pem(authority, key).unwrap();
    let own = rcgen::KeyPair::generate().unwrap();
    let names = vec![address.to_string()];
    let params = rcgen::CertificateParams::new(names).unwrap();
    let certificate = params.signed_by(&own, &issuer).unwrap();
    let own = rustls::pki_types::PrivateKeyDer::try_from(own.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let builder = builder.with_no_client_auth();
    builder
        .with_single_cert(vec![certificate.der().clone()], own)
        .unwrap()
}

impl Shared {
    fn objects(&self) -> MutexGuard<'_, BTreeMap<(bool, String), Value>> {
        self.objects.lock().unwrap()
    }

    /// Answers the requests of a connection.
    fn serve<S: Read + Write>(&self, mut stream: BufReader<S>, of_shoot: bool) -> io::Result<()> {
        while let Some(request) = read_request(&mut stream, of_shoot)? {
            let attack = *self.attack.lock().unwrap();
            let out = stream.get_mut();
            if let Some((target, attack)) = attack
                && target(&request)
            {
                attack(&request, out)?;
                continue;
            }
            if request.is_watch() {
                write!(
                    out,
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
                )?;
                out.flush()?;
                // No events, until the client ends the connection.
                let _ = stream.read(&mut [0])?;
                return Ok(());
            }
            let (code, body) = self.answer(&request);
            respond(out, code, body.to_string().as_bytes())?;
        }
        Ok(())
    }

    fn answer(&self, request: &FakeRequest) -> (u16, Value) {
        let path = request.path.as_str();
        let key = (request.of_shoot, path.to_owned());
        if path == "/version" {
            let version = json!({ "major": "1", "minor": "34", "gitVersion": "v1.34.1" });
            return (200, version);
        }
        if path.matches('/').count() < 3
            || (path.starts_with("/apis/") && path.matches('/').count() < 4)
        {
            let named =
                |it: &str| json!({ "name": it, "kind": it, "namespaced": true, "verbs": ["get"] });
            return (200, json!({ "resources": RESOURCES.map(named) }));
        }
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        if request.method == "POST" && path.contains("/authorization.k8s.io/") {
            let all = json!({ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] });
            let status = json!({ "allowed": true, "incomplete": false, "resourceRules": [all], "nonResourceRules": [] });
            return (201, json!({ "metadata": {}, "spec": {}, "status": status }));
        }
        match request.method.as_str() {
            "GET" if request.is_list() => self.list(request),
            "POST" => {
                let name = body["metadata"]["name"].as_str().unwrap_or_default();
                let key = (request.of_shoot, format!("{path}/{name}"));
                if self.objects().contains_key(&key) {
                    return failure(409, "AlreadyExists");
                }
                let object = self.created(path, body);
                self.objects().insert(key, object.clone());
                (201, object)
            }
            "DELETE" => match self.objects().remove(&key) {
                Some(object) => (200, object),
                None => failure(404, "NotFound"),
            },
            method => {
                let mut objects = self.objects();
                let Some(object) = objects.get_mut(&key) else {
                    return failure(404, "NotFound");
                };
                match method {
                    "PUT" => {
                        let before = object["metadata"].take();
                        *object = body;
                        for field in ["uid", "creationTimestamp", "generation"] {
                            object["metadata"][field] = before[field].clone();
                        }
                    }
                    "PATCH" => merge(object, &body),
                    _ => return (200, object.clone()),
                }
                object["metadata"]["resourceVersion"] = self.next_version();
                (200, object.clone())
            }
        }
    }

    fn next_version(&self) -> Value {
        let mut version = self.version.lock().unwrap();
        *version += 1;
        version.to_string().into()
    }

    fn list(&self, request: &FakeRequest) -> (u16, Value) {
        let selected = request.selected_labels();
        let selected = selected.as_object().unwrap();
        let start = format!("{}/", request.path);
        let has_labels = |it: &&Value| {
            let labels = &it["metadata"]["labels"];
            selected.iter().all(|(key, value)| &labels[key] == value)
        };
        let objects = self.objects();
        let items = objects
            .iter()
            .filter(|it| it.0.0 == request.of_shoot && it.0.1.starts_with(&start));
        let items: Vec<&Value> = items.map(|it| it.1).filter(has_labels).collect();
        let version = self.next_version();
        (
            200,
            json!({ "metadata": { "resourceVersion": version }, "items": items }),
        )
    }

    /// An object whose controllers have done their work.
    fn created(&self, collection: &str, mut object: Value) -> Value {
        let version = self.next_version();
        let metadata = &mut object["metadata"];
        metadata["uid"] = format!("u{}", version.as_str().unwrap()).into();
        metadata["resourceVersion"] = version;
        metadata["creationTimestamp"] = jiff::Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string()
            .into();
        metadata["generation"] = 1.into();
        let replicas = object["spec"]["replicas"].as_u64().unwrap_or(1);
        match collection.rsplit('/').next().unwrap() {
            "deployments" | "statefulsets" => {
                object["status"] = json!({
                    "observedGeneration": 1, "replicas": replicas, "readyReplicas": replicas,
                    "updatedReplicas": replicas, "availableReplicas": replicas, "updateRevision": "1",
                });
            }
            "services" => {
                object["spec"]["clusterIP"] = "10.9.8.7".into();
                let ingress = json!([{ "ip": self.shoot.to_string() }]);
                object["status"] = json!({ "loadBalancer": { "ingress": ingress } });
            }
            "datavolumes" => {
                object["status"] = json!({ "phase": "Succeeded", "progress": "100.0%" })
            }
            _ => {}
        }
        object
    }
}

fn failure(code: u16, reason: &str) -> (u16, Value) {
    let status = json!({
        "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": reason, "metadata": {},
    });
    (code, status)
}

/// Applies a JSON merge patch.
fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = json!({});
    }
    for (key, value) in fields {
        match value {
            Value::Null => drop(object.as_object_mut().unwrap().remove(key)),
            value => merge(&mut object[key], value),
        }
    }
}

/// Writes a response with a body of this length.
fn respond(out: &mut dyn Write, code: u16, body: &[u8]) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {code} OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    out.write_all(head.as_bytes())?;
    out.write_all(body)?;
    out.flush()
}

/// Reads a request; None at the end of the connection.
fn read_request(stream: &mut impl BufRead, of_shoot: bool) -> io::Result<Option<FakeRequest>> {
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        head.push(line);
    }
    let mut words = head[0].split(' ');
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let query = query.split('&').filter_map(|it| it.split_once('='));
    let query = query.map(|(key, value)| (key.to_owned(), decoded(value)));
    let header = |name: &str| {
        let lines = head.iter().filter_map(|it| it.split_once(": "));
        let mut values = lines.filter(|it| it.0.eq_ignore_ascii_case(name));
        values.next().map(|it| it.1.to_owned())
    };
    let length = header("Content-Length").and_then(|it| it.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body)?;
    Ok(Some(FakeRequest {
        of_shoot,
        method,
        path: path.to_owned(),
        query: query.collect(),
        body,
    }))
}

/// Decodes percent signs.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|it| std::str::from_utf8(it).ok());
        let code = code.and_then(|it| u8::from_str_radix(it, 16).ok());
        match (first, code) {
            (b'%', Some(code)) => {
                bytes.push(code);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap()
}
