use super::*;
use crate::state::facts::{Certificate, Import, Node, Object, Rollout, Secret};
use crate::state::testing::{self, object};

const ID: &str = "shoot--local--a";
const DAY: i64 = 24 * 60 * 60;

fn machine_at(look: Look, runs: bool) -> Machine {
    Machine {
        runs,
        status: "Starting".into(),
        ..testing::machine(look)
    }
}

fn late(why: &str) -> Object {
    object(Fact::Rollout(Rollout {
        why: Some(why.into()),
        available: 0,
    }))
}

fn node(why: &str) -> Node {
    Node {
        serves: why.is_empty(),
        why: why.into(),
        ..testing::node()
    }
}

/// One machine that serves, and nothing else.
fn well() -> Facts {
    let mut facts = Facts {
        inside: Inside::Observed,
        time: DAY,
        ..Facts::default()
    };
    put(&mut facts, machine_at(Look::Ready, true));
    facts.nodes.insert("a-0".into(), node(""));
    facts
}

fn put(facts: &mut Facts, machine: Machine) {
    let pool = facts.machines.entry("cpu".into()).or_default();
    pool.insert("a-0".into(), machine);
}

fn told(facts: &Facts, causes: &[(&Key, Chain)]) -> Vec<String> {
    let causes = causes
        .iter()
        .map(|(key, chain)| ((*key).clone(), chain.clone()));
    let chains = chains(facts, ID, &causes.collect());
    chains.iter().map(Chain::to_string).collect()
}

fn inner(name: &str) -> Key {
    Key::shoot(Kind::Deployment, format!("kube-system/{name}"))
}

#[test]
fn of_what_is_well_nothing_is_told() {
    assert_eq!(told(&well(), &[]), [""; 0]);
}

#[test]
fn an_api_server_that_does_not_answer_is_told_by_its_pod_where_that_is_known() {
    let mut facts = well();
    facts.inside = Inside::Unreachable("it does not answer".into());
    assert_eq!(told(&facts, &[]), ["API server: it does not answer"]);
    let key = Key::provider(Kind::Deployment, format!("{ID}-kube-apiserver"));
    facts
        .objects
        .insert(key.clone(), late("0 of 1 pods are available; pod b"));
    let below = Chain::of(Link::new("Pod", "b", "CrashLoopBackOff"), "exit code 1");
    let expected = format!(
        "Deployment {ID}-kube-apiserver: 0 of 1 pods are available <- Pod b CrashLoopBackOff: exit code 1"
    );
    assert_eq!(told(&facts, &[(&key, below)]), [expected]);
}

#[test]
fn machines_are_told_by_what_is_below_them_or_by_their_node() {
    let mut facts = well();
    put(&mut facts, machine_at(Look::Coming, false));
    assert_eq!(told(&facts, &[]), ["Machine a-0: VirtualMachine Starting"]);
    let key = Key::provider(Kind::Machine, "a-0");
    let below = Chain::of(Link::new("Pod", "b", "Pending"), "no room");
    let causes = [(&key, below)];
    assert_eq!(
        told(&facts, &causes),
        ["Machine a-0: Pod b Pending: no room"]
    );

    let mut silent = machine_at(Look::NotReady, true);
    silent.cause = Some("Kubelet stopped posting node status.".into());
    put(&mut facts, silent);
    assert_eq!(
        told(&facts, &[]),
        ["Machine a-0: Node not ready: Kubelet stopped posting node status."]
    );
    facts.nodes.clear();
    put(&mut facts, machine_at(Look::Coming, true));
    assert_eq!(
        told(&facts, &[]),
        ["Machine a-0: Node missing: its VM runs, and has not joined the shoot"]
    );
    put(&mut facts, machine_at(Look::Draining, true));
    assert_eq!(
        told(&facts, &[]),
        ["Machine a-0: it is to be emptied, and removed"]
    );
}

#[test]
fn a_node_whose_machine_is_gone_is_told_by_that() {
    let mut facts = well();
    facts.nodes.insert("a-1".into(), node("it is silent"));
    assert_eq!(
        told(&facts, &[]),
        ["Node a-1: it is silent <- VirtualMachine: not found"]
    );
}

/// A pod that is nowhere, since there is no machine for it, and those who ask it.
#[test]
fn what_only_follows_is_left_out() {
    let mut facts = well();
    let metrics = inner("metrics-server");
    facts
        .objects
        .insert(metrics.clone(), late("0 of 1 pods are available"));
    let api_service = Key::shoot(Kind::ApiService, "v1beta1.metrics.k8s.io");
    let answer = Fact::Answer(Some("no endpoints".into()));
    facts.objects.insert(api_service.clone(), object(answer));
    assert_eq!(
        told(&facts, &[]),
        ["Deployment kube-system/metrics-server: 0 of 1 pods are available"]
    );
    put(&mut facts, machine_at(Look::Coming, false));
    assert_eq!(told(&facts, &[]), ["Machine a-0: VirtualMachine Starting"]);
    put(&mut facts, machine_at(Look::Ready, true));
    facts.objects.remove(&metrics);
    assert_eq!(
        told(&facts, &[]),
        ["APIService v1beta1.metrics.k8s.io: no endpoints"]
    );
    facts.nodes.clear();
    assert_eq!(told(&facts, &[]), [""; 0]);
}

#[test]
fn images_and_certificates_are_told_with_how_far_they_are() {
    let mut facts = well();
    let import = Import {
        percent: Some(12.4),
        waits: Some("something".into()),
        ..Import::default()
    };
    facts
        .objects
        .insert(Key::provider(Kind::Image, "i"), object(Fact::Image(import)));
    let secret = Secret {
        certificate: Some(Certificate {
            expires: 3 * DAY,
            ..Certificate::default()
        }),
        ..Secret::default()
    };
    let key = Key::provider(Kind::Secret, "leaf");
    facts.objects.insert(key, object(Fact::Secret(secret)));
    assert_eq!(
        told(&facts, &[]),
        [
            "Secret leaf: the first one, leaf, expires in 2 days; kvshoot apply renews it",
            "DataVolume i: 12 % imported",
        ]
    );
}
