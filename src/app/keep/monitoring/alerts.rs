//! Alerts about shoots that are kept, and about who keeps them.

/// An alert of Prometheus.
pub(super) struct Alert {
    pub(super) name: &'static str,
    /// The query. `SELECTOR` is replaced by the labels of the keeper's metrics.
    query: &'static str,
    /// Time until it fires.
    pub(super) lasts: &'static str,
    pub(super) severity: &'static str,
    pub(super) summary: &'static str,
    /// Its meaning, as sentences.
    pub(super) advice: &'static str,
    /// The command that shows more. `NAMESPACE` is replaced by that of the shoots.
    pub(super) command: &'static str,
}

impl Alert {
    pub(super) fn expression(&self, selector: &str) -> String {
        self.query.replace("SELECTOR", selector)
    }
}

const CRITICAL: &str = "critical";
const WARNING: &str = "warning";
const WHY: &str = "kvshoot why {{ $labels.shoot }} -n NAMESPACE";

pub(super) const ALERTS: [Alert; 10] = [
    Alert {
        name: "KvshootKeepAbsent",
        query: "absent(kvshoot_keep_leader{SELECTOR} == 1)",
        lasts: "10m",
        severity: CRITICAL,
        summary: "No kvshoot keep takes care of the shoots",
        advice: "Nothing is repaired, renewed or backed up until it runs again. Look at the log of the Deployment. Without it, apply does the same once.",
        command: "kvshoot list -n NAMESPACE",
    },
    Alert {
        name: "KvshootKeepConflict",
        query: "sum by (namespace, job) (kvshoot_keep_leader{SELECTOR}) > 1",
        lasts: "5m",
        severity: WARNING,
        summary: "Several processes believe that they keep the shoots",
        advice: "Their writes are fenced by Leases, but clocks or the API server may be wrong.",
        command: "kvshoot list -n NAMESPACE",
    },
    Alert {
        name: "KvshootShootNotKept",
        query: "kvshoot_shoot_kept{SELECTOR} == 0",
        lasts: "15m",
        severity: WARNING,
        summary: "Shoot {{ $labels.shoot }} cannot be kept",
        advice: "It cannot be observed, or its record cannot be read. The log of keep has the error.",
        command: WHY,
    },
    Alert {
        name: "KvshootShootAPIServerUnavailable",
        query: r#"kvshoot_shoot_condition{SELECTOR,condition="APIServerAvailable"} == 0"#,
        lasts: "5m",
        severity: CRITICAL,
        summary: "The API server of shoot {{ $labels.shoot }} is not available",
        advice: "Users cannot reach the cluster; its workloads continue to run.",
        command: WHY,
    },
    Alert {
        name: "KvshootShootConditionFalse",
        query: "kvshoot_shoot_condition{SELECTOR} == 0",
        lasts: "30m",
        severity: WARNING,
        summary: "Condition {{ $labels.condition }} of shoot {{ $labels.shoot }} is false",
        advice: "The shoot is not healthy, and keep has not changed that.",
        command: WHY,
    },
    Alert {
        name: "KvshootShootNodesNotReady",
        query: "kvshoot_shoot_nodes_ready{SELECTOR} < kvshoot_shoot_nodes_desired{SELECTOR}",
        lasts: "20m",
        severity: WARNING,
        summary: "Pool {{ $labels.pool }} of shoot {{ $labels.shoot }} has only {{ $value }} ready nodes",
        advice: "Machines are missing, do not join or are not healthy.",
        command: WHY,
    },
    Alert {
        name: "KvshootShootRunFailed",
        query: "kvshoot_shoot_last_run_succeeded{SELECTOR} == 0",
        lasts: "30m",
        severity: WARNING,
        summary: "The last run on shoot {{ $labels.shoot }} failed",
        advice: "It is repeated as long as something is due.",
        command: WHY,
    },
    Alert {
        name: "KvshootShootActionsPending",
        query: "sum by (namespace, shoot) (kvshoot_shoot_pending_actions{SELECTOR}) > 0",
        lasts: "1h",
        severity: WARNING,
        summary: "Shoot {{ $labels.shoot }} has had pending actions for an hour",
        advice: "Another run may hold its lock, or runs fail.",
        command: WHY,
    },
    Alert {
        name: "KvshootShootCertificateExpires",
        query: "kvshoot_shoot_certificate_expiry_timestamp_seconds{SELECTOR} - time() < 14 * 24 * 3600",
        lasts: "1h",
        severity: CRITICAL,
        summary: "The certificate in Secret {{ $labels.secret }} ends in {{ $value | humanizeDuration }}",
        advice: "Certificates are renewed 30 days before their end by keep and by apply, except those of CAs, which rotate replaces.",
        command: "kvshoot status {{ $labels.shoot }} -n NAMESPACE",
    },
    Alert {
        name: "KvshootShootBackupOverdue",
        query: "time() - kvshoot_shoot_next_backup_timestamp_seconds{SELECTOR} > 1800",
        lasts: "10m",
        severity: CRITICAL,
        summary: "The backup of shoot {{ $labels.shoot }} is overdue by {{ $value | humanizeDuration }}",
        advice: "The log of keep has the error of the last attempt.",
        command: "kvshoot status {{ $labels.shoot }} -n NAMESPACE",
    },
];
