//! Gardener's API, `core.gardener.cloud/v1beta1`.

mod cloud_profile;
mod daily_window;
mod kubernetes;
mod secret_binding;
mod shoot;

pub(crate) use cloud_profile::*;
pub(crate) use daily_window::*;
pub(crate) use kubernetes::*;
pub(crate) use secret_binding::*;
pub(crate) use shoot::*;
