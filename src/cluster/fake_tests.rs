//! Against a service in place of a server: what each answer means, and what follows from none.

use super::*;
use crate::cluster::client::request::Place;
use crate::cluster::client::resources;
use crate::state::action::{Action, Content, Wanted};
use crate::state::failure::Class;
use crate::state::hash::Hash;
use crate::state::key::{Key, Kind};
use kube::client::Body;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

type Answer = Result<(u16, Value), &'static str>;
type Asked = Arc<Mutex<Vec<String>>>;

/// A provider whose server is `answer`, which gets the method and the path.
fn provider(answer: impl Fn(&str, &str) -> Answer + Send + Sync + 'static) -> (Provider, Asked) {
    let answer = Arc::new(answer);
    let asked = Asked::default();
    let told = asked.clone();
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (method, path) = (
            request.method().to_string(),
            request.uri().path().to_owned(),
        );
        let query = request.uri().query().unwrap_or_default().to_owned();
        let answer = answer.clone();
        let told = told.clone();
        async move {
            if query.contains("watch=true") {
                // Says nothing, for ever.
                return futures::future::pending().await;
            }
            told.lock()
                .expect("no test panics with it")
                .push(format!("{method} {path}"));
            let (code, body) = answer(&method, &path).map_err(std::io::Error::other)?;
            let body = Body::from(body.to_string().into_bytes());
            Ok::<_, std::io::Error>(
                http::Response::builder()
                    .status(code)
                    .body(body)
                    .expect("the code is one"),
            )
        }
    });
    let client = kube::Client::new(service, "ns");
    let server = "https://server".to_owned();
    (Provider::new(client, server, "ns", Vec::new()), asked)
}

fn status(code: u16, reason: &str, message: &str) -> Answer {
    let status = json!({ "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message });
    Ok((code, status))
}

async fn error(answer: fn() -> Answer) -> (String, Verdict) {
    let (provider, _) = provider(move |_, _| answer());
    let place = Place::one(&resources::SECRET, "ns", "a");
    let error = provider
        .get(place)
        .await
        .expect_err("all answers are errors");
    (error.to_string(), error.verdict())
}

#[tokio::test]
async fn errors_are_told_apart_by_their_status() {
    let refused = Verdict::Refuse;
    let words = "pods \"a\" is forbidden: exceeded quota: q, requested: cpu=4, used: cpu=8, limited: cpu=10";
    assert_eq!(
        error(|| status(403, "Forbidden", "User \"bob\" cannot get it")).await,
        (
            "not allowed to get secrets a in namespace ns: User \"bob\" cannot get it".into(),
            refused(Class::NotAllowed)
        )
    );
    let (provider, _) = provider(move |_, _| status(403, "Forbidden", words));
    let place = Place::one(&resources::SECRET, "ns", "a");
    let quota = provider.get(place).await.expect_err("it is a quota");
    assert_eq!(
        quota.to_string(),
        "Secret a: exceeded quota: q, requested: cpu=4, used: cpu=8, limited: cpu=10"
    );
    assert_eq!(quota.verdict(), refused(Class::Quota));
    assert_eq!(
        error(|| status(422, "Invalid", "spec.a: bad\n  value")).await,
        (
            "Secret a is refused: spec.a: bad value".into(),
            refused(Class::Refused)
        )
    );
    assert_eq!(error(|| status(409, "Conflict", "")).await.1, Verdict::Look);
    assert_eq!(error(|| status(410, "Expired", "")).await.1, Verdict::Look);
    assert_eq!(error(|| status(503, "", "")).await.1, Verdict::Again);
    assert_eq!(
        error(|| Ok((429, json!("Too many requests")))).await.1,
        Verdict::Again
    );
    assert_eq!(
        error(|| Err("connection refused")).await,
        (
            "https://server does not answer: connection refused".into(),
            Verdict::Again
        )
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_silent_is_given_up() {
    let client = kube::Client::new(
        tower::service_fn(|_: http::Request<Body>| {
            futures::future::pending::<Result<http::Response<Body>, std::io::Error>>()
        }),
        "ns",
    );
    let provider = Provider::new(client, "https://server".to_owned(), "ns", Vec::new());
    let begun = Instant::now();
    let place = Place::one(&resources::SECRET, "ns", "a");
    let error = provider.get(place).await.expect_err("nobody answers");
    assert_eq!(error.verdict(), Verdict::Again);
    assert_eq!(begun.elapsed(), Duration::from_secs(10));
    let error = provider.get_again(place).await.expect_err("nobody answers");
    assert_eq!(error.verdict(), Verdict::Again);
    assert_eq!(begun.elapsed(), Duration::from_secs(10 + 30));
}

fn config_map(hash: &str, managed_by: &str) -> Value {
    json!({
        "kind": "ConfigMap",
        "metadata": {
            "name": "a", "uid": "u", "resourceVersion": "5",
            "labels": {
                "app.kubernetes.io/managed-by": managed_by,
                "app.kubernetes.io/part-of": "a",
                "app.kubernetes.io/component": "record",
            },
            "annotations": { "kvshoot.io/spec-hash": hash },
        },
    })
}

/// Applies the record at a server that answers its POST with `made`, and a GET with `there`.
async fn apply(made: Answer, there: Answer) -> (Result<(), Error>, Vec<String>, bool) {
    let (provider, asked) = provider(move |method, path| match (method, path) {
        ("POST", _) => made.clone(),
        ("GET", "/api/v1/namespaces/ns/configmaps/a") => there.clone(),
        ("GET", path) if path.ends_with("/v1") => status(404, "NotFound", ""),
        _ => Ok((
            200,
            json!({ "metadata": { "resourceVersion": "1" }, "items": [] }),
        )),
    });
    let observer = Observer::start(&provider, "a", Instant::now(), Beside::default()).await;
    let performer = Performer {
        provider,
        observer: Arc::new(observer.expect("everything is empty")),
        run_id: "run".into(),
        fence: Fence::open(),
    };
    asked.lock().expect("no test panics with it").clear();
    let action = Action::Apply(Wanted {
        key: Key::provider(Kind::Record, "a"),
        hash: Hash(1),
        content: Content::Plain,
    });
    let result = performer
        .perform(&action, vec![config_map("1", "kvshoot")])
        .await;
    let asked = asked.lock().expect("no test panics with it").clone();
    let methods = asked.iter().filter_map(|it| it.split(' ').next());
    let methods = methods.map(str::to_owned).collect();
    let is_known = performer.observer.facts().borrow().record.is_some();
    (result, methods, is_known)
}

#[tokio::test(start_paused = true)]
async fn what_is_there_as_wanted_is_adopted() {
    let exists = || status(409, "AlreadyExists", "");
    let (result, asked, is_known) = apply(exists(), Ok((200, config_map("1", "kvshoot")))).await;
    assert!(result.is_ok() && is_known, "{result:?}");
    assert_eq!(asked, ["POST", "GET"]);

    let (result, _, is_known) = apply(exists(), Ok((200, config_map("2", "kvshoot")))).await;
    let verdict = result.map_err(|it| it.verdict());
    assert_eq!((verdict, is_known), (Err(Verdict::Look), true));

    let (result, _, is_known) = apply(exists(), Ok((200, config_map("1", "helm")))).await;
    let message = result.expect_err("it is another's").to_string();
    assert_eq!(
        message,
        "ConfigMap a exists and is not kvshoot's, or of another shoot"
    );
    assert!(!is_known);
}

#[tokio::test(start_paused = true)]
async fn a_write_without_an_answer_is_looked_for() {
    let (result, asked, is_known) =
        apply(Err("reset"), Ok((200, config_map("1", "kvshoot")))).await;
    assert!(result.is_ok() && is_known, "{result:?}");
    assert_eq!(asked, ["POST", "GET"]);

    let (result, asked, _) = apply(Err("reset"), status(404, "NotFound", "")).await;
    assert_eq!(result.map_err(|it| it.verdict()), Err(Verdict::Again));
    assert_eq!(asked, ["POST", "GET"]);
}

/// Answers with these, in this order.
fn answers(codes: &'static [u16]) -> Provider {
    let left = std::sync::Arc::new(std::sync::Mutex::new(codes.iter()));
    let service = tower::service_fn(move |_: http::Request<Body>| {
        let code = left.lock().expect("no panic").next().copied();
        async move {
            let Some(code) = code else {
                let refused = std::io::ErrorKind::ConnectionRefused;
                return Err(std::io::Error::from(refused));
            };
            let answer = http::Response::builder().status(code);
            Ok(answer.body(Body::from(b"{}".to_vec())).expect("an answer"))
        }
    });
    let client = kube::Client::new(service, "ns");
    Provider::new(client, "https://server".to_owned(), "ns", Vec::new())
}

#[tokio::test(start_paused = true)]
async fn a_question_is_put_again_and_what_decides_is_not() {
    let place = Place::one(&resources::CONFIG_MAP, "ns", "a");
    let asked = async |codes| answers(codes).get_again(place).await;
    assert!(asked(&[500, 503, 429, 200]).await.is_ok());
    // What will not pass is told at once.
    assert!(asked(&[403, 200]).await.is_err());
    let error = answers(&[500, 200]).get(place).await;
    assert!(error.is_err());
}

#[tokio::test(start_paused = true)]
async fn an_address_where_nobody_ever_was_is_not_waited_for() {
    let begun = Instant::now();
    let place = Place::one(&resources::CONFIG_MAP, "ns", "a");
    let error = answers(&[]).get_again(place).await;
    let error = error.expect_err("nobody is there");
    assert!(error.is_no_connection(), "{error}");
    assert_eq!(begun.elapsed(), Duration::ZERO);
}
