//! Requests to start and to complete rotations.

use super::{Credential, RotationRecord, RotationStep};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// A request to start or complete rotations.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub(crate) struct RotationOperation {
    pub(crate) credentials: BTreeSet<Credential>,
    pub(crate) completes: bool,
}

/// Why rotations cannot be completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) credential: Credential,
    /// None if it was never rotated.
    pub(crate) step: Option<RotationStep>,
}

/// Operations of Gardener, with the credentials that they rotate.
const GARDENER: [(&str, &[Credential]); 4] = [
    ("rotate-credentials", &Credential::ALL),
    ("rotate-ca", &[Credential::Ca, Credential::EtcdCa]),
    (
        "rotate-serviceaccount-key",
        &[Credential::ServiceAccountKey],
    ),
    ("rotate-etcd-encryption-key", &[Credential::EncryptionKey]),
];

impl RotationOperation {
    /// The value of Gardener's annotation `gardener.cloud/operation`; None if it asks for something else.
    pub(crate) fn of_gardener(text: &str) -> Option<RotationOperation> {
        let (name, completes) = match (text.strip_suffix("-start"), text.strip_suffix("-complete"))
        {
            (Some(name), _) => (name, false),
            (_, Some(name)) => (name, true),
            _ => return None,
        };
        let (_, credentials) = GARDENER.iter().find(|it| it.0 == name)?;
        Some(RotationOperation {
            credentials: credentials.iter().copied().collect(),
            completes,
        })
    }

    /// The value of the annotation of a record, as this type is displayed.
    pub(crate) fn parse(text: &str) -> Option<RotationOperation> {
        let (verb, names) = text.split_once(':')?;
        let known = |name: &str| Credential::ALL.into_iter().find(|it| it.name() == name);
        let credentials: Option<BTreeSet<Credential>> = names.split(',').map(known).collect();
        Some(RotationOperation {
            credentials: credentials?,
            completes: match verb {
                "start" => false,
                "complete" => true,
                _ => return None,
            },
        })
    }
}

impl RotationRecord {
    /// Returns why an operation is not possible: only what is prepared can be completed. What is being completed or is
    /// complete stays so.
    pub(crate) fn refusal(&self, operation: &RotationOperation) -> Option<Refusal> {
        let is_refused = |step: Option<RotationStep>| match step {
            None => true,
            Some(it) => it < RotationStep::Prepared,
        };
        let refused = |credential: &Credential| {
            let credential = *credential;
            let step = self.step(credential);
            is_refused(step).then_some(Refusal { credential, step })
        };
        let mut all = operation.credentials.iter();
        all.find_map(refused).filter(|_| operation.completes)
    }

    /// Returns true if an operation changes anything.
    pub(crate) fn is_due(&self, operation: &RotationOperation) -> bool {
        let is_due = |credential: &Credential| {
            let step = self.step(*credential);
            match operation.completes {
                true => step == Some(RotationStep::Prepared),
                false => step.is_none_or(|it| it == RotationStep::Completed),
            }
        };
        self.refusal(operation).is_none() && operation.credentials.iter().any(is_due)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let credential = self.credential;
        match self.step {
            None => write!(f, "no rotation of {credential} was started"),
            Some(_) => write!(f, "the rotation of {credential} is still being prepared"),
        }
    }
}

impl fmt::Display for RotationOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.completes { "complete" } else { "start" };
        let names: Vec<&str> = self.credentials.iter().map(|it| it.name()).collect();
        write!(f, "{verb}:{}", names.join(","))
    }
}
