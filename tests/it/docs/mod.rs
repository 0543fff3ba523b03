//! Documentation and examples: every command in them runs.

mod examples;
mod kubermatic;
mod pipelines;
mod readme;
