//! Diagnosis: `why`, `events`, `bundle`, and the errors of failed runs.

mod causes;
mod events;
mod guest_faults;
mod headlines;
mod machines;
mod observation;
mod permissions;
mod support_bundle;
mod verbs;
