//! Responses of servers that try to use up memory or time.

use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::{Error, MAX_RETRY_AFTER};
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources::POD;
use kube::client::Body;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A LIST of pods from a server whose n-th response is `page(n)`; returns its error and the number of requests.
async fn list(page: impl Fn(usize) -> String + Clone + Send + Sync + 'static) -> (Error, usize) {
    list_from(move |number| http::Response::new(Body::from(page(number).into_bytes()))).await
}

async fn list_from(
    answer: impl Fn(usize) -> http::Response<Body> + Clone + Send + Sync + 'static,
) -> (Error, usize) {
    let requests = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&requests);
    let service = tower::service_fn(move |_: http::Request<Body>| {
        let answer = answer(counter.fetch_add(1, Ordering::SeqCst));
        async move { Ok::<_, std::convert::Infallible>(answer) }
    });
    let client = kube::Client::new(service, "default");
    let client = ApiClient::new(
        client,
        "https://192.0.2.1".to_owned(),
        "clusters",
        Vec::new(),
    );
    let listed = client
        .list(ResourceRef::all(&POD, Some("clusters")), None)
        .await;
    (
        listed.expect_err("the list has no end"),
        requests.load(Ordering::SeqCst),
    )
}

#[tokio::test]
async fn a_response_of_many_bytes_or_values_is_an_error() {
    let (error, requests) =
        list(|_| format!("{{\"items\": [\"{}\"]}}", "x".repeat(65 << 20))).await;
    assert!(matches!(error, Error::ResponseTooLarge { .. }), "{error}");
    assert_eq!(requests, 1);
    let (error, _) = list(|_| format!("{{\"items\": [0{}]}}", ",0".repeat(2_000_000))).await;
    assert!(matches!(error, Error::ResponseTooLarge { .. }), "{error}");
    assert!(
        error.to_string().contains("the response is too large"),
        "{error}"
    );
}

#[tokio::test]
async fn deep_json_is_an_error() {
    tokio::time::pause();
    let (error, _) = list(|_| format!("{{\"items\": {}", "[".repeat(900_000))).await;
    assert!(matches!(error, Error::InvalidResponse { .. }), "{error}");
}

#[tokio::test]
async fn pages_without_end_are_an_error() {
    let page =
        |token: String| format!("{{\"items\": [], \"metadata\": {{\"continue\": \"{token}\"}}}}");
    let (error, requests) = list(move |_| page("same".to_owned())).await;
    assert!(
        error.to_string().contains("repeats a continue token"),
        "{error}"
    );
    assert_eq!(requests, 2);
    let (error, requests) = list(move |number| page(number.to_string())).await;
    assert!(matches!(error, Error::ResponseTooLarge { .. }), "{error}");
    assert_eq!(requests, 1000);
}

#[tokio::test]
async fn a_server_cannot_ask_for_a_pause_without_end() {
    let seconds = u64::MAX.to_string();
    let answer = move |_| {
        let answer = http::Response::builder().status(429);
        let answer = answer.header("Retry-After", &seconds);
        answer.body(Body::from(Vec::new())).expect("a response")
    };
    let (error, requests) = list_from(answer).await;
    let Error::Throttled { retry_after, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(retry_after, Some(MAX_RETRY_AFTER));
    assert_eq!(requests, 1);
}

#[tokio::test(start_paused = true)]
async fn a_long_message_of_a_server_is_cut() {
    let answer = |_| {
        let status = serde_json::json!({ "kind": "Status", "message": "x y ".repeat(1 << 20) });
        let answer = http::Response::builder().status(422);
        let body = Body::from(status.to_string().into_bytes());
        answer.body(body).expect("a response")
    };
    let (error, _) = list_from(answer).await;
    let length = error.to_string().len();
    assert!((1_000..5_000).contains(&length), "{length} bytes");
}
