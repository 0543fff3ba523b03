//! Changes to a running cluster: edits, rolling updates and evacuation.

mod edits;
mod evacuate;
mod hibernation;
mod rolls;
mod rotate;
mod rotate_ca;
mod sizes;
