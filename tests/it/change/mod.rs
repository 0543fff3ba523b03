//! Changes to a running cluster: edits, rolling updates, upgrades, drains and evacuation.

mod control_plane;
mod drain;
mod edits;
mod evacuate;
mod hibernation;
pub(crate) mod migrate;
mod repair;
mod resize;
mod rolls;
mod rotate;
mod rotate_ca;
mod sizes;
mod upgrade;
