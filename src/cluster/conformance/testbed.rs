//! The namespace in which checks run, with a server on every node.

use super::objects::{self, AGENT, APP, WEB};
use super::outcome::{CheckFailure, CheckOutcome, quoted};
use super::state::{is_rolled_out, is_true, state_of};
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::logs::ContainerRef;
use crate::cluster::client::request::{ResourceRef, WRITE_TIMEOUT};
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::objects::metadata::seconds;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Label of namespaces of checks.
const LABEL: &str = "kvshoot.io/conformance";
/// A run takes less time than this, so that an older namespace was left by one that was killed.
const ABANDONED: Duration = Duration::from_secs(60 * 60);
/// Time between two reads of an object.
const INTERVAL: Duration = Duration::from_secs(1);

/// Options of a [`Testbed`].
#[derive(Debug, Clone)]
pub(crate) struct TestbedOptions {
    /// The image agnhost.
    pub(crate) image: String,
    /// Limit for starting the pods, and again for the checks.
    pub(crate) limit: Duration,
    /// Version of the control plane, such as 1.34.2.
    pub(crate) kubernetes: String,
    /// `networking.type` of the Shoot.
    pub(crate) networking: String,
}

/// A namespace for checks. It remains until [`Testbed::delete`].
pub(crate) struct Testbed {
    /// With the namespace as default.
    pub(super) shoot: ApiClient,
    pub(super) options: TestbedOptions,
    deadline: Instant,
    /// Sorted by node. Empty before [`Testbed::start_pods`].
    pub(super) agents: Vec<Agent>,
}

/// The server of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Agent {
    pub(super) pod: String,
    pub(super) node: String,
    /// IP address of the pod.
    pub(super) address: String,
}

impl Testbed {
    /// Deletes namespaces that were left by runs that were killed.
    ///
    /// # Errors
    ///
    /// The API server does not answer, or refuses.
    pub(crate) async fn delete_abandoned(shoot: &ApiClient) -> Result<(), Error> {
        let all = ResourceRef::all(&resources::NAMESPACE, None);
        let listed = shoot.list(all, Some(LABEL)).await?;
        let now = shoot.server_time().unwrap_or_default();
        for namespace in &listed.items {
            let created = namespace["metadata"]["creationTimestamp"].as_str();
            let age = created.and_then(seconds).map_or(0, |it| now - it);
            if age > ABANDONED.as_secs().cast_signed() {
                delete_namespace(shoot, namespace).await?;
            }
        }
        Ok(())
    }

    /// Creates the namespace.
    ///
    /// # Errors
    ///
    /// The API server does not answer, or refuses.
    pub(crate) async fn create(
        shoot: &ApiClient,
        options: TestbedOptions,
    ) -> Result<Testbed, Error> {
        let all = ResourceRef::all(&resources::NAMESPACE, None);
        let namespace = objects::namespace(LABEL);
        let created = shoot.create(all, &namespace, WRITE_TIMEOUT).await?;
        let name = created["metadata"]["name"].as_str().unwrap_or_default();
        let deadline = Instant::now() + options.limit;
        Ok(Testbed {
            shoot: shoot.in_namespace(name),
            options,
            deadline,
            agents: Vec::new(),
        })
    }

    /// Name of the namespace.
    pub(crate) fn namespace(&self) -> &str {
        self.shoot.namespace()
    }

    /// When the running checks have to be finished.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Limit for one answer of a pod or a kubelet. It leaves time for a second attempt.
    pub(super) fn answer_limit(&self) -> Duration {
        self.options.limit / 3
    }

    /// Gives the checks that follow their whole time.
    pub(crate) fn restart_clock(&mut self) {
        self.deadline = Instant::now() + self.options.limit;
    }

    /// Starts a server on every node, and those behind Services. Without them, other checks cannot run.
    pub(crate) async fn start_pods(&mut self) -> CheckOutcome {
        match self.started_agents().await {
            Ok(agents) => {
                let nodes = agents.len();
                self.agents = agents;
                match nodes {
                    1 => CheckOutcome::Passed("one node runs pods".to_owned()),
                    _ => CheckOutcome::Passed(format!("{nodes} nodes run pods")),
                }
            }
            Err(CheckFailure(text)) => CheckOutcome::Failed(text),
        }
    }

    async fn started_agents(&self) -> Result<Vec<Agent>, CheckFailure> {
        let image = &self.options.image;
        let (agents, web) = (objects::agents(image), objects::web(image));
        self.create_object(&resources::DAEMON_SET, &agents).await?;
        self.create_object(&resources::DEPLOYMENT, &web).await?;
        let service = objects::service(WEB, WEB, json!({}));
        self.create_object(&resources::SERVICE, &service).await?;
        let all_ready = |it: &Value| {
            let status = &it["status"];
            let desired = status["desiredNumberScheduled"].as_u64()?;
            let is_seen = status["observedGeneration"] == it["metadata"]["generation"];
            (is_seen && desired > 0 && status["numberReady"] == desired).then_some(())
        };
        let ready = self.wait(&resources::DAEMON_SET, AGENT, all_ready).await;
        let ready = match ready {
            Ok(()) => {
                let rolled = |it: &Value| is_rolled_out(it).then_some(());
                self.wait(&resources::DEPLOYMENT, WEB, rolled).await
            }
            error => error,
        };
        if let Err(problem) = ready {
            return Err(self.blocked_pod().await.unwrap_or(problem));
        }
        self.find_agents().await
    }

    async fn find_agents(&self) -> Result<Vec<Agent>, CheckFailure> {
        let text = |pod: &Value, path| pod.pointer(path).and_then(Value::as_str).map(str::to_owned);
        let pods = self.pods(AGENT).await?;
        let agents = pods.iter().filter_map(|pod| {
            Some(Agent {
                pod: text(pod, "/metadata/name")?,
                node: text(pod, "/spec/nodeName")?,
                address: text(pod, "/status/podIP")?,
            })
        });
        let mut agents: Vec<Agent> = agents.collect();
        agents.sort_by(|a, b| a.node.cmp(&b.node));
        match agents.is_empty() {
            true => Err(CheckFailure("no node runs pods".to_owned())),
            false => Ok(agents),
        }
    }

    /// The pods of `app`.
    pub(super) async fn pods(&self, app: &str) -> Result<Vec<Value>, CheckFailure> {
        let all = ResourceRef::all(&resources::POD, Some(self.namespace()));
        let selector = format!("{APP}={app}");
        Ok(self.shoot.list(all, Some(&selector)).await?.items)
    }

    /// Why one of the first pods does not run.
    async fn blocked_pod(&self) -> Option<CheckFailure> {
        let all = ResourceRef::all(&resources::POD, Some(self.namespace()));
        let pods = self.shoot.list(all, None).await.ok()?.items;
        let blocked = |pod: &Value| {
            let is_ready = is_true(pod, "Ready");
            let name = pod["metadata"]["name"].as_str()?;
            let state = state_of(pod);
            (!is_ready && !state.is_empty()).then(|| CheckFailure(format!("pod {name}: {state}")))
        };
        pods.iter().find_map(blocked)
    }

    pub(super) fn one<'a>(&'a self, resource: &'static Resource, name: &'a str) -> ResourceRef<'a> {
        ResourceRef::one(resource, self.namespace(), name)
    }

    pub(super) async fn create_object(
        &self,
        resource: &'static Resource,
        object: &Value,
    ) -> Result<Value, CheckFailure> {
        let all = ResourceRef::all(resource, Some(self.namespace()));
        Ok(self.shoot.create(all, object, WRITE_TIMEOUT).await?)
    }

    /// Reads an object until `found` returns something.
    ///
    /// # Errors
    ///
    /// It returns nothing before the deadline; the error has the last state.
    pub(super) async fn wait<T>(
        &self,
        resource: &'static Resource,
        name: &str,
        found: impl Fn(&Value) -> Option<T>,
    ) -> Result<T, CheckFailure> {
        loop {
            let read = self.shoot.get(self.one(resource, name)).await;
            if let Some(result) = read.as_ref().ok().and_then(&found) {
                return Ok(result);
            }
            if Instant::now() + 2 * INTERVAL > self.deadline {
                let state = match &read {
                    Ok(object) => state_of(object),
                    Err(error) => error.to_string(),
                };
                let kind = resource.kind;
                return Err(CheckFailure(match state.is_empty() {
                    true => format!("{kind} {name} is not ready"),
                    false => format!("{kind} {name}: {state}"),
                }));
            }
            sleep(INTERVAL).await;
        }
    }

    /// Repeats a check until it succeeds, or until the deadline.
    ///
    /// # Errors
    ///
    /// Those of the last attempt.
    pub(super) async fn until<T>(
        &self,
        attempt: impl AsyncFn() -> Result<T, CheckFailure>,
    ) -> Result<T, CheckFailure> {
        loop {
            match attempt().await {
                Err(_) if Instant::now() + 2 * INTERVAL < self.deadline => sleep(INTERVAL).await,
                result => return result,
            }
        }
    }

    /// Runs a pod to its end, and returns its log.
    ///
    /// # Errors
    ///
    /// It fails, or does not end before the deadline.
    pub(super) async fn run_pod(&self, name: &str, spec: Value) -> Result<String, CheckFailure> {
        let pod = objects::pod(name, spec);
        self.create_object(&resources::POD, &pod).await?;
        let ended = |it: &Value| match it["status"]["phase"].as_str() {
            Some("Succeeded") => Some(true),
            Some("Failed") => Some(false),
            _ => None,
        };
        let is_success = self.wait(&resources::POD, name, ended).await?;
        let log = self.log(name).await?;
        match is_success {
            true => Ok(log),
            false => {
                let end = log.trim_end().lines().next_back().unwrap_or_default();
                Err(CheckFailure(format!("pod {name} failed: {}", quoted(end))))
            }
        }
    }

    /// The log of a pod's first container.
    pub(super) async fn log(&self, pod: &str) -> Result<String, CheckFailure> {
        let of = ContainerRef {
            namespace: self.namespace(),
            pod,
            name: "main",
            previous: false,
        };
        let tail = self
            .shoot
            .last_log_lines(of, 200, 64 << 10, self.answer_limit())
            .await?;
        Ok(tail.text)
    }

    /// Deletes the namespace, and waits until everything in it is gone, at most for `limit`. Returns what blocks it.
    ///
    /// # Errors
    ///
    /// The API server does not answer, or refuses.
    pub(crate) async fn delete(&self, limit: Duration) -> Result<Option<String>, Error> {
        let end = Instant::now() + limit;
        let name = self.namespace();
        let namespace = ResourceRef {
            resource: &resources::NAMESPACE,
            namespace: None,
            name: Some(name),
        };
        loop {
            let object = match self.shoot.get(namespace).await {
                Err(Error::NotFound { .. }) => return Ok(None),
                answer => answer?,
            };
            if object["metadata"]["deletionTimestamp"].is_null() {
                delete_namespace(&self.shoot, &object).await?;
            }
            if Instant::now() > end {
                return Ok(Some(state_of(&object)));
            }
            sleep(INTERVAL).await;
        }
    }
}

async fn delete_namespace(shoot: &ApiClient, object: &Value) -> Result<(), Error> {
    let text = |key: &str| object["metadata"][key].as_str();
    let (Some(name), Some(uid)) = (text("name"), text("uid")) else {
        return Ok(());
    };
    let namespace = ResourceRef {
        resource: &resources::NAMESPACE,
        namespace: None,
        name: Some(name),
    };
    match shoot.delete(namespace, uid, None, WRITE_TIMEOUT).await {
        Err(Error::NotFound { .. } | Error::Conflict { .. }) => Ok(()),
        answer => answer.map(|_| ()),
    }
}
