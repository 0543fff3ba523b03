//! Kubermatic's API, `cluster.k8s.io/v1alpha1`.

mod config_var;
mod machine_deployment;

pub(crate) use config_var::*;
pub(crate) use machine_deployment::*;
