//! A small simulation in which everything due is created at once.

use super::*;
use crate::plan::NO_UID;
use crate::validate::control_plane::{API_PORT, Address};
use crate::validate::testing::{SHOOT, valid_for_tests};

const NOW: i64 = 1_767_225_600;
const YEAR: i64 = 365 * 24 * 60 * 60;

struct Simulation {
    shoot: ValidShoot,
    facts: Facts,
    external: Address,
    /// Number of keys created, used as their hashes.
    keys: u64,
}

impl Simulation {
    fn new() -> Simulation {
        Simulation {
            shoot: valid_for_tests(SHOOT),
            facts: Facts {
                namespace: "clusters".into(),
                time: NOW,
                ..Facts::default()
            },
            external: Address {
                host: "Api.Example".to_owned(),
                port: API_PORT,
            },
            keys: 0,
        }
    }

    /// A simulation in which everything has been created.
    fn complete() -> Simulation {
        let mut simulation = Simulation::new();
        simulation.create_all();
        simulation
    }

    fn plan(&self) -> (Plan, Vec<Need>) {
        let reach = Reach {
            cluster_ip: "10.96.0.7",
            external: Some(&self.external),
            node_address: None,
        };
        self.plan_for(Some(&reach))
    }

    fn plan_for(&self, reach: Option<&Reach>) -> (Plan, Vec<Need>) {
        let observed = Observed {
            facts: Arc::new(self.facts.clone()),
            ..Observed::default()
        };
        let site = Site {
            id: &self.shoot.id,
            namespace: &self.facts.namespace,
            uid: NO_UID,
        };
        let mut plan = Plan::default();
        let mut done = |id: &str| {
            let id = id.to_owned();
            plan.add(&observed, id.clone().into(), id, [], State::Done)
        };
        let needs = (done("record"), done("services"));
        let certificates = add(&mut plan, &observed, &self.shoot, &site, reach, needs);
        (plan, certificates)
    }

    /// Name suffixes of the Secrets that are due.
    fn due(&self) -> Vec<String> {
        let (plan, _) = self.plan();
        due(&plan).map(|it| self.part(it)).collect()
    }

    fn part(&self, wanted: &Wanted) -> String {
        let part = wanted.key.name.strip_prefix(&*self.shoot.id);
        part.expect("names begin with the shoot")[1..].to_owned()
    }

    fn create_all(&mut self) {
        loop {
            let (plan, _) = self.plan();
            let due: Vec<Wanted> = due(&plan).cloned().collect();
            if due.is_empty() {
                return;
            }
            for wanted in due {
                self.create(&wanted);
            }
        }
    }

    fn create(&mut self, wanted: &Wanted) {
        let Content::Issue(issue) = &wanted.content else {
            panic!("{wanted:?} is not issued");
        };
        self.keys += 1;
        let (key, time) = (Hash(self.keys), self.facts.time);
        let (names, issuer, years) = match &issue.what {
            Issued::Root { .. } => (Vec::new(), Some(key), 10),
            Issued::Leaf(it) => (it.names.clone(), Some(self.of_root(&it.root).key), 1),
            Issued::SigningKey | Issued::EncryptionKey => (Vec::new(), None, 0),
        };
        let secret = Secret {
            checksum: key,
            certificate: issuer.map(|issuer| Certificate {
                names: names.iter().map(|it| it.as_str().into()).collect(),
                key,
                issuer,
                issued: time - 300,
                expires: time + years * YEAR,
            }),
            ca: (years == 10).then(|| "PEM".into()),
        };
        let object = Object {
            uid: "u".into(),
            version: "1".into(),
            hash: wanted.hash,
            leaving: false,
            fact: Fact::Secret(secret),
        };
        self.facts.objects.insert(wanted.key.clone(), object);
    }

    fn of_root(&mut self, name: &str) -> &mut Certificate {
        let object = self
            .facts
            .objects
            .get_mut(&Key::provider(Kind::Secret, name));
        match object.map(|it| &mut it.fact) {
            Some(Fact::Secret(Secret {
                certificate: Some(it),
                ..
            })) => it,
            other => panic!("{name} is {other:?}"),
        }
    }

    fn of(&mut self, part: &str) -> &mut Certificate {
        let name = names::control_plane(&self.shoot.id, part);
        self.of_root(&name)
    }
}

fn due(plan: &Plan) -> impl Iterator<Item = &Wanted> {
    plan.items.iter().filter_map(|it| match &it.state {
        State::Due(Action::Apply(wanted)) => Some(wanted),
        _ => None,
    })
}

#[test]
fn cas_and_keys_are_created_first_and_then_all_certificates_at_once() {
    let mut simulation = Simulation::new();
    let first = [
        "ca",
        "etcd-ca",
        "front-proxy-ca",
        "service-account-key",
        "encryption-key",
    ];
    assert_eq!(simulation.due(), first);
    let (plan, certificates) = simulation.plan();
    assert!(!certificates.iter().any(|it| plan.is_done(*it)));
    for wanted in due(&plan).cloned().collect::<Vec<_>>() {
        simulation.create(&wanted);
    }
    assert_eq!(
        simulation.due(),
        [
            "etcd-server",
            "etcd-peer",
            "kube-apiserver-etcd-client",
            "front-proxy-client",
            "kube-apiserver-kubelet-client",
            "kube-apiserver",
            "kube-controller-manager",
            "kube-scheduler",
            "cloud-controller-manager",
            "csi-controller",
            "konnectivity-server",
        ]
    );
    simulation.create_all();
    let (plan, certificates) = simulation.plan();
    assert!(certificates.len() == 16 && certificates.iter().all(|it| plan.is_done(*it)));
}

#[test]
fn certificates_with_addresses_wait_for_the_service_of_the_api_server() {
    let (plan, _) = Simulation::complete().plan_for(None);
    let blocked = plan.items.iter().filter(|it| it.state == State::Blocked);
    let blocked: Vec<&str> = blocked.map(|it| &*it.id.0).collect();
    assert_eq!(
        blocked,
        [
            "certificate/kube-apiserver",
            "certificate/kube-controller-manager",
            "certificate/kube-scheduler",
            "certificate/cloud-controller-manager",
            "certificate/csi-controller",
            "certificate/konnectivity-server",
        ]
    );
}

#[test]
fn the_certificate_of_the_api_server_has_all_its_names() {
    let mut simulation = Simulation::new();
    let shoot = simulation.shoot.id.clone();
    simulation.create_all();
    let names = &simulation.of("kube-apiserver").names;
    let mut expected: Vec<String> = [
        "127.0.0.1",
        "::1",
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        "100.64.0.1",
        "10.96.0.7",
        "api.example",
    ]
    .map(str::to_owned)
    .into();
    let service = format!("{shoot}-kube-apiserver");
    for end in [
        "",
        ".clusters",
        ".clusters.svc",
        ".clusters.svc.cluster.local",
    ] {
        expected.push(format!("{service}{end}"));
    }
    expected.sort();
    assert_eq!(
        names.iter().map(|it| it.to_string()).collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn certificates_of_etcd_members_have_names_and_that_of_the_client_has_none() {
    let mut simulation = Simulation::complete();
    let member = format!(
        "{0}-etcd-2.{0}-etcd-peers.clusters.svc",
        simulation.shoot.id
    );
    let client = format!("{}-etcd-client.clusters.svc", simulation.shoot.id);
    let peer = simulation.of("etcd-peer").names.clone();
    assert!(peer.len() == 6 && peer.contains(&*member), "{peer:?}");
    let server = &simulation.of("etcd-server").names;
    assert!(peer.is_subset(server) && server.contains(&*client) && server.contains("127.0.0.1"));
    assert!(simulation.of("kube-apiserver-etcd-client").names.is_empty());
}

#[test]
fn kubeconfigs_contain_the_address_of_the_service() {
    let simulation = Simulation::new();
    let site = Site {
        id: &simulation.shoot.id,
        namespace: "clusters",
        uid: NO_UID,
    };
    let reach = Reach {
        cluster_ip: "fd00::7",
        external: None,
        node_address: None,
    };
    let all = leaf::all(&simulation.shoot, &site, Some(&reach));
    let urls = all.iter().filter_map(|it| {
        let url = it.leaf.as_ref()?.kubeconfig.as_deref()?;
        Some((it.part, url))
    });
    let inside = "https://[fd00::7]:6443";
    let expected = [
        ("kube-controller-manager", inside),
        ("kube-scheduler", inside),
        ("cloud-controller-manager", inside),
        ("csi-controller", inside),
        ("konnectivity-server", inside),
    ];
    assert_eq!(urls.collect::<Vec<_>>(), expected);
}

#[test]
fn a_certificate_is_reissued_for_a_missing_name_but_not_for_an_extra_one() {
    let mut simulation = Simulation::complete();
    let before = simulation.facts.clone();
    simulation.external.host = "other.example".to_owned();
    assert_eq!(simulation.due(), ["kube-apiserver"]);
    simulation.create_all();
    simulation
        .of("kube-apiserver")
        .names
        .insert("api.example".into());
    assert_eq!(simulation.due(), Vec::<String>::new());
    let hash = |facts: &Facts| {
        let mut hashes: Vec<Hash> = facts.objects.values().map(|it| it.hash).collect();
        hashes.sort();
        hashes
    };
    assert_eq!(hash(&simulation.facts), hash(&before));
}

/// An address that is no longer known is replaced by the placeholder.
#[test]
fn an_unknown_address_is_not_a_name_of_a_certificate() {
    let mut simulation = Simulation::complete();
    simulation.external.host = "0.0.0.0".to_owned();
    assert_eq!(simulation.due(), Vec::<String>::new());
    simulation.facts.objects.clear();
    simulation.create_all();
    assert!(!simulation.of("kube-apiserver").names.contains("0.0.0.0"));
}

#[test]
fn a_certificate_is_reissued_when_its_ca_changes() {
    let mut simulation = Simulation::complete();
    simulation.of("etcd-ca").key = Hash(77);
    let of_etcd = ["etcd-server", "etcd-peer", "kube-apiserver-etcd-client"];
    assert_eq!(simulation.due(), of_etcd);
}

#[test]
fn a_certificate_is_reissued_in_the_last_third_of_its_lifetime() {
    let mut simulation = Simulation::complete();
    let third = (YEAR + 300) / 3;
    simulation.facts.time = NOW + YEAR - third;
    assert_eq!(simulation.due(), Vec::<String>::new());
    simulation.facts.time += 1;
    assert_eq!(simulation.due().len(), 11);
    simulation.create_all();
    let now = simulation.facts.time;
    assert_eq!(simulation.of("etcd-peer").expires, now + YEAR);
}

#[test]
fn a_certificate_is_reissued_when_its_subject_changes() {
    let mut simulation = Simulation::complete();
    let key = names::control_plane(&simulation.shoot.id, "kube-scheduler");
    let object = simulation
        .facts
        .objects
        .get_mut(&Key::provider(Kind::Secret, key));
    object.expect("it exists").hash = Hash(5);
    assert_eq!(simulation.due(), ["kube-scheduler"]);
}

#[test]
fn cas_and_keys_are_never_replaced() {
    let mut simulation = Simulation::complete();
    for object in simulation.facts.objects.values_mut() {
        if let Fact::Secret(Secret {
            certificate: None, ..
        }) = object.fact
        {
            object.hash = Hash(5);
        }
    }
    simulation.of("ca").expires = simulation.facts.time;
    assert_eq!(simulation.due(), Vec::<String>::new());
    let (plan, _) = simulation.plan();
    let failed = plan.items.iter().find_map(|it| match &it.state {
        State::Failed(failure) => Some(failure.message.clone()),
        _ => None,
    });
    let message = format!(
        "Secret {}-ca contains an expired CA certificate",
        simulation.shoot.id
    );
    assert_eq!(failed, Some(message));
}
