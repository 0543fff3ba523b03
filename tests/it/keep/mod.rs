//! `kvshoot keep`: in a terminal, and as the Deployment that it prints.

mod autoscaler;
mod backups;
mod deployment;
mod keys;
mod repair;
mod updates;
mod watched;
