//! YAML as a tree with the span of every key and value; aliases share the node of their anchor.

mod build;
mod mapping;
mod node;
mod syntax;

pub(super) use build::{MANIFESTS, ParseLimits, parse};
pub(super) use node::{NodeId, NodeKind, QuoteStyle, Tree};
pub(super) use syntax::TEMPLATE;
