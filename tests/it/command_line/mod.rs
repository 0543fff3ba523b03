//! The command line itself: help, flags, exit codes, completion, rendered output.

mod cli;
pub(crate) mod completion;
mod generated;
mod hostile_server;
mod hostile_text;
mod private_files;
mod render;
