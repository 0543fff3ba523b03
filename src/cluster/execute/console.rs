//! Consoles of machines that are deleted because they failed.

use super::executor::Executor;
use crate::state::action::ZoneFailure;
use crate::state::record::failed_console::{self, FailedConsole};
use serde_json::json;
use std::sync::Arc;

impl Executor {
    /// Writes the end of a failed machine's console to the record, because it is deleted with the machine. An error is
    /// logged only: the machine is replaced in any case.
    pub(super) async fn keep_console(&self, machine: &Arc<str>, failure: &ZoneFailure) {
        let Some(record) = self.observer.store.latest().record.clone() else {
            return;
        };
        let (pool, zone) = (&*failure.pool, failure.zone);
        // An interrupted run may have kept it. Written by each run, it could be all that runs get done.
        let current = self.provider.record(&record.name).await.ok().flatten();
        let kept = current.and_then(|it| failed_console::read(&it.data, pool, zone));
        if kept.is_some_and(|it| it.machine == **machine) {
            return;
        }
        let lines = self.provider.console_lines(&record.name, machine).await;
        if lines.is_empty() {
            return;
        }
        let kept = FailedConsole {
            machine: machine.to_string(),
            lines,
        };
        let text = serde_json::to_string(&kept).expect("texts are JSON");
        let data = json!({ failed_console::key(pool, zone): text });
        if let Err(error) = self.patch_record(&record, &data).await {
            tracing::debug!(machine = &**machine, %error, "cannot keep the console");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{ApiClient, Fence, Observer, ProviderContext};
    use crate::state::failure::ErrorClass;
    use crate::state::hash::Hash;
    use crate::state::names::SHOOT_UID;
    use http::{Method, Request, Response};
    use kube::client::Body;
    use serde_json::Value;
    use std::io::Error;
    use std::sync::Mutex;
    use tokio::time::Instant;

    const ID: &str = "shoot--local--a";
    const MACHINE: &str = "shoot--local--a-cpu-0";

    /// The record, and the number of its writes.
    struct Server(Mutex<(Value, usize)>);

    impl Server {
        fn answer(&self, method: &Method, path: &str, sent: &Value) -> Value {
            let mut stored = self.0.lock().expect("no test panics while holding it");
            let is_record = path.ends_with(&format!("/configmaps/{ID}"));
            if is_record && method == Method::PATCH {
                stored.1 += 1;
                for (key, value) in sent["data"].as_object().into_iter().flatten() {
                    stored.0["data"][key] = value.clone();
                }
                stored.0["metadata"]["resourceVersion"] = json!((stored.1 + 1).to_string());
            }
            let list =
                |items: Value| json!({ "metadata": { "resourceVersion": "9" }, "items": items });
            match path {
                _ if is_record => stored.0.clone(),
                _ if path.ends_with("/configmaps") => list(json!([stored.0])),
                _ if path.ends_with("/pods") => list(json!([{
                    "metadata": {
                        "name": "virt-launcher-a", "uid": "p", "resourceVersion": "3",
                        "annotations": { "kubevirt.io/domain": MACHINE },
                    },
                    "spec": { "containers": [{ "name": "guest-console-log" }] },
                    "status": {},
                }])),
                _ if path.ends_with("/subjectaccessreviews") => {
                    json!({ "status": { "allowed": false } })
                }
                _ => list(json!([])),
            }
        }
    }

    async fn executor(server: &Arc<Server>) -> Executor {
        let server = server.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move {
                let (head, body) = request.into_parts();
                if head.uri.query().unwrap_or_default().contains("watch=true") {
                    return futures::future::pending().await;
                }
                let body = body.collect_bytes().await.map_err(Error::other)?;
                let sent = serde_json::from_slice(&body).unwrap_or_default();
                let text = match head.uri.path().ends_with("/log") {
                    true => "kernel panic\n".to_owned(),
                    false => server
                        .answer(&head.method, head.uri.path(), &sent)
                        .to_string(),
                };
                let answer = Response::builder().header("Date", "Thu, 01 Jan 2026 00:00:00 GMT");
                Ok::<_, Error>(
                    answer
                        .body(Body::from(text.into_bytes()))
                        .expect("an answer"),
                )
            }
        });
        let client = kube::Client::new(service, "ns");
        let provider = ApiClient::new(client, "https://server".to_owned(), "ns", Vec::new());
        let observer =
            Observer::start(&provider, ID, Instant::now(), ProviderContext::default()).await;
        Executor {
            provider,
            observer: Arc::new(observer.expect("all kinds can be listed")),
            run_id: "run".into(),
            fence: Fence::open(),
            migrations: Default::default(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_console_of_a_machine_is_written_once_although_runs_are_interrupted_after_it() {
        let record = json!({
            "metadata": {
                "name": ID, "namespace": "ns", "uid": "u", "resourceVersion": "1",
                "labels": {
                    "app.kubernetes.io/managed-by": "kvshoot", "app.kubernetes.io/part-of": ID,
                    (SHOOT_UID): "u",
                },
            },
            "data": {},
        });
        let server = Arc::new(Server(Mutex::new((record, 0))));
        let failure = ZoneFailure {
            pool: "cpu".into(),
            hash: Hash(1),
            zone: 0,
            class: ErrorClass::Guest,
            why: "no node joined".into(),
        };
        let writes = || server.0.lock().expect("no test panics while holding it").1;
        for _ in 0..2 {
            let executor = executor(&server).await;
            executor.keep_console(&MACHINE.into(), &failure).await;
            assert_eq!(writes(), 1);
        }
        let (stored, _) = &*server.0.lock().expect("no test panics while holding it");
        let text = stored["data"]["console.cpu.0"].as_str().expect("a text");
        assert!(
            text.contains("kernel panic") && text.contains(MACHINE),
            "{text}"
        );
    }
}
