//! Changes of a running sandbox: its faults and its clock.

mod clock;
mod faults;

pub(crate) use clock::clock_at;
pub(crate) use faults::{Fault, GuestFault};
