//! What other programs bring: add-ons of a folder, applied inside a cluster, and the network among them.

use crate::support::kvshoot::{Kvshoot, Output};
use crate::support::provider::Provider;
use crate::support::proxy::wait_until;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use rustix::process::Signal;
use sha2::{Digest, Sha256};
use std::fs;

/// A network of the pods with what such things bring: a namespace, a kind of its own and one of it, settings, and a
/// pod on every node.
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

/// A shoot whose network is an add-on.
fn shoot() -> String {
    let example = fs::read_to_string("examples/minimal.yaml").unwrap();
    example.replace("type: flannel", "type: calico")
}

/// A client of the cluster that was made.
fn inside(provider: &Provider, kvshoot: &Kvshoot) -> Client {
    let output = kvshoot.run("kubeconfig get minimal");
    assert_eq!(output.code, 0, "{output}");
    let kubeconfig = Kubeconfig::from_yaml(&output.out).unwrap();
    provider.block_on(async {
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
        Client::try_from(config.unwrap()).unwrap()
    })
}

fn is_done(output: &Output, verb: &str) {
    let told = format!("shoot.core.gardener.cloud/minimal {verb}\n");
    assert_eq!((output.code, &*output.out), (0, &*told), "{output}");
}

#[test]
fn an_add_on_is_the_network_of_a_cluster_and_what_is_taken_out_of_it_goes() {
    let provider = Provider::new();
    let kvshoot = provider.kvshoot().file("shoot.yaml", &shoot());
    let kvshoot = kvshoot.file("addons/calico.yaml", CALICO);
    let apply = "apply -f shoot.yaml --addons addons";
    is_done(&kvshoot.run(apply), "created");
    is_done(&kvshoot.run(apply), "unchanged");

    let client = inside(&provider, &kvshoot);
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

    // Two objects are taken out; and one that cannot be made ends the run half way.
    let less: Vec<&str> = CALICO
        .split("---\n")
        .filter(|it| !it.contains("name: policy"))
        .collect();
    let less = less[1..].join("---\n");
    let broken =
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: added, namespace: of-nobody}\n";
    let kvshoot = kvshoot.file("addons/calico.yaml", &format!("{less}{broken}"));
    let output = kvshoot.run(apply);
    assert!(output.code != 0, "{output}");
    assert!(
        output.err.contains("namespace of-nobody does not exist"),
        "{output}"
    );
    let kvshoot = kvshoot.file("addons/calico.yaml", &less);
    is_done(&kvshoot.run(apply), "configured");
    provider.block_on(async {
        assert!(maps.get_opt("policy").await.unwrap().is_none());
        assert!(ranges.get_opt("pods").await.unwrap().is_none());
        assert!(maps.get_opt("kube-root-ca.crt").await.unwrap().is_some());
    });

    // What somebody else removes is made again, where it is looked at.
    provider.block_on(async {
        daemons
            .delete("calico-node", &Default::default())
            .await
            .unwrap();
    });
    is_done(&kvshoot.run(apply), "configured");
    assert!(
        provider
            .block_on(daemons.get_opt("calico-node"))
            .unwrap()
            .is_some()
    );

    // A run that is killed as soon as it has begun to write is finished by the next.
    let kvshoot = kvshoot.file("addons/more.yaml", &many("one"));
    let more: Api<ConfigMap> = Api::namespaced(client.clone(), "more");
    let running = kvshoot.start(apply);
    wait_until(|| provider.block_on(more.get_opt("one-0")).unwrap().is_some());
    running.signal(Signal::KILL);
    drop(running.wait());
    let kvshoot = kvshoot.file("addons/more.yaml", &many("two"));
    let output = kvshoot.run(apply);
    assert_eq!(output.code, 0, "{output}");
    is_done(&kvshoot.run(apply), "unchanged");
    let names = provider.block_on(more.list(&Default::default())).unwrap();
    let names: Vec<String> = names
        .into_iter()
        .filter_map(|it| it.metadata.name)
        .collect();
    assert!(names.contains(&"two-39".to_owned()), "{names:?}");
    assert!(!names.iter().any(|it| it.starts_with("one-")), "{names:?}");
}

/// A namespace and forty objects in it.
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
fn add_ons_that_cannot_be_applied_are_told_before_anything_is_made() {
    let provider = Provider::new();
    let kvshoot = provider.kvshoot().file("shoot.yaml", &shoot());
    let output = kvshoot.run("apply -f shoot.yaml");
    assert_eq!(output.code, 3, "{output}");
    assert!(
        output
            .err
            .contains("no manifests of networking.type calico"),
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
        output.err.contains("the key name stands twice") && output.err.contains("calico.yaml:"),
        "{output}"
    );

    let twice = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n";
    let kvshoot = kvshoot.file("addons/calico.yaml", twice);
    let kvshoot = kvshoot.file("addons/other/a.yaml", twice);
    let output = kvshoot.run("plan -f shoot.yaml --addons addons");
    assert_eq!(output.code, 3, "{output}");
    assert!(
        output.err.contains("Namespace a stands here again"),
        "{output}"
    );

    let own = CALICO.replace("calico-node, namespace", "kube-proxy, namespace");
    let kvshoot = kvshoot.file("addons/calico.yaml", &own);
    let output = kvshoot.run("apply -f shoot.yaml --addons addons");
    assert_eq!(output.code, 4, "{output}");
    assert!(
        output
            .err
            .contains("DaemonSet kube-system/kube-proxy, which kvshoot brings"),
        "{output}"
    );
    let records = provider.names(crate::support::provider::CONFIG_MAP);
    assert!(
        !records.iter().any(|it| it.starts_with("shoot--")),
        "{records:?}"
    );
}

#[test]
fn manifests_that_are_not_those_of_the_digest_are_not_applied() {
    let provider = Provider::new();
    let kvshoot = provider.kvshoot().file("calico.yaml", CALICO);
    let url = format!("file://{}/calico.yaml", kvshoot.home().display());
    let of = |digest: &str| {
        let config = "kind: CloudProfileConfig\n";
        let given = format!(
            "{config}    networkManifests:\n    - {{type: calico, url: \"{url}\", digest: \"{digest}\"}}\n"
        );
        shoot().replace(config, &given)
    };
    let wrong = "0".repeat(64);
    let kvshoot = kvshoot.file("shoot.yaml", &of(&wrong));
    let output = kvshoot.run("apply -f shoot.yaml");
    let digest: String = Sha256::digest(CALICO)
        .iter()
        .map(|it| format!("{it:02x}"))
        .collect();
    assert_eq!(output.code, 4, "{output}");
    assert!(
        output.err.contains(&wrong) && output.err.contains(&digest),
        "{output}"
    );
    let kvshoot = kvshoot.file("shoot.yaml", &of(&digest));
    let output = kvshoot.run("plan -f shoot.yaml");
    assert_eq!(output.code, 0, "{output}");
    assert!(output.out.contains("calico"), "{output}");
    // From here on it is kept.
    fs::remove_file(kvshoot.home().join("calico.yaml")).unwrap();
    let output = kvshoot.run("plan -f shoot.yaml");
    assert_eq!(output.code, 0, "{output}");
}
