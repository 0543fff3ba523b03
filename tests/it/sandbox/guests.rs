//! Virtual machines of the sandbox: a Linux that boots with kvshoot's user data, and containers that run.

use super::command::assert_go_tests_pass;
use crate::support::kvshoot::Kvshoot;
use crate::support::provider::{Provider, VM, VMI, installed_program};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Emulated machines take minutes to boot on a busy computer.
const BOOT: Duration = Duration::from_secs(600);

const MANIFEST: &str = "\
apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata:
  name: real
spec:
  cloudProfileName: sandbox
  region: sandbox
  provider:
    type: kubevirt
    infrastructureConfig:
      apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1
      kind: InfrastructureConfig
      networks:
        tenantNetworks:
        - name: storage
          config: >-
            {\"cniVersion\": \"0.3.1\", \"type\": \"bridge\", \"bridge\": \"storage0\",
            \"ipam\": {\"type\": \"whereabouts\", \"range\": \"192.168.5.0/24\"}}
        - name: backup
          config: '{\"cniVersion\": \"0.3.1\", \"type\": \"bridge\", \"bridge\": \"backup0\"}'
    workers:
    - name: worker
      minimum: 1
      maximum: 1
      machine: { type: small }
      volume: { type: standard, size: 20Gi }
      dataVolumes: [{ name: data, type: standard, size: 2Gi }]
      updateStrategy: AutoInPlaceUpdate
      zones: [zone-a]
  networking: { type: flannel, nodes: 10.64.0.0/10 }
  kubernetes: { version: 1.36.3 }
---
apiVersion: core.gardener.cloud/v1beta1
kind: CloudProfile
metadata:
  name: sandbox
spec:
  type: kubevirt
  kubernetes: { versions: [{ version: 1.36.3 }] }
  machineImages: [{ name: debian, versions: [{ version: 13.0.0 }] }]
  machineTypes: [{ name: small, cpu: '2', gpu: '0', memory: 2Gi }]
  volumeTypes: [{ name: standard, class: standard }]
  regions: [{ name: sandbox, zones: [{ name: zone-a }] }]
  providerConfig:
    apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1
    kind: CloudProfileConfig
    machineImages:
    - name: debian
      versions: [{ version: 13.0.0, sourceURL: 'https://example.org/debian.qcow2' }]
";

const PODS: &str = "\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: data }
spec:
  accessModes: [ReadWriteOnce]
  resources: { requests: { storage: 1Gi } }
---
apiVersion: v1
kind: Pod
metadata: { name: web, labels: { app: web } }
spec:
  containers:
  - name: web
    image: registry.k8s.io/e2e-test-images/busybox:1.37.0-1
    command:
    - sh
    - -c
    - |
      nslookup kubernetes.default.svc.cluster.local
      date >> /data/starts
      sync
      httpd -f -p 8080 -h /data
    readinessProbe: { httpGet: { path: /starts, port: 8080 } }
    volumeMounts: [{ name: data, mountPath: /data }]
  volumes:
  - name: data
    persistentVolumeClaim: { claimName: data }
---
apiVersion: v1
kind: Pod
metadata: { name: host }
spec:
  hostNetwork: true
  containers:
  - name: host
    image: registry.k8s.io/e2e-test-images/busybox:1.37.0-1
    command: [sleep, '3600']
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec:
  type: LoadBalancer
  selector: { app: web }
  ports: [{ port: 80, targetPort: 8080 }]
";

/// kubectl in the cluster of the test.
struct Kubectl<'a> {
    kvshoot: &'a Kvshoot,
    program: std::path::PathBuf,
}

impl Kubectl<'_> {
    /// Trusts the present CA of the cluster, with a new certificate.
    fn connect(&self) {
        let config = self.kvshoot.run("kubeconfig get real");
        assert_eq!(config.code, 0, "{config}");
        std::fs::write(self.kvshoot.home().join("cluster"), &config.out).unwrap();
    }

    /// Returns standard output; empty if the command failed.
    fn run(&self, line: &str) -> String {
        let output = self.kvshoot.program(&self.program, line.split_whitespace());
        output.out
    }

    fn get(&self, what: &str) -> Value {
        let text = self.run(&format!("--kubeconfig cluster get {what} -o json"));
        serde_json::from_str(&text).unwrap_or_default()
    }
}

/// IDs of the processes of virtual machines whose files are in the sandbox's directory.
fn machines(folder: &Path) -> Vec<String> {
    let marker = format!("{}/", folder.display());
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let is_machine = |path: &Path| {
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains("/qemu-system-") && line.contains(&marker)
    };
    entries
        .filter(|it| is_machine(&it.path()))
        .map(|it| it.file_name().to_string_lossy().into_owned())
        .collect()
}

fn wait_until(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + limit;
    while !holds() {
        assert!(Instant::now() < end, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn kill(pid: &str) {
    assert!(
        Command::new("kill")
            .args(["-9", pid])
            .status()
            .unwrap()
            .success()
    );
}

fn is_true(object: &Value, kind: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|it| it["type"] == kind && it["status"] == "True")
}

/// Requests a page from a load balancer; empty if there is no answer.
fn page(address: &str) -> String {
    let mut text = String::new();
    if let Ok(mut stream) = TcpStream::connect((address, 80)) {
        let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
        let _ = stream.write_all(b"GET /starts HTTP/1.0\r\n\r\n");
        let _ = stream.read_to_string(&mut text);
    }
    text
}

#[test]
#[ignore = "second tier: compiles the programs of virtual machines for their tests"]
fn the_go_programs_of_virtual_machines_pass_their_tests() {
    let packages = ["./csinode", "./flannelcni", "./images", "./network"];
    assert_go_tests_pass("guests", &packages);
}

/// One test, because a machine takes minutes to boot. It prints when the machine has joined and runs pods with DNS, volumes,
/// logs and `exec`; the rest takes longer.
#[test]
#[ignore = "second tier: boots a virtual machine, for which its disk has to be built"]
#[expect(clippy::print_stderr, reason = "a measurement")]
fn a_virtual_machine_joins_runs_pods_keeps_its_data_after_a_crash_and_leaves_nothing() {
    let provider = Provider::with_virtual_machines();
    let kvshoot = provider
        .with_programs(provider.kvshoot())
        .file("shoot.yaml", MANIFEST)
        .file("pods.yaml", PODS);
    let started = Instant::now();
    let apply = kvshoot.run("apply -f shoot.yaml --timeout 15m");
    assert_eq!(apply.code, 0, "{apply}");
    let kubectl = Kubectl {
        kvshoot: &kvshoot,
        program: installed_program("kubectl"),
    };
    kubectl.connect();
    report(&provider, &kubectl, started);
    runs_pods(&kvshoot, &kubectl);
    eprintln!(
        "pods run {:.0?} after the start of apply",
        started.elapsed()
    );
    takes_a_new_ca_in_place(&provider, &kvshoot, &kubectl);
    passes_the_checks(&kvshoot, &kubectl);
    survives_a_crash(&provider, &kvshoot, &kubectl);
    leaves_nothing(&provider, &kvshoot);
}

/// Prints when each stage was reached.
#[expect(clippy::print_stderr, reason = "a measurement")]
fn report(provider: &Provider, kubectl: &Kubectl, started: Instant) {
    let node = kubectl.get("nodes")["items"][0].take();
    let info = &node["status"]["nodeInfo"];
    assert_eq!(info["kubeletVersion"], "v1.36.3", "{node}");
    assert!(
        info["osImage"].as_str().unwrap().starts_with("Debian"),
        "{node}"
    );
    let machine = &provider.list(VMI)[0].data;
    let phases = &machine["status"]["phaseTransitionTimestamps"];
    eprintln!(
        "power-on {}, node created {}, ready {}; apply took {:.0?}",
        time_of(phases, "phase", "Running", "phaseTransitionTimestamp"),
        node["metadata"]["creationTimestamp"],
        time_of(
            &node["status"]["conditions"],
            "type",
            "Ready",
            "lastTransitionTime"
        ),
        started.elapsed(),
    );
}

/// The time in the entry of a list that has this value.
fn time_of<'a>(list: &'a Value, key: &str, value: &str, time: &str) -> &'a str {
    let mut entries = list.as_array().unwrap().iter();
    let entry = entries.find(|it| it[key] == value).unwrap();
    entry[time].as_str().unwrap()
}

fn runs_pods(kvshoot: &Kvshoot, kubectl: &Kubectl) {
    let pods = kubectl.get("pods --all-namespaces")["items"].take();
    let pods = pods.as_array().unwrap();
    // Two of CoreDNS, and one each of kube-proxy, flannel, konnectivity, metrics-server and the CSI driver.
    assert_eq!(pods.len(), 7);
    for pod in pods {
        assert!(is_true(pod, "Ready"), "{pod}");
        let id = pod["status"]["containerStatuses"][0]["containerID"].as_str();
        assert!(id.unwrap_or_default().starts_with("containerd://"), "{pod}");
    }
    assert!(
        !kubectl
            .run("--kubeconfig cluster apply -f pods.yaml")
            .is_empty()
    );
    wait_until("the pod is ready", BOOT, || {
        is_true(&kubectl.get("pod web"), "Ready")
    });
    let log = kubectl.run("--kubeconfig cluster logs web");
    assert!(log.contains("Address: 100.64.0.1\n"), "{log}");
    let mounts = kubectl.run("--kubeconfig cluster exec web -- cat /proc/mounts");
    assert!(mounts.contains("/dev/sda /data ext4"), "{mounts}");
    let disks = kubectl.run("--kubeconfig cluster exec web -- cat /proc/partitions");
    // The data volume of the pool, in KiB.
    assert!(disks.contains(" 2097152 vd"), "{disks}");
    assert_eq!(starts(kubectl), 1);
    has_further_networks(kubectl);
    let console = kvshoot.run(&format!("nodes console real {}", node_name(kubectl)));
    assert!(
        console.out.contains("this machine has joined its cluster"),
        "{console}"
    );
    // The boot does not wait for addresses that never come.
    let waited = "Failed to start systemd-networkd-wait-online";
    assert!(!console.out.contains(waited), "{console}");
}

/// The machine has the first address of the second network, and reaches its gateway, which has the last one. The third
/// network has no addresses.
fn has_further_networks(kubectl: &Kubectl) {
    wait_until("the pod on the machine's networks is ready", BOOT, || {
        is_true(&kubectl.get("pod host"), "Ready")
    });
    let host = |command: &str| kubectl.run(&format!("--kubeconfig cluster exec host -- {command}"));
    let addresses = host("ip -4 address");
    assert!(addresses.contains("inet 192.168.5.1/24 "), "{addresses}");
    assert!(host("ip link").contains(": enp3s0: "), "{addresses}");
    let ping = host("ping -c 1 -W 10 192.168.5.254");
    assert!(ping.contains(" 0% packet loss"), "{ping}");
}

/// No check fails, and their namespace is deleted.
#[expect(clippy::print_stderr, reason = "a measurement")]
fn passes_the_checks(kvshoot: &Kvshoot, kubectl: &Kubectl) {
    let run = kvshoot.run("conformance real --quick --timeout 10m -o json");
    assert_eq!(run.code, 0, "{run}");
    let report: Value = serde_json::from_str(&run.out).unwrap();
    let checks = report["checks"].as_array().unwrap();
    assert!(checks.len() >= 25, "{run}");
    for check in checks {
        let expected = match check["check"].as_str().unwrap() {
            "pod-to-pod" | "large-packets" => &["skipped"][..],
            // Pods do not reach addresses of this computer itself, which load balancers of the sandbox have.
            "network-policy" | "load-balancer" => &["warning"],
            // An emulated machine may be too slow for a first attempt.
            _ => &["ok", "warning"],
        };
        let status = check["status"].as_str().unwrap();
        assert!(expected.contains(&status), "{check}");
    }
    assert_eq!(report["nodes"][0]["kubelet"], "v1.36.3", "{run}");
    assert!(!report["doctor"].as_array().unwrap().is_empty(), "{run}");
    eprintln!("{} checks took {} s", checks.len(), report["seconds"]);
    let left = kubectl.get("namespaces --selector kvshoot.io/conformance");
    assert_eq!(left["items"], serde_json::json!([]));
}

/// Kubelet gets certificates of the new CA, and starts again; the machine and the pods of its user do not.
#[expect(clippy::print_stderr, reason = "a measurement")]
fn takes_a_new_ca_in_place(provider: &Provider, kvshoot: &Kvshoot, kubectl: &Kubectl) {
    let machines = || [VM, VMI].map(|it| provider.uids_of(it));
    let starts = || kubectl.run("--kubeconfig cluster exec web -- cat /data/starts");
    let before = machines();
    for phase in ["--start", "--complete --yes"] {
        let started = Instant::now();
        let run = kvshoot.run(&format!("rotate real ca {phase} --timeout 20m"));
        assert_eq!(run.code, 0, "{run}");
        eprintln!("rotate ca {phase} took {:.0?}", started.elapsed());
        kubectl.connect();
        // The API server verifies kubelet's serving certificate.
        wait_until("the API server reaches kubelet", BOOT, || {
            starts().lines().count() == 1
        });
    }
    assert_eq!(machines(), before);
    let pod = kubectl.get("pod web");
    assert_eq!(pod["status"]["containerStatuses"][0]["restartCount"], 0);
    let node = kubectl.get(&format!("node {}", node_name(kubectl)));
    let authorities = &node["metadata"]["annotations"]["kvshoot.io/certificate-authorities"];
    assert_eq!(authorities, "1/alone", "{node}");
    assert!(is_true(&node, "Ready"), "{node}");
    // System pods trust it as well: they ask the API server, and the API server asks metrics-server.
    wait_until("the metrics API works", BOOT, || {
        is_true(
            &kubectl.get("apiservice v1beta1.metrics.k8s.io"),
            "Available",
        )
    });
}

fn node_name(kubectl: &Kubectl) -> String {
    kubectl.get("nodes")["items"][0]["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// How often the pod has started, through the load balancer.
fn starts(kubectl: &Kubectl) -> usize {
    let service = kubectl.get("service web");
    let address = service["status"]["loadBalancer"]["ingress"][0]["ip"].as_str();
    let answer = page(address.unwrap_or("127.0.0.1"));
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    match head.starts_with("HTTP/1.1 200") {
        true => body.lines().count(),
        false => 0,
    }
}

/// The machine boots again from the same disk, with another address, and its pods start again with the same volume.
fn survives_a_crash(provider: &Provider, kvshoot: &Kvshoot, kubectl: &Kubectl) {
    let [machine] = &machines(&provider.folder())[..] else {
        panic!("one virtual machine runs");
    };
    let before = address(provider);
    kill(machine);
    wait_until("the pod has started again", BOOT, || starts(kubectl) == 2);
    let node = kubectl.get(&format!("node {}", node_name(kubectl)));
    assert!(is_true(&node, "Ready"), "{node}");
    assert_ne!(address(provider), before);
    // Approves the certificate that kubelet requested for its new address.
    let apply = kvshoot.run("apply -f shoot.yaml --timeout 10m");
    assert_eq!(apply.code, 0, "{apply}");
    wait_until("the API server reaches kubelet", BOOT, || {
        let starts = kubectl.run("--kubeconfig cluster exec web -- cat /data/starts");
        starts.lines().count() == 2
    });
}

fn address(provider: &Provider) -> Value {
    provider.list(VMI)[0].data["status"]["interfaces"][0]["ipAddress"].clone()
}

fn leaves_nothing(provider: &Provider, kvshoot: &Kvshoot) {
    let folder = provider.folder();
    let simulator = provider.status();
    let simulator = simulator.lines().find(|it| it.starts_with("simulator "));
    let pid = simulator
        .and_then(|it| it.split_whitespace().nth(1))
        .unwrap();
    assert_eq!(machines(&folder).len(), 1);
    kill(pid);
    wait_until(
        "virtual machines end with the simulator",
        Duration::from_secs(10),
        || machines(&folder).is_empty(),
    );
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    let reset = kvshoot.run(&format!("sandbox reset --name {name}"));
    assert_eq!(reset.code, 0, "{reset}");
    assert!(!folder.exists());
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains(&folder.display().to_string()), "{mounts}");
}
