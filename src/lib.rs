//! kvshoot makes Kubernetes clusters out of KubeVirt virtual machines.

mod cluster;
mod commands;
mod config;
mod flow;
mod manifest;
mod model;
mod plan;
mod ui;
mod validate;

pub use commands::{command, main};
