//! NetworkPolicies of a shoot on a real API server. They have no effect here: a unit test in `src/render` computes the
//! allowed connections.

use crate::support::kvshoot::Kvshoot;
use crate::support::provider::{self, Provider};
use crate::support::shoots::Manifest;
use crate::support::vm_watcher;
use kube::api::PostParams;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Names of the policies of the control plane, after the technical ID.
const OF_CONTROL_PLANE: [&str; 6] = [
    "cloud-controller-manager",
    "csi-controller",
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
];

fn config(manifest: &mut Manifest) -> &mut Value {
    &mut manifest.shoot["spec"]["provider"]["infrastructureConfig"]
}

/// Policies other than those of the control plane, by the end of their names.
fn policies(provider: &Provider, id: &str) -> BTreeMap<String, Value> {
    let objects = provider.list(provider::NETWORK_POLICY).into_iter();
    let named = objects.map(|policy| {
        let name = policy.metadata.name.unwrap();
        let suffix = name
            .strip_prefix(id)
            .and_then(|rest| rest.strip_prefix('-'));
        (suffix.unwrap().to_owned(), policy.data["spec"].clone())
    });
    let others = named.filter(|it| !OF_CONTROL_PLANE.contains(&it.0.as_str()));
    others.collect()
}

/// Returns true if a policy selects pods with these labels.
fn selects(policy: &Value, labels: &BTreeMap<String, String>) -> bool {
    let wanted = policy["podSelector"]["matchLabels"].as_object().unwrap();
    assert!(!wanted.is_empty());
    wanted
        .iter()
        .all(|(key, it)| labels.get(key).is_some_and(|has| it == has))
}

#[test]
#[ignore = "second tier: five applies; unit tests of components have each change, and the first tier sends all policies to the API server"]
fn policies_are_restored_changed_in_place_and_deleted_with_their_setting_and_their_shoot() {
    let provider = Provider::new();
    let empty = provider.dump();
    let manifest = Manifest::example("network-policies");
    let id = manifest.id();
    let pods = vm_watcher::watch_labels(&provider, provider::POD);
    provider.assert_applied(&manifest, "created");
    provider.assert_unchanged(&manifest);
    let machines = provider.uids();
    assert_eq!(machines.len(), 2);

    let created = policies(&provider, &id);
    let names: Vec<&str> = created.keys().map(String::as_str).collect();
    let all = [
        "allow-kubevirt-importer",
        "cluster-isolation",
        "registry",
        "time",
    ];
    assert_eq!(names, all);
    let isolation = &created["cluster-isolation"];
    let service = format!("{id}-kube-apiserver");
    let service = provider.get(provider::SERVICE, &service).unwrap();
    let address: std::net::Ipv4Addr = service.data["spec"]["clusterIP"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    // As machines of a sandbox reach it.
    let [_, _, high, low] = address.octets();
    let opened = json!([{ "ipBlock": { "cidr": format!("198.18.{high}.{low}/32") } }]);
    let rules = isolation["egress"].as_array().unwrap();
    assert!(rules.iter().any(|it| it["to"] == opened), "{isolation:#}");
    assert!(rules.iter().all(|it| it["to"].is_array()), "{isolation:#}");
    // By the labels that KubeVirt really gives to the pods of machines, and by no others.
    let pods = pods.lock().unwrap().clone();
    for (name, labels) in &pods {
        let is_machine = name.starts_with("virt-launcher-");
        assert_eq!(selects(isolation, labels), is_machine, "{name}: {labels:?}");
    }
    let machine_pods = pods.keys().filter(|it| it.starts_with("virt-launcher-"));
    assert_eq!(machine_pods.count(), 2, "{:?}", pods.keys());

    provider.delete(provider::NETWORK_POLICY, &format!("{id}-cluster-isolation"));
    provider.assert_applied(&manifest, "configured");
    assert_eq!(policies(&provider, &id), created);

    let edited = manifest.clone().with(|it| {
        config(it)["customNetworkPolicies"][0]["spec"]["egress"][1]["ports"][0]["port"] =
            json!(5001);
    });
    provider.assert_applied(&edited, "configured");
    let now = policies(&provider, &id);
    assert_eq!(now["registry"]["egress"][1]["ports"][0]["port"], 5001);
    assert_eq!(now["time"], created["time"]);

    let off = edited.with(|it| config(it)["enableDefaultNetworkPolicies"] = json!(false));
    provider.assert_applied(&off, "configured");
    let remaining: Vec<String> = policies(&provider, &id).into_keys().collect();
    assert_eq!(remaining, ["registry", "time"]);
    provider.assert_unchanged(&off);

    let on = manifest.with(|it| {
        drop(
            config(it)
                .as_object_mut()
                .unwrap()
                .remove("customNetworkPolicies"),
        )
    });
    provider.assert_applied(&on, "configured");
    let remaining: Vec<String> = policies(&provider, &id).into_keys().collect();
    assert_eq!(
        remaining,
        ["allow-kubevirt-importer", "cluster-isolation", "time"]
    );
    assert_eq!(provider.uids(), machines, "no machine was replaced");

    let last_machine = vm_watcher::watch_deletions(&provider, provider::VM);
    let first_policy = vm_watcher::watch_deletions(&provider, provider::NETWORK_POLICY);
    provider.assert_deleted(on.name());
    assert_eq!(provider.dump(), empty);
    provider.wait_for("the watches to catch up", |_| {
        let (vms, policies) = (last_machine.lock().unwrap(), first_policy.lock().unwrap());
        vms.len() == 2 && policies.len() == 9
    });
    let last = last_machine.lock().unwrap().values().copied().max();
    let first = first_policy.lock().unwrap().values().copied().min();
    assert!(
        last < first,
        "machines lost their isolation before they were deleted"
    );
}

#[test]
fn errors_in_a_policy_are_reported_with_their_line() {
    let text = std::fs::read_to_string("examples/network-policies.yaml").unwrap();
    let line = |text: &str, part: &str| 1 + text.lines().position(|it| it.contains(part)).unwrap();
    for (good, bad, message, hint) in [
        (
            "                - 10.20.0.128/25",
            "                - 10.30.0.128/25",
            "10.30.0.128/25 is not a strict subset of 10.20.0.0/24",
            "excluded from this range",
        ),
        (
            "          - Egress\n          egress:",
            "          - Egres\n          egress:",
            "unsupported value \"Egres\"",
            "supported values: Ingress, Egress",
        ),
        (
            "          podSelector:",
            "          podSelectr:",
            "unknown field \"podSelectr\"",
            "did you mean \"podSelector\"?",
        ),
        (
            "              cidr: 10.20.0.123/32",
            "              cidr: 10.20.0.123/24",
            "has host bits set after the first 24 bits",
            "write 10.20.0.0/24",
        ),
    ] {
        let text = text.replacen(good, bad, 1);
        let place = bad.lines().next().unwrap();
        let output = Kvshoot::new()
            .env("COLUMNS", "300")
            .file("shoot.yaml", &text)
            .run("validate -f shoot.yaml");
        assert_eq!(output.code, 3, "{output}");
        let place = format!("{} │", line(&text, place));
        for part in [message, hint, &place] {
            assert!(output.err.contains(part), "{part}: {output}");
        }
    }
}

/// Specs of policies, with true if the API server accepts them.
const SPECS: [(&str, bool); 26] = [
    ("{}", true),
    (
        "{podSelector: {matchLabels: {example.org/a: b}, matchExpressions: [{key: a, operator: In, values: [b, \"\"]}]}}",
        true,
    ),
    ("{podSelector: {matchLabels: {a b: c}}}", false),
    ("{podSelector: {matchLabels: {a: -c}}}", false),
    (
        "{podSelector: {matchExpressions: [{key: a, operator: Is, values: [b]}]}}",
        false,
    ),
    (
        "{podSelector: {matchExpressions: [{key: a, operator: NotIn}]}}",
        false,
    ),
    (
        "{podSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}",
        false,
    ),
    (
        "{policyTypes: [Egress, Ingress], ingress: [{}], egress: [{}]}",
        true,
    ),
    ("{policyTypes: [egress]}", false),
    ("{policyTypes: [Egress, Ingress, Egress]}", false),
    (
        "{egress: [{to: [{podSelector: {}}, {namespaceSelector: {}, podSelector: {}}]}]}",
        true,
    ),
    ("{egress: [{to: [{}]}]}", false),
    (
        "{egress: [{to: [{podSelector: {}, ipBlock: {cidr: 10.0.0.0/8}}]}]}",
        false,
    ),
    (
        "{egress: [{to: [{ipBlock: {cidr: \"::/0\", except: [\"fc00::/7\"]}}]}]}",
        true,
    ),
    ("{egress: [{to: [{ipBlock: {cidr: /32}}]}]}", false),
    (
        "{egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8, except: [11.0.0.0/16]}}]}]}",
        false,
    ),
    (
        "{egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.0.0.0/8]}}]}]}",
        false,
    ),
    (
        "{ingress: [{from: [{ipBlock: {cidr: 0.0.0.0/0, except: [\"fd00::/8\"]}}]}]}",
        false,
    ),
    (
        "{ingress: [{ports: [{}, {port: dns-tcp}, {port: 1, endPort: 65535, protocol: SCTP}]}]}",
        true,
    ),
    ("{ingress: [{ports: [{port: 0}]}]}", false),
    ("{ingress: [{ports: [{port: 65536}]}]}", false),
    ("{ingress: [{ports: [{port: \"53\"}]}]}", false),
    ("{ingress: [{ports: [{port: 53, protocol: udp}]}]}", false),
    ("{ingress: [{ports: [{port: 53, endPort: 52}]}]}", false),
    ("{ingress: [{ports: [{port: dns, endPort: 60}]}]}", false),
    ("{ingress: [{ports: [{endPort: 60}]}]}", false),
];

#[test]
fn policies_are_valid_if_and_only_if_the_api_server_accepts_them() {
    let provider = Provider::new();
    let try_only = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let example = Manifest::example("network-policies");
    for (spec, is_valid) in SPECS {
        let spec: Value = serde_yaml::from_str(spec).unwrap();
        let object = json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
            "metadata": { "name": "a" }, "spec": spec,
        });
        let object = serde_json::from_value(object).unwrap();
        let policies = provider.api(provider::NETWORK_POLICY);
        let answer = provider.block_on(policies.create(&try_only, &object));
        assert_eq!(answer.is_ok(), is_valid, "{spec}: {answer:?}");
        let manifest = example
            .clone()
            .with(|it| config(it)["customNetworkPolicies"][0]["spec"] = spec.clone());
        let kvshoot = Kvshoot::new().file("shoot.yaml", &manifest.text());
        let output = kvshoot.run("validate -f shoot.yaml");
        assert_eq!(output.code == 0, is_valid, "{spec}: {output}");
    }
}
