//! API objects as read from a server: partial structs with the fields that kvshoot uses.
//!
//! A required field that is missing, and any field of a wrong type, is an error with the path of the field. Contents
//! are not checked: an unknown phase is a string like any other. Null counts as missing, as in Go.

pub(crate) mod access_review;
pub(crate) mod api_resource;
pub(crate) mod api_service;
pub(crate) mod ca_bundle;
pub(crate) mod condition;
pub(crate) mod core;
pub(crate) mod etcd;
pub(crate) mod kubevirt;
pub(crate) mod lease;
pub(crate) mod metadata;
pub(crate) mod reader;
pub(crate) mod server_version;
pub(crate) mod signing_request;
pub(crate) mod storage;
pub(crate) mod user_resources;
pub(crate) mod workload;

#[cfg(test)]
pub(crate) mod testing;
