//! Control plane pods are processes in the sandbox: their volumes, Services and lifecycle.

use crate::support::provider::{self, CLAIM, CONFIG_MAP, POD, Provider, Resource, SECRET};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SERVICE: Resource = Resource("", "v1", "Service");
const SERVE: &[&str] = &["--listen=0.0.0.0:8080"];
const EVENT: Resource = Resource("", "v1", "Event");

/// A pod that serves its files, arguments and environment, with the labels of kvshoot.
fn pod(name: &str, args: &[&str], spec: Value) -> Value {
    let mut object = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name, "app.kubernetes.io/managed-by": "kvshoot"}},
        "spec": {"containers": [{
            "name": "echo", "image": "registry.invalid/echo", "command": ["/usr/bin/sandbox-echo"], "args": args,
            "ports": [{"name": "http", "containerPort": 8080}],
            "terminationMessagePolicy": "FallbackToLogsOnError",
        }], "terminationGracePeriodSeconds": 1},
    });
    merge(&mut object["spec"], spec);
    object
}

/// Merges JSON. Lists of equal length are merged by item, others are replaced.
fn merge(to: &mut Value, from: Value) {
    match (to, from) {
        (Value::Object(to), Value::Object(from)) => {
            for (key, value) in from {
                merge(to.entry(key).or_insert(Value::Null), value);
            }
        }
        (Value::Array(to), Value::Array(from)) if to.len() == from.len() => {
            to.iter_mut()
                .zip(from)
                .for_each(|(to, from)| merge(to, from));
        }
        (to, from) => *to = from,
    }
}

fn service(name: &str, kind: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": format!("{name}-{}", kind.to_lowercase())},
        "spec": {"type": kind, "selector": {"app": name}, "ports": [{"port": 80, "targetPort": "http"}]},
    })
}

fn status(provider: &Provider, name: &str) -> Value {
    let pod = provider.get(POD, name);
    pod.map_or(Value::Null, |pod| pod.data["status"].clone())
}

fn is_ready(provider: &Provider, name: &str) -> bool {
    let status = status(provider, name);
    let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    conditions
        .iter()
        .any(|it| it["type"] == "Ready" && it["status"] == "True")
}

/// Returns the body of a successful response.
fn get(address: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    let patience = Some(Duration::from_secs(10));
    stream.set_read_timeout(patience).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.starts_with("HTTP/1.0 200").then(|| body.to_owned())
}

fn cluster_address(provider: &Provider, service: &str) -> String {
    let service = provider.get(SERVICE, service).unwrap();
    let address = service.data["spec"]["clusterIP"].as_str().unwrap();
    format!("{address}:80")
}

fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < end, "timed out waiting: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn messages(provider: &Provider, reason: &str) -> Vec<String> {
    let events = provider.list(EVENT).into_iter();
    events
        .filter(|it| it.data["reason"] == reason)
        .map(|it| it.data["message"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn a_pod_has_its_volumes_and_environment_and_is_reachable_through_its_services() {
    let provider = Provider::new();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"}, "stringData": {"a": "one"}});
    provider.create(SECRET, secret);
    let token = json!({"serviceAccountToken": {"path": "token", "audience": "elsewhere", "expirationSeconds": 600}});
    let name = json!({"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}});
    let object = pod(
        "echo",
        SERVE,
        json!({
            "containers": [{
                "env": [{"name": "OWN", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}],
                "readinessProbe": {"httpGet": {"path": "/readyz", "port": "http"}},
                "volumeMounts": [{"name": "keys", "mountPath": "/etc/keys"}, {"name": "more", "mountPath": "/etc/keys/more"}],
            }],
            "volumes": [
                {"name": "keys", "secret": {"secretName": "keys", "items": [{"key": "a", "path": "b/c"}]}},
                {"name": "more", "projected": {"sources": [token, name]}},
            ],
        }),
    );
    provider.create(POD, object);
    for kind in ["ClusterIP", "LoadBalancer"] {
        provider.create(SERVICE, service("echo", kind));
    }
    wait_for("the pod is ready", || is_ready(&provider, "echo"));
    let address = cluster_address(&provider, "echo-clusterip");
    let read = |path: &str| get(&address, &format!("/file{path}"));
    wait_for("the ClusterIP answers", || {
        get(&address, "/readyz").is_some()
    });
    assert_eq!(read("/etc/keys/b/c").as_deref(), Some("one"));
    assert_eq!(read("/etc/keys/more/name").as_deref(), Some("echo"));
    assert_eq!(
        read("/etc/keys/more/token").unwrap().split('.').count(),
        3,
        "no token"
    );
    let info: Value = serde_json::from_str(&get(&address, "/self").unwrap()).unwrap();
    let env = info["env"].as_array().unwrap();
    assert!(env.contains(&json!(format!("OWN={}", provider.namespace))));
    let listen = info["args"][1].as_str().unwrap();
    assert!(
        listen.starts_with("--listen=127.") && listen.ends_with(":8080"),
        "{listen}"
    );
    let named = format!("echo-clusterip.{}.svc.cluster.local", provider.namespace);
    wait_for("the Service has a name", || {
        read("/etc/hosts").is_some_and(|hosts| hosts.contains(&named))
    });

    let balancer = provider.get(SERVICE, "echo-loadbalancer").unwrap();
    let ingress = &balancer.data["status"]["loadBalancer"]["ingress"][0]["ip"];
    let outside = format!("{}:80", ingress.as_str().unwrap());
    wait_for("the load balancer answers", || {
        get(&outside, "/readyz").is_some()
    });

    provider.patch(SECRET, "keys", &json!({"stringData": {"a": "two"}}));
    wait_for("the Secret's change is in the file", || {
        read("/etc/keys/b/c").as_deref() == Some("two")
    });

    let own = listen.trim_start_matches("--listen=");
    assert!(get(own, "/readyz").is_some());
    provider.delete(POD, "echo");
    wait_for("the pod is deleted", || provider.get(POD, "echo").is_none());
    assert!(
        get(own, "/readyz").is_none(),
        "the process outlives its pod"
    );
    wait_for("the Service has no endpoint", || {
        get(&address, "/readyz").is_none()
    });
}

#[test]
fn kubectl_forwards_a_port_of_a_pod_and_shows_its_log() {
    let provider = Provider::new();
    provider.create(POD, pod("echo", &["--listen=:8080"], json!({})));
    wait_for("the pod is ready", || is_ready(&provider, "echo"));
    let kubectl = provider::installed_program("kubectl");
    let kubectl = |args: &[&str]| {
        let mut command = Command::new(&kubectl);
        command.args(["--kubeconfig", &provider.kubeconfig()]);
        command.args(["--namespace", &provider.namespace]);
        command.args(args).stdout(Stdio::piped());
        command
    };
    let mut forward = kubectl(&["port-forward", "pod/echo", ":8080"])
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut lines = BufReader::new(forward.stdout.take().unwrap());
    lines.read_line(&mut line).unwrap();
    // For example: Forwarding from 127.0.0.1:40001 -> 8080
    let address = line.split(' ').nth(2).unwrap();
    let answer = get(address, "/readyz");
    forward.kill().unwrap();
    forward.wait().unwrap();
    assert_eq!(answer.as_deref(), Some("ok\n"), "{line}");
    let log = kubectl(&["logs", "echo"]).output().unwrap();
    assert_eq!(String::from_utf8(log.stdout).unwrap(), "echo begins\n");
}

#[test]
fn a_pod_that_crashes_is_restarted_and_its_status_has_its_last_output() {
    let provider = Provider::new();
    provider.create(POD, pod("echo", &["--exit=3"], json!({})));
    let container = || status(&provider, "echo")["containerStatuses"][0].clone();
    wait_for("the pod backs off", || {
        let container = container();
        container["restartCount"].as_i64() >= Some(1)
            && container["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    });
    let container = container();
    let ended = &container["lastState"]["terminated"];
    assert_eq!(ended["exitCode"], 3, "{container}");
    let message = ended["message"].as_str().unwrap();
    assert!(message.contains("to end with 3"), "{container}");
    assert_eq!(status(&provider, "echo")["phase"], "Running");
}

#[test]
fn a_pod_waits_for_the_secret_that_it_mounts() {
    let provider = Provider::new();
    let volumes = json!({
        "containers": [{"volumeMounts": [{"name": "late", "mountPath": "/late"}]}],
        "volumes": [{"name": "late", "secret": {"secretName": "late"}}],
    });
    provider.create(POD, pod("echo", SERVE, volumes));
    wait_for("the event is recorded", || {
        let messages = messages(&provider, "FailedMount");
        messages
            .iter()
            .any(|it| it.contains("secret \"late\" not found"))
    });
    // The status follows the event.
    wait_for("the container waits", || {
        let container = &status(&provider, "echo")["containerStatuses"][0];
        container["state"]["waiting"]["reason"] == "ContainerCreating"
    });
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "late"}});
    provider.create(SECRET, secret);
    wait_for("the pod is ready", || is_ready(&provider, "echo"));
}

#[test]
fn sidecars_start_first_and_volumes_are_shared_and_persistent() {
    let provider = Provider::new();
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "config"}, "data": {"x": "y"}});
    provider.create(CONFIG_MAP, config);
    provider.create(
        CLAIM,
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        }),
    );
    let etcd = json!({
        "name": "etcd", "image": "registry.invalid/etcd", "restartPolicy": "Always", "command": ["etcd"],
        "args": ["--data-dir=/data/etcd", "--listen-client-urls=http://0.0.0.0:2379", "--advertise-client-urls=http://localhost:2379",
            "--listen-peer-urls=http://0.0.0.0:2380", "--listen-metrics-urls=http://0.0.0.0:2381"],
        "startupProbe": {"httpGet": {"path": "/readyz", "port": 2381}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "shared", "mountPath": "/shared"}],
    });
    let object = pod(
        "echo",
        SERVE,
        json!({
            "initContainers": [etcd],
            "containers": [{"volumeMounts": [
                {"name": "data", "mountPath": "/other"}, {"name": "shared", "mountPath": "/run/shared"},
                {"name": "config", "mountPath": "/data"},
            ]}],
            "volumes": [
                {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}, {"name": "shared", "emptyDir": {}},
                {"name": "config", "configMap": {"name": "config"}},
            ],
        }),
    );
    provider.create(SERVICE, service("echo", "ClusterIP"));
    let address = cluster_address(&provider, "echo-clusterip");
    let read = |path: &str| get(&address, &format!("/file{path}"));
    let lines = |text: String| text.lines().count();
    for round in 1..=2 {
        provider.create(POD, object.clone());
        wait_for("the pod is ready", || is_ready(&provider, "echo"));
        wait_for("the ClusterIP answers", || {
            get(&address, "/readyz").is_some()
        });
        let status = status(&provider, "echo");
        assert_eq!(status["initContainerStatuses"][0]["started"], true);
        assert_eq!(read("/data/x").as_deref(), Some("y"));
        // The sidecar's volumes, mounted at other paths here.
        assert!(read("/other/etcd/member/snap/").is_some(), "no data");
        get(&address, "/append/run/shared/visits");
        assert_eq!(read("/run/shared/visits").map(lines), Some(1));
        get(&address, "/append/other/visits");
        assert_eq!(read("/other/visits").map(lines), Some(round));
        provider.delete(POD, "echo");
        wait_for("the pod is deleted", || provider.get(POD, "echo").is_none());
    }
}
