//! `kvshoot keep`: in a terminal, and as the Deployment that it prints.

mod deployment;
mod repair;
mod watched;
