use super::*;
use crate::cluster::lock::acquire::IN_FLIGHT_GRACE;
use kube::client::Body;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A server that holds one Lease, or does not answer.
#[derive(Clone, Default)]
struct Server {
    lease: Arc<Mutex<Option<Value>>>,
    is_down: Arc<AtomicBool>,
    /// Seconds until a response.
    delay: Arc<AtomicU64>,
    /// Renewals that arrive just before the next writes.
    late_renewals: Arc<AtomicU64>,
}

impl Server {
    fn provider(&self) -> ApiClient {
        let server = self.clone();
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let server = server.clone();
            async move {
                if server.is_down.load(Ordering::Relaxed) {
                    return Err(std::io::Error::other("connection refused"));
                }
                sleep(Duration::from_secs(server.delay.load(Ordering::Relaxed))).await;
                let method = request.method().to_string();
                let body = request.into_body().collect_bytes().await;
                let body = body.map_err(std::io::Error::other)?;
                let (code, answer) = server.answer(&method, serde_json::from_slice(&body).ok());
                let date = jiff::Timestamp::now().strftime("%a, %d %b %Y %H:%M:%S GMT");
                Ok(http::Response::builder()
                    .status(code)
                    .header("date", date.to_string())
                    .body(Body::from(answer.to_string().into_bytes()))
                    .expect("the status code is valid"))
            }
        });
        let client = kube::Client::new(service, "ns");
        ApiClient::new(client, "https://server".to_owned(), "ns", Vec::new())
    }

    fn answer(&self, method: &str, body: Option<Value>) -> (u16, Value) {
        let mut lease = self.lease.lock().expect("no test panics while holding it");
        match (method, lease.as_mut(), body) {
            ("POST", None, Some(mut made)) => {
                made["metadata"]["uid"] = "u".into();
                made["metadata"]["resourceVersion"] = "1".into();
                (201, lease.insert(made).clone())
            }
            ("GET", Some(existing), _) => (200, existing.clone()),
            ("PATCH", Some(existing), Some(patch)) => {
                let wanted = &patch["metadata"]["resourceVersion"];
                if self.late_renewals.load(Ordering::Relaxed) > 0 {
                    self.late_renewals.fetch_sub(1, Ordering::Relaxed);
                    existing["metadata"]["resourceVersion"] = next_version(existing);
                }
                let version = existing["metadata"]["resourceVersion"].clone();
                if !wanted.is_null() && *wanted != version {
                    return (409, json!({ "reason": "Conflict" }));
                }
                let next = next_version(existing);
                merge(existing, &patch);
                existing["metadata"]["resourceVersion"] = next;
                (200, existing.clone())
            }
            _ => (404, json!({ "reason": "NotFound" })),
        }
    }
}

fn next_version(existing: &Value) -> Value {
    let version = existing["metadata"]["resourceVersion"].as_str();
    let version: u32 = version.and_then(|it| it.parse().ok()).unwrap_or_default();
    (version + 1).to_string().into()
}

fn merge(existing: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *existing = patch.clone();
        return;
    };
    for (key, value) in patch {
        merge(&mut existing[key], value);
    }
}

fn holder(name: &str) -> LeaseHolder {
    LeaseHolder {
        name: format!("{name}@host"),
        identity: name.to_owned(),
        verb: "apply",
        role: crate::state::names::role::LOCK,
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
async fn a_renewed_lease_is_held_and_a_released_one_is_free() {
    let server = Server::default();
    let first = acquire(&server, "first", 0).await.expect("it is free");
    let error = acquire(&server, "second", 60).await.err();
    let error = error.expect("it is held").to_string();
    assert!(
        error.starts_with("the shoot is locked by first@host since 20"),
        "{error}"
    );
    assert!(first.fence().remaining().is_ok());
    first.release().await.expect("the server answers");
    assert!(acquire(&server, "second", 0).await.is_ok());
}

/// Its request was sent before the release, and the client can no longer take it back.
#[tokio::test(start_paused = true)]
async fn a_lease_is_released_although_a_renewal_arrives_meanwhile() {
    let server = Server::default();
    let first = acquire(&server, "first", 0).await.expect("it is free");
    server.late_renewals.store(1, Ordering::Relaxed);
    first.release().await.expect("the server answers");
    assert!(acquire(&server, "second", 0).await.is_ok());
}

/// The holder was killed on another computer, and the caller does not want to wait for others.
#[tokio::test(start_paused = true)]
async fn a_lease_that_seems_to_be_expired_is_waited_for() {
    let server = Server::default();
    let first = acquire(&server, "first", 0).await.expect("it is free");
    drop(first);
    let error = acquire(&server, "second", 0).await.err();
    assert!(error.is_some(), "it may still be renewed");
    let old = json!({ "spec": { "renewTime": "2020-01-01T00:00:00.000000Z" } });
    merge(server.lease.lock().unwrap().as_mut().unwrap(), &old);
    let begun = Instant::now();
    assert!(acquire(&server, "second", 0).await.is_ok());
    assert!(begun.elapsed() >= LEASE_DURATION);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_a_slow_server_shows_late_is_waited_for() {
    let server = Server::default();
    drop(acquire(&server, "first", 0).await.expect("it is free"));
    let old = json!({ "spec": { "renewTime": "2020-01-01T00:00:00.000000Z" } });
    merge(server.lease.lock().unwrap().as_mut().unwrap(), &old);
    server.delay.store(6, Ordering::Relaxed);
    assert!(acquire(&server, "second", 0).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_lease_expires_without_renewal() {
    let server = Server::default();
    let first = acquire(&server, "first", 0).await.expect("it is free");
    let fence = first.fence();
    // Dropped as in a crash: it is not released.
    drop(first);
    let begun = Instant::now();
    assert!(acquire(&server, "second", 60).await.is_ok());
    let waited = begun.elapsed();
    assert!(
        waited >= LEASE_DURATION && waited < LEASE_DURATION + 2 * POLL_INTERVAL,
        "{waited:?}"
    );
    assert!(fence.remaining().is_err());
}

#[tokio::test(start_paused = true)]
async fn the_lease_of_a_dead_process_is_free_once_its_writes_have_landed() {
    let server = Server::default();
    drop(acquire(&server, "dead", 0).await);
    let begun = Instant::now();
    assert!(acquire(&server, "second", 0).await.is_ok());
    let waited = begun.elapsed();
    assert!(
        waited >= IN_FLIGHT_GRACE && waited < 2 * IN_FLIGHT_GRACE,
        "{waited:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_killed_run_is_recognized_by_its_command() {
    let server = Server::default();
    let provider = server.provider();
    let was_killed = async |verb| {
        let is_gone = |it: &str| it == "dead";
        let asked = provider.was_interrupted("a", verb, is_gone).await;
        asked.expect("the server answers")
    };
    assert!(!was_killed("apply").await);
    drop(acquire(&server, "dead", 0).await);
    assert!(was_killed("apply").await);
    assert!(!was_killed("evacuate").await);
    // The current one ends, as far as others can observe.
    let lease = acquire(&server, "second", 60).await.expect("it is free");
    assert!(!was_killed("apply").await);
    lease.release().await.expect("the server answers");
    assert!(!was_killed("apply").await);
    let lease = server
        .lease
        .lock()
        .expect("no test panics while holding it")
        .clone();
    let annotations = lease.expect("it was not renewed")["metadata"]["annotations"].clone();
    assert_eq!(
        annotations,
        json!({ HOLDER_ANNOTATION: null, PROGRESS_ANNOTATION: null, VERB_ANNOTATION: null })
    );
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_cannot_renew_stops_until_it_can() {
    let server = Server::default();
    let lease = acquire(&server, "first", 0).await.expect("it is free");
    server.is_down.store(true, Ordering::Relaxed);
    sleep(LEASE_DURATION).await;
    let stale = lease.fence().remaining().expect_err("it was not renewed");
    assert_eq!(stale.retryability(), Retryability::Retry);
    sleep(4 * LEASE_DURATION).await;
    server.is_down.store(false, Ordering::Relaxed);
    sleep(RENEW_INTERVAL).await;
    assert!(lease.fence().remaining().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_lease_taken_while_the_holder_was_cut_off_is_lost() {
    let server = Server::default();
    let lease = acquire(&server, "first", 0).await.expect("it is free");
    server.is_down.store(true, Ordering::Relaxed);
    sleep(2 * LEASE_DURATION).await;
    let taken = json!({
        "metadata": { "annotations": { HOLDER_ANNOTATION: "other" } },
        "spec": { "holderIdentity": "other@host" },
    });
    server.answer("PATCH", Some(taken));
    server.is_down.store(false, Ordering::Relaxed);
    assert!(lease.fence().remaining().is_err());
    let error = lease.fence().lost().await;
    assert!(
        matches!(error.retryability(), Retryability::Fatal(_)),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_lease_taken_by_another_is_lost_at_the_next_renewal() {
    let server = Server::default();
    let lease = acquire(&server, "first", 0).await.expect("it is free");
    let taken = json!({
        "metadata": { "annotations": { HOLDER_ANNOTATION: "other" } },
        "spec": { "holderIdentity": "other@host" },
    });
    server.answer("PATCH", Some(taken));
    let error = lease.fence().lost().await.to_string();
    assert_eq!(error, "lease a was lost: taken over by other@host");
}

#[tokio::test(start_paused = true)]
async fn the_lease_of_a_deletion_has_no_owner() {
    let server = Server::default();
    let owners = || {
        let lease = server
            .lease
            .lock()
            .expect("no test panics while holding it");
        lease.as_ref().expect("it exists")["metadata"]["ownerReferences"].clone()
    };
    let first = acquire(&server, "first", 0).await.expect("it is free");
    first.set_owner("a", "r").await.expect("the server answers");
    assert_eq!(owners()[0]["uid"], "r");
    first.release().await.expect("the server answers");
    let second = acquire(&server, "second", 0).await.expect("it is free");
    second.remove_owner().await.expect("the server answers");
    assert_eq!(owners(), Value::Null);
    let version = second.fence().held().version.clone();
    second.remove_owner().await.expect("nothing is written");
    assert_eq!(second.fence().held().version, version);
    sleep(4 * RENEW_INTERVAL).await;
    assert!(second.fence().remaining().is_ok());
}
