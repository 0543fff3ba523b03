//! kvshoot makes Kubernetes clusters out of KubeVirt virtual machines.

mod commands;
mod flow;
mod manifest;
mod model;
mod pki;
mod plan;
mod sandbox;
mod ui;
mod validate;

pub use commands::{Cli, run};
