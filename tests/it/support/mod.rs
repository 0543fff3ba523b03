//! Helpers: the program, the sandbox, the proxy, and manifests of small shoots.

pub(crate) mod accounts;
pub(crate) mod audit;
pub(crate) mod cost;
pub(crate) mod cron_job;
pub(crate) mod etcd_api;
pub(crate) mod kvshoot;
pub(crate) mod process;
pub(crate) mod provider;
pub(crate) mod proxy;
pub(crate) mod shoot_api;
pub(crate) mod shoots;
pub(crate) mod small_shoots;
pub(crate) mod user_data;
pub(crate) mod vm_watcher;
