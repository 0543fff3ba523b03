//! Tests against a server of Secrets that loses responses.

use super::*;
use crate::cluster::{ApiClient, Fence, Observer, ProviderContext, Retryability};
use crate::state::action::{Action, Desired, Payload};
use crate::state::conditions::earliest_expiry;
use crate::state::facts::{ObjectStatus, ObservedCertificate as Seen, ObservedSecret};
use crate::state::key::ObjectKind;
use crate::state::record::rotation::KeyGeneration;
use http::{Method, Request, Response};
use kube::client::Body;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::time::Instant;

/// Date of the server's responses.
const DATE: &str = "Thu, 01 Jan 2026 00:00:00 GMT";
const NOW: i64 = 1_767_225_600;
const YEAR: i64 = 365 * 24 * 60 * 60;
const SECRETS: &str = "/api/v1/namespaces/ns/secrets";

#[derive(Default)]
struct Server {
    secrets: BTreeMap<String, Value>,
    version: u64,
    /// Writes, in order.
    writes: Vec<Method>,
    /// The next write is carried out without a response.
    loses: bool,
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Server>>);

impl Shared {
    fn server(&self) -> MutexGuard<'_, Server> {
        self.0.lock().expect("no test panics while holding it")
    }

    fn provider(&self) -> ApiClient {
        let store = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let store = store.clone();
            async move {
                let (head, body) = request.into_parts();
                if head.uri.query().unwrap_or_default().contains("watch=true") {
                    return futures::future::pending().await;
                }
                let body = body.collect_bytes().await.map_err(std::io::Error::other)?;
                let sent = serde_json::from_slice(&body).unwrap_or_default();
                let answer = match head.uri.path().ends_with("/subjectaccessreviews") {
                    true => Some((201, json!({ "status": { "allowed": false } }))),
                    false => store.server().answer(&head.method, head.uri.path(), sent),
                };
                let (code, body) = answer.ok_or_else(|| std::io::Error::other("reset"))?;
                let answer = Response::builder().status(code).header("Date", DATE);
                let body = Body::from(body.to_string().into_bytes());
                Ok::<_, std::io::Error>(answer.body(body).expect("an answer"))
            }
        });
        let client = kube::Client::new(service, "ns");
        ApiClient::new(client, "https://server".to_owned(), "ns", Vec::new())
    }

    async fn executor(&self) -> Executor {
        let provider = self.provider();
        let observer =
            Observer::start(&provider, "a", Instant::now(), ProviderContext::default()).await;
        Executor {
            provider,
            observer: Arc::new(observer.expect("all kinds can be listed")),
            run_id: "run".into(),
            fence: Fence::open(),
            migrations: Default::default(),
        }
    }

    fn stored(&self, name: &str) -> Value {
        self.server().secrets[name].clone()
    }

    fn text(&self, name: &str, key: &str) -> String {
        let data = self.stored(name)["data"][key].clone();
        let bytes = STANDARD.decode(text(&data)).expect("base64");
        String::from_utf8(bytes).expect("text")
    }
}

impl Server {
    fn answer(&mut self, method: &Method, path: &str, mut sent: Value) -> Option<(u16, Value)> {
        let status = |code: u16, reason: &str| {
            let status =
                json!({ "kind": "Status", "status": "Failure", "code": code, "reason": reason });
            Some((code, status))
        };
        let name = path.strip_prefix(SECRETS).unwrap_or_default();
        let name = match method {
            &Method::POST => text(&sent["metadata"]["name"]).to_owned(),
            _ => name.trim_start_matches('/').to_owned(),
        };
        let existing = self.secrets.get(&name);
        match (method, existing) {
            (&Method::GET, Some(existing)) => return Some((200, existing.clone())),
            (&Method::GET, None) if !name.is_empty() => return status(404, "NotFound"),
            (&Method::GET, None) => return Some((200, self.list(path))),
            (&Method::POST, Some(_)) => return status(409, "AlreadyExists"),
            (&Method::PUT, existing) => {
                let version = existing.map(|it| &it["metadata"]["resourceVersion"]);
                if version != Some(&sent["metadata"]["resourceVersion"]) {
                    return status(409, "Conflict");
                }
            }
            _ => {}
        }
        self.version += 1;
        sent["metadata"]["uid"] = format!("u-{name}").into();
        sent["metadata"]["resourceVersion"] = (self.version + 1).to_string().into();
        self.secrets.insert(name, sent.clone());
        self.writes.push(method.clone());
        (!std::mem::take(&mut self.loses)).then_some((201, sent))
    }

    fn list(&self, path: &str) -> Value {
        let record = json!({ "metadata": {
            "name": "a", "uid": "u", "resourceVersion": "1",
            "labels": { names::MANAGED_BY: names::KVSHOOT, names::PART_OF: "a", names::COMPONENT: "record" },
        }});
        let items: Vec<Value> = match path {
            SECRETS => self.secrets.values().cloned().collect(),
            "/api/v1/namespaces/ns/configmaps" => vec![record],
            _ => Vec::new(),
        };
        json!({ "metadata": { "resourceVersion": (self.version + 1).to_string() }, "items": items })
    }
}

fn wanted(name: &str, what: KeyMaterial) -> Desired {
    let object = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {
            "name": name, "namespace": "ns",
            "labels": {
                names::MANAGED_BY: names::KVSHOOT, names::PART_OF: "a",
                names::COMPONENT: "certificate", names::SHOOT_UID: "u",
            },
            "annotations": { names::SPEC_HASH: Hash(7).to_string() },
        },
    });
    Desired {
        key: ObjectKey::provider(ObjectKind::Secret, name),
        hash: Hash(7),
        payload: Payload::Issue(Arc::new(IssuedSecret { object, what })),
    }
}

fn root() -> Desired {
    let common_name = "kubernetes";
    wanted(
        "a-ca",
        KeyMaterial::Root {
            common_name,
            generation: KeyGeneration::default(),
        },
    )
}

fn leaf() -> Desired {
    let leaf = LeafCertificate {
        root: "a-ca".into(),
        common_name: "system:kube-scheduler".to_owned(),
        organization: None,
        names: vec!["10.0.0.1".to_owned(), "a.example".to_owned()],
        server: false,
        client: true,
        kubeconfig: Some("https://10.96.0.7:6443".to_owned()),
        trust: KeyGeneration::default(),
        is_of_previous: false,
    };
    wanted("a-kube-scheduler", KeyMaterial::Leaf(leaf))
}

async fn perform(executor: &Executor, wanted: Desired) -> Result<(), Error> {
    executor
        .execute(Action::Apply(wanted).rendered(|_| Vec::new()))
        .await
}

fn fact(executor: &Executor, name: &str) -> ObservedSecret {
    let key = ObjectKey::provider(ObjectKind::Secret, name);
    match executor
        .observer
        .facts()
        .borrow()
        .objects
        .get(&key)
        .map(|it| &it.status)
    {
        Some(ObjectStatus::Secret(it)) => it.clone(),
        other => panic!("{name} is {other:?}"),
    }
}

fn certificate(executor: &Executor, name: &str) -> Seen {
    fact(executor, name).certificate.expect("it has an address")
}

#[tokio::test(start_paused = true)]
async fn a_leaf_is_signed_by_its_authority_and_described_by_annotations() {
    let store = Shared::default();
    let executor = store.executor().await;
    perform(&executor, root()).await.expect("a root");
    perform(&executor, leaf()).await.expect("a leaf");
    assert_eq!(store.server().writes, [Method::POST, Method::POST]);
    let first = earliest_expiry(&executor.observer.facts().borrow());
    assert_eq!(first, Some((NOW + YEAR, "a-kube-scheduler".into())));

    let (ca, own) = (
        certificate(&executor, "a-ca"),
        certificate(&executor, "a-kube-scheduler"),
    );
    assert_eq!(
        (ca.issuer, ca.issued, ca.expires),
        (ca.key, NOW - 300, NOW + 10 * YEAR)
    );
    assert_eq!(
        (own.issuer, own.issued, own.expires),
        (ca.key, NOW - 300, NOW + YEAR)
    );
    let names: Vec<&str> = own.names.iter().map(|it| &**it).collect();
    assert_eq!(names, ["10.0.0.1", "a.example"]);

    let trusted = store.text("a-ca", "tls.crt");
    assert_eq!(fact(&executor, "a-ca").ca.as_deref(), Some(&*trusted));
    assert_eq!(store.text("a-ca", "ca.crt"), trusted);
    assert_eq!(store.text("a-kube-scheduler", "ca.crt"), trusted);
    let read = CertificateInfo::parse(&store.text("a-kube-scheduler", "tls.crt"));
    assert_eq!(read.expect("one").common_name, "system:kube-scheduler");

    let text = store.text("a-kube-scheduler", "kubeconfig");
    let config = kube::config::Kubeconfig::from_yaml(&text).expect("a kubeconfig");
    let cluster = config.clusters[0].cluster.as_ref().expect("one");
    let user = config.auth_infos[0].auth_info.as_ref().expect("one");
    assert_eq!(cluster.server.as_deref(), Some("https://10.96.0.7:6443"));
    assert_eq!(cluster.certificate_authority.as_deref(), Some("ca.crt"));
    assert_eq!(user.client_certificate.as_deref(), Some("tls.crt"));
    assert_eq!(user.client_key.as_deref(), Some("tls.key"));
}

#[tokio::test(start_paused = true)]
async fn keys_are_generated_once_and_kept() {
    let store = Shared::default();
    let executor = store.executor().await;
    let all = || {
        [
            root(),
            wanted(
                "a-service-account-key",
                KeyMaterial::SigningKey(KeyGeneration::default()),
            ),
            wanted(
                "a-encryption-key",
                KeyMaterial::EncryptionKey(KeyGeneration::default()),
            ),
        ]
    };
    for wanted in all() {
        perform(&executor, wanted).await.expect("it is created");
    }
    let before = store.server().secrets.clone();
    for wanted in all() {
        let error = perform(&executor, wanted).await;
        assert_eq!(
            error.map_err(|it| it.retryability()),
            Err(Retryability::Replan)
        );
    }
    assert_eq!(store.server().secrets, before);
    assert!(
        store
            .text("a-service-account-key", "pub")
            .starts_with("-----BEGIN PUBLIC KEY")
    );
    assert!(
        store
            .text("a-encryption-key", "config.yaml")
            .contains("secretbox")
    );
    assert_ne!(
        fact(&executor, "a-service-account-key").checksum,
        fact(&executor, "a-encryption-key").checksum
    );
}

#[tokio::test(start_paused = true)]
async fn a_renewed_leaf_differs_and_keeps_the_hash() {
    let store = Shared::default();
    let executor = store.executor().await;
    perform(&executor, root()).await.expect("a root");
    perform(&executor, leaf()).await.expect("a leaf");
    let before = fact(&executor, "a-kube-scheduler");
    store
        .server()
        .secrets
        .get_mut("a-kube-scheduler")
        .expect("it exists")["metadata"]["annotations"]["example.com/kept"] = "yes".into();
    perform(&executor, leaf()).await.expect("another leaf");
    let after = fact(&executor, "a-kube-scheduler");
    assert_ne!(before.checksum, after.checksum);
    assert_ne!(
        before.certificate.expect("one").key,
        after.certificate.expect("one").key
    );
    let annotations = &store.stored("a-kube-scheduler")["metadata"]["annotations"];
    assert_eq!(annotations[names::SPEC_HASH], Hash(7).to_string());
    assert_eq!(annotations["example.com/kept"], "yes");
    let writes = [Method::POST, Method::POST, Method::PUT];
    assert_eq!(store.server().writes, writes);
}

#[tokio::test(start_paused = true)]
async fn a_lost_response_is_verified_and_nothing_is_created_twice() {
    let store = Shared::default();
    let executor = store.executor().await;
    for wanted in [root(), leaf(), leaf()] {
        let name = wanted.key.name.clone();
        store.server().loses = true;
        perform(&executor, wanted)
            .await
            .expect("it was carried out");
        let stored = store.stored(&name);
        let checksum = fact(&executor, &name).checksum.to_string();
        assert_eq!(stored["metadata"]["annotations"][names::CHECKSUM], checksum);
    }
    let writes = [Method::POST, Method::POST, Method::PUT];
    assert_eq!(store.server().writes, writes);
}

#[tokio::test(start_paused = true)]
async fn a_missing_or_broken_authority_issues_nothing() {
    let store = Shared::default();
    let executor = store.executor().await;
    let error = perform(&executor, leaf()).await;
    assert_eq!(
        error.map_err(|it| it.retryability()),
        Err(Retryability::Replan)
    );

    perform(&executor, root()).await.expect("a root");
    let key = store.text("a-ca", "tls.key");
    let other = pki::signing_key("other").expect("a key").key;
    let mut secrets = store.server().secrets.clone();
    let stored = secrets.get_mut("a-ca").expect("it exists");
    stored["data"]["tls.key"] = STANDARD.encode(other.expose_secret()).into();
    store.server().secrets = secrets;
    let error = perform(&executor, leaf())
        .await
        .expect_err("it does not match");
    assert_eq!(
        error.to_string(),
        "Secret a-ca: the private key does not match the certificate"
    );
    assert!(!format!("{error:?}").contains(key.lines().nth(1).expect("a line")));
    assert_eq!(store.server().writes, [Method::POST]);
}

#[tokio::test(start_paused = true)]
async fn a_client_certificate_needs_the_authority_and_is_stored_nowhere() {
    let store = Shared::default();
    let executor = store.executor().await;
    perform(&executor, root()).await.expect("a root");
    let provider = store.provider();
    let groups = ["kvshoot:cluster-admins", "viewers"];
    let client = provider.client_certificate("a", "kvshoot:admin", &groups, 3600);
    let client = client.await.expect("a certificate");
    let read = CertificateInfo::parse(&client.certificate).expect("a certificate");
    assert_eq!(
        (&*read.common_name, read.until),
        ("kvshoot:admin", NOW + 3600)
    );
    assert_eq!(
        (client.expires, &client.ca),
        (read.until, &store.text("a-ca", "ca.crt"))
    );
    let key = client.key.expose_secret();
    assert!(key.starts_with("-----BEGIN PRIVATE KEY"));
    assert!(!format!("{client:?}").contains(key.lines().nth(1).expect("a line")));
    assert_eq!(store.server().writes, [Method::POST]);
    let none = provider.client_certificate("b", "x", &[], 60).await;
    assert!(matches!(none, Err(Error::NotFound { .. })));
}
