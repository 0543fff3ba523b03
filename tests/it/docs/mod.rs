//! Documentation and examples: every command in them runs.

mod examples;
mod kubermatic;
mod picture;
mod pipelines;
mod readme;
