//! `kvshoot keep --print-monitoring`: objects for Prometheus and Grafana that know the metrics of `keep`.

mod alerts;
mod dashboard;

use self::alerts::ALERTS;
use super::options::{KeepOptions, ServeAddress, object_name};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::in_cluster::pod::METRICS;
use crate::app::in_cluster::quoted;

/// Prints a Service, a ServiceMonitor, a PrometheusRule and a dashboard in a ConfigMap.
pub(crate) fn print(options: &KeepOptions, context: &Context) -> Result<Exit, CommandError> {
    let Some(namespace) = context.provider.namespace.as_deref() else {
        let message = "a namespace is required: alerts and the dashboard are about its shoots";
        return Err(CommandError::new(Exit::Usage, message).hint("pass -n NAMESPACE"));
    };
    let name = format!("kvshoot-{}", object_name(options));
    context.ui.data(&text(&name, namespace));
    let ui = &context.ui;
    ui.hint(&format!(
        "to apply it: pipe it to kubectl -n {namespace} apply -f -"
    ));
    ui.hint("add the labels that your Prometheus and Grafana select objects by");
    Ok(Exit::Done)
}

fn text(name: &str, namespace: &str) -> String {
    let monitor = monitor(name, namespace);
    let rules = rules(name, namespace);
    let dashboard = dashboard::config_map(name, namespace, &selector(name, namespace));
    format!("{monitor}---\n{rules}---\n{dashboard}")
}

/// Metadata of an object that belongs to a keeper.
fn metadata(name: &str, namespace: &str) -> String {
    format!(
        r"metadata:
  name: {name}
  namespace: {namespace}
  labels:
    app.kubernetes.io/name: {name}
"
    )
}

fn monitor(name: &str, namespace: &str) -> String {
    let metadata = metadata(name, namespace);
    let port = ServeAddress::METRICS.port();
    format!(
        r#"# Metrics, alerts and a dashboard of kvshoot keep: kvshoot keep --print-monitoring
apiVersion: v1
kind: Service
{metadata}spec:
  # Each pod is read by itself.
  clusterIP: None
  selector:
    app.kubernetes.io/name: {name}
  ports:
    - name: {METRICS}
      port: {port}
      targetPort: {METRICS}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
{metadata}spec:
  selector:
    matchLabels:
      app.kubernetes.io/name: {name}
  endpoints:
    - port: {METRICS}
      path: /metrics
      interval: 30s
      # The namespace is that of the shoots.
      honorLabels: true
"#
    )
}

fn rules(name: &str, namespace: &str) -> String {
    let selector = selector(name, namespace);
    let rules = ALERTS.iter().map(|alert| {
        let command = alert.command.replace("NAMESPACE", namespace);
        format!(
            r#"        - alert: {}
          expr: {}
          for: {}
          labels:
            severity: {}
          annotations:
            summary: {}
            description: {}
"#,
            alert.name,
            quoted(&alert.expression(&selector)),
            alert.lasts,
            alert.severity,
            quoted(alert.summary),
            quoted(&format!("{} Run: {command}", alert.advice)),
        )
    });
    let rules: String = rules.collect();
    let metadata = metadata(name, namespace);
    format!(
        r#"apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
{metadata}spec:
  groups:
    - name: {name}
      rules:
{rules}"#
    )
}

/// Labels of the metrics of one keeper.
fn selector(name: &str, namespace: &str) -> String {
    format!(r#"namespace="{namespace}",job="{name}""#)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::keep::metrics::families::FAMILIES;
    use regex::Regex;
    use serde::Deserialize;
    use serde_json::Value;
    use std::collections::BTreeSet;

    fn documents() -> Vec<Value> {
        let text = text("kvshoot-keep", "shoots");
        let documents = serde_yaml::Deserializer::from_str(&text);
        let read = documents.map(|it| Value::deserialize(it).expect("valid YAML"));
        read.collect()
    }

    /// Texts of all fields named `key`.
    fn texts(value: &Value, key: &str, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match value.as_str().filter(|_| name == key) {
                        Some(text) => found.push(text.to_owned()),
                        None => texts(value, key, found),
                    }
                }
            }
            Value::Array(values) => values.iter().for_each(|it| texts(it, key, found)),
            _ => {}
        }
    }

    fn dashboard() -> Value {
        let text = &documents()[3]["data"]["kvshoot-keep.json"];
        serde_json::from_str(text.as_str().expect("a text")).expect("valid JSON")
    }

    #[test]
    fn each_metric_of_rules_and_dashboard_is_served_and_each_that_is_served_is_used() {
        let served: BTreeSet<String> = FAMILIES.iter().map(|it| it.sample_name()).collect();
        let mut queries = Vec::new();
        texts(&documents()[2], "expr", &mut queries);
        let rules = queries.len();
        texts(&dashboard(), "expr", &mut queries);
        texts(&dashboard(), "definition", &mut queries);
        assert!(rules >= ALERTS.len() && queries.len() > rules);
        let name = Regex::new(r"kvshoot_[a-z_]+").expect("an expression");
        let mut used = BTreeSet::new();
        for query in &queries {
            for found in name.find_iter(query) {
                let found = found.as_str();
                assert!(served.contains(found), "{found} in {query}");
                let rest = query.split(found).nth(1).unwrap_or_default();
                assert!(rest.starts_with('{'), "{query} selects no keeper");
                used.insert(found.to_owned());
            }
        }
        assert_eq!(used, served);
    }

    #[test]
    fn each_alert_says_what_it_means_and_what_to_do() {
        let rules = documents()[2]["spec"]["groups"][0]["rules"].clone();
        let rules = rules.as_array().expect("a list");
        assert_eq!(rules.len(), ALERTS.len());
        let names: BTreeSet<&str> = ALERTS.iter().map(|it| it.name).collect();
        assert_eq!(names.len(), ALERTS.len());
        for rule in rules {
            let text = |key: &str| rule["annotations"][key].as_str().expect("a text");
            let description = text("description");
            assert!(!text("summary").is_empty());
            assert!(description.contains("Run: kvshoot "), "{description}");
            assert!(!description.contains("NAMESPACE"), "{description}");
            let severity = rule["labels"]["severity"].as_str();
            assert!(matches!(severity, Some("critical" | "warning")), "{rule}");
            // Queries that are not closed.
            let query = rule["expr"].as_str().expect("a text");
            for (open, close) in [('(', ')'), ('{', '}')] {
                assert_eq!(query.matches(open).count(), query.matches(close).count());
            }
            assert!(!query.contains("SELECTOR"), "{query}");
        }
    }

    #[test]
    fn the_monitor_finds_the_service_and_that_finds_the_pods() {
        let documents = documents();
        let kinds: Vec<&str> = documents
            .iter()
            .filter_map(|it| it["kind"].as_str())
            .collect();
        let expected = ["Service", "ServiceMonitor", "PrometheusRule", "ConfigMap"];
        assert_eq!(kinds, expected);
        let (service, monitor) = (&documents[0], &documents[1]);
        assert_eq!(
            monitor["spec"]["selector"]["matchLabels"],
            service["metadata"]["labels"]
        );
        let port = &service["spec"]["ports"][0];
        assert_eq!(monitor["spec"]["endpoints"][0]["port"], port["name"]);
        assert_eq!(port["targetPort"], METRICS);
    }

    #[test]
    fn panels_of_the_dashboard_do_not_overlap() {
        let dashboard = dashboard();
        let panels = dashboard["panels"].as_array().expect("a list");
        let mut taken = BTreeSet::new();
        for panel in panels {
            let number = |key: &str| panel["gridPos"][key].as_u64().expect("a number");
            assert!(number("x") + number("w") <= 24, "{panel}");
            for x in number("x")..number("x") + number("w") {
                for y in number("y")..number("y") + number("h") {
                    assert!(taken.insert((x, y)), "{panel}");
                }
            }
        }
    }
}
