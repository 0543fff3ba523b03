//! The model of a document, by kind.

use std::sync::Arc;

use crate::model::{
    CloudProfile, CredentialsBinding, MachineDeployment, Secret, SecretBinding, Shoot,
};

/// A document of a supported kind.
#[derive(Debug)]
pub(crate) enum Content {
    Shoot(Arc<Shoot>),
    CloudProfile(Arc<CloudProfile>),
    SecretBinding(Arc<SecretBinding>),
    CredentialsBinding(Arc<CredentialsBinding>),
    Secret(Arc<Secret>),
    MachineDeployment(Arc<MachineDeployment>),
}
