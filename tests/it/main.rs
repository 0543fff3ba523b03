//! What a person sees of the program, in one binary, since linking takes longer than all tests.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod apply;
mod arrows;
mod causes;
mod complete;
mod delete;
mod edits;
mod examples;
mod foreign;
mod generated;
mod house;
mod kvshoot;
mod life;
mod provider;
mod readme;
mod render;
mod rolls;
mod sandbox;
mod ui;
mod watcher;
