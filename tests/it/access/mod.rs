//! Reaching a cluster: endpoints, kubeconfigs, and commands that run against one.

mod endpoints;
mod ephemeral_run;
mod test_program;
