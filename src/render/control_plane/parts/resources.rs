//! Requests and limits of the control plane's containers.
//!
//! Without rules of the namespace they have no limits: a control plane that is throttled or killed takes its cluster
//! along. A ResourceQuota on `limits.*` refuses containers without limits, and a LimitRange gives them its own, which may
//! be less than what they request.

use crate::model::Quantity;
use crate::state::facts::NamespaceLimits;
use serde_json::{Map, Value, json};

/// Factor between the request and the limit of a container.
const HEADROOM: f64 = 4.0;

/// A resource, its smallest limit that lets a small component start, and its unit.
struct ResourceUnit {
    name: &'static str,
    floor: f64,
    unit: f64,
    suffix: &'static str,
}

const MIB: f64 = 1_048_576.0;
const UNITS: [ResourceUnit; 2] = [
    ResourceUnit {
        name: "cpu",
        floor: 0.5,
        unit: 0.001,
        suffix: "m",
    },
    ResourceUnit {
        name: "memory",
        floor: 256.0 * MIB,
        unit: MIB,
        suffix: "Mi",
    },
];

/// The `resources` of a container with these requests of CPU and memory.
pub(crate) fn resources(rules: &NamespaceLimits, requests: (&str, &str)) -> Value {
    let mut requested = Map::new();
    let mut limits = Map::new();
    for (it, given) in UNITS.iter().zip([requests.0, requests.1]) {
        let rule = rules.of_containers(it.name);
        let amount = Quantity::parse(given).map_or(0.0, |it| it.value);
        let least = amount.max(rule.least);
        let given = match least > amount {
            true => it.round_up(least),
            false => given.to_owned(),
        };
        let least = Quantity::parse(&given).map_or(least, |it| it.value);
        requested.insert(it.name.into(), json!(given));
        if rule.needs_limit {
            let wanted = (least * HEADROOM).max(it.floor);
            // Below its request a container is invalid: the message of the namespace's rule is better.
            let limit = wanted.min(rule.most).min(least * rule.ratio).max(least);
            limits.insert(it.name.into(), json!(it.format(limit)));
        }
    }
    let mut resources = json!({ "requests": requested });
    if !limits.is_empty() {
        resources["limits"] = Value::Object(limits);
    }
    resources
}

impl ResourceUnit {
    /// The least that is allowed may not be undercut.
    fn round_up(&self, amount: f64) -> String {
        format!("{:.0}{}", (amount / self.unit - 1e-6).ceil(), self.suffix)
    }

    fn format(&self, amount: f64) -> String {
        // Not rounded up: the largest limit that is allowed may not be exceeded.
        format!("{:.0}{}", (amount / self.unit + 1e-6).floor(), self.suffix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::facts::{Limit, Quota, amounts};
    use std::collections::BTreeMap;

    fn list(of: &[(&str, &str)]) -> BTreeMap<String, Quantity> {
        let of = of.iter().map(|it| (it.0.to_owned(), it.1.to_owned()));
        amounts(&of.collect())
    }

    fn limited(limit: Limit) -> NamespaceLimits {
        NamespaceLimits {
            limits: vec![limit],
            ..NamespaceLimits::default()
        }
    }

    fn of_container() -> Limit {
        Limit {
            of: "Container".to_owned(),
            ..Limit::default()
        }
    }

    #[test]
    fn containers_have_no_limits_unless_the_namespace_asks_for_them() {
        let free = resources(&NamespaceLimits::default(), ("50m", "64Mi"));
        let requests = json!({ "requests": { "cpu": "50m", "memory": "64Mi" } });
        assert_eq!(free, requests);
        let quota = Quota {
            is_scoped: false,
            name: "q".to_owned(),
            hard: list(&[("limits.memory", "64Gi"), ("requests.cpu", "10")]),
            used: list(&[]),
        };
        let rules = NamespaceLimits {
            quotas: vec![quota],
            ..NamespaceLimits::default()
        };
        let asked = resources(&rules, ("50m", "512Mi"));
        assert_eq!(asked["limits"], json!({ "memory": "2048Mi" }));
        let small = resources(&rules, ("50m", "16Mi"));
        assert_eq!(small["limits"], json!({ "memory": "256Mi" }));
    }

    /// A default of 256Mi would kill etcd, and is refused next to a request of 512Mi.
    #[test]
    fn defaults_of_a_limit_range_are_not_taken_over() {
        let rules = limited(Limit {
            usual: list(&[("memory", "256Mi"), ("cpu", "100m")]),
            ..of_container()
        });
        let limits = json!({ "cpu": "1000m", "memory": "2048Mi" });
        assert_eq!(resources(&rules, ("250m", "512Mi"))["limits"], limits);
    }

    #[test]
    fn limits_stay_within_those_of_the_namespace() {
        let rules = limited(Limit {
            most: list(&[("memory", "1Gi")]),
            least: list(&[("cpu", "100m"), ("memory", "32Mi")]),
            ratio: list(&[("cpu", "2")]),
            ..of_container()
        });
        let expected = json!({
            "requests": { "cpu": "100m", "memory": "512Mi" },
            "limits": { "cpu": "200m", "memory": "1024Mi" },
        });
        assert_eq!(resources(&rules, ("10m", "512Mi")), expected);
        let impossible = resources(&rules, ("10m", "2Gi"));
        assert_eq!(impossible["limits"]["memory"], "2048Mi");
    }
}
