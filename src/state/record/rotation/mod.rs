//! Rotation of roots and keys, as the record knows it.
//!
//! A rotation is a row of steps. Each step says what the Secret of a root or key contains, and a step follows only when
//! everything that reads the Secret has the content of the one before. Neighbouring steps get along: whatever is signed
//! in one of them is trusted in both.

mod credential;
mod generation;
mod operation;
mod step;

pub(crate) use credential::Credential;
pub(crate) use generation::{KeyContent, KeyGeneration};
pub(crate) use operation::RotationOperation;
pub(crate) use step::RotationStep;

use crate::state::names;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The last rotation of a credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Rotation {
    /// Number of the new root or key; the one that a shoot is created with has 0.
    pub(crate) generation: u32,
    pub(crate) step: RotationStep,
    /// When the step began, in seconds since 1970, by the provider's clock, as the next three. None in records of earlier
    /// versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<i64>,
    pub(crate) started: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prepared: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) completed: Option<i64>,
    /// Number of stored objects that were written with the new key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rewritten: Option<u64>,
}

/// The rotations of a shoot.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RotationRecord {
    #[serde(flatten)]
    pub(crate) rotations: BTreeMap<Credential, Rotation>,
    /// The operation in the manifest that was carried out; it is not repeated while it stays there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) operation: Option<String>,
}

/// A change of the record.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub(crate) enum RotationChange {
    /// Starts or completes rotations, by the command; the annotation of the record goes with it.
    Command(RotationOperation),
    /// The same by an annotation of the manifest.
    Manifest(RotationOperation),
    /// The manifest no longer asks for an operation.
    NoOperation,
    /// The step is done.
    Advance {
        credential: Credential,
        from: RotationStep,
    },
}

impl RotationRecord {
    /// Content of the Secret of a root or key, by the part of its name after the technical ID.
    pub(crate) fn generation(&self, part: &str) -> KeyGeneration {
        let credential = Credential::of_part(part);
        let rotation = credential.and_then(|it| self.rotations.get(&it));
        rotation.map(Rotation::key_generation).unwrap_or_default()
    }

    pub(crate) fn step(&self, credential: Credential) -> Option<RotationStep> {
        Some(self.rotations.get(&credential)?.step)
    }

    /// The CAs that a new machine trusts, and the one that its certificates are of. One that is only announced does not
    /// count: it signs nothing yet.
    pub(crate) fn machine_roots(&self) -> KeyGeneration {
        let roots = self.generation(names::part::CA);
        match roots.content {
            KeyContent::Announced => roots.before().unwrap_or_default(),
            _ => roots,
        }
    }

    /// Those of machines that were created, or took new ones, before the present step.
    pub(crate) fn former_machine_roots(&self) -> Option<KeyGeneration> {
        let before = self.machine_roots().before()?;
        match before.content {
            KeyContent::Announced => before.before(),
            _ => Some(before),
        }
    }

    /// Number of the service account key that tokens of system pods are signed with; None for the one that the shoot was
    /// created with.
    ///
    /// It changes when API servers no longer sign with the old key, so that restarted pods get no token of it.
    pub(crate) fn token_generation(&self) -> Option<u32> {
        let rotation = self.rotations.get(&Credential::ServiceAccountKey)?;
        let number = match rotation.step {
            RotationStep::Trust | RotationStep::Use => rotation.generation.checked_sub(1)?,
            _ => rotation.generation,
        };
        (number > 0).then_some(number)
    }

    /// The record after a change at `time`, in seconds since 1970. `rewritten` is the number of stored objects that the
    /// step wrote again.
    ///
    /// A change that has happened already, or is not possible, leaves the rotations as they are.
    pub(crate) fn after(
        &self,
        change: &RotationChange,
        time: i64,
        rewritten: Option<u64>,
    ) -> RotationRecord {
        let mut next = self.clone();
        match change {
            RotationChange::Command(operation) => next.perform(operation, time),
            RotationChange::Manifest(operation) => {
                next.perform(operation, time);
                next.operation = Some(operation.to_string());
            }
            RotationChange::NoOperation => next.operation = None,
            RotationChange::Advance { credential, from } => {
                let rotation = next.rotations.get_mut(credential);
                if let Some(rotation) = rotation.filter(|it| it.step == *from) {
                    rotation.advance(*credential, time, rewritten);
                }
            }
        }
        next
    }

    fn perform(&mut self, operation: &RotationOperation, time: i64) {
        if self.refusal(operation).is_some() {
            return;
        }
        for credential in &operation.credentials {
            let before = self.rotations.get(credential);
            let step = before.map(|it| it.step);
            let generation = before.map_or(0, |it| it.generation);
            match (operation.completes, step) {
                (false, None | Some(RotationStep::Completed)) => {
                    let rotation = Rotation {
                        generation: generation + 1,
                        step: RotationStep::Trust,
                        since: Some(time),
                        started: time,
                        prepared: None,
                        completed: None,
                        rewritten: None,
                    };
                    self.rotations.insert(*credential, rotation);
                }
                (true, Some(RotationStep::Prepared)) => {
                    if let Some(it) = self.rotations.get_mut(credential) {
                        it.step = RotationStep::first_of_completion(*credential);
                        it.since = Some(time);
                    }
                }
                _ => {}
            }
        }
    }
}

impl Rotation {
    fn advance(&mut self, credential: Credential, time: i64, rewritten: Option<u64>) {
        let Some(next) = self.step.next(credential) else {
            return;
        };
        self.step = next;
        self.since = Some(time);
        self.rewritten = rewritten.or(self.rewritten);
        match next {
            RotationStep::Prepared => self.prepared = Some(time),
            RotationStep::Completed => self.completed = Some(time),
            _ => {}
        }
    }

    /// Content of its Secret.
    pub(crate) fn key_generation(&self) -> KeyGeneration {
        KeyGeneration {
            number: self.generation,
            content: self.step.content(),
        }
    }
}

#[cfg(test)]
mod tests;
