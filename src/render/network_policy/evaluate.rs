//! Evaluates NetworkPolicies by the rules of the Kubernetes API.

use crate::model::Cidr;
use serde_json::{Value, json};
use std::net::IpAddr;

/// Source or destination of a packet.
#[derive(Debug, Clone)]
pub(crate) struct End {
    pub(crate) address: IpAddr,
    /// Namespace and labels of a pod.
    pub(crate) pod: Option<(String, Value)>,
}

impl End {
    pub(crate) fn host(address: &str) -> End {
        End {
            address: address.parse().expect("an address"),
            pod: None,
        }
    }

    pub(crate) fn pod(address: &str, namespace: &str, labels: Value) -> End {
        End {
            pod: Some((namespace.to_owned(), labels)),
            ..End::host(address)
        }
    }
}

/// Returns whether the egress policies let `from` connect to `to`.
pub(crate) fn reaches(policies: &[Value], from: &End, to: &End, port: u16, protocol: &str) -> bool {
    let mut isolating = isolating(policies, from, "Egress").peekable();
    if isolating.peek().is_none() {
        return true;
    }
    let rules = isolating
        .flat_map(|policy| list(&policy["spec"]["egress"]).map(move |rule| (policy, rule)));
    let mut open = rules.filter(|(policy, rule)| {
        let home = policy["metadata"]["namespace"]
            .as_str()
            .expect("a namespace");
        has(&rule["to"], |it| is_peer(it, home, to))
            && has(&rule["ports"], |it| is_port(it, port, protocol))
    });
    open.next().is_some()
}

/// Returns whether a policy isolates the pod in this direction, so that only allowed traffic passes.
pub(crate) fn is_isolated(policies: &[Value], pod: &End, direction: &str) -> bool {
    isolating(policies, pod, direction).next().is_some()
}

fn isolating<'a>(
    policies: &'a [Value],
    end: &'a End,
    direction: &'a str,
) -> impl Iterator<Item = &'a Value> {
    policies.iter().filter(move |policy| {
        let Some((namespace, labels)) = &end.pod else {
            return false;
        };
        let types: Vec<&Value> = list(&policy["spec"]["policyTypes"]).collect();
        assert!(!types.is_empty(), "policyTypes must be set: {policy}");
        policy["metadata"]["namespace"] == namespace.as_str()
            && selects(&policy["spec"]["podSelector"], labels)
            && types.iter().any(|it| *it == direction)
    })
}

/// An absent or empty list matches everything.
fn has(items: &Value, is_it: impl Fn(&Value) -> bool) -> bool {
    list(items).next().is_none() || list(items).any(is_it)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    assert!(value.is_array() || value.is_null(), "a list: {value}");
    value.as_array().into_iter().flatten()
}

fn is_peer(peer: &Value, home: &str, end: &End) -> bool {
    let known = ["ipBlock", "namespaceSelector", "podSelector"];
    let fields = peer.as_object().expect("a peer");
    assert!(!fields.is_empty(), "the API refuses it");
    assert!(
        fields.keys().all(|it| known.contains(&it.as_str())),
        "{peer}"
    );
    if let Some(block) = fields.get("ipBlock") {
        assert_eq!(fields.len(), 1, "the API refuses it: {peer}");
        return is_in(&block["cidr"], end.address)
            && !list(&block["except"]).any(|it| is_in(it, end.address));
    }
    let Some((namespace, labels)) = &end.pod else {
        return false;
    };
    let of_namespace = json!({ "kubernetes.io/metadata.name": namespace });
    let is_there = match fields.get("namespaceSelector") {
        Some(selector) => selects(selector, &of_namespace),
        None => namespace == home,
    };
    let is_such = |it: &Value| selects(it, labels);
    is_there && fields.get("podSelector").is_none_or(is_such)
}

fn is_in(range: &Value, address: IpAddr) -> bool {
    let range = Cidr::parse(range.as_str().expect("a text")).expect("a range");
    assert_eq!(range, range.canonical(), "the API refuses it");
    let length = if address.is_ipv6() { 128 } else { 32 };
    let address = Cidr::parse(&format!("{address}/{length}")).expect("a range");
    range.overlaps(address)
}

fn is_port(rule: &Value, port: u16, protocol: &str) -> bool {
    let first = rule["port"].as_u64().expect("a number");
    let last = rule["endPort"].as_u64().unwrap_or(first);
    rule["protocol"] == protocol && (first..=last).contains(&port.into())
}

fn selects(selector: &Value, labels: &Value) -> bool {
    assert!(selector.is_object(), "a selector: {selector}");
    let wanted = selector["matchLabels"].as_object();
    let expressions = list(&selector["matchExpressions"]);
    let has_all = wanted
        .into_iter()
        .flatten()
        .all(|(key, it)| labels[key] == *it);
    let mut expressions = expressions.map(|expression| {
        assert_eq!(expression["operator"], "In", "the only one in use");
        let value = &labels[expression["key"].as_str().expect("a key")];
        list(&expression["values"]).any(|it| it == value)
    });
    has_all && expressions.all(|it| it)
}
