//! Names and meanings of the metrics of `kvshoot keep`. All have the label `namespace`; those that begin with
//! `kvshoot_shoot` also have `shoot`.

use crate::metrics::Family;

pub(crate) const BUILD_INFO: Family = Family::gauge(
    "kvshoot_build_info",
    "The version of kvshoot, as a label of the value 1",
);
pub(crate) const LEADER: Family = Family::gauge(
    "kvshoot_keep_leader",
    "1 if this process keeps the shoots, 0 while it waits for another one",
);
pub(crate) const EXPIRED: Family = Family::counter(
    "kvshoot_keep_deleted_shoots",
    "Shoots that were deleted because they had expired",
);
pub(crate) const INFO: Family = Family::gauge(
    "kvshoot_shoot_info",
    "The Kubernetes version of the shoot, as a label of the value 1",
);
pub(crate) const KEPT: Family = Family::gauge(
    "kvshoot_shoot_kept",
    "1 if the shoot is observed, 0 if that failed and is tried again",
);
pub(crate) const HIBERNATED: Family =
    Family::gauge("kvshoot_shoot_hibernated", "1 if the shoot is to hibernate");
pub(crate) const CONDITION: Family = Family::gauge(
    "kvshoot_shoot_condition",
    "1 if a condition of kvshoot status is true, 0 if not; absent while unknown",
);
pub(crate) const NODES_DESIRED: Family = Family::gauge(
    "kvshoot_shoot_nodes_desired",
    "Nodes that a pool is to have; 0 during a hibernation",
);
pub(crate) const NODES_READY: Family = Family::gauge(
    "kvshoot_shoot_nodes_ready",
    "Ready nodes of a pool; absent while the API server of the shoot is not reachable",
);
pub(crate) const PENDING: Family = Family::gauge(
    "kvshoot_shoot_pending_actions",
    "Actions that are due now, by duty",
);
pub(crate) const DUTIES: Family = Family::counter(
    "kvshoot_shoot_duties",
    "Times that a duty was due in a run, by result of the run",
);
pub(crate) const RUNS: Family =
    Family::counter("kvshoot_shoot_runs", "Runs of this process, by result");
pub(crate) const RUN_TIME: Family = Family::gauge(
    "kvshoot_shoot_last_run_timestamp_seconds",
    "End of the last run of any kvshoot, in seconds since 1970",
);
pub(crate) const RUN_DURATION: Family = Family::gauge(
    "kvshoot_shoot_last_run_duration_seconds",
    "Duration of the last run of any kvshoot",
);
pub(crate) const RUN_SUCCEEDED: Family = Family::gauge(
    "kvshoot_shoot_last_run_succeeded",
    "1 if the last run of any kvshoot succeeded",
);
pub(crate) const CERTIFICATE_EXPIRY: Family = Family::gauge(
    "kvshoot_shoot_certificate_expiry_timestamp_seconds",
    "End of the certificate in a Secret of the control plane, in seconds since 1970",
);
pub(crate) const LAST_BACKUP: Family = Family::gauge(
    "kvshoot_shoot_last_backup_timestamp_seconds",
    "Begin of the newest backup, in seconds since 1970",
);
pub(crate) const NEXT_BACKUP: Family = Family::gauge(
    "kvshoot_shoot_next_backup_timestamp_seconds",
    "When the schedule demands the next backup, in seconds since 1970",
);

/// All of them, in the order in which they are served.
pub(crate) const FAMILIES: [&Family; 18] = [
    &BUILD_INFO,
    &LEADER,
    &EXPIRED,
    &INFO,
    &KEPT,
    &HIBERNATED,
    &CONDITION,
    &NODES_DESIRED,
    &NODES_READY,
    &PENDING,
    &DUTIES,
    &RUNS,
    &RUN_TIME,
    &RUN_DURATION,
    &RUN_SUCCEEDED,
    &CERTIFICATE_EXPIRY,
    &LAST_BACKUP,
    &NEXT_BACKUP,
];
