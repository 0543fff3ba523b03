use super::*;
use crate::state::facts::{
    ImageImport, ObservedCertificate, ObservedNode, ObservedObject, ObservedSecret, Rollout,
};
use crate::state::testing::{self, object};

const ID: &str = "shoot--local--a";
const DAY: i64 = 24 * 60 * 60;

fn machine_at(look: MachinePhase, runs: bool) -> ObservedMachine {
    ObservedMachine {
        runs,
        status: "Starting".into(),
        ..testing::machine(look)
    }
}

fn late(why: &str) -> ObservedObject {
    object(ObjectStatus::Rollout(Rollout {
        why: Some(why.into()),
        available: 0,
        etcd: None,
    }))
}

fn node(why: &str) -> ObservedNode {
    ObservedNode {
        serves: why.is_empty(),
        why: why.into(),
        ..testing::node()
    }
}

/// One ready machine and nothing else.
fn well() -> Facts {
    let mut facts = Facts {
        shoot_api: ShootApi::Reachable,
        time: DAY,
        ..Facts::default()
    };
    put(&mut facts, machine_at(MachinePhase::Ready, true));
    facts.nodes.insert("a-0".into(), node(""));
    facts
}

fn put(facts: &mut Facts, machine: ObservedMachine) {
    let pool = facts.machines.entry("cpu".into()).or_default();
    pool.insert("a-0".into(), machine);
}

fn diagnosed(facts: &Facts, causes: &[(&ObjectKey, CauseChain)]) -> Vec<String> {
    let causes = causes
        .iter()
        .map(|(key, chain)| ((*key).clone(), chain.clone()));
    let chains = cause_chains(facts, ID, &causes.collect());
    chains.iter().map(CauseChain::to_string).collect()
}

fn inner(name: &str) -> ObjectKey {
    ObjectKey::shoot(ObjectKind::Deployment, format!("kube-system/{name}"))
}

#[test]
fn a_healthy_shoot_has_no_diagnosis() {
    assert_eq!(diagnosed(&well(), &[]), [""; 0]);
}

#[test]
fn an_api_server_that_does_not_answer_is_explained_by_its_pod_if_known() {
    let mut facts = well();
    facts.shoot_api = ShootApi::Unreachable("no response".into());
    assert_eq!(diagnosed(&facts, &[]), ["API server: no response"]);
    let key = ObjectKey::provider(ObjectKind::Deployment, format!("{ID}-kube-apiserver"));
    facts
        .objects
        .insert(key.clone(), late("0 of 1 pods available; pod b"));
    let below = CauseChain::new(Cause::new("Pod", "b", "CrashLoopBackOff"), "exit code 1");
    let expected = format!(
        "Deployment {ID}-kube-apiserver: 0 of 1 pods available <- Pod b CrashLoopBackOff: exit code 1"
    );
    assert_eq!(diagnosed(&facts, &[(&key, below)]), [expected]);
}

#[test]
fn machines_are_explained_by_the_first_cause_or_their_node() {
    let mut facts = well();
    put(&mut facts, machine_at(MachinePhase::Provisioning, false));
    assert_eq!(
        diagnosed(&facts, &[]),
        ["Machine a-0: VirtualMachine Starting"]
    );
    let key = ObjectKey::provider(ObjectKind::Machine, "a-0");
    let below = CauseChain::new(Cause::new("Pod", "b", "Pending"), "no room");
    let causes = [(&key, below)];
    assert_eq!(
        diagnosed(&facts, &causes),
        ["Machine a-0: Pod b Pending: no room"]
    );

    let mut silent = machine_at(MachinePhase::NotReady, true);
    silent.cause = Some("Kubelet stopped posting node status.".into());
    put(&mut facts, silent);
    assert_eq!(
        diagnosed(&facts, &[]),
        ["Machine a-0: Node not ready: Kubelet stopped posting node status."]
    );
    facts.nodes.clear();
    put(&mut facts, machine_at(MachinePhase::Provisioning, true));
    assert_eq!(
        diagnosed(&facts, &[]),
        ["Machine a-0: Node missing: VM running, waiting for node to register"]
    );
    put(&mut facts, machine_at(MachinePhase::Draining, true));
    assert_eq!(
        diagnosed(&facts, &[]),
        ["Machine a-0: waiting to be drained and deleted"]
    );
}

#[test]
fn a_node_without_a_machine_is_explained_by_that() {
    let mut facts = well();
    facts.nodes.insert("a-1".into(), node("kubelet is silent"));
    assert_eq!(
        diagnosed(&facts, &[]),
        ["Node a-1: kubelet is silent <- VirtualMachine: not found"]
    );
}

/// A pod without a machine to run on, and an API that depends on it.
#[test]
fn consequences_of_another_problem_are_left_out() {
    let mut facts = well();
    let metrics = inner("metrics-server");
    facts
        .objects
        .insert(metrics.clone(), late("0 of 1 pods available"));
    let api_service = ObjectKey::shoot(ObjectKind::ApiService, "v1beta1.metrics.k8s.io");
    let answer = ObjectStatus::Answer(Some("no endpoints".into()));
    facts.objects.insert(api_service.clone(), object(answer));
    assert_eq!(
        diagnosed(&facts, &[]),
        ["Deployment kube-system/metrics-server: 0 of 1 pods available"]
    );
    put(&mut facts, machine_at(MachinePhase::Provisioning, false));
    assert_eq!(
        diagnosed(&facts, &[]),
        ["Machine a-0: VirtualMachine Starting"]
    );
    put(&mut facts, machine_at(MachinePhase::Ready, true));
    facts.objects.remove(&metrics);
    assert_eq!(
        diagnosed(&facts, &[]),
        ["APIService v1beta1.metrics.k8s.io: no endpoints"]
    );
    facts.nodes.clear();
    assert_eq!(diagnosed(&facts, &[]), [""; 0]);
}

#[test]
fn images_and_certificates_show_their_progress() {
    let mut facts = well();
    let import = ImageImport {
        percent: Some(12.4),
        waits: Some("something".into()),
        ..ImageImport::default()
    };
    facts.objects.insert(
        ObjectKey::provider(ObjectKind::ImageVolume, "i"),
        object(ObjectStatus::Image(import)),
    );
    let secret = ObservedSecret {
        certificate: Some(ObservedCertificate {
            expires: 3 * DAY,
            ..ObservedCertificate::default()
        }),
        ..ObservedSecret::default()
    };
    let key = ObjectKey::provider(ObjectKind::Secret, "leaf");
    facts
        .objects
        .insert(key, object(ObjectStatus::Secret(secret)));
    assert_eq!(
        diagnosed(&facts, &[]),
        [
            "Secret leaf: the first one, leaf, expires in 2 days; kvshoot apply renews it",
            "DataVolume i: import at 12%",
        ]
    );
}
