//! Add-ons: the dashboard and the ingress controller, and manifests of others as they fit a shoot.

pub(crate) mod calico;
pub(crate) mod dashboard;
pub(crate) mod manifests;
pub(crate) mod nginx_ingress;
pub(crate) mod snapshots;
