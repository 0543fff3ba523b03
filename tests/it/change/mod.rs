//! Changes to a living cluster: edits, rolling updates, evacuation.

mod edits;
mod evacuate;
mod rolls;
