//! Documentation and examples, whose commands are executed.

mod examples;
mod kubermatic;
mod picture;
mod pipelines;
mod readme;
