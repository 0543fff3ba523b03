//! A dashboard of Grafana in a ConfigMap, as its sidecar loads it.

use crate::app::in_cluster::pod::indented;
use crate::state::hash::Hash;
use serde_json::{Value, json};

/// Columns of Grafana's grid.
const COLUMNS: u64 = 24;

/// A panel of the dashboard.
struct Panel {
    title: &'static str,
    /// `stat` or `timeseries`.
    kind: &'static str,
    unit: &'static str,
    width: u64,
    height: u64,
    /// Queries with their legends. `SELECTOR` is replaced by the labels of a keeper, `SHOOT` by those of chosen shoots.
    queries: &'static [(&'static str, &'static str)],
}

const PANELS: [Panel; 13] = [
    stat(
        "Keepers",
        "none",
        &[("sum(kvshoot_keep_leader{SELECTOR})", "")],
    ),
    stat(
        "Shoots kept",
        "none",
        &[("sum(kvshoot_shoot_kept{SHOOT})", "")],
    ),
    stat(
        "Hibernated",
        "none",
        &[("sum(kvshoot_shoot_hibernated{SHOOT})", "")],
    ),
    stat(
        "False conditions",
        "none",
        &[(
            "count(kvshoot_shoot_condition{SHOOT} == 0) or vector(0)",
            "",
        )],
    ),
    stat(
        "Earliest end of a certificate",
        "s",
        &[(
            "min(kvshoot_shoot_certificate_expiry_timestamp_seconds{SHOOT}) - time()",
            "",
        )],
    ),
    stat(
        "Expired shoots deleted in 24 hours",
        "none",
        &[(
            "sum(increase(kvshoot_keep_deleted_shoots_total{SELECTOR}[24h]))",
            "",
        )],
    ),
    graph(
        "Health by shoot: share of true conditions",
        "percentunit",
        &[(
            "avg by (shoot) (kvshoot_shoot_condition{SHOOT})",
            "{{shoot}}",
        )],
    ),
    graph(
        "Nodes",
        "none",
        &[
            (
                "sum by (shoot, pool) (kvshoot_shoot_nodes_ready{SHOOT})",
                "{{shoot}} {{pool}} ready",
            ),
            (
                "sum by (shoot, pool) (kvshoot_shoot_nodes_desired{SHOOT})",
                "{{shoot}} {{pool}} desired",
            ),
        ],
    ),
    graph(
        "Pending actions by duty",
        "none",
        &[(
            "sum by (shoot, duty) (kvshoot_shoot_pending_actions{SHOOT}) > 0",
            "{{shoot}} {{duty}}",
        )],
    ),
    graph(
        "Duties done in an hour",
        "none",
        &[
            (
                "sum by (duty, result) (increase(kvshoot_shoot_duties_total{SHOOT}[1h])) > 0",
                "{{duty}} {{result}}",
            ),
            (
                "sum by (result) (increase(kvshoot_shoot_runs_total{SHOOT}[1h]))",
                "runs {{result}}",
            ),
        ],
    ),
    graph(
        "Duration of the last run",
        "s",
        &[
            (
                "kvshoot_shoot_last_run_duration_seconds{SHOOT}",
                "{{shoot}}",
            ),
            (
                "kvshoot_shoot_last_run_duration_seconds{SHOOT} and kvshoot_shoot_last_run_succeeded{SHOOT} == 0",
                "{{shoot}} failed",
            ),
        ],
    ),
    graph(
        "Time since the last run and backup",
        "s",
        &[
            (
                "time() - kvshoot_shoot_last_run_timestamp_seconds{SHOOT}",
                "{{shoot}} run",
            ),
            (
                "time() - kvshoot_shoot_last_backup_timestamp_seconds{SHOOT}",
                "{{shoot}} backup",
            ),
        ],
    ),
    graph(
        "Versions",
        "none",
        &[
            (
                "count by (version) (kvshoot_shoot_info{SHOOT})",
                "Kubernetes {{version}}",
            ),
            (
                "count by (version) (kvshoot_build_info{SELECTOR})",
                "kvshoot {{version}}",
            ),
        ],
    ),
];

const fn stat(
    title: &'static str,
    unit: &'static str,
    queries: &'static [(&'static str, &'static str)],
) -> Panel {
    Panel {
        title,
        kind: "stat",
        unit,
        width: 4,
        height: 4,
        queries,
    }
}

const fn graph(
    title: &'static str,
    unit: &'static str,
    queries: &'static [(&'static str, &'static str)],
) -> Panel {
    Panel {
        title,
        kind: "timeseries",
        unit,
        width: 12,
        height: 8,
        queries,
    }
}

/// The ConfigMap with the dashboard. `selector` has the labels of the keeper's metrics.
pub(super) fn config_map(name: &str, namespace: &str, selector: &str) -> String {
    let dashboard = dashboard(name, namespace, selector);
    let text = serde_json::to_string_pretty(&dashboard).expect("texts are JSON");
    let text = indented(&text, 4);
    format!(
        r#"apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}-dashboard
  namespace: {namespace}
  labels:
    app.kubernetes.io/name: {name}
    # The default label of the sidecar of Grafana's chart.
    grafana_dashboard: "1"
data:
  {name}.json: |
{text}"#
    )
}

fn dashboard(name: &str, namespace: &str, selector: &str) -> Value {
    let shoots = format!("label_values(kvshoot_shoot_info{{{selector}}}, shoot)");
    json!({
        "uid": uid(name, namespace),
        "title": format!("kvshoot: shoots in {namespace} ({name})"),
        "tags": ["kvshoot"],
        "timezone": "browser",
        "refresh": "1m",
        "schemaVersion": 39,
        "time": { "from": "now-24h", "to": "now" },
        "templating": { "list": [
            { "name": "datasource", "type": "datasource", "query": "prometheus" },
            {
                "name": "shoot", "type": "query", "label": "Shoot", "datasource": data_source(),
                "definition": shoots.clone(), "query": { "query": shoots, "refId": "shoot" },
                "includeAll": true, "multi": true, "refresh": 2, "sort": 1,
                "current": { "text": "All", "value": "$__all" },
            },
        ] },
        "panels": panels(selector),
    })
}

/// Grafana's limit is 40 characters.
fn uid(name: &str, namespace: &str) -> String {
    let hash = Hash::of(&[namespace, name]);
    format!("kvshoot-{hash}")
}

fn data_source() -> Value {
    json!({ "type": "prometheus", "uid": "${datasource}" })
}

/// Panels in rows from left to right.
fn panels(selector: &str) -> Vec<Value> {
    let (mut x, mut y) = (0, 0);
    let mut panels = Vec::new();
    for panel in &PANELS {
        if x + panel.width > COLUMNS {
            x = 0;
            y += panel.height;
        }
        panels.push(panel.json(x, y, panels.len() + 1, selector));
        x += panel.width;
        if x == COLUMNS {
            x = 0;
            y += panel.height;
        }
    }
    panels
}

impl Panel {
    fn json(&self, x: u64, y: u64, id: usize, selector: &str) -> Value {
        let shoots = format!("{selector},shoot=~\"$shoot\"");
        let targets = self.queries.iter().zip('A'..);
        let targets = targets.map(|((query, legend), id)| {
            let query = query.replace("SELECTOR", selector);
            json!({
                "refId": id, "datasource": data_source(), "legendFormat": legend,
                "expr": query.replace("SHOOT", &shoots),
            })
        });
        json!({
            "id": id,
            "title": self.title,
            "type": self.kind,
            "datasource": data_source(),
            "gridPos": { "x": x, "y": y, "w": self.width, "h": self.height },
            "fieldConfig": { "defaults": { "unit": self.unit, "min": 0 }, "overrides": [] },
            "targets": targets.collect::<Vec<_>>(),
        })
    }
}
