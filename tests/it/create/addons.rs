//! Add-ons from a directory and from the CloudProfile, including the pod network.

use crate::support::kvshoot::Output;
use crate::support::provider::Provider;
use crate::support::proxy::wait_until;
use crate::support::shoot_api::shoot_client;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use rustix::process::Signal;
use sha2::{Digest, Sha256};
use std::fs;

/// A pod network with a namespace, a custom resource and its definition, a configuration, and a DaemonSet.
const CALICO: &str = "\
apiVersion: example.org/v1
kind: Range
metadata: {name: pods}
spec: {cidr: 100.96.0.0/11}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ranges.example.org}
spec:
  group: example.org
  scope: Cluster
  names: {kind: Range, plural: ranges, singular: range}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {cidr: {type: string}}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: policy, namespace: of-calico}
data: {default: allow}
---
apiVersion: v1
kind: Namespace
metadata: {name: of-calico}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: calico-config, namespace: kube-system}
data: {calico_backend: bird}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: calico-node, namespace: kube-system, labels: {k8s-app: calico-node}}
spec:
  selector: {matchLabels: {k8s-app: calico-node}}
  template:
    metadata: {labels: {k8s-app: calico-node}}
    spec:
      hostNetwork: true
      tolerations: [{operator: Exists}]
      containers:
      - name: calico-node
        image: docker.io/calico/node:v3.31.4
        env: [{name: CALICO_IPV4POOL_IPIP, value: Always}]
";

/// A shoot with an add-on as its pod network.
fn shoot() -> String {
    let example = fs::read_to_string("examples/minimal.yaml").unwrap();
    example.replace("type: flannel", "type: calico")
}

fn assert_result(output: &Output, verb: &str) {
    let expected = format!("shoot.core.gardener.cloud/minimal {verb}\n");
    assert_eq!((output.code, &*output.out), (0, &*expected), "{output}");
}

#[test]
fn an_add_on_can_be_the_pod_network_and_objects_removed_from_it_are_deleted() {
    let provider = Provider::new();
    let kvshoot = provider.kvshoot().file("shoot.yaml", &shoot());
    let kvshoot = kvshoot.file("addons/calico.yaml", CALICO);
    let apply = "apply -f shoot.yaml --addons addons";
    assert_result(&kvshoot.run(apply), "created");
    assert_result(&kvshoot.run(apply), "unchanged");

    let client = shoot_client(&provider, "minimal");
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "of-calico");
    let range = ApiResource::from_gvk(&GroupVersionKind::gvk("example.org", "v1", "Range"));
    let ranges: Api<DynamicObject> = Api::all_with(client.clone(), &range);
    let daemons: Api<DaemonSet> = Api::namespaced(client.clone(), "kube-system");
    provider.block_on(async {
        assert!(maps.get_opt("policy").await.unwrap().is_some());
        assert!(ranges.get_opt("pods").await.unwrap().is_some());
        let daemon = daemons.get("calico-node").await.unwrap();
        let text = serde_json::to_string(&daemon.spec).unwrap();
        assert!(text.contains("CALICO_IPV4POOL_CIDR"), "{text}");
    });

    // Two objects are removed from the add-on, and a new one, which cannot be created, fails the run.
    let less: Vec<&str> = CALICO
        .split("---\n")
        .filter(|it| !it.contains("name: policy"))
        .collect();
    let less = less[1..].join("---\n");
    let broken =
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: added, namespace: missing}\n";
    let kvshoot = kvshoot.file("addons/calico.yaml", &format!("{less}{broken}"));
    let output = kvshoot.run(apply);
    assert!(output.code != 0, "{output}");
    assert!(
        output.err.contains("namespace missing does not exist"),
        "{output}"
    );
    let kvshoot = kvshoot.file("addons/calico.yaml", &less);
    assert_result(&kvshoot.run(apply), "configured");
    provider.block_on(async {
        assert!(maps.get_opt("policy").await.unwrap().is_none());
        assert!(ranges.get_opt("pods").await.unwrap().is_none());
        assert!(maps.get_opt("kube-root-ca.crt").await.unwrap().is_some());
    });

    // A deleted object is created again.
    provider.block_on(async {
        daemons
            .delete("calico-node", &Default::default())
            .await
            .unwrap();
    });
    assert_result(&kvshoot.run(apply), "configured");
    assert!(
        provider
            .block_on(daemons.get_opt("calico-node"))
            .unwrap()
            .is_some()
    );

    // The next run completes a run that was killed after its first write.
    let kvshoot = kvshoot.file("addons/more.yaml", &many("one"));
    let more: Api<ConfigMap> = Api::namespaced(client.clone(), "more");
    let running = kvshoot.start(apply);
    wait_until(|| provider.block_on(more.get_opt("one-0")).unwrap().is_some());
    running.signal(Signal::KILL);
    drop(running.wait());
    let kvshoot = kvshoot.file("addons/more.yaml", &many("two"));
    let output = kvshoot.run(apply);
    assert_eq!(output.code, 0, "{output}");
    assert_result(&kvshoot.run(apply), "unchanged");
    let names = provider.block_on(more.list(&Default::default())).unwrap();
    let names: Vec<String> = names
        .into_iter()
        .filter_map(|it| it.metadata.name)
        .collect();
    assert!(names.contains(&"two-39".to_owned()), "{names:?}");
    assert!(!names.iter().any(|it| it.starts_with("one-")), "{names:?}");
}

/// A namespace with forty objects.
fn many(prefix: &str) -> String {
    let one = |number| {
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {prefix}-{number}, namespace: more}}\n"
        )
    };
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: more}\n".to_owned();
    namespace + &(0..40).map(one).collect::<String>()
}

#[test]
fn invalid_add_ons_are_reported_before_anything_is_created() {
    let provider = Provider::new();
    let kvshoot = provider.kvshoot().file("shoot.yaml", &shoot());
    let output = kvshoot.run("apply -f shoot.yaml");
    assert_eq!(output.code, 3, "{output}");
    assert!(
        output
            .err
            .contains("no manifests for networking.type calico"),
        "{output}"
    );
    assert!(output.err.contains("--addons DIR"), "{output}");

    let kvshoot = kvshoot.file(
        "addons/calico.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  name: b\n",
    );
    let output = kvshoot.run("apply -f shoot.yaml --addons addons");
    assert_eq!(output.code, 3, "{output}");
    assert!(
        output.err.contains("duplicate key \"name\"") && output.err.contains("calico.yaml:"),
        "{output}"
    );

    let twice = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n";
    let kvshoot = kvshoot.file("addons/calico.yaml", twice);
    let kvshoot = kvshoot.file("addons/other/a.yaml", twice);
    let output = kvshoot.run("plan -f shoot.yaml --addons addons");
    assert_eq!(output.code, 3, "{output}");
    assert!(
        output.err.contains("Namespace a is defined more than once"),
        "{output}"
    );

    let own = CALICO.replace("calico-node, namespace", "kube-proxy, namespace");
    let kvshoot = kvshoot.file("addons/calico.yaml", &own);
    let output = kvshoot.run("apply -f shoot.yaml --addons addons");
    assert_eq!(output.code, 4, "{output}");
    assert!(
        output
            .err
            .contains("contains DaemonSet kube-system/kube-proxy, which kvshoot manages"),
        "{output}"
    );
    let records = provider.names(crate::support::provider::CONFIG_MAP);
    assert!(
        !records.iter().any(|it| it.starts_with("shoot--")),
        "{records:?}"
    );
}

#[test]
fn manifests_with_a_wrong_digest_are_not_applied() {
    let provider = Provider::new();
    let kvshoot = provider.kvshoot().file("calico.yaml", CALICO);
    let url = format!("file://{}/calico.yaml", kvshoot.home().display());
    let shoot_with_digest = |digest: &str| {
        let config = "kind: CloudProfileConfig\n";
        let given = format!(
            "{config}    networkManifests:\n    - {{type: calico, url: \"{url}\", digest: \"{digest}\"}}\n"
        );
        shoot().replace(config, &given)
    };
    let wrong = "0".repeat(64);
    let kvshoot = kvshoot.file("shoot.yaml", &shoot_with_digest(&wrong));
    let output = kvshoot.run("apply -f shoot.yaml");
    assert_eq!(output.code, 4, "{output}");
    let refused = "no such file in a folder of --allow-files";
    assert!(output.err.contains(refused), "{output}");
    let output = kvshoot.run("apply -f shoot.yaml --allow-files .");
    let digest: String = Sha256::digest(CALICO)
        .iter()
        .map(|it| format!("{it:02x}"))
        .collect();
    assert_eq!(output.code, 4, "{output}");
    assert!(
        output.err.contains(&wrong) && !output.err.contains(&digest),
        "{output}"
    );
    let kvshoot = kvshoot.file("shoot.yaml", &shoot_with_digest(&digest));
    let output = kvshoot.run("plan -f shoot.yaml --allow-files .");
    assert_eq!(output.code, 0, "{output}");
    assert!(output.out.contains("calico"), "{output}");
    // The cached copy is used.
    fs::remove_file(kvshoot.home().join("calico.yaml")).unwrap();
    let output = kvshoot.run("plan -f shoot.yaml");
    assert_eq!(output.code, 0, "{output}");
}
