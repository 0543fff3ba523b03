//! A load balancer and a volume of the users of a shoot.

use super::create;
use crate::support::provider::Provider;
use crate::support::proxy::wait_until;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Service};
use kube::Client;
use kube::api::Api;
use serde_json::json;

/// Creates a Service with a load balancer, and a volume that a running pod mounts.
pub(crate) fn create_user_resources(provider: &Provider, client: &Client) {
    let services: Api<Service> = Api::default_namespaced(client.clone());
    let claims: Api<PersistentVolumeClaim> = Api::default_namespaced(client.clone());
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let service = json!({
        "metadata": { "name": "web" },
        "spec": { "type": "LoadBalancer", "selector": { "app": "web" }, "ports": [{ "port": 80 }] },
    });
    create(provider, &services, service);
    let claim = json!({
        "metadata": { "name": "data" },
        "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
    });
    create(provider, &claims, claim);
    let pod = json!({
        "metadata": { "name": "db" },
        "spec": {
            "containers": [{ "name": "db", "image": "registry.example/db" }],
            "volumes": [{ "name": "data", "persistentVolumeClaim": { "claimName": "data" } }],
            "terminationGracePeriodSeconds": 1,
        },
    });
    create(provider, &pods, pod);
    let phase = |it: Option<String>, wanted: &str| it.as_deref() == Some(wanted);
    wait_until(|| {
        let service = provider.block_on(services.get_status("web")).unwrap();
        let balancer = service.status.and_then(|it| it.load_balancer);
        let claim = provider.block_on(claims.get_status("data")).unwrap();
        let pod = provider.block_on(pods.get_status("db")).unwrap();
        balancer.and_then(|it| it.ingress).is_some()
            && phase(claim.status.and_then(|it| it.phase), "Bound")
            && phase(pod.status.and_then(|it| it.phase), "Running")
    });
}
