//! kvshoot makes Kubernetes clusters out of KubeVirt virtual machines.

mod cluster;
mod commands;
mod config;
mod flow;
mod manifest;
mod model;
mod pki;
mod plan;
mod sandbox;
mod ui;
mod validate;

pub use commands::{command, main};
