//! Clients of a shoot's API server, from the kubeconfig that the program prints.

pub(crate) mod background;
pub(crate) mod user_resources;
pub(crate) mod writer;

use super::kvshoot::Kvshoot;
use super::provider::{Provider, Resource};
use super::shoots::PATIENCE;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, Config, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::{Duration, Instant};

pub(crate) const NODE: Resource = Resource("", "v1", "Node");
pub(crate) const SERVICE: Resource = Resource("", "v1", "Service");

/// A client of a shoot's API server, and its configuration.
pub(crate) struct ShootApi<'a> {
    provider: &'a Provider,
    pub(crate) kubeconfig: String,
    config: Config,
    client: Client,
}

impl ShootApi<'_> {
    pub(crate) fn connect<'a>(
        provider: &'a Provider,
        kvshoot: &Kvshoot,
        name: &str,
    ) -> ShootApi<'a> {
        // It is used until its clock has passed a night.
        let ttl = if provider.moves_clock() { "24h" } else { "1h" };
        let output = kvshoot.run(&format!("kubeconfig get {name} --ttl {ttl}"));
        assert_eq!(output.code, 0, "{output}");
        let api = ShootApi::of_kubeconfig(provider, output.out);
        // The group of the kubeconfig is bound soon after the API server is reachable.
        provider.wait_for("permissions in the shoot", |_| {
            api.responds("/api/v1/nodes", Duration::from_secs(10))
        });
        api
    }

    pub(crate) fn of_kubeconfig(provider: &Provider, text: String) -> ShootApi<'_> {
        let kubeconfig = Kubeconfig::from_yaml(&text).unwrap();
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options);
        let mut config = provider.block_on(config).unwrap();
        config.accept_invalid_certs = provider.moves_clock();
        ShootApi {
            provider,
            kubeconfig: text,
            client: client(provider, config.clone()),
            config,
        }
    }

    /// Lists the objects of a kind in all namespaces.
    pub(crate) fn list(&self, resource: Resource) -> Vec<DynamicObject> {
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &kind(resource));
        let all = ListParams::default();
        self.provider.block_on(api.list(&all)).unwrap().items
    }

    pub(crate) fn get(&self, resource: Resource, namespace: &str, name: &str) -> DynamicObject {
        let api = self.api(resource, namespace);
        self.provider.block_on(api.get(name)).unwrap()
    }

    pub(crate) fn create(&self, resource: Resource, namespace: &str, object: Value) {
        let object = serde_json::from_value(object).unwrap();
        let api = self.api(resource, namespace);
        let params = PostParams::default();
        self.provider
            .block_on(api.create(&params, &object))
            .unwrap();
    }

    /// Creates an empty object; true if that was acknowledged in time, now or before.
    pub(crate) fn is_created(
        &self,
        resource: Resource,
        namespace: &str,
        name: &str,
        limit: Duration,
    ) -> bool {
        let object = DynamicObject::new(name, &kind(resource));
        let api = self.api(resource, namespace);
        let params = PostParams::default();
        let created = async { tokio::time::timeout(limit, api.create(&params, &object)).await };
        match self.provider.block_on(created) {
            Ok(Ok(_)) => true,
            // The response to an earlier try was lost.
            Ok(Err(kube::Error::Api(status))) => status.code == 409,
            _ => false,
        }
    }

    /// Patches an object; true if that was acknowledged.
    pub(crate) fn is_patched(
        &self,
        resource: Resource,
        (namespace, name): (&str, &str),
        patch: &Value,
    ) -> bool {
        let api = self.api(resource, namespace);
        let params = PatchParams::default();
        let patch = Patch::Merge(patch);
        let patched = api.patch(name, &params, &patch);
        self.provider.block_on(patched).is_ok()
    }

    pub(crate) fn create_global(&self, resource: Resource, object: Value) {
        let object = serde_json::from_value(object).unwrap();
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &kind(resource));
        let params = PostParams::default();
        self.provider
            .block_on(api.create(&params, &object))
            .unwrap();
    }

    pub(crate) fn delete_global(&self, resource: Resource, name: &str) {
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &kind(resource));
        let params = DeleteParams::default();
        self.provider.block_on(api.delete(name, &params)).unwrap();
    }

    pub(crate) fn get_global(&self, resource: Resource, name: &str) -> Value {
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &kind(resource));
        let object = self.provider.block_on(api.get(name)).unwrap();
        serde_json::to_value(object).unwrap()
    }

    /// A client with the identity of another user.
    pub(crate) fn impersonate(&self, user: &str, groups: &[&str]) -> ShootApi<'_> {
        let mut config = self.config.clone();
        config.auth_info.impersonate = Some(user.to_owned());
        let groups = groups.iter().map(|it| (*it).to_owned()).collect();
        config.auth_info.impersonate_groups = Some(groups);
        self.configured(config)
    }

    /// The same user, who trusts the servers that another client trusts.
    pub(crate) fn trusting(&self, other: &ShootApi) -> ShootApi<'_> {
        let mut config = self.config.clone();
        config.root_cert.clone_from(&other.config.root_cert);
        self.configured(config)
    }

    /// A client with a token instead of a certificate.
    pub(crate) fn with_token(&self, token: &str) -> ShootApi<'_> {
        let mut config = self.config.clone();
        config.auth_info = AuthInfo {
            token: Some(token.to_owned().into()),
            ..AuthInfo::default()
        };
        self.configured(config)
    }

    fn configured(&self, config: Config) -> ShootApi<'_> {
        ShootApi {
            provider: self.provider,
            kubeconfig: self.kubeconfig.clone(),
            client: client(self.provider, config.clone()),
            config,
        }
    }

    /// A token of a service account.
    pub(crate) fn token(&self, namespace: &str, account: &str) -> String {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
        let request = serde_json::json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {},
        });
        let mut token = None;
        self.provider.wait_for("a token", |_| {
            let answer = self.post(&path, &request).ok();
            token = answer.and_then(|it| Some(it["status"]["token"].as_str()?.to_owned()));
            token.is_some()
        });
        token.unwrap()
    }

    /// Returns true if the API server knows the user.
    ///
    /// # Panics
    ///
    /// The API server gives another answer than that it does not.
    pub(crate) fn is_authenticated(&self) -> bool {
        let review = serde_json::json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview",
        });
        let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        match self.post(path, &review) {
            Ok(_) => true,
            Err(kube::Error::Api(status)) if status.code == 401 => false,
            Err(error) => panic!("{error}"),
        }
    }

    fn post(&self, path: &str, object: &Value) -> Result<Value, kube::Error> {
        let body = serde_json::to_vec(object).unwrap();
        let request = http::Request::post(path).header("Content-Type", "application/json");
        let request = request.body(body).unwrap();
        self.provider
            .block_on(self.client.request::<Value>(request))
    }

    /// Returns the response to a GET request, or the error's message.
    pub(crate) fn text(&self, path: &str) -> Result<String, String> {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        let answer = self.provider.block_on(self.client.request_text(request));
        answer.map_err(|it| it.to_string())
    }

    fn api(&self, resource: Resource, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), namespace, &kind(resource))
    }

    pub(crate) fn nodes(&self) -> Vec<String> {
        let nodes = self.list(NODE);
        let mut names: Vec<String> = nodes.iter().map(|it| it.name_any()).collect();
        names.sort();
        names
    }

    /// Number of nodes whose condition Ready has this status.
    pub(crate) fn nodes_with(&self, ready: &str) -> usize {
        let is_so = |it: &Value| it["type"] == "Ready" && it["status"] == ready;
        let nodes = self.list(NODE);
        let conditions = nodes.iter().map(|it| &it.data["status"]["conditions"]);
        let conditions = conditions.filter_map(Value::as_array);
        conditions.filter(|it| it.iter().any(is_so)).count()
    }

    /// Names of the bootstrap tokens of machines.
    pub(crate) fn tokens(&self) -> Vec<String> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), "kube-system");
        let tokens = ListParams::default().fields("type=bootstrap.kubernetes.io/token");
        let tokens = self.provider.block_on(secrets.list(&tokens)).unwrap();
        tokens.iter().map(|it| it.name_any()).collect()
    }

    /// Returns the status code of an unauthenticated request.
    pub(crate) fn anonymous(&self, path: &str) -> u16 {
        let mut config = self.config.clone();
        config.auth_info = AuthInfo::default();
        let client = client(self.provider, config);
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        match self.provider.block_on(client.request_text(request)) {
            Ok(_) => 200,
            Err(kube::Error::Api(status)) => status.code,
            Err(error) => panic!("{path}: {error}"),
        }
    }

    /// Returns true if a request succeeds within `limit`.
    pub(crate) fn responds(&self, path: &str, limit: Duration) -> bool {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        let answer = self.client.request_text(request);
        self.provider
            .block_on(async { tokio::time::timeout(limit, answer).await })
            .is_ok_and(|it| it.is_ok())
    }

    /// Waits until an object meets a condition, and returns it.
    pub(crate) fn wait_for(
        &self,
        resource: Resource,
        (namespace, name): (&str, &str),
        holds: impl Fn(&Value) -> bool,
    ) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let object = self.get(resource, namespace, name);
            let object = serde_json::to_value(object).unwrap();
            if holds(&object) {
                return object;
            }
            assert!(Instant::now() < end, "timed out waiting for: {object:#}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn kind(Resource(group, version, kind): Resource) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

/// Creates a client inside the runtime, in which its tasks run.
fn client(provider: &Provider, config: Config) -> Client {
    provider
        .block_on(async { Client::try_from(config) })
        .unwrap()
}

/// Returns a client of a shoot's API server with all permissions.
pub(crate) fn shoot_client(provider: &Provider, name: &str) -> Client {
    let output = provider.kvshoot().run(&format!("kubeconfig get {name}"));
    assert_eq!(output.code, 0, "{output}");
    let kubeconfig = Kubeconfig::from_yaml(&output.out).unwrap();
    provider.block_on(async {
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
        Client::try_from(config.unwrap()).unwrap()
    })
}

pub(crate) fn create<T>(provider: &Provider, api: &Api<T>, object: Value)
where
    T: Clone + Serialize + DeserializeOwned + std::fmt::Debug,
{
    let object = serde_json::from_value(object).unwrap();
    let created = provider.block_on(api.create(&PostParams::default(), &object));
    created.unwrap();
}
