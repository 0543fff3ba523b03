//! Items of the nodes' certificates: approval or denial of the kubelets' requests.

use crate::plan::planner::Planner;
use crate::state::action::{Action, Decision, Desired, Payload};
use crate::state::facts::certificate_judgment::{Verdict, is_served, judged};
use crate::state::facts::{Facts, ObservedSigningRequest, ShootApi};
use crate::state::hash::Hash;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::plan::{ItemKind, ItemState};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Age of a node up to which its approved request shows whether its kubelet has a serving certificate. The cluster
/// deletes approved requests after an hour.
const EVIDENCE_AGE: i64 = 50 * 60;

/// How long a node may take to learn of its machine's new address and to request a certificate for it. The cloud
/// controller manager looks every 30 seconds.
const READDRESSED_WAIT: Duration = Duration::from_secs(5 * 60);

/// Adds an item for each request that is due, and for each node that waits for its serving certificate: it is new, or
/// its machine was started with another address.
///
/// A request that waits does not keep the run alive by itself: an attacker with a node's credentials may ask for anything.
pub(crate) fn add(planner: &mut Planner) {
    let observed = planner.observed;
    let facts = &observed.facts;
    if facts.shoot_api != ShootApi::Reachable {
        return;
    }
    let mut waiting: BTreeMap<Arc<str>, String> = BTreeMap::new();
    for (name, request, machine, verdict) in judged(facts) {
        let (title, decision) = match verdict {
            Verdict::Approve => (format!("Approve certificate of node {machine}"), None),
            Verdict::Deny(reason) => (format!("Deny certificate of node {machine}"), Some(reason)),
            Verdict::Wait(reason) => {
                waiting.insert(machine, reason);
                continue;
            }
        };
        let denied = decision.is_some();
        let kind = ItemKind::NodeCertificate {
            name: name.clone(),
            denied,
        };
        planner.add(kind, title, [], due(name, request, machine, decision));
    }
    for (machine, until) in unserved_nodes(facts, observed.now) {
        planner.plan.wake_at(until);
        let why = waiting.remove(&machine);
        let why = why.unwrap_or_else(|| "kubelet has not requested it yet".to_owned());
        let title = format!("Approve certificate of node {machine}");
        let kind = ItemKind::NodeCertificate {
            name: machine,
            denied: false,
        };
        planner.add(kind, title, [], ItemState::Waiting(why));
    }
}

/// Ready nodes of machines that have no serving certificate for their address yet, and when that is no longer known.
fn unserved_nodes(facts: &Facts, now: Duration) -> Vec<(Arc<str>, Duration)> {
    let machines = facts.machines.values().flatten();
    let nodes = machines.filter_map(|(name, machine)| {
        let node = facts.nodes.get(name).filter(|it| it.serves)?;
        let is_staying = machine.runs && !machine.is_draining();
        let created = node.created?;
        let young_for = created + EVIDENCE_AGE - facts.time;
        let young_until = u64::try_from(young_for).ok().map(Duration::from_secs);
        let readdressed = machine.placement.readdressed;
        let until = young_until.max(readdressed.map(|it| it + READDRESSED_WAIT))?;
        let is_open = || judged(facts).any(|it| it.2 == *name && it.3 == Verdict::Approve);
        let is_missing =
            is_staying && now < until && !is_served(name, machine, created, facts) && !is_open();
        is_missing.then(|| (name.clone(), until))
    });
    nodes.collect()
}

fn due(
    name: &Arc<str>,
    observed: &ObservedSigningRequest,
    machine: Arc<str>,
    denied: Option<String>,
) -> ItemState {
    ItemState::Due(Action::Apply(Desired {
        key: ObjectKey::shoot(ObjectKind::SigningRequest, name.clone()),
        hash: Hash::of(&denied.is_some()),
        payload: Payload::Decision(Decision {
            uid: observed.uid.clone(),
            machine,
            denied: denied.map(Into::into),
        }),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::facts::{
        KubeletRequest, KubeletSigner, MachinePhase, ObservedNode, RequestedCertificate,
        SigningDecision,
    };
    use crate::state::observed::Observed;
    use crate::state::testing::{machine, node};

    const NAME: &str = "shoot--dev--demo-cpu-z1-abcde-0";

    /// A node that is ready and was created when the run began.
    fn joined() -> Facts {
        let mut facts = Facts {
            shoot_api: ShootApi::Reachable,
            time: 1000,
            ..Facts::default()
        };
        let mut one = machine(MachinePhase::Ready);
        one.placement.node_addresses = ["10.0.0.5".parse().expect("an address")].into();
        let pool = facts.machines.entry("cpu".into()).or_default();
        pool.insert(NAME.into(), one);
        let node = ObservedNode {
            created: Some(1000),
            ..node()
        };
        facts.nodes.insert(NAME.into(), node);
        facts
    }

    fn request(address: &str, decision: SigningDecision) -> ObservedSigningRequest {
        ObservedSigningRequest {
            uid: "request".into(),
            request: Arc::new(KubeletRequest {
                signer: KubeletSigner::Serving,
                username: format!("system:node:{NAME}").into(),
                created: 1001,
                usages: ["digital signature", "server auth"].map(Into::into).into(),
                expiration: None,
                content: Ok(RequestedCertificate {
                    common_name: format!("system:node:{NAME}").into(),
                    organizations: vec!["system:nodes".into()],
                    dns_names: vec![NAME.into()],
                    addresses: vec![address.parse().expect("an address")],
                    key: "key".into(),
                }),
                decision,
            }),
        }
    }

    fn items(facts: Facts, now: u64) -> Vec<(String, ItemState)> {
        let observed = Observed {
            facts: facts.into(),
            now: Duration::from_secs(now),
            ..Observed::default()
        };
        let mut planner = Planner::new(&observed);
        add(&mut planner);
        let items = planner.plan.items.into_iter();
        items.map(|it| (it.title, it.state)).collect()
    }

    #[track_caller]
    fn assert_waits(facts: Facts, reason: &str) {
        let [(_, ItemState::Waiting(why))] = &items(facts, 0)[..] else {
            panic!("not one item that waits");
        };
        assert!(why.contains(reason), "{why}");
    }

    #[test]
    fn a_right_request_is_approved_and_a_wrong_one_denied() {
        let mut facts = joined();
        let right = request("10.0.0.5", SigningDecision::Pending);
        facts.signing_requests.insert("csr-1".into(), right);
        let [(title, ItemState::Due(Action::Apply(desired)))] = &items(facts.clone(), 0)[..] else {
            panic!("not one item that is due");
        };
        assert_eq!(*title, format!("Approve certificate of node {NAME}"));
        let Payload::Decision(decision) = &desired.payload else {
            panic!("{desired:?}");
        };
        assert_eq!((&*decision.uid, &decision.denied), ("request", &None));

        let wrong = request("127.0.0.1", SigningDecision::Pending);
        facts.signing_requests.insert("csr-1".into(), wrong);
        let all = items(facts, 0);
        let [(title, ItemState::Due(_)), (_, ItemState::Waiting(_))] = &all[..] else {
            panic!("{all:?}");
        };
        assert_eq!(*title, format!("Deny certificate of node {NAME}"));
    }

    #[test]
    fn a_new_node_waits_for_its_serving_certificate() {
        assert_waits(joined(), "has not requested it yet");
        let mut facts = joined();
        let foreign = request("10.0.0.7", SigningDecision::Pending);
        facts.signing_requests.insert("csr-1".into(), foreign);
        assert_waits(facts.clone(), "10.0.0.7 is not an address");
        let approved = request("10.0.0.5", SigningDecision::Approved);
        facts.signing_requests.insert("csr-1".into(), approved);
        assert_eq!(items(facts, 0), []);
    }

    #[test]
    fn a_machine_with_a_new_address_waits_for_its_certificate() {
        let mut facts = joined();
        let former = request("10.0.0.4", SigningDecision::Approved);
        facts.signing_requests.insert("csr-1".into(), former);
        assert_waits(facts.clone(), "has not requested it yet");

        // Requests of older nodes may have been deleted: it waits only if this run saw the address change.
        facts.time += EVIDENCE_AGE;
        assert_eq!(items(facts.clone(), 0), []);
        let pool = facts.machines.get_mut("cpu").expect("a pool");
        let machine = pool.get_mut(NAME).expect("a machine");
        machine.placement.readdressed = Some(Duration::from_secs(10));
        assert_waits(facts.clone(), "has not requested it yet");
        assert_eq!(items(facts.clone(), 10 + 5 * 60), []);
        let approved = request("10.0.0.5", SigningDecision::Approved);
        facts.signing_requests.insert("csr-2".into(), approved);
        assert_eq!(items(facts, 0), []);
    }

    /// Otherwise an attacker with a node's credentials could keep every run from ending.
    #[test]
    fn an_old_node_waits_for_nothing() {
        let mut facts = joined();
        assert_eq!(items(facts.clone(), 50 * 60), []);
        facts.time += EVIDENCE_AGE;
        assert_eq!(items(facts.clone(), 0), []);
        let foreign = request("10.0.0.7", SigningDecision::Pending);
        facts.signing_requests.insert("csr-1".into(), foreign);
        assert_eq!(items(facts.clone(), 0), []);
        let renewal = request("10.0.0.5", SigningDecision::Pending);
        facts.signing_requests.insert("csr-1".into(), renewal);
        let all = items(facts, 0);
        assert!(matches!(&all[..], [(_, ItemState::Due(_))]), "{all:?}");
    }

    #[test]
    fn nothing_is_judged_while_the_shoot_is_not_observed() {
        let mut facts = joined();
        facts.shoot_api = ShootApi::Unreachable("no".into());
        assert_eq!(items(facts, 0), []);
    }
}
