//! The pods of the control plane in the provider namespace, and what they need.

pub(crate) mod api_server;
mod authentication;
pub(crate) mod certificate;
pub(crate) mod certificate_subjects;
pub(crate) mod cloud_controller;
pub(crate) mod context;
pub(crate) mod controller_manager;
pub(crate) mod csi;
pub(crate) mod etcd;
pub(crate) mod known;
pub(crate) mod konnectivity;
mod parts;
pub(crate) mod scheduler;
pub(crate) mod service;
#[cfg(test)]
mod tests;
