//! Node groups for the cluster autoscalers of kept shoots: answered from the observation, decided in the record.

mod node_groups;
mod registry;

pub(super) use node_groups::ObservedShoot;
pub(super) use registry::{AutoscaledShoots, serve};
