//! Tests against a service in place of a server: the meaning of each response, and of none.

use super::*;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources;
use crate::state::action::{Action, Desired, Payload};
use crate::state::failure::ErrorClass;
use crate::state::hash::Hash;
use crate::state::key::{ObjectKey, ObjectKind};
use kube::client::Body;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

type Answer = Result<(u16, Value), &'static str>;
type Asked = Arc<Mutex<Vec<String>>>;

/// A client whose server is `answer`, called with method and path.
fn provider(answer: impl Fn(&str, &str) -> Answer + Send + Sync + 'static) -> (ApiClient, Asked) {
    let answer = Arc::new(answer);
    let asked = Asked::default();
    let log = asked.clone();
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (method, path) = (
            request.method().to_string(),
            request.uri().path().to_owned(),
        );
        let query = request.uri().query().unwrap_or_default().to_owned();
        let answer = answer.clone();
        let log = log.clone();
        async move {
            if query.contains("watch=true") {
                // Stays silent.
                return futures::future::pending().await;
            }
            let (code, body) = if path.ends_with("/subjectaccessreviews") {
                (201, json!({ "status": { "allowed": false } }))
            } else {
                log.lock()
                    .expect("no test panics while holding it")
                    .push(format!("{method} {path}"));
                answer(&method, &path).map_err(std::io::Error::other)?
            };
            let body = Body::from(body.to_string().into_bytes());
            Ok::<_, std::io::Error>(
                http::Response::builder()
                    .status(code)
                    .body(body)
                    .expect("the status code is valid"),
            )
        }
    });
    let client = kube::Client::new(service, "ns");
    let server = "https://server".to_owned();
    (ApiClient::new(client, server, "ns", Vec::new()), asked)
}

fn status(code: u16, reason: &str, message: &str) -> Answer {
    let status = json!({ "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message });
    Ok((code, status))
}

async fn error(answer: fn() -> Answer) -> (String, Retryability) {
    let (provider, _) = provider(move |_, _| answer());
    let resource_ref = ResourceRef::one(&resources::SECRET, "ns", "a");
    let error = provider
        .get(resource_ref)
        .await
        .expect_err("all responses are errors");
    (error.to_string(), error.retryability())
}

#[tokio::test]
async fn the_connection_over_which_a_secret_was_read_is_not_used_again() {
    let service = tower::service_fn(async |request: http::Request<Body>| {
        let connection = request.headers().get(http::header::CONNECTION);
        let connection = connection.map(|it| String::from_utf8_lossy(it.as_bytes()));
        let body = json!({ "data": { "connection": connection } });
        let body = Body::from(body.to_string().into_bytes());
        Ok::<_, std::io::Error>(http::Response::new(body))
    });
    let client = kube::Client::new(service, "ns");
    let client = ApiClient::new(client, "https://server".to_owned(), "ns", Vec::new());
    let resource_ref = ResourceRef::one(&resources::SECRET, "ns", "a");
    let secret = client.get_secret(resource_ref).await;
    let secret = secret.expect("the server answers");
    assert_eq!(secret["data"]["connection"], "close");
    let others = client.get_secret_to_replace(resource_ref).await;
    let others = others.expect("the server answers");
    assert_eq!(others["data"]["connection"], Value::Null);
}

#[tokio::test]
async fn errors_are_classified_by_their_status() {
    let refused = Retryability::Fatal;
    let words = "pods \"a\" is forbidden: exceeded quota: q, requested: cpu=4, used: cpu=8, limited: cpu=10";
    assert_eq!(
        error(|| status(403, "Forbidden", "User \"bob\" cannot get it")).await,
        (
            "not allowed to get secrets a in namespace ns: User \"bob\" cannot get it".into(),
            refused(ErrorClass::NotAllowed)
        )
    );
    let (provider, _) = provider(move |_, _| status(403, "Forbidden", words));
    let resource_ref = ResourceRef::one(&resources::SECRET, "ns", "a");
    let quota = provider
        .get(resource_ref)
        .await
        .expect_err("it is a quota error");
    assert_eq!(
        quota.to_string(),
        "Secret a: exceeded quota: q, requested: cpu=4, used: cpu=8, limited: cpu=10"
    );
    assert_eq!(quota.retryability(), refused(ErrorClass::Quota));
    assert_eq!(
        error(|| status(422, "Invalid", "spec.a: bad\n  value")).await,
        (
            "Secret a was rejected: spec.a: bad value".into(),
            refused(ErrorClass::Refused)
        )
    );
    assert_eq!(
        error(|| status(409, "Conflict", "")).await.1,
        Retryability::Replan
    );
    assert_eq!(
        error(|| status(410, "Expired", "")).await.1,
        Retryability::Replan
    );
    assert_eq!(error(|| status(503, "", "")).await.1, Retryability::Retry);
    assert_eq!(
        error(|| Ok((429, json!("Too many requests")))).await.1,
        Retryability::Retry
    );
    assert_eq!(
        error(|| Err("connection refused")).await,
        (
            "connection to https://server failed: connection refused".into(),
            Retryability::Retry
        )
    );
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_times_out() {
    let client = kube::Client::new(
        tower::service_fn(|_: http::Request<Body>| {
            futures::future::pending::<Result<http::Response<Body>, std::io::Error>>()
        }),
        "ns",
    );
    let provider = ApiClient::new(client, "https://server".to_owned(), "ns", Vec::new());
    let begun = Instant::now();
    let resource_ref = ResourceRef::one(&resources::SECRET, "ns", "a");
    let error = provider
        .get(resource_ref)
        .await
        .expect_err("the server is silent");
    assert_eq!(error.retryability(), Retryability::Retry);
    assert_eq!(begun.elapsed(), Duration::from_secs(10));
    let error = provider
        .get_with_retry(resource_ref)
        .await
        .expect_err("the server is silent");
    assert_eq!(error.retryability(), Retryability::Retry);
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

/// Applies the record; the server answers POST with `made` and GET with `there`.
async fn apply(made: Answer, existing: Answer) -> (Result<(), Error>, Vec<String>, bool) {
    let (provider, asked) = provider(move |method, path| match (method, path) {
        ("POST", _) => made.clone(),
        ("GET", "/api/v1/namespaces/ns/configmaps/a") => existing.clone(),
        ("GET", path) if path.ends_with("/v1") => status(404, "NotFound", ""),
        _ => Ok((
            200,
            json!({ "metadata": { "resourceVersion": "1" }, "items": [] }),
        )),
    });
    let observer =
        Observer::start(&provider, "a", Instant::now(), ProviderContext::default()).await;
    let performer = Executor {
        provider,
        observer: Arc::new(observer.expect("the server is empty")),
        run_id: "run".into(),
        fence: Fence::open(),
        migrations: Default::default(),
    };
    asked
        .lock()
        .expect("no test panics while holding it")
        .clear();
    let action = Action::Apply(Desired {
        key: ObjectKey::provider(ObjectKind::Record, "a"),
        hash: Hash(1),
        payload: Payload::Plain,
    });
    let result = performer
        .execute(action.rendered(|_| vec![config_map("1", "kvshoot")]))
        .await;
    let asked = asked
        .lock()
        .expect("no test panics while holding it")
        .clone();
    let methods = asked.iter().filter_map(|it| it.split(' ').next());
    let methods = methods.map(str::to_owned).collect();
    let is_known = performer.observer.facts().borrow().record.is_some();
    (result, methods, is_known)
}

#[tokio::test(start_paused = true)]
async fn an_existing_object_with_the_desired_content_is_adopted() {
    let exists = || status(409, "AlreadyExists", "");
    let (result, asked, is_known) = apply(exists(), Ok((200, config_map("1", "kvshoot")))).await;
    assert!(result.is_ok() && is_known, "{result:?}");
    assert_eq!(asked, ["POST", "GET"]);

    let (result, _, is_known) = apply(exists(), Ok((200, config_map("2", "kvshoot")))).await;
    let verdict = result.map_err(|it| it.retryability());
    assert_eq!((verdict, is_known), (Err(Retryability::Replan), true));

    let (result, _, is_known) = apply(exists(), Ok((200, config_map("1", "helm")))).await;
    let message = result.expect_err("it is of another shoot").to_string();
    assert_eq!(
        message,
        "ConfigMap a exists but does not belong to this shoot"
    );
    assert!(!is_known);
}

#[tokio::test(start_paused = true)]
async fn a_write_without_response_is_verified() {
    let (result, asked, is_known) =
        apply(Err("reset"), Ok((200, config_map("1", "kvshoot")))).await;
    assert!(result.is_ok() && is_known, "{result:?}");
    assert_eq!(asked, ["POST", "GET"]);

    let (result, asked, _) = apply(Err("reset"), status(404, "NotFound", "")).await;
    assert_eq!(
        result.map_err(|it| it.retryability()),
        Err(Retryability::Retry)
    );
    assert_eq!(asked, ["POST", "GET"]);
}

/// Answers with these, in order.
fn answers(codes: &'static [u16]) -> ApiClient {
    let left = std::sync::Arc::new(std::sync::Mutex::new(codes.iter()));
    let service = tower::service_fn(move |_: http::Request<Body>| {
        let code = left
            .lock()
            .expect("no test panics while holding it")
            .next()
            .copied();
        async move {
            let Some(code) = code else {
                let refused = std::io::ErrorKind::ConnectionRefused;
                return Err(std::io::Error::from(refused));
            };
            let answer = http::Response::builder().status(code);
            Ok(answer
                .body(Body::from(b"{}".to_vec()))
                .expect("an answer is left"))
        }
    });
    let client = kube::Client::new(service, "ns");
    ApiClient::new(client, "https://server".to_owned(), "ns", Vec::new())
}

#[tokio::test(start_paused = true)]
async fn reads_are_retried_and_lock_reads_are_not() {
    let resource_ref = ResourceRef::one(&resources::CONFIG_MAP, "ns", "a");
    let asked = async |codes| answers(codes).get_with_retry(resource_ref).await;
    assert!(asked(&[500, 503, 429, 200]).await.is_ok());
    // Permanent errors are returned immediately.
    assert!(asked(&[403, 200]).await.is_err());
    let error = answers(&[500, 200]).get(resource_ref).await;
    assert!(error.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_never_reached_is_not_retried() {
    let begun = Instant::now();
    let resource_ref = ResourceRef::one(&resources::CONFIG_MAP, "ns", "a");
    let error = answers(&[]).get_with_retry(resource_ref).await;
    let error = error.expect_err("nothing listens");
    assert!(error.is_connection_failure(), "{error}");
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn doctor_reports_an_invalid_installation_and_goes_on() {
    let gates = json!({ "developerConfiguration": { "featureGates": "all" } });
    let kubevirt = json!({
        "metadata": { "name": "kubevirt" }, "spec": { "configuration": gates },
        "status": { "phase": "Deployed", "observedKubeVirtVersion": "v1.8.4" },
    });
    let (provider, _) = provider(move |_, path| match path {
        "/version" => Ok((200, json!({ "gitVersion": "v1.33.1" }))),
        "/apis/kubevirt.io/v1" => {
            let resources = json!([{ "name": "virtualmachines" }]);
            Ok((200, json!({ "resources": resources })))
        }
        "/api/v1/namespaces/ns" => Ok((
            200,
            json!({ "metadata": { "name": "ns", "uid": "1", "resourceVersion": "1" } }),
        )),
        "/apis/kubevirt.io/v1/kubevirts" => Ok((200, json!({ "items": [kubevirt] }))),
        path if path.ends_with("/v1") || path.ends_with("/v1beta1") => status(404, "NotFound", ""),
        _ => Ok((200, json!({ "items": [] }))),
    });
    let checks = provider.run_checks(&ShootRequirements::default()).await;
    let checks = checks.expect("the server answers");
    let found: Vec<_> = checks
        .iter()
        .filter(|it| it.subject == "KubeVirt")
        .map(|it| (it.status, it.message.as_str()))
        .collect();
    let message = "invalid KubeVirt kubevirt: spec.configuration.developerConfiguration.featureGates: expected a sequence, found a string";
    assert_eq!(found, [(CheckStatus::Warning, message)]);
    assert!(checks.iter().any(|it| it.subject == "load balancers"));
    // The version does not depend on the settings.
    let versions = provider.versions().await.expect("the server answers");
    assert_eq!(versions.kubevirt.as_deref(), Some("v1.8.4"));
}

/// A namespace with this enforced standard, and a KubeVirt object with this configuration; None if it may not be read.
fn enforcing(standard: &'static str, configuration: Option<Value>) -> ApiClient {
    let label = json!({ "pod-security.kubernetes.io/enforce": standard });
    let metadata = json!({ "name": "ns", "uid": "1", "resourceVersion": "1", "labels": label });
    let (provider, _) = provider(move |_, path| match (path, &configuration) {
        ("/api/v1/namespaces/ns", _) => Ok((200, json!({ "metadata": metadata }))),
        ("/apis/kubevirt.io/v1/kubevirts", Some(it)) => {
            let kubevirt =
                json!({ "metadata": { "name": "kubevirt" }, "spec": { "configuration": it } });
            Ok((200, json!({ "items": [kubevirt] })))
        }
        _ => status(403, "Forbidden", "no"),
    });
    provider
}

#[tokio::test(start_paused = true)]
async fn vms_are_refused_by_a_restricted_namespace_unless_kubevirt_gives_them_a_profile() {
    let admission = async |standard, configuration| {
        let provider = enforcing(standard, configuration);
        provider.vm_admission().await.expect("the server answers")
    };
    let profile = json!({ "seccompConfiguration": { "virtualMachineInstanceProfile": {
        "customProfile": { "runtimeDefaultProfile": true },
    } } });
    let refused = admission("restricted", Some(json!({}))).await;
    assert_eq!(refused, VmAdmission::Refused);
    assert_eq!(
        admission("restricted", Some(profile)).await,
        VmAdmission::Accepted
    );
    assert_eq!(
        admission("baseline", Some(json!({}))).await,
        VmAdmission::Accepted
    );
    // A tenant may not read the settings of KubeVirt.
    let unknown = admission("restricted", None).await;
    assert_eq!(unknown, VmAdmission::Unknown);
    let problem = unknown.problem("ns").expect("it may be refused");
    assert!(
        problem.contains("unless KubeVirt is configured for it"),
        "{problem}"
    );
}

#[tokio::test(start_paused = true)]
async fn cilium_is_named_even_if_its_settings_may_not_be_read() {
    let (provider, _) = provider(|_, path| match path {
        "/apis/cilium.io/v2" => Ok((200, json!({ "resources": [{ "name": "ciliumendpoints" }] }))),
        _ => status(403, "Forbidden", "no"),
    });
    let found = provider.cilium_translation().await;
    let translation = found.expect("the server answers").expect("it is Cilium");
    let problem = translation.problem().expect("it may be a problem");
    assert!(
        problem.contains("socketLB.hostNamespaceOnly=true"),
        "{problem}"
    );
}

/// The record refers to a Secret with the whole manifest. Without it the record is not complete, and the error says so.
#[tokio::test]
async fn a_record_without_the_secret_with_its_manifest_is_an_error_that_names_it() {
    let name = "shoot--local--a-manifest-0000000000000001";
    let record = RecordSnapshot {
        namespace: "ns".into(),
        name: "shoot--local--a".into(),
        uid: "u".into(),
        version: "1".into(),
        created: None,
        leaving: false,
        annotations: BTreeMap::new(),
        data: [("manifest-secret", name), ("shoot.yaml", "{}")]
            .map(|(key, text)| (key.to_owned(), text.to_owned()))
            .into(),
    };
    let other = json!({
        "metadata": { "name": name, "uid": "s", "resourceVersion": "1" },
        "data": { "shoot.yaml": "e30=" },
    });
    for (answer, problem) in [
        (status(404, "NotFound", ""), "not found"),
        (Ok((200, other)), "has another manifest than the record"),
        (status(403, "Forbidden", "no"), "not allowed to get"),
    ] {
        let (provider, _) = provider(move |_, _| answer.clone());
        let error = provider.complete_record(record.clone()).await;
        let error = error.expect_err("it is not there").to_string();
        assert!(error.contains(name) && error.contains(problem), "{error}");
    }
    let whole = RecordSnapshot {
        data: BTreeMap::new(),
        ..record
    };
    let (provider, asked) = provider(|_, _| status(403, "Forbidden", "no"));
    assert_eq!(
        provider.complete_record(whole.clone()).await.ok(),
        Some(whole)
    );
    assert!(
        asked
            .lock()
            .expect("no test panics while holding it")
            .is_empty()
    );
}
