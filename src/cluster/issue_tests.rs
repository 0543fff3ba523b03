//! Against a server of Secrets that loses answers.

use super::*;
use crate::cluster::{Beside, Fence, Observer, Provider, Verdict};
use crate::plan::item::{Action, Content, Kind, Wanted};
use crate::plan::observed::{Certificate as Seen, Fact, Secret};
use http::{Method, Request, Response};
use kube::client::Body;
use secrecy::ExposeSecret as _;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::time::Instant;

/// What the server's answers say of the time.
const DATE: &str = "Thu, 01 Jan 2026 00:00:00 GMT";
const NOW: i64 = 1_767_225_600;
const YEAR: i64 = 365 * 24 * 60 * 60;
const SECRETS: &str = "/api/v1/namespaces/ns/secrets";

#[derive(Default)]
struct Server {
    secrets: BTreeMap<String, Value>,
    version: u64,
    /// What wrote something, in this order.
    writes: Vec<Method>,
    /// The next write is carried out and not answered.
    loses: bool,
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Server>>);

impl Shared {
    fn server(&self) -> MutexGuard<'_, Server> {
        self.0.lock().expect("no test panics with it")
    }

    fn provider(&self) -> Provider {
        let shared = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let shared = shared.clone();
            async move {
                let (head, body) = request.into_parts();
                if head.uri.query().unwrap_or_default().contains("watch=true") {
                    return futures::future::pending().await;
                }
                let body = body.collect_bytes().await.map_err(std::io::Error::other)?;
                let sent = serde_json::from_slice(&body).unwrap_or_default();
                let answer = shared.server().answer(&head.method, head.uri.path(), sent);
                let (code, body) = answer.ok_or_else(|| std::io::Error::other("reset"))?;
                let answer = Response::builder().status(code).header("Date", DATE);
                let body = Body::from(body.to_string().into_bytes());
                Ok::<_, std::io::Error>(answer.body(body).expect("an answer"))
            }
        });
        let client = kube::Client::new(service, "ns");
        Provider::new(client, "https://server".to_owned(), "ns", Vec::new())
    }

    async fn performer(&self) -> Performer {
        let provider = self.provider();
        let observer = Observer::start(&provider, "a", Instant::now(), Beside::default()).await;
        Performer {
            provider,
            observer: Arc::new(observer.expect("everything can be listed")),
            run_id: "run".into(),
            fence: Fence::open(),
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
        let there = self.secrets.get(&name);
        match (method, there) {
            (&Method::GET, Some(there)) => return Some((200, there.clone())),
            (&Method::GET, None) if !name.is_empty() => return status(404, "NotFound"),
            (&Method::GET, None) => return Some((200, self.list(path))),
            (&Method::POST, Some(_)) => return status(409, "AlreadyExists"),
            (&Method::PUT, there) => {
                let version = there.map(|it| &it["metadata"]["resourceVersion"]);
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

fn wanted(name: &str, what: Issued) -> Wanted {
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
    Wanted {
        key: Key::provider(Kind::Secret, name),
        hash: Hash(7),
        content: Content::Issue(Arc::new(Issue { object, what })),
    }
}

fn root() -> Wanted {
    let common_name = "kubernetes";
    wanted("a-ca", Issued::Root { common_name })
}

fn leaf() -> Wanted {
    let leaf = Leaf {
        root: "a-ca".into(),
        common_name: "system:kube-scheduler".to_owned(),
        organization: None,
        names: vec!["10.0.0.1".to_owned(), "a.example".to_owned()],
        server: false,
        client: true,
        kubeconfig: Some("https://10.96.0.7:6443".to_owned()),
    };
    wanted("a-kube-scheduler", Issued::Leaf(leaf))
}

async fn perform(performer: &Performer, wanted: Wanted) -> Result<(), Error> {
    performer.perform(&Action::Apply(wanted), Vec::new()).await
}

fn fact(performer: &Performer, name: &str) -> Secret {
    let key = Key::provider(Kind::Secret, name);
    match performer
        .observer
        .facts()
        .borrow()
        .objects
        .get(&key)
        .map(|it| &it.fact)
    {
        Some(Fact::Secret(it)) => it.clone(),
        other => panic!("{name} is {other:?}"),
    }
}

fn certificate(performer: &Performer, name: &str) -> Seen {
    fact(performer, name).certificate.expect("it has one")
}

#[tokio::test(start_paused = true)]
async fn a_leaf_is_of_its_root_and_says_what_it_is() {
    let shared = Shared::default();
    let performer = shared.performer().await;
    perform(&performer, root()).await.expect("a root");
    perform(&performer, leaf()).await.expect("a leaf");
    assert_eq!(shared.server().writes, [Method::POST, Method::POST]);
    let first = shared.provider().first_expiry("a").await.expect("a list");
    assert_eq!(first, Some((NOW + YEAR, "a-kube-scheduler".to_owned())));

    let (ca, own) = (
        certificate(&performer, "a-ca"),
        certificate(&performer, "a-kube-scheduler"),
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

    let trusted = shared.text("a-ca", "tls.crt");
    assert_eq!(fact(&performer, "a-ca").ca.as_deref(), Some(&*trusted));
    assert_eq!(shared.text("a-ca", "ca.crt"), trusted);
    assert_eq!(shared.text("a-kube-scheduler", "ca.crt"), trusted);
    let read = CertificateInfo::parse(&shared.text("a-kube-scheduler", "tls.crt"));
    assert_eq!(read.expect("one").common_name, "system:kube-scheduler");

    let text = shared.text("a-kube-scheduler", "kubeconfig");
    let config = kube::config::Kubeconfig::from_yaml(&text).expect("a kubeconfig");
    let cluster = config.clusters[0].cluster.as_ref().expect("one");
    let user = config.auth_infos[0].auth_info.as_ref().expect("one");
    assert_eq!(cluster.server.as_deref(), Some("https://10.96.0.7:6443"));
    assert_eq!(cluster.certificate_authority.as_deref(), Some("ca.crt"));
    assert_eq!(user.client_certificate.as_deref(), Some("tls.crt"));
    assert_eq!(user.client_key.as_deref(), Some("tls.key"));
}

#[tokio::test(start_paused = true)]
async fn keys_are_made_once_and_stay() {
    let shared = Shared::default();
    let performer = shared.performer().await;
    let all = || {
        [
            root(),
            wanted("a-service-account-key", Issued::SigningKey),
            wanted("a-encryption-key", Issued::EncryptionKey),
        ]
    };
    for wanted in all() {
        perform(&performer, wanted).await.expect("it is made");
    }
    let before = shared.server().secrets.clone();
    for wanted in all() {
        let error = perform(&performer, wanted).await;
        assert_eq!(error.map_err(|it| it.verdict()), Err(Verdict::Look));
    }
    assert_eq!(shared.server().secrets, before);
    assert!(
        shared
            .text("a-service-account-key", "pub")
            .starts_with("-----BEGIN PUBLIC KEY")
    );
    assert!(
        shared
            .text("a-encryption-key", "config.yaml")
            .contains("secretbox")
    );
    assert_ne!(
        fact(&performer, "a-service-account-key").checksum,
        fact(&performer, "a-encryption-key").checksum
    );
}

#[tokio::test(start_paused = true)]
async fn a_renewed_leaf_is_another_with_the_same_hash() {
    let shared = Shared::default();
    let performer = shared.performer().await;
    perform(&performer, root()).await.expect("a root");
    perform(&performer, leaf()).await.expect("a leaf");
    let before = fact(&performer, "a-kube-scheduler");
    shared
        .server()
        .secrets
        .get_mut("a-kube-scheduler")
        .expect("it is there")["metadata"]["annotations"]["example.com/kept"] = "yes".into();
    perform(&performer, leaf()).await.expect("another leaf");
    let after = fact(&performer, "a-kube-scheduler");
    assert_ne!(before.checksum, after.checksum);
    assert_ne!(
        before.certificate.expect("one").key,
        after.certificate.expect("one").key
    );
    let annotations = &shared.stored("a-kube-scheduler")["metadata"]["annotations"];
    assert_eq!(annotations[names::SPEC_HASH], Hash(7).to_string());
    assert_eq!(annotations["example.com/kept"], "yes");
    let writes = [Method::POST, Method::POST, Method::PUT];
    assert_eq!(shared.server().writes, writes);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_looked_for_and_nothing_is_made_twice() {
    let shared = Shared::default();
    let performer = shared.performer().await;
    for wanted in [root(), leaf(), leaf()] {
        let name = wanted.key.name.clone();
        shared.server().loses = true;
        perform(&performer, wanted)
            .await
            .expect("it was carried out");
        let stored = shared.stored(&name);
        let told = fact(&performer, &name).checksum.to_string();
        assert_eq!(stored["metadata"]["annotations"][names::CHECKSUM], told);
    }
    let writes = [Method::POST, Method::POST, Method::PUT];
    assert_eq!(shared.server().writes, writes);
}

#[tokio::test(start_paused = true)]
async fn a_root_that_is_gone_or_broken_issues_nothing() {
    let shared = Shared::default();
    let performer = shared.performer().await;
    let error = perform(&performer, leaf()).await;
    assert_eq!(error.map_err(|it| it.verdict()), Err(Verdict::Look));

    perform(&performer, root()).await.expect("a root");
    let key = shared.text("a-ca", "tls.key");
    let other = pki::signing_key("other").expect("a key").key;
    let mut secrets = shared.server().secrets.clone();
    let stored = secrets.get_mut("a-ca").expect("it is there");
    stored["data"]["tls.key"] = STANDARD.encode(other).into();
    shared.server().secrets = secrets;
    let error = perform(&performer, leaf())
        .await
        .expect_err("it does not fit");
    assert_eq!(
        error.to_string(),
        "Secret a-ca: the private key does not match the certificate"
    );
    assert!(!format!("{error:?}").contains(key.lines().nth(1).expect("a line")));
    assert_eq!(shared.server().writes, [Method::POST]);
}

#[tokio::test(start_paused = true)]
async fn who_may_read_the_root_is_given_a_way_in_that_is_kept_nowhere() {
    let shared = Shared::default();
    let performer = shared.performer().await;
    perform(&performer, root()).await.expect("a root");
    let provider = shared.provider();
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
        (read.until, &shared.text("a-ca", "ca.crt"))
    );
    let key = client.key.expose_secret();
    assert!(key.starts_with("-----BEGIN PRIVATE KEY"));
    assert!(!format!("{client:?}").contains(key.lines().nth(1).expect("a line")));
    assert_eq!(shared.server().writes, [Method::POST]);
    let none = provider.client_certificate("b", "x", &[], 60).await;
    assert!(matches!(none, Err(Error::NotFound { .. })));
}
