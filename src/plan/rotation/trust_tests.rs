//! Who trusts whom in each step of a rotation, while each server and machine has the content of that step or of the one
//! before.

use crate::plan::control_plane::certificates::rotate_leaf;
use crate::render::control_plane::certificate::subjects::{self, ApiServerAddresses, CA};
use crate::state::action::LeafCertificate;
use crate::state::desired::pool_hash;
use crate::state::hash::Hash;
use crate::state::record::rotation::{
    Credential, KeyContent, KeyGeneration, RotationChange, RotationOperation, RotationRecord,
    RotationStep,
};
use crate::state::site::{NO_UID, Site};
use crate::validate::ValidShoot;
use crate::validate::testing::{SHOOT, valid_for_tests};
use std::collections::BTreeMap;

/// What is shown to others, and what is accepted from others: numbers of CAs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Party {
    signer: u32,
    trusted: Vec<u32>,
}

/// The parties of a step.
struct Moment {
    step: Option<RotationStep>,
    leaves: BTreeMap<&'static str, Party>,
    /// A machine that is created in this step.
    machine: Party,
    /// Machines with another hash are replaced in this step.
    machines: Hash,
}

fn contents(generation: KeyGeneration) -> (u32, Vec<u32>) {
    let newest = generation.number;
    match generation.content {
        KeyContent::Alone => (newest, vec![newest]),
        KeyContent::Announced => (newest - 1, vec![newest - 1, newest]),
        KeyContent::Leading => (newest, vec![newest, newest - 1]),
    }
}

fn leaf(leaf: &LeafCertificate) -> Party {
    let (signer, trusted) = contents(leaf.trust);
    Party {
        signer: signer - u32::from(leaf.is_of_previous),
        trusted,
    }
}

fn moment(shoot: &ValidShoot, record: &RotationRecord, credential: Credential) -> Moment {
    let site = Site {
        id: &shoot.id,
        namespace: "clusters",
        uid: NO_UID,
    };
    let reach = ApiServerAddresses {
        cluster_ip: "10.96.0.7",
        external: None,
        node_address: None,
    };
    let mut leaves = BTreeMap::new();
    for subject in subjects::all(shoot, &site, Some(&reach)) {
        let mut issued = subject.leaf.expect("all addresses are known");
        rotate_leaf(subject.part, &mut issued, &site, record);
        leaves.insert(subject.part, leaf(&issued));
    }
    let (signer, trusted) = contents(record.generation(CA));
    Moment {
        step: record.step(credential),
        leaves,
        machine: Party { signer, trusted },
        machines: pool_hash(shoot, &shoot.pools[0], &[], Some(record)),
    }
}

/// All steps of two rotations, beginning with that before the first one.
fn moments(shoot: &ValidShoot, credential: Credential) -> Vec<Moment> {
    let mut record = RotationRecord::default();
    let mut all = vec![moment(shoot, &record, credential)];
    for completes in [false, true, false, true] {
        let operation = RotationOperation {
            credentials: [credential].into(),
            completes,
        };
        record = record.after(&RotationChange::Command(operation), 10, None);
        all.push(moment(shoot, &record, credential));
        while let Some(from) = record.step(credential).filter(|it| it.is_active()) {
            record = record.after(&RotationChange::Advance { credential, from }, 20, None);
            all.push(moment(shoot, &record, credential));
        }
    }
    all
}

/// Machines that exist while a step is carried out: those that all steps before have left, and new ones.
fn machines(moments: &[Moment], now: usize) -> impl Iterator<Item = &Party> {
    let before = now.saturating_sub(1);
    let kept = moments[before].machines;
    let old = moments[..=before].iter().rev();
    let old = old.take_while(move |it| it.machines == kept);
    old.chain([&moments[now]]).map(|it| &it.machine)
}

fn assert_trust(client: &Party, server: &Party, what: &str) {
    assert!(client.trusted.contains(&server.signer), "{what}: server");
    assert!(server.trusted.contains(&client.signer), "{what}: client");
}

#[test]
fn machines_and_servers_of_neighbouring_steps_trust_each_other() {
    let shoot = valid_for_tests(SHOOT);
    let moments = moments(&shoot, Credential::Ca);
    for now in 0..moments.len() {
        let here = &moments[now.saturating_sub(1)..=now];
        let parties = |part: &str| {
            let part = part.to_owned();
            here.iter().map(move |it| &it.leaves[&*part])
        };
        let what =
            |client: &str, server: &str| format!("{client} at {server} in {:?}", moments[now].step);
        let clients = [
            "kube-controller-manager",
            "kube-scheduler",
            "cloud-controller-manager",
            "csi-controller",
            "konnectivity-server",
        ];
        for server in parties("kube-apiserver") {
            for name in clients {
                for client in parties(name) {
                    assert_trust(client, server, &what(name, "kube-apiserver"));
                }
            }
            for machine in machines(&moments, now) {
                assert_trust(machine, server, &what("machine", "kube-apiserver"));
            }
        }
        for machine in machines(&moments, now) {
            for client in parties("kube-apiserver-kubelet-client") {
                assert_trust(client, machine, &what("kube-apiserver", "kubelet"));
            }
            for server in parties("konnectivity-server") {
                assert!(machine.trusted.contains(&server.signer));
            }
        }
    }
}

/// Their kubeconfigs trust the CA of before, and have a certificate of it.
#[test]
fn users_of_the_old_ca_are_served_until_the_rotation_is_prepared() {
    let shoot = valid_for_tests(SHOOT);
    let mut is_served = Vec::new();
    let user = Party {
        signer: 0,
        trusted: vec![0],
    };
    for it in moments(&shoot, Credential::Ca).iter().take(7) {
        let server = &it.leaves["kube-apiserver"];
        let serves = user.trusted.contains(&server.signer) && server.trusted.contains(&0);
        is_served.push((it.step, serves));
    }
    let wanted = [
        (None, true),
        (Some(RotationStep::Trust), true),
        (Some(RotationStep::Use), true),
        (Some(RotationStep::Prepared), true),
        (Some(RotationStep::Serve), false),
        (Some(RotationStep::Drop), false),
        (Some(RotationStep::Completed), false),
    ];
    assert_eq!(is_served, wanted);
}

#[test]
fn members_of_etcd_and_their_clients_trust_each_other_in_neighbouring_steps() {
    let shoot = valid_for_tests(SHOOT);
    let moments = moments(&shoot, Credential::EtcdCa);
    for pair in moments.windows(2) {
        for (one, other) in [(0, 1), (1, 0), (0, 0), (1, 1)] {
            let (one, other) = (&pair[one].leaves, &pair[other].leaves);
            let step = format!("{:?}", pair[1].step);
            assert_trust(&one["etcd-peer"], &other["etcd-peer"], &step);
            for client in ["kube-apiserver-etcd-client", "etcd-server"] {
                assert_trust(&one[client], &other["etcd-server"], &step);
            }
        }
    }
    // The machines stay.
    assert!(moments.iter().all(|it| it.machines == moments[0].machines));
}

#[test]
fn old_certificates_are_worth_nothing_after_a_rotation() {
    let shoot = valid_for_tests(SHOOT);
    for credential in [Credential::Ca, Credential::EtcdCa] {
        let moments = moments(&shoot, credential);
        let is_last = |it: &Moment| it.step == Some(RotationStep::Completed);
        let end = moments.iter().position(is_last).expect("it is completed");
        let last = &moments[end];
        let rotated = last.leaves.values().filter(|it| it.signer == 1);
        assert!(rotated.clone().all(|it| it.trusted == [1]));
        assert_eq!(rotated.count() + others(last), last.leaves.len());
        for machine in machines(&moments, end) {
            assert!(credential != Credential::Ca || machine.trusted == [1]);
        }
    }
}

/// Number of certificates of CAs that were not rotated.
fn others(moment: &Moment) -> usize {
    let others = moment.leaves.values();
    others
        .filter(|it| it.signer == 0 && it.trusted == [0])
        .count()
}
