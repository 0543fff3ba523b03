//! A complete cluster: three pools in three zones, with its system components.

use super::certificates::{self, NAME};
use super::node_certificates;
use crate::support::cost;
use crate::support::provider::{self, CLAIM, CONFIG_MAP, Provider, Resource, SECRET};
use crate::support::proxy::Proxy;
use crate::support::shoot_api::{NODE, SERVICE, ShootApi};
use crate::support::shoots::Manifest;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

const ZONES: [&str; 3] = ["zone-a", "zone-b", "zone-c"];
const SLICE: Resource = Resource("discovery.k8s.io", "v1", "EndpointSlice");

#[test]
fn a_cluster_with_pools_in_three_zones_is_complete() {
    let provider = Provider::new();
    let manifest = three_pools();
    cost::timed_apply(&provider, &manifest);

    let api = ShootApi::connect(&provider, &provider.kvshoot(), NAME);
    taints_of_the_start_are_removed(&provider, &api);
    nodes_have_labels_addresses_and_pod_ranges(&api);
    system_components_are_available(&api);
    assert_eq!(api.anonymous("/version"), 401);
    assert_eq!(api.anonymous("/api/v1/secrets"), 401);
    services_have_addresses(&provider, &api);
    volumes_are_bound(&provider, &api);
    secrets_are_encrypted(&provider, &api);
    a_second_apply_writes_nothing(&provider, &manifest);
    let used = cost::control_plane_memory(&provider);
    assert!((1..=1024).contains(&used), "{used} MiB");
    logs_are_clean(&provider);
    node_certificates::are_those_of_the_machines(&provider, &manifest, &api);
    certificates::are_accepted(&provider, &manifest, &api);
}

/// A pool of one machine in each zone.
fn three_pools() -> Manifest {
    Manifest::named(NAME).with_size(1).with(|it| {
        let workers = &mut it.shoot["spec"]["provider"]["workers"];
        let pool = workers[0].clone();
        let pools = ZONES.map(|zone| {
            let mut pool = pool.clone();
            pool["name"] = zone.replace("zone", "pool").into();
            pool["zones"] = json!([zone]);
            pool
        });
        *workers = pools.to_vec().into();
    })
}

fn is_true(object: &Value, condition: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|it| it["type"] == condition && it["status"] == "True")
}

/// On a busy machine, the node lifecycle controller may add `not-ready` after the node has become ready, because it
/// reads from a cache. Its next round, five seconds later, removes it.
fn taints_of_the_start_are_removed(provider: &Provider, api: &ShootApi) {
    provider.wait_for("the taints of all nodes to be removed", |_| {
        let nodes = api.list(NODE);
        nodes.iter().all(|it| it.data["spec"]["taints"].is_null())
    });
}

fn nodes_have_labels_addresses_and_pod_ranges(api: &ShootApi) {
    let mut nodes = api.list(NODE);
    nodes.sort_by_key(|it| it.metadata.name.clone());
    assert_eq!(nodes.len(), 3);
    for (node, zone) in nodes.into_iter().zip(ZONES) {
        let node = serde_json::to_value(node).unwrap();
        let labels = &node["metadata"]["labels"];
        assert_eq!(labels["topology.kubernetes.io/zone"], zone, "{node:#}");
        assert_eq!(labels["topology.kubernetes.io/region"], "sandbox");
        assert_eq!(labels["node-role.kubernetes.io/worker"], "");
        let pool = &labels["worker.gardener.cloud/pool"];
        assert_eq!(*pool, zone.replace("zone", "pool"));
        assert!(is_true(&node, "Ready"), "{node:#}");
        assert_eq!(node["spec"]["taints"], Value::Null, "{node:#}");
        let id = format!("kubevirt://{}", node["metadata"]["name"].as_str().unwrap());
        assert_eq!(node["spec"]["providerID"], id);
        let range = node["spec"]["podCIDR"].as_str().unwrap();
        assert!(
            range.starts_with("100.9") && range.ends_with(".0/24"),
            "{range}"
        );
        let addresses = node["status"]["addresses"].as_array().unwrap();
        let is_internal = |it: &&Value| it["type"] == "InternalIP";
        let address = addresses.iter().find(is_internal).unwrap();
        assert!(address["address"].as_str().unwrap().starts_with("10."));
    }
}

/// Workloads have rolled out, and all APIServices are available.
fn system_components_are_available(api: &ShootApi) {
    let mut names = Vec::new();
    for kind in ["DaemonSet", "Deployment"] {
        for object in api.list(Resource("apps", "v1", kind)) {
            let status = &object.data["status"];
            let (wanted, ready) = match kind {
                "DaemonSet" => ("desiredNumberScheduled", "numberReady"),
                _ => ("replicas", "readyReplicas"),
            };
            assert!(
                status[wanted].as_u64() > Some(0) && status[wanted] == status[ready],
                "{status}"
            );
            names.push(object.metadata.name.unwrap());
        }
    }
    names.sort();
    let wanted = [
        "coredns",
        "konnectivity-agent",
        "kube-flannel-ds",
        "kube-proxy",
        "kubevirt-csi-node",
        "metrics-server",
    ];
    assert_eq!(names, wanted);
    for pod in api.list(provider::POD) {
        let pod = serde_json::to_value(pod).unwrap();
        assert!(is_true(&pod, "Ready"), "{pod:#}");
    }
    let services = api.list(Resource("apiregistration.k8s.io", "v1", "APIService"));
    let name = |it: &kube::api::DynamicObject| it.metadata.name.clone().unwrap();
    assert!(
        services
            .iter()
            .any(|it| name(it) == "v1beta1.metrics.k8s.io")
    );
    for service in services {
        let service = serde_json::to_value(service).unwrap();
        assert!(is_true(&service, "Available"), "{service:#}");
    }
}

/// The Service in the provider cluster targets the node port of every machine.
fn services_have_addresses(provider: &Provider, api: &ShootApi) {
    let object = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"name": "http", "port": 80}]},
    });
    api.create(SERVICE, "default", object);
    let address = |it: &Value| it["status"]["loadBalancer"]["ingress"][0]["ip"].is_string();
    let service = api.wait_for(SERVICE, ("default", "web"), address);
    let provider_service = |it: &Provider| {
        let mut services = it.list(SERVICE).into_iter();
        let label = "cluster.x-k8s.io/tenant-service-name";
        services.find(|service| {
            let labels = service.metadata.labels.as_ref();
            labels.is_some_and(|labels| labels.contains_key(label))
        })
    };
    let found = provider_service(provider).unwrap();
    assert_eq!(
        found.data["status"]["loadBalancer"]["ingress"][0]["ip"],
        service["status"]["loadBalancer"]["ingress"][0]["ip"]
    );
    assert_eq!(
        found.data["spec"]["ports"][0]["targetPort"],
        service["spec"]["ports"][0]["nodePort"]
    );
    let name = found.metadata.name.unwrap();
    provider.wait_for("endpoints of the Service", |provider| {
        let slices = provider.list(SLICE).into_iter();
        let of_service = slices.filter(|slice| {
            let labels = slice.metadata.labels.iter().flatten();
            labels
                .clone()
                .any(|(key, value)| key == "kubernetes.io/service-name" && *value == name)
        });
        let count = |slice: Value| slice["endpoints"].as_array().map_or(0, Vec::len);
        of_service.map(|slice| count(slice.data)).sum::<usize>() == 3
    });
}

fn volumes_are_bound(provider: &Provider, api: &ShootApi) {
    let object = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    api.create(CLAIM, "default", object);
    let is_bound = |it: &Value| it["status"]["phase"] == "Bound";
    let claim = api.wait_for(CLAIM, ("default", "data"), is_bound);
    let volumes = api.list(Resource("", "v1", "PersistentVolume"));
    let volume = &volumes[0];
    assert_eq!(
        claim["spec"]["volumeName"],
        *volume.metadata.name.as_ref().unwrap()
    );
    let source = &volume.data["spec"]["csi"];
    assert_eq!(source["driver"], "csi.kubevirt.io");
    let handle = source["volumeHandle"].as_str().unwrap();
    provider.wait_for("the disk of the volume", |it| {
        let disk = it.get(provider::DATA_VOLUME, handle).unwrap();
        disk.data["status"]["phase"] == "Succeeded"
    });
}

/// The value of a ConfigMap is found in the files of etcd, so the search works; that of a Secret is not.
fn secrets_are_encrypted(provider: &Provider, api: &ShootApi) {
    let (plain, secret) = ("plain-value-4711", "secret-value-0815");
    let object = |kind: &str, field: &str, value: &str| {
        let mut object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "word"}});
        object[field] = json!({ "word": value });
        object
    };
    api.create(CONFIG_MAP, "default", object("ConfigMap", "data", plain));
    api.create(SECRET, "default", object("Secret", "stringData", secret));
    let prefix = format!("{}_", provider.namespace);
    let mut files = files(&provider.folder().join("pods/running"));
    files.retain(|it| {
        it.to_string_lossy().contains(&prefix) && it.to_string_lossy().contains("/member/")
    });
    let bytes: Vec<u8> = files.iter().flat_map(|it| fs::read(it).unwrap()).collect();
    let has = |word: &str| bytes.windows(word.len()).any(|it| it == word.as_bytes());
    assert!(has(plain) && has("k8s:enc:"), "{files:?}");
    assert!(!has(secret));
}

/// Returns all files below a directory.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

/// Neither to the provider, counted by a proxy, nor to the shoot, counted in its audit log.
fn a_second_apply_writes_nothing(provider: &Provider, manifest: &Manifest) {
    let proxy = Proxy::new(provider);
    proxy.forward_all();
    let before = shoot_writes(provider);
    assert!(before > 50, "{before}: the audit log is incomplete");
    let kvshoot = proxy.kvshoot(provider).file("shoot.yaml", &manifest.text());
    let output = kvshoot.run("apply -f shoot.yaml --timeout 2m");
    assert_eq!(
        (output.code, &*output.out),
        (0, "shoot.core.gardener.cloud/whole unchanged\n"),
        "{output}"
    );
    assert_eq!(proxy.writes(), []);
    assert_eq!(shoot_writes(provider), before);
}

/// Returns the number of writes by kvshoot in the audit log of the shoot.
fn shoot_writes(provider: &Provider) -> usize {
    let is_write = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap_or_default();
        let verb = event["verb"].as_str().unwrap_or_default();
        event["user"]["username"] == "kvshoot" && !matches!(verb, "get" | "list" | "watch" | "")
    };
    let logs = logs(provider).into_iter();
    logs.map(|(_, text)| text.lines().filter(|it| is_write(it)).count())
        .sum()
}

/// Names and contents of the logs of control plane processes and machines.
fn logs(provider: &Provider) -> Vec<(String, String)> {
    let prefixes = [
        format!("{}_", provider.namespace),
        format!("shoot--local--{NAME}-"),
    ];
    let files = files(&provider.folder().join("logs")).into_iter();
    let named = files.map(|it| (it.file_name().unwrap().to_string_lossy().into_owned(), it));
    let ours = named.filter(|(name, _)| prefixes.iter().any(|it| name.starts_with(it)));
    let read = |path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    ours.map(|(name, path)| (name, read(path))).collect()
}

fn logs_are_clean(provider: &Provider) {
    const NEVER: [&str; 7] = [
        "unknown flag",
        "deprecated",
        "unrecognized feature gate",
        "x509:",
        "unknown authority",
        "tls: ",
        "tls handshake error",
    ];
    let logs = logs(provider);
    for program in [
        "etcd",
        "kube-apiserver",
        "konnectivity-server",
        "kube-controller-manager",
        "kube-scheduler",
        "cloud-controller-manager",
        "csi-driver",
    ] {
        let end = format!("_{program}.log");
        assert!(logs.iter().any(|it| it.0.ends_with(&end)), "{program}");
    }
    // Lines of the audit log are skipped.
    let is_audit_event = |line: &str| line.starts_with(r#"{"kind":"Event""#);
    for (name, text) in logs {
        for line in text.lines().filter(|it| !is_audit_event(it)) {
            let lower = line.to_lowercase();
            let bad = NEVER.iter().find(|it| lower.contains(**it));
            assert!(bad.is_none(), "{name}: {line}");
        }
    }
}
