//! Clients of API servers: connections, requests with deadlines, typed errors.

pub(crate) mod api_client;
pub(crate) mod backoff;
pub(crate) mod certificate_authority;
pub(crate) mod connect;
pub(crate) mod download;
pub(crate) mod endpoint;
pub(crate) mod error;
pub(crate) mod etcd;
pub(crate) mod etcd_snapshot;
pub(crate) mod kubeconfig;
pub(crate) mod logs;
pub(crate) mod pods;
pub(crate) mod request;
pub(crate) mod resources;
pub(crate) mod transport;
pub(crate) mod tunnel;
