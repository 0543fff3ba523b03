//! A small simulation in which everything due is created at once.

use super::*;
use crate::render::control_plane::certificate::subjects;
use crate::state::hash::Hash;
use crate::state::plan::Plan;
use crate::state::site::NO_UID;
use crate::validate::control_plane::{API_PORT, Address};
use crate::validate::testing::{SHOOT, valid_for_tests};

const NOW: i64 = 1_767_225_600;
const YEAR: i64 = 365 * 24 * 60 * 60;

struct World {
    shoot: ValidShoot,
    facts: Facts,
    external: Address,
    /// Number of keys created, used as their hashes.
    keys: u64,
}

impl World {
    fn new() -> World {
        World {
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
    fn complete() -> World {
        let mut world = World::new();
        world.make_all();
        world
    }

    fn plan(&self) -> (Plan, Vec<Dependency>) {
        let reach = ApiServerAddresses {
            cluster_ip: "10.96.0.7",
            external: Some(&self.external),
            node_address: None,
        };
        self.plan_for(Some(&reach))
    }

    fn plan_for(&self, reach: Option<&ApiServerAddresses>) -> (Plan, Vec<Dependency>) {
        let observed = Observed {
            facts: Arc::new(self.facts.clone()),
            ..Observed::default()
        };
        let site = Site {
            id: &self.shoot.id,
            namespace: &self.facts.namespace,
            uid: NO_UID,
        };
        let mut planner = Planner::new(&observed);
        let mut done = |id: &str| {
            let id = id.to_owned();
            planner.add(id.clone().into(), id, [], ItemState::Done)
        };
        let services = [done("services")];
        let needs = CertificateNeeds {
            record: done("record"),
            addresses: &services,
            serving: &services,
        };
        let made = add(&mut planner, &self.shoot, &site, reach, &needs);
        (planner.plan, made)
    }

    /// Name suffixes of the Secrets that are due.
    fn due(&self) -> Vec<String> {
        let (plan, _) = self.plan();
        due(&plan).map(|it| self.part(it)).collect()
    }

    fn part(&self, wanted: &Desired) -> String {
        let part = wanted.key.name.strip_prefix(&*self.shoot.id);
        part.expect("names begin with the shoot")[1..].to_owned()
    }

    fn make_all(&mut self) {
        loop {
            let (plan, _) = self.plan();
            let due: Vec<Desired> = due(&plan).cloned().collect();
            if due.is_empty() {
                return;
            }
            for wanted in due {
                self.make(&wanted);
            }
        }
    }

    fn make(&mut self, wanted: &Desired) {
        let Payload::Issue(issue) = &wanted.payload else {
            panic!("{wanted:?} is not issued");
        };
        self.keys += 1;
        let (key, time) = (Hash(self.keys), self.facts.time);
        let (names, issuer, years) = match &issue.what {
            KeyMaterial::Root { .. } => (Vec::new(), Some(key), 10),
            KeyMaterial::Leaf(it) => (it.names.clone(), Some(self.of_root(&it.root).key), 1),
            KeyMaterial::SigningKey(_) | KeyMaterial::EncryptionKey(_) => (Vec::new(), None, 0),
        };
        let secret = ObservedSecret {
            checksum: key,
            certificate: issuer.map(|issuer| ObservedCertificate {
                names: names.iter().map(|it| it.as_str().into()).collect(),
                key,
                issuer,
                issued: time - 300,
                expires: time + years * YEAR,
            }),
            previous: None,
            ca: (years == 10).then(|| "PEM".into()),
        };
        let object = ObservedObject {
            uid: "u".into(),
            version: "1".into(),
            hash: wanted.hash,
            leaving: false,
            status: ObjectStatus::Secret(secret),
        };
        self.facts.objects.insert(wanted.key.clone(), object);
    }

    fn of_root(&mut self, name: &str) -> &mut ObservedCertificate {
        let object = self
            .facts
            .objects
            .get_mut(&ObjectKey::provider(ObjectKind::Secret, name));
        match object.map(|it| &mut it.status) {
            Some(ObjectStatus::Secret(ObservedSecret {
                certificate: Some(it),
                ..
            })) => it,
            other => panic!("{name} is {other:?}"),
        }
    }

    fn of(&mut self, part: &str) -> &mut ObservedCertificate {
        let name = names::control_plane(&self.shoot.id, part);
        self.of_root(&name)
    }
}

fn due(plan: &Plan) -> impl Iterator<Item = &Desired> {
    plan.items.iter().filter_map(|item| match &item.state {
        ItemState::Due(Action::Apply(wanted)) => Some(wanted),
        _ => None,
    })
}

#[test]
fn cas_and_keys_come_first_and_then_all_leaf_certificates() {
    let mut world = World::new();
    let first = [
        "ca",
        "etcd-ca",
        "front-proxy-ca",
        "service-account-key",
        "encryption-key",
    ];
    assert_eq!(world.due(), first);
    let (plan, made) = world.plan();
    assert!(!made.iter().any(|it| plan.is_done(*it)));
    for wanted in due(&plan).cloned().collect::<Vec<_>>() {
        world.make(&wanted);
    }
    assert_eq!(
        world.due(),
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
    world.make_all();
    let (plan, made) = world.plan();
    assert!(made.len() == 16 && made.iter().all(|it| plan.is_done(*it)));
}

#[test]
fn certificates_with_addresses_wait_for_the_service() {
    let (plan, _) = World::complete().plan_for(None);
    let blocked = plan
        .items
        .iter()
        .filter(|it| it.state == ItemState::Blocked);
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
    let mut world = World::new();
    let shoot = world.shoot.id.clone();
    world.make_all();
    let names = &world.of("kube-apiserver").names;
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
    let mut world = World::complete();
    let member = format!("{0}-etcd-2.{0}-etcd-peers.clusters.svc", world.shoot.id);
    let client = format!("{}-etcd-client.clusters.svc", world.shoot.id);
    let peer = world.of("etcd-peer").names.clone();
    assert!(peer.len() == 6 && peer.contains(&*member), "{peer:?}");
    let server = &world.of("etcd-server").names;
    assert!(peer.is_subset(server) && server.contains(&*client) && server.contains("127.0.0.1"));
    assert!(world.of("kube-apiserver-etcd-client").names.is_empty());
}

#[test]
fn kubeconfigs_contain_the_address_of_the_service() {
    let world = World::new();
    let site = Site {
        id: &world.shoot.id,
        namespace: "clusters",
        uid: NO_UID,
    };
    let reach = ApiServerAddresses {
        cluster_ip: "fd00::7",
        external: None,
        node_address: None,
    };
    let all = subjects::all(&world.shoot, &site, Some(&reach));
    let urls = all.iter().filter_map(|subject| {
        let url = subject.leaf.as_ref()?.kubeconfig.as_deref()?;
        Some((subject.part, url))
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
fn a_leaf_is_reissued_for_a_missing_name_and_not_for_an_extra_one() {
    let mut world = World::complete();
    let before = world.facts.clone();
    world.external.host = "other.example".to_owned();
    assert_eq!(world.due(), ["kube-apiserver"]);
    world.make_all();
    world
        .of("kube-apiserver")
        .names
        .insert("api.example".into());
    assert_eq!(world.due(), Vec::<String>::new());
    let hash = |facts: &Facts| {
        let mut hashes: Vec<Hash> = facts.objects.values().map(|it| it.hash).collect();
        hashes.sort();
        hashes
    };
    assert_eq!(hash(&world.facts), hash(&before));
}

/// An address that is no longer known is replaced by the placeholder.
#[test]
fn an_unknown_address_is_not_a_name() {
    let mut world = World::complete();
    world.external.host = "0.0.0.0".to_owned();
    assert_eq!(world.due(), Vec::<String>::new());
    world.facts.objects.clear();
    world.make_all();
    assert!(!world.of("kube-apiserver").names.contains("0.0.0.0"));
}

#[test]
fn a_leaf_is_reissued_when_its_ca_changes() {
    let mut world = World::complete();
    world.of("etcd-ca").key = Hash(77);
    let of_etcd = ["etcd-server", "etcd-peer", "kube-apiserver-etcd-client"];
    assert_eq!(world.due(), of_etcd);
}

#[test]
fn a_leaf_is_reissued_in_the_last_third_of_its_life() {
    let mut world = World::complete();
    let third = (YEAR + 300) / 3;
    world.facts.time = NOW + YEAR - third;
    assert_eq!(world.due(), Vec::<String>::new());
    world.facts.time += 1;
    assert_eq!(world.due().len(), 11);
    world.make_all();
    let now = world.facts.time;
    assert_eq!(world.of("etcd-peer").expires, now + YEAR);
}

#[test]
fn all_leaves_of_a_cluster_that_nobody_applied_for_years_are_reissued() {
    let mut world = World::complete();
    world.facts.time = NOW + 3 * YEAR;
    let (plan, made) = world.plan();
    assert_eq!(due(&plan).count(), 11);
    let has_failed = |it: &crate::state::plan::Item| matches!(it.state, ItemState::Failed(_));
    assert!(!plan.items.iter().any(has_failed));
    world.make_all();
    let (plan, _) = world.plan();
    assert!(made.iter().all(|it| plan.is_done(*it)));
}

#[test]
fn a_leaf_is_reissued_when_its_subject_changes() {
    let mut world = World::complete();
    let key = names::control_plane(&world.shoot.id, "kube-scheduler");
    let object = world
        .facts
        .objects
        .get_mut(&ObjectKey::provider(ObjectKind::Secret, key));
    object.expect("it exists").hash = Hash(5);
    assert_eq!(world.due(), ["kube-scheduler"]);
}

#[test]
fn cas_and_keys_are_never_replaced() {
    let mut world = World::complete();
    for object in world.facts.objects.values_mut() {
        if let ObjectStatus::Secret(ObservedSecret {
            certificate: None, ..
        }) = object.status
        {
            object.hash = Hash(5);
        }
    }
    world.of("ca").expires = world.facts.time;
    assert_eq!(world.due(), Vec::<String>::new());
    let (plan, _) = world.plan();
    let failed = plan.items.iter().find_map(|item| match &item.state {
        ItemState::Failed(failure) => Some(failure.message.clone()),
        _ => None,
    });
    let message = format!(
        "Secret {}-ca contains an expired CA certificate",
        world.shoot.id
    );
    assert_eq!(failed, Some(message));
}

/// A new CA would lock out all nodes, and a new encryption key would leave all stored Secrets unreadable.
#[test]
fn a_lost_ca_or_key_is_not_replaced() {
    const ROOTS: [&str; 5] = [
        "ca",
        "etcd-ca",
        "front-proxy-ca",
        "service-account-key",
        "encryption-key",
    ];
    let failures = |world: &World| -> Vec<String> {
        let (plan, _) = world.plan();
        let failed = plan.items.iter().filter_map(|item| match &item.state {
            ItemState::Failed(failure) => Some(failure.message.clone()),
            _ => None,
        });
        failed.collect()
    };
    let secret = |world: &World, part: &str| {
        ObjectKey::provider(
            ObjectKind::Secret,
            names::control_plane(&world.shoot.id, part),
        )
    };
    for part in &ROOTS[..3] {
        let mut world = World::complete();
        let key = secret(&world, part);
        world.facts.objects.remove(&key);
        assert_eq!(world.due(), Vec::<String>::new(), "{part}");
        let expected = format!(
            "{key} was deleted, and the cluster depends on its keys: run kvshoot restore {} --from DEST --secrets-only with a backup of the shoot, or delete the shoot and create it again",
            world.shoot.name
        );
        assert_eq!(failures(&world), [expected]);
    }
    // Without certificates, etcd or the machines show that there was a control plane.
    let etcd = |world: &mut World| {
        let name = names::control_plane(&world.shoot.id, "etcd");
        let key = ObjectKey::provider(ObjectKind::StatefulSet, name);
        let there = crate::state::testing::object(ObjectStatus::None);
        world.facts.objects.insert(key, there);
    };
    let machine = |world: &mut World| {
        let machine = crate::state::testing::machine(crate::state::facts::MachinePhase::Ready);
        let pool = [("m".into(), machine)].into();
        world.facts.machines.insert("cpu".into(), pool);
    };
    for evidence in [etcd as fn(&mut World), machine] {
        let mut world = World::new();
        assert_eq!(world.due(), ROOTS);
        evidence(&mut world);
        assert_eq!(world.due(), Vec::<String>::new());
        assert_eq!(failures(&world).len(), ROOTS.len());
    }
}

/// Machines that joined with the former address use it until they are replaced.
#[test]
fn a_reissued_certificate_keeps_former_names_and_a_renewed_one_drops_them() {
    let mut world = World::complete();
    world.external.host = "other.example".to_owned();
    world.make_all();
    let names = |world: &mut World| world.of("kube-apiserver").names.clone();
    assert!(names(&mut world).contains("other.example"));
    assert!(names(&mut world).contains("api.example"));
    world.facts.time = NOW + YEAR - YEAR / 4;
    world.make_all();
    assert!(names(&mut world).contains("other.example"));
    assert!(!names(&mut world).contains("api.example"));
}
