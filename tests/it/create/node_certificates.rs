//! Certificates of kubelets: what is approved, what is denied, and what the API server refuses.

use crate::support::provider::{POD, Provider, Resource};
use crate::support::shoot_api::ShootApi;
use crate::support::shoots::Manifest;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::{Value, json};

const REQUEST: Resource = Resource("certificates.k8s.io", "v1", "CertificateSigningRequest");
const CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING: &str = "kubernetes.io/kubelet-serving";
const BINDING: Resource = Resource("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding");

/// The machines have joined, with one certificate of each kind.
pub(super) fn are_those_of_the_machines(provider: &Provider, manifest: &Manifest, api: &ShootApi) {
    let nodes = api.nodes();
    each_machine_has_one_certificate_of_each_kind(api, &nodes);
    wrong_requests_are_denied_or_stay_pending(provider, manifest, api, &nodes);
    the_api_server_refuses_a_self_signed_kubelet(provider, api, &nodes[0]);
}

fn requests(api: &ShootApi) -> Vec<Value> {
    let all = api.list(REQUEST).into_iter();
    all.map(|it| serde_json::to_value(it).unwrap()).collect()
}

fn conditions(request: &Value) -> Vec<&str> {
    let conditions = request["status"]["conditions"].as_array();
    let conditions = conditions.into_iter().flatten();
    conditions
        .map(|it| it["type"].as_str().unwrap_or_default())
        .collect()
}

fn each_machine_has_one_certificate_of_each_kind(api: &ShootApi, nodes: &[String]) {
    let requests = requests(api);
    for node in nodes {
        let mut approved = Vec::new();
        for request in requests.iter().filter(|it| conditions(it) == ["Approved"]) {
            let (spec, status) = (&request["spec"], &request["status"]);
            assert_eq!(status["conditions"][0]["reason"], "KvshootJudgment");
            assert!(status["certificate"].is_string(), "{request:#}");
            let is_serving = spec["username"] == format!("system:node:{node}");
            if is_serving {
                approved.push(spec["signerName"].as_str().unwrap().to_owned());
            }
        }
        assert_eq!(approved, [SERVING], "{node}");
    }
    let of_client = |it: &&Value| it["spec"]["signerName"] == CLIENT;
    let clients = requests.iter().filter(of_client).count();
    assert_eq!(clients, nodes.len());
    for binding in api.list(BINDING) {
        let role = binding.data["roleRef"]["name"].as_str().unwrap_or_default();
        assert!(!role.ends_with(":nodeclient"), "{binding:?}");
    }
}

/// A request for `node` with these names, as PEM in base64.
fn pem(node: &str, names: &[&str]) -> String {
    use base64::Engine;
    let names: Vec<String> = names.iter().map(|it| (*it).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name = DistinguishedName::new();
    let subject = &mut params.distinguished_name;
    subject.push(DnType::OrganizationName, "system:nodes");
    subject.push(DnType::CommonName, format!("system:node:{node}"));
    let key = KeyPair::generate().unwrap();
    let text = params.serialize_request(&key).unwrap().pem().unwrap();
    base64::engine::general_purpose::STANDARD.encode(text)
}

fn request(name: &str, signer: &str, pem: &str) -> Value {
    let usage = match signer {
        CLIENT => "client auth",
        _ => "server auth",
    };
    json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": {"signerName": signer, "request": pem, "usages": ["digital signature", usage]},
    })
}

fn wrong_requests_are_denied_or_stay_pending(
    provider: &Provider,
    manifest: &Manifest,
    api: &ShootApi,
    nodes: &[String],
) {
    let [one, other, ..] = nodes else {
        panic!("{nodes:?}");
    };
    let joined = requests(api);
    let tokens: Vec<&str> = joined
        .iter()
        .filter(|it| it["spec"]["signerName"] == CLIENT)
        .map(|it| it["spec"]["username"].as_str().unwrap())
        .collect();
    let groups = [
        "system:bootstrappers",
        "system:bootstrappers:kubeadm:default-node-token",
        "system:authenticated",
    ];
    // All tokens ask for the same node: that of the node itself was used, the others are those of other machines.
    for (index, user) in tokens.iter().enumerate() {
        let token = api.impersonate(user, &groups);
        token.create_global(
            REQUEST,
            request(&format!("token-{index}"), CLIENT, &pem(one, &[])),
        );
    }
    let address = address_of(api, one);
    let foreign = address_of(api, other);
    let node = api.impersonate(
        &format!("system:node:{one}"),
        &["system:nodes", "system:authenticated"],
    );
    for (name, names) in [
        ("renewed", [one.as_str(), &address]),
        ("other-address", [one, &foreign]),
        ("unknown-address", [one, "10.255.255.254"]),
        ("other-name", ["kubernetes.default.svc", &address]),
    ] {
        node.create_global(REQUEST, request(name, SERVING, &pem(one, &names)));
    }
    let kvshoot = provider.kvshoot_with(manifest);
    let output = kvshoot.run(&format!("evacuate {} --timeout 2m", manifest.name()));
    assert_eq!(output.code, 0, "{output}");
    assert!(
        output.err.contains("kubelets have requested certificates"),
        "{output}"
    );
    node.create_global(
        REQUEST,
        request("applied", SERVING, &pem(one, &[one, &address])),
    );
    let output = kvshoot.run("apply -f shoot.yaml --timeout 2m");
    assert_eq!(output.code, 0, "{output}");
    let after = requests(api);
    let named = |name: &str| {
        let mut all = after.iter();
        all.find(|it| it["metadata"]["name"] == name).unwrap()
    };
    let message = |name: &str| {
        let conditions = &named(name)["status"]["conditions"];
        conditions[0]["message"].as_str().unwrap_or_default()
    };
    let mut foreign_tokens = 0;
    for index in 0..tokens.len() {
        let name = format!("token-{index}");
        assert_eq!(conditions(named(&name)), ["Denied"], "{:#}", named(&name));
        foreign_tokens += usize::from(message(&name).contains("the credentials are those of"));
    }
    assert_eq!(foreign_tokens, nodes.len() - 1);
    assert_eq!(conditions(named("renewed")), ["Approved"]);
    assert_eq!(conditions(named("applied")), ["Approved"]);
    assert_eq!(conditions(named("other-address")), ["Denied"]);
    assert!(message("other-address").contains(&format!("the address of machine {other}")));
    assert_eq!(conditions(named("other-name")), ["Denied"]);
    assert!(conditions(named("unknown-address")).is_empty());
    let why = kvshoot.run(&format!("why {}", manifest.name()));
    let expected =
        "CertificateSigningRequest unknown-address Pending: 10.255.255.254 is not an address";
    assert!(why.out.contains(expected), "{why}");
}

fn address_of(api: &ShootApi, node: &str) -> String {
    let node = api.get_global(crate::support::shoot_api::NODE, node);
    let addresses = node["status"]["addresses"].as_array().unwrap();
    let internal = addresses.iter().find(|it| it["type"] == "InternalIP");
    internal.unwrap()["address"].as_str().unwrap().to_owned()
}

fn the_api_server_refuses_a_self_signed_kubelet(provider: &Provider, api: &ShootApi, node: &str) {
    let pods = api.list(POD);
    let pod = pods.iter().find(|it| {
        it.data["spec"]["nodeName"] == *node
            && it.metadata.namespace.as_deref() == Some("kube-system")
    });
    let name = pod.unwrap().metadata.name.clone().unwrap();
    let path = format!("/api/v1/namespaces/kube-system/pods/{name}/log");
    let logs = api.text(&path).unwrap();
    assert!(logs.contains("runs without a container"), "{logs}");
    provider.fail(&format!("kubelet-certificate {node}"));
    provider.wait_for(
        "the API server to refuse the certificate",
        |_| matches!(api.text(&path), Err(error) if error.contains("x509: ")),
    );
    provider.fail(&format!("none {node}"));
    provider.wait_for("the API server to accept the certificate", |_| {
        api.text(&path).is_ok()
    });
}
