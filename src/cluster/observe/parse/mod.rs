//! Parsing of API objects into facts; each from one object alone.

pub(crate) mod deletion;
pub(crate) mod etcd;
pub(crate) mod image;
pub(crate) mod machine;
pub(crate) mod node;
pub(crate) mod object;
pub(crate) mod secret;
pub(crate) mod signing_request;
pub(crate) mod types;
pub(crate) mod user_resources;

#[cfg(test)]
mod fuzz_tests;
