//! YAML as a tree in which every key and value knows its place; aliases share the node that they name.

mod build;
mod mapping;
mod node;

pub(super) use build::{MANIFESTS, ParseLimits, parse};
pub(super) use node::{NodeId, NodeKind, QuoteStyle, Tree};
