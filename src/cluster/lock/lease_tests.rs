use super::*;
use crate::cluster::lock::acquire::LANDING;
use kube::client::Body;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// A server that holds one Lease, or does not answer.
#[derive(Clone, Default)]
struct Server {
    lease: Arc<Mutex<Option<Value>>>,
    is_down: Arc<AtomicBool>,
}

impl Server {
    fn provider(&self) -> Provider {
        let server = self.clone();
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let server = server.clone();
            async move {
                if server.is_down.load(Ordering::Relaxed) {
                    return Err(std::io::Error::other("connection refused"));
                }
                let method = request.method().to_string();
                let body = request.into_body().collect_bytes().await;
                let body = body.map_err(std::io::Error::other)?;
                let (code, answer) = server.answer(&method, serde_json::from_slice(&body).ok());
                let date = jiff::Timestamp::now().strftime("%a, %d %b %Y %H:%M:%S GMT");
                Ok(http::Response::builder()
                    .status(code)
                    .header("date", date.to_string())
                    .body(Body::from(answer.to_string().into_bytes()))
                    .expect("the code is one"))
            }
        });
        let client = kube::Client::new(service, "ns");
        Provider::new(client, "https://server".to_owned(), "ns", Vec::new())
    }

    fn answer(&self, method: &str, body: Option<Value>) -> (u16, Value) {
        let mut lease = self.lease.lock().expect("no test panics with it");
        match (method, lease.as_mut(), body) {
            ("POST", None, Some(mut made)) => {
                made["metadata"]["uid"] = "u".into();
                made["metadata"]["resourceVersion"] = "1".into();
                (201, lease.insert(made).clone())
            }
            ("GET", Some(there), _) => (200, there.clone()),
            ("PATCH", Some(there), Some(patch)) => {
                let wanted = &patch["metadata"]["resourceVersion"];
                let version = there["metadata"]["resourceVersion"].clone();
                if !wanted.is_null() && *wanted != version {
                    return (409, json!({ "reason": "Conflict" }));
                }
                merge(there, &patch);
                let next = text(&version).parse::<u32>().unwrap_or_default() + 1;
                there["metadata"]["resourceVersion"] = next.to_string().into();
                (200, there.clone())
            }
            _ => (404, json!({ "reason": "NotFound" })),
        }
    }
}

fn merge(there: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *there = patch.clone();
        return;
    };
    for (key, value) in patch {
        merge(&mut there[key], value);
    }
}

fn holder(name: &str) -> Holder {
    Holder {
        name: format!("{name}@host"),
        identity: name.to_owned(),
        verb: "apply",
    }
}

async fn acquire(server: &Server, name: &str, wait: u64) -> Result<Lease, Error> {
    let wait = Duration::from_secs(wait);
    let is_gone = |it: &str| it == "dead";
    Lease::acquire(
        &server.provider(),
        "a",
        &holder(name),
        wait,
        is_gone,
        |_| {},
    )
    .await
}

#[tokio::test(start_paused = true)]
async fn a_renewed_lease_is_held_and_a_released_one_free() {
    let server = Server::default();
    let first = acquire(&server, "first", 0).await.expect("it is free");
    let error = acquire(&server, "second", 60).await.err();
    let error = error.expect("it is held").to_string();
    assert!(
        error.starts_with("the shoot is held by first@host since 20"),
        "{error}"
    );
    assert!(first.fence().left().is_ok());
    first.release().await.expect("the server answers");
    assert!(acquire(&server, "second", 0).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn one_that_is_not_renewed_is_free_after_its_time() {
    let server = Server::default();
    let first = acquire(&server, "first", 0).await.expect("it is free");
    let fence = first.fence();
    // Dropped as by a crash: nothing is given back.
    drop(first);
    let begun = Instant::now();
    assert!(acquire(&server, "second", 60).await.is_ok());
    let waited = begun.elapsed();
    assert!(
        waited >= DURATION && waited < DURATION + 2 * LOOK,
        "{waited:?}"
    );
    assert!(fence.left().is_err());
}

#[tokio::test(start_paused = true)]
async fn one_whose_holder_is_gone_is_free_when_its_last_writes_have_landed() {
    let server = Server::default();
    drop(acquire(&server, "dead", 0).await);
    let begun = Instant::now();
    assert!(acquire(&server, "second", 0).await.is_ok());
    let waited = begun.elapsed();
    assert!(waited >= LANDING && waited < 2 * LANDING, "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_killed_run_is_known_by_its_command_and_one_that_ended_is_not() {
    let server = Server::default();
    let provider = server.provider();
    let was_killed = async |verb| {
        let is_gone = |it: &str| it == "dead";
        let asked = provider.was_killed("a", verb, is_gone).await;
        asked.expect("the server answers")
    };
    assert!(!was_killed("apply").await);
    drop(acquire(&server, "dead", 0).await);
    assert!(was_killed("apply").await);
    assert!(!was_killed("evacuate").await);
    // The one that is at work now ends by itself, as far as anybody knows.
    let lease = acquire(&server, "second", 60).await.expect("it is free");
    assert!(!was_killed("apply").await);
    lease.release().await.expect("the server answers");
    assert!(!was_killed("apply").await);
    let lease = server.lease.lock().expect("no test panics with it").clone();
    let annotations = lease.expect("it stays")["metadata"]["annotations"].clone();
    assert_eq!(annotations, json!({ IDENTITY: null, VERB: null }));
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_cannot_renew_stops_until_it_can() {
    let server = Server::default();
    let lease = acquire(&server, "first", 0).await.expect("it is free");
    server.is_down.store(true, Ordering::Relaxed);
    sleep(DURATION).await;
    let stale = lease.fence().left().expect_err("nothing was renewed");
    assert_eq!(stale.verdict(), Verdict::Again);
    sleep(4 * DURATION).await;
    server.is_down.store(false, Ordering::Relaxed);
    sleep(RENEW).await;
    assert!(lease.fence().left().is_ok());
}

#[tokio::test(start_paused = true)]
async fn one_that_was_taken_while_the_holder_was_cut_off_is_lost() {
    let server = Server::default();
    let lease = acquire(&server, "first", 0).await.expect("it is free");
    server.is_down.store(true, Ordering::Relaxed);
    sleep(2 * DURATION).await;
    let taken = json!({
        "metadata": { "annotations": { IDENTITY: "other" } },
        "spec": { "holderIdentity": "other@host" },
    });
    server.answer("PATCH", Some(taken));
    server.is_down.store(false, Ordering::Relaxed);
    assert!(lease.fence().left().is_err());
    let error = lease.fence().lost().await;
    assert!(matches!(error.verdict(), Verdict::Refuse(_)), "{error}");
}

#[tokio::test(start_paused = true)]
async fn one_that_was_taken_is_lost_at_the_next_renewal() {
    let server = Server::default();
    let lease = acquire(&server, "first", 0).await.expect("it is free");
    let taken = json!({
        "metadata": { "annotations": { IDENTITY: "other" } },
        "spec": { "holderIdentity": "other@host" },
    });
    server.answer("PATCH", Some(taken));
    let error = lease.fence().lost().await.to_string();
    assert_eq!(error, "the lease a was lost: other@host took it");
}
