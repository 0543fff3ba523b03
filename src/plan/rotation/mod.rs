//! Items of rotations: their requests, and the end of each step.
//!
//! A step ends when everything that reads the Secret has the content of that step. The items of certificates and
//! components bring that about: this one waits for them, and writes the next step to the record.

use crate::plan::planner::Planner;
use crate::state::action::{Action, Desired, Payload};
use crate::state::facts::ObservedRecord;
use crate::state::failure::{ErrorClass, Failure};
use crate::state::hash::Hash;
use crate::state::key::{ClusterSide, ObjectKey, ObjectKind};
use crate::state::plan::{Dependency, Item, ItemKind, ItemState};
use crate::state::record::rotation::{Credential, RotationChange, RotationOperation, RotationStep};
use crate::validate::ValidShoot;
use std::sync::Arc;

/// Adds the items of rotations after all others, which they wait for.
pub(crate) fn add(planner: &mut Planner, shoot: &ValidShoot, record: Dependency) {
    let observed = planner.observed;
    let Some(known) = observed.facts.record.as_ref().filter(|it| !it.leaving) else {
        return;
    };
    add_request(planner, shoot, known, record);
    for (credential, rotation) in &known.rotation.rotations {
        let step = rotation.step;
        if !step.is_active() {
            continue;
        }
        let needs: Arc<[Dependency]> = dependencies(planner, *credential, step);
        let change = RotationChange::Advance {
            credential: *credential,
            from: step,
        };
        let state = match step {
            // Whether its members have the content of this step is not known yet.
            _ if observed.facts.etcd.is_none() => {
                ItemState::Waiting("etcd has not been observed yet".to_owned())
            }
            _ => ItemState::Due(action(known, change)),
        };
        let kind = ItemKind::from(format!("rotation/{credential}"));
        planner.add(kind, title(*credential, step), needs, state);
    }
}

/// Adds the operation of the command or the manifest.
fn add_request(
    planner: &mut Planner,
    shoot: &ValidShoot,
    known: &ObservedRecord,
    record: Dependency,
) {
    let annotation = shoot.manifest.metadata.annotations.get(ANNOTATION);
    let of_manifest = annotation.and_then(|it| RotationOperation::of_gardener(it));
    let change = match (&known.operation, of_manifest) {
        (Some(it), _) => RotationChange::Command(it.clone()),
        (None, Some(it)) if known.rotation.operation.as_deref() != Some(&it.to_string()) => {
            RotationChange::Manifest(it)
        }
        (None, None) if known.rotation.operation.is_some() => RotationChange::NoOperation,
        _ => return,
    };
    let (title, refusal) = match &change {
        RotationChange::Command(it) | RotationChange::Manifest(it) => {
            (request_title(it), known.rotation.refusal(it))
        }
        _ => ("Forget the last rotation of the manifest".to_owned(), None),
    };
    let state = match (refusal, &change) {
        // It would be carried out as soon as the run has prepared it.
        (Some(refusal), RotationChange::Manifest(it)) => {
            let message = format!(
                "{refusal}: remove metadata.annotations[{ANNOTATION:?}] or ask for {} first",
                RotationOperation {
                    completes: false,
                    ..it.clone()
                }
            );
            ItemState::Failed(Failure::new(ErrorClass::Refused, message))
        }
        _ => ItemState::Due(action(known, change)),
    };
    let kind = ItemKind::from("rotation/request".to_owned());
    planner.add(kind, title, [record], state);
}

/// Gardener's annotation of a Shoot.
const ANNOTATION: &str = "gardener.cloud/operation";

/// Everything that reads the Secrets: the control plane, and for the root of the API server all that trusts it. A restart
/// ends with the system components.
fn dependencies(
    planner: &Planner,
    credential: Credential,
    step: RotationStep,
) -> Arc<[Dependency]> {
    let reads_in_shoot = credential == Credential::Ca || step == RotationStep::Restart;
    let reads = |item: &Item| match &item.kind {
        ItemKind::Record | ItemKind::Certificate(_) => true,
        ItemKind::Component { side, .. } => *side == ClusterSide::Provider || reads_in_shoot,
        ItemKind::Machine(_) => credential == Credential::Ca,
        // A machine that is replaced trusts the old root alone until it is gone.
        ItemKind::Deletion { key, .. } => {
            credential == Credential::Ca && key.kind == ObjectKind::Machine
        }
        ItemKind::Other(id) => id.starts_with("etcd/"),
        _ => false,
    };
    planner.plan.dependencies(reads).collect()
}

fn action(record: &ObservedRecord, change: RotationChange) -> Action {
    Action::Apply(Desired {
        key: ObjectKey::provider(ObjectKind::Record, record.name.clone()),
        hash: Hash::of(&change),
        payload: Payload::Rotation(change),
    })
}

fn request_title(operation: &RotationOperation) -> String {
    let verb = if operation.completes {
        "Complete"
    } else {
        "Start"
    };
    let names: Vec<&str> = operation.credentials.iter().map(|it| it.name()).collect();
    format!("{verb} rotation of {}", names.join(", "))
}

fn title(credential: Credential, step: RotationStep) -> String {
    match step {
        RotationStep::Trust => format!("Rotate {credential}: the new one is trusted everywhere"),
        RotationStep::Use if credential == Credential::Ca => {
            format!(
                "Rotate {credential}: the new one is used everywhere, once all machines have it"
            )
        }
        RotationStep::Use => format!("Rotate {credential}: the new one is used everywhere"),
        RotationStep::Rewrite => format!("Rotate {credential}: write stored objects again"),
        RotationStep::Restart => format!("Rotate {credential}: restart system pods"),
        RotationStep::Serve => format!("Rotate {credential}: servers have the new one"),
        _ if credential == Credential::Ca => {
            format!(
                "Rotate {credential}: the old one is removed everywhere, once no machine has it"
            )
        }
        _ => format!("Rotate {credential}: the old one is removed everywhere"),
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod trust_tests;
