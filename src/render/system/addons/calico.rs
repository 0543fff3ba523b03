//! Adapts Calico's own manifest: the changes that its authors ask users to make before they apply it.

use crate::render::system::context::TUNNEL_PORT;
use crate::validate::NetworkRanges;
use serde_json::{Value, json};

pub(crate) const NAME: &str = "calico";
const DAEMON: &str = "calico-node";

/// Probes of the BGP daemon, which does not run when all traffic is tunnelled.
const OF_BIRD: [&str; 2] = ["-bird-live", "-bird-ready"];

/// Uses VXLAN tunnels only: the network between machines need not know pod addresses or pass other protocols.
pub(crate) fn fit(object: &mut Value, networking: &NetworkRanges) {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    match (object["kind"].as_str(), name) {
        (Some("ConfigMap"), "calico-config") => object["data"]["calico_backend"] = json!("vxlan"),
        (Some("DaemonSet"), DAEMON) => daemon(object, networking),
        _ => {}
    }
}

fn daemon(object: &mut Value, networking: &NetworkRanges) {
    let containers = object
        .pointer_mut("/spec/template/spec/containers")
        .and_then(Value::as_array_mut);
    for container in containers.into_iter().flatten() {
        if container["name"] != DAEMON {
            continue;
        }
        // The block sizes that Calico supports: from 4096 addresses down to one.
        let block = networking.node_mask.clamp(20, 32);
        for (name, value) in [
            ("CALICO_IPV4POOL_CIDR", networking.pods.clone()),
            ("CALICO_IPV4POOL_BLOCK_SIZE", block.to_string()),
            ("CALICO_IPV4POOL_IPIP", "Never".to_owned()),
            ("CALICO_IPV4POOL_VXLAN", "Always".to_owned()),
            ("FELIX_VXLANPORT", TUNNEL_PORT.to_string()),
            (
                "IP_AUTODETECTION_METHOD",
                "kubernetes-internal-ip".to_owned(),
            ),
        ] {
            set(container, name, &value);
        }
        for probe in ["livenessProbe", "readinessProbe"] {
            let command = container.pointer_mut(&format!("/{probe}/exec/command"));
            if let Some(command) = command.and_then(Value::as_array_mut) {
                command.retain(|it| !OF_BIRD.iter().any(|bird| it == bird));
            }
        }
    }
}

/// Replaces the variable if it exists, or appends it.
fn set(container: &mut Value, name: &str, value: &str) {
    let wanted = json!({ "name": name, "value": value });
    let variables = &mut container["env"];
    match variables.as_array_mut() {
        Some(variables) => match variables.iter_mut().find(|it| it["name"] == name) {
            Some(there) => *there = wanted,
            None => variables.push(wanted),
        },
        None => *variables = json!([wanted]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::testing::{SHOOT, valid_for_tests};

    #[test]
    fn calico_uses_the_pod_range_and_a_separate_tunnel_port() {
        let networking = valid_for_tests(SHOOT).networking;
        let mut object = json!({
            "kind": "DaemonSet",
            "metadata": { "name": "calico-node" },
            "spec": { "template": { "spec": { "containers": [{
                "name": "calico-node",
                "env": [
                    { "name": "CALICO_IPV4POOL_IPIP", "value": "Always" },
                    { "name": "NODENAME", "valueFrom": { "fieldRef": { "fieldPath": "spec.nodeName" } } },
                ],
                "livenessProbe": { "exec": { "command": ["/bin/calico-node", "-felix-live", "-bird-live"] } },
                "readinessProbe": { "exec": { "command": ["/bin/calico-node", "-felix-ready", "-bird-ready"] } },
            }] } } },
        });
        fit(&mut object, &networking);
        let container = &object["spec"]["template"]["spec"]["containers"][0];
        let variables = container["env"].as_array().expect("a list");
        let value = |name: &str| {
            let mut found = variables.iter().filter(|it| it["name"] == name);
            let one = found.next().expect(name);
            assert_eq!(found.next(), None, "{name} exists once");
            one["value"].clone()
        };
        assert_eq!(value("CALICO_IPV4POOL_CIDR"), networking.pods.as_str());
        assert_eq!(value("CALICO_IPV4POOL_IPIP"), "Never");
        assert_eq!(value("CALICO_IPV4POOL_VXLAN"), "Always");
        assert_eq!(value("CALICO_IPV4POOL_BLOCK_SIZE"), "24");
        assert_eq!(value("FELIX_VXLANPORT"), "8475");
        assert_eq!(value("IP_AUTODETECTION_METHOD"), "kubernetes-internal-ip");
        assert_eq!(value("NODENAME"), Value::Null);
        let probes =
            ["livenessProbe", "readinessProbe"].map(|it| &container[it]["exec"]["command"]);
        assert_eq!(probes[0], &json!(["/bin/calico-node", "-felix-live"]));
        assert_eq!(probes[1], &json!(["/bin/calico-node", "-felix-ready"]));
    }

    #[test]
    fn calico_runs_without_a_bgp_daemon() {
        let networking = valid_for_tests(SHOOT).networking;
        let mut object = json!({
            "kind": "ConfigMap",
            "metadata": { "name": "calico-config" },
            "data": { "calico_backend": "bird", "veth_mtu": "0" },
        });
        fit(&mut object, &networking);
        assert_eq!(
            object["data"],
            json!({ "calico_backend": "vxlan", "veth_mtu": "0" })
        );
    }
}
