//! Deletion, expiry and garbage collection.

mod cronjob;
mod deletion;
mod expiry;
mod user_resources;
