//! Reachability under the policies, as a network would enforce them.

use super::evaluate::{End, is_isolated, reaches};
use super::*;
use crate::plan::preview::first_apply;
use crate::render::control_plane::context::KONNECTIVITY_PORT;
use crate::state::facts::Facts;
use crate::state::key::{ClusterSide, ObjectKind};
use crate::state::observed::Observed;
use crate::state::plan::ItemState;
use crate::validate::control_plane::Address;
use crate::validate::network_policy::OURS;
use crate::validate::testing::{SHOOT, valid_for_tests};
use std::collections::{BTreeSet, HashMap};

const HOME: &str = "clusters";
const ID: &str = "shoot--dev--demo";
const NAMESERVERS: [&str; 2] = ["10.5.5.5", "fd00::53"];

/// A shoot whose pool can be scaled.
fn scalable() -> ValidShoot {
    let mut shoot = valid_for_tests(SHOOT);
    shoot.pools[0].maximum = 3;
    shoot
}

/// It has the default policies, nameservers, and servers given by IP address.
fn shoot() -> ValidShoot {
    let mut shoot = scalable();
    shoot.network_policies.default = true;
    shoot.control_plane.registry = Some("10.6.0.1:5000/mirror".into());
    let pool = &mut shoot.pools[0];
    let nameservers = NAMESERVERS.map(str::to_owned).to_vec();
    pool.worker.dns_config = Some(crate::model::DnsConfig {
        nameservers,
        searches: Vec::new(),
        options: Vec::new(),
    });
    pool.image.source = crate::validate::ImageSource::Registry {
        url: "docker://[fd00:6::1]/images/ubuntu".into(),
        by_node: false,
        secret: None,
    };
    shoot
}

fn known(host: &str) -> ControlPlaneFacts {
    ControlPlaneFacts {
        cluster_ip: "10.43.0.7".into(),
        external: None,
        node_address: Address {
            host: host.into(),
            port: 6443,
        },
        konnectivity_port: KONNECTIVITY_PORT,
        ca: "PEM".into(),
        checksums: HashMap::new(),
    }
}

/// Every NetworkPolicy, as it is sent, if the API server has this address.
fn policies(shoot: &ValidShoot, host: &str) -> Vec<Value> {
    let site = crate::state::site::Site {
        id: &shoot.id,
        namespace: HOME,
        uid: "1",
    };
    let known = known(host);
    let components = [general(shoot), isolation(shoot, &known)];
    let components = components.into_iter().flatten();
    let finished = components.flat_map(|it| it.finished(ClusterSide::Provider, &site));
    finished.map(|it| it.2).collect()
}

fn facts() -> Facts {
    Facts {
        namespace: HOME.into(),
        ..Facts::default()
    }
}

/// All objects that a first apply creates in the provider cluster.
fn everything(shoot: &ValidShoot) -> Vec<Value> {
    let all = first_apply(shoot, &facts()).into_iter();
    let ours = all.filter(|it| it.0 == ClusterSide::Provider);
    ours.map(|it| it.1).collect()
}

/// The pod of a machine: KubeVirt copies the template's labels to it, and adds its own.
fn machine(shoot: &ValidShoot, address: &str) -> End {
    let objects = everything(shoot);
    let vm = objects.iter().find(|it| it["kind"] == "VirtualMachine");
    let template = &vm.expect("a machine")["spec"]["template"]["metadata"];
    let mut labels = template["labels"].clone();
    labels["kubevirt.io"] = json!("virt-launcher");
    End::pod(address, HOME, labels)
}

fn part_of_control_plane(address: &str, part: &str) -> End {
    End::pod(address, HOME, json!({ PART_OF: ID, COMPONENT: part }))
}

fn importer(address: &str) -> End {
    let labels = json!({
        "app": "containerized-data-importer",
        "cdi.kubevirt.io": "importer",
        "prometheus.cdi.kubevirt.io": "true",
    });
    End::pod(address, HOME, labels)
}

fn dns() -> [(End, u16); 4] {
    let of = |key: &str, value: &str| End::pod("10.42.0.3", "dns", json!({ key: value }));
    [
        (of("k8s-app", "kube-dns"), 53),
        (of("k8s-app", "kube-dns"), 8053),
        (of("k8s-app", "coredns"), 53),
        (
            of("dns.operator.openshift.io/daemonset-dns", "default"),
            5353,
        ),
    ]
}

/// Private addresses, and the one where clouds serve credentials.
const PRIVATE: [&str; 9] = [
    "10.0.0.1",
    "10.43.0.1",
    "100.64.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "fd00::1",
    "fe80::1",
];
const WORLD: [&str; 6] = [
    "1.1.1.1",
    "100.63.0.1",
    "172.32.0.1",
    "192.169.0.1",
    "203.0.113.1",
    "2606:4700::1111",
];

#[track_caller]
fn check(policies: &[Value], from: &End, to: &End, port: u16, protocol: &str, expected: bool) {
    let found = reaches(policies, from, to, port, protocol);
    assert_eq!(found, expected, "{to:?} {port}/{protocol}");
}

#[test]
fn machines_reach_their_cluster_names_and_the_world() {
    let shoot = shoot();
    let policies = policies(&shoot, "10.43.0.7");
    let from = &machine(&shoot, "10.42.0.10");
    for (to, port) in [
        (machine(&shoot, "10.42.0.11"), 8475),
        (part_of_control_plane("10.42.0.20", "kube-apiserver"), 6443),
        (part_of_control_plane("10.42.0.20", "kube-apiserver"), 8132),
        (End::host("10.43.0.7"), 6443),
        (End::host("10.43.0.7"), 8132),
        (End::host("10.6.0.1"), 5000),
    ] {
        check(&policies, from, &to, port, "TCP", true);
    }
    for protocol in ["TCP", "UDP"] {
        for (pod, port) in dns() {
            check(&policies, from, &pod, port, protocol, true);
        }
        for address in NAMESERVERS.into_iter().chain(["169.254.20.10"]) {
            check(&policies, from, &End::host(address), 53, protocol, true);
        }
    }
    for address in WORLD {
        check(&policies, from, &End::host(address), 443, "TCP", true);
        check(&policies, from, &End::host(address), 123, "UDP", true);
    }
}

#[test]
fn machines_reach_their_proxy() {
    let mut shoot = shoot();
    let reach = |shoot: &ValidShoot, port| {
        let policies = policies(shoot, "10.43.0.7");
        let from = machine(shoot, "10.42.0.10");
        reaches(&policies, &from, &End::host("10.7.0.1"), port, "TCP")
    };
    assert!(!reach(&shoot, 3128));
    let proxy = json!({ "https": "http://10.7.0.1:3128" });
    shoot.profile.spec.provider_config.proxy = serde_json::from_value(proxy).expect("a proxy");
    assert!(reach(&shoot, 3128));
    assert!(!reach(&shoot, 22));
}

#[test]
fn machines_reach_no_private_address_except_known_servers() {
    let shoot = shoot();
    for host in [
        "10.43.0.7",
        "fd00:1::7",
        "0.0.0.0",
        "::",
        "",
        "api.example.org",
    ] {
        let policies = policies(&shoot, host);
        let from = &machine(&shoot, "10.42.0.10");
        let labels = json!({ PART_OF: "shoot--dev--other", COMPONENT: "machine" });
        let elsewhere = json!({ PART_OF: ID, COMPONENT: "machine" });
        let strangers = [
            End::pod("10.42.0.30", HOME, labels),
            End::pod("10.42.0.31", "elsewhere", elsewhere),
            End::pod("10.42.0.32", HOME, json!({})),
            End::pod("10.42.0.3", "dns", json!({ "k8s-app": "dashboard" })),
        ];
        let private = PRIVATE.map(End::host);
        for to in strangers.iter().chain(&private) {
            for port in [22, 80, 443, 6443] {
                check(&policies, from, to, port, "TCP", false);
            }
        }
        // Servers are reachable only on their own ports.
        for (to, port) in [
            ("10.43.0.7", 22),
            ("10.5.5.5", 443),
            ("10.6.0.1", 443),
            ("169.254.20.10", 80),
        ] {
            check(&policies, from, &End::host(to), port, "TCP", false);
        }
        let pods = part_of_control_plane("10.42.0.20", "kube-apiserver");
        check(&policies, from, &pods, 6443, "TCP", true);
    }
}

#[test]
fn the_api_server_is_allowed_by_ip_address_and_never_by_name() {
    let shoot = shoot();
    let opened = |host: &str| {
        let policies = policies(&shoot, host).into_iter();
        let mut rules = policies.flat_map(|it| it["spec"]["egress"].as_array().cloned());
        let mut rules = rules.by_ref().flatten();
        let to_it = |it: &Value| it["ports"][0]["port"] == 6443;
        let rule = rules.find(to_it)?;
        let cidr = rule["to"][0]["ipBlock"]["cidr"].as_str()?.to_owned();
        let from = machine(&shoot, "10.42.0.10");
        let to = End::host(host);
        let policies = self::policies(&shoot, host);
        assert!(reaches(&policies, &from, &to, 6443, "TCP"), "{host}");
        Some(cidr)
    };
    assert_eq!(opened("10.43.0.7").as_deref(), Some("10.43.0.7/32"));
    assert_eq!(opened("fd00:1::7").as_deref(), Some("fd00:1::7/128"));
    assert_eq!(opened("::ffff:10.0.0.7").as_deref(), Some("10.0.0.7/32"));
    for host in ["0.0.0.0", "::", "", "api.example.org"] {
        assert_eq!(opened(host), None, "{host}");
    }
}

#[test]
fn importers_reach_images_names_and_the_world() {
    let shoot = shoot();
    let policies = policies(&shoot, "10.43.0.7");
    let from = &importer("10.42.0.40");
    let repository = End::pod("10.42.9.9", "images", json!({ "app": "image-repo" }));
    check(&policies, from, &repository, 8080, "TCP", true);
    check(&policies, from, &End::host("fd00:6::1"), 443, "TCP", true);
    check(&policies, from, &End::host("fd00:6::1"), 22, "TCP", false);
    for (pod, port) in dns() {
        check(&policies, from, &pod, port, "UDP", true);
    }
    for address in WORLD {
        check(&policies, from, &End::host(address), 443, "TCP", true);
    }
    for address in PRIVATE {
        check(&policies, from, &End::host(address), 443, "TCP", false);
    }
    let machine = machine(&shoot, "10.42.0.10");
    check(&policies, from, &machine, 10250, "TCP", false);
}

#[test]
fn other_pods_are_not_isolated_and_ingress_to_machines_stays_open() {
    let shoot = shoot();
    let policies = policies(&shoot, "10.43.0.7");
    let machine = machine(&shoot, "10.42.0.10");
    assert!(is_isolated(&policies, &machine, "Egress"));
    assert!(!is_isolated(&policies, &machine, "Ingress"));
    let other = json!({ PART_OF: "shoot--dev--other", COMPONENT: "machine" });
    let cloner =
        json!({ "app": "containerized-data-importer", "cdi.kubevirt.io": "cdi-clone-source" });
    for pod in [
        part_of_control_plane("10.42.0.20", "etcd"),
        End::pod("10.42.0.30", HOME, other),
        End::pod("10.42.0.31", HOME, cloner),
        End::pod("10.42.0.32", HOME, json!({})),
    ] {
        assert!(!is_isolated(&policies, &pod, "Egress"), "{pod:?}");
        check(&policies, &pod, &End::host("10.0.0.1"), 22, "TCP", true);
    }
}

/// An empty rule allows everything, and so does a rule with an empty list of peers.
#[test]
fn every_rule_has_peers() {
    let mut bare = valid_for_tests(SHOOT);
    bare.network_policies.default = true;
    for shoot in [shoot(), bare] {
        for policy in policies(&shoot, "0.0.0.0") {
            let rules = policy["spec"]["egress"].as_array().expect("rules");
            assert!(rules.len() >= 4);
            for rule in rules {
                let peers = rule["to"].as_array().expect("peers");
                assert!(!peers.is_empty(), "{policy}");
            }
        }
    }
}

#[test]
fn a_policy_of_the_user_is_applied_unchanged() {
    let config = "    infrastructureConfig:\n      apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1\n      kind: InfrastructureConfig\n      customNetworkPolicies:\n      - name: open\n        spec:\n          podSelector: {matchLabels: {a: b}}\n          policyTypes: [Egress]\n          egress:\n          - to: [{namespaceSelector: {}}, {ipBlock: {cidr: 10.9.0.0/16, except: [10.9.1.0/24]}}]\n            ports: [{port: 30000, endPort: 30100, protocol: UDP}, {port: web}]\n          - {}\n      - name: closed\n        spec: {}\n    workers:\n";
    let shoot = valid_for_tests(&SHOOT.replace("    workers:\n", config));
    let [open, closed] = &policies(&shoot, "10.43.0.7")[..] else {
        panic!("only those two policies");
    };
    assert_eq!(open["metadata"]["name"], "shoot--dev--demo-open");
    assert_eq!(
        open["spec"],
        json!({
            "podSelector": { "matchLabels": { "a": "b" } },
            "policyTypes": ["Egress"],
            "egress": [
                {
                    "to": [
                        { "namespaceSelector": {} },
                        { "ipBlock": { "cidr": "10.9.0.0/16", "except": ["10.9.1.0/24"] } },
                    ],
                    "ports": [
                        { "port": 30000, "endPort": 30100, "protocol": "UDP" },
                        { "port": "web" },
                    ],
                },
                {},
            ],
        })
    );
    assert_eq!(closed["spec"], json!({ "podSelector": {} }));
}

#[test]
fn built_in_names_are_reserved_and_default_policies_exist_only_if_enabled() {
    let names = |shoot: &ValidShoot| {
        let objects = everything(shoot);
        let policies = objects.iter().filter(|it| it["kind"] == "NetworkPolicy");
        let names = policies.filter_map(|it| it["metadata"]["name"].as_str());
        let names = names.filter_map(|it| it.strip_prefix("shoot--dev--demo-"));
        names.map(str::to_owned).collect::<BTreeSet<String>>()
    };
    let all: BTreeSet<String> = OURS.map(str::to_owned).into();
    assert_eq!(names(&shoot()), all);
    let usual = names(&scalable());
    let more: Vec<&String> = all.difference(&usual).collect();
    assert_eq!(more, [part::IMPORTER, part::ISOLATION]);
}

#[test]
fn machines_and_imports_wait_for_their_network_policies() {
    let shoot = shoot();
    let observed = Observed {
        facts: facts().into(),
        ..Observed::default()
    };
    let plan = crate::plan::plan(&shoot, &observed);
    let needs = |prefix: &str| -> Vec<String> {
        let mut items = plan.items.iter();
        let item = items.find(|it| it.id.0.starts_with(prefix));
        let item = item.unwrap_or_else(|| panic!("{prefix}"));
        let needs = item.needs.iter().map(|it| plan.item(*it));
        needs.map(|it| it.id.to_string()).collect()
    };
    let importers = "control-plane/network-policies".to_owned();
    let machines = "control-plane/cluster-isolation".to_owned();
    assert!(needs("image/").contains(&importers));
    let of_machine = needs("machine/");
    assert!(of_machine.contains(&machines) && of_machine.contains(&importers));
    assert_eq!(needs(&machines), ["control-plane/services"]);
    let is_blocked = |id: &String| {
        let mut items = plan.items.iter();
        items.any(|it| *it.id.0 == **id && it.state == ItemState::Blocked)
    };
    assert!(is_blocked(&machines));
    let kinds = plan
        .parts
        .iter()
        .filter(|it| it.kind == ObjectKind::NetworkPolicy);
    assert_eq!(kinds.count(), OURS.len());
}
