//! The sandbox: its command and its control-plane pods.

mod command;
mod package;
mod pods;
