//! Facts of a control plane that is being stopped.

use crate::state::action::{Action, Desired, Payload};
use crate::state::facts::{ControlPlanePods, ObjectStatus};
use crate::state::hash::Hash;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::names::{self, SPEC_HASH};
use crate::state::observed::Observed;
use crate::state::plan::{ItemState, Plan};
use std::sync::Arc;

/// The workloads that are due no longer have pods, as their status says.
pub(in crate::plan) fn with_stopped(mut observed: Observed, plan: &Plan) -> Observed {
    let facts = Arc::make_mut(&mut observed.facts);
    for item in &plan.items {
        let ItemState::Due(Action::Apply(Desired {
            payload: Payload::Objects(objects),
            ..
        })) = &item.state
        else {
            continue;
        };
        for object in objects.iter() {
            let kind = object["kind"].as_str().and_then(ObjectKind::generic);
            let name = object["metadata"]["name"].as_str().expect("it has a name");
            let key = ObjectKey::provider(kind.expect("a workload"), name);
            let known = facts.objects.get_mut(&key).expect("it was running");
            let hash = object["metadata"]["annotations"][SPEC_HASH].as_str();
            known.hash = Hash::parse(hash.expect("it has a hash")).expect("it is one");
            known.version = format!("{}-stopped", known.version).into();
            let ObjectStatus::Rollout(rollout) = &mut known.status else {
                panic!("{key} is not a workload");
            };
            rollout.available = 0;
        }
    }
    observed
}

/// The pods are listed now: so many are left of each component.
pub(in crate::plan) fn with_pods(mut observed: Observed, left: &[(&str, usize)]) -> Observed {
    let facts = Arc::make_mut(&mut observed.facts);
    let id = facts.record.as_ref().expect("it is complete").name.clone();
    let workloads = facts.workloads();
    let pods = ControlPlanePods {
        workloads: workloads
            .map(|(key, object, _)| (key.clone(), object.version.clone()))
            .collect(),
        counts: left
            .iter()
            .map(|it| (names::control_plane(&id, it.0).into(), it.1))
            .collect(),
    };
    facts.control_plane_pods = Some(pods.into());
    observed
}
