//! The sandbox: its command and its control-plane pods.

mod command;
mod conformance;
mod guests;
mod listeners;
mod package;
mod pods;
