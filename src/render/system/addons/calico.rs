//! Calico's own manifest, made to fit: what its authors tell people to edit before they apply it.

use crate::render::system::context::TUNNEL_PORT;
use crate::validate::Networking;
use serde_json::{Value, json};

pub(crate) const NAME: &str = "calico";
const DAEMON: &str = "calico-node";
/// Checks of the BGP daemon, which does not run where all goes through tunnels.
const OF_BIRD: [&str; 2] = ["-bird-live", "-bird-ready"];

/// Tunnels by VXLAN only: what is between machines need not know the pods, and hardly passes other protocols.
pub(crate) fn fit(object: &mut Value, networking: &Networking) {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    match (object["kind"].as_str(), name) {
        (Some("ConfigMap"), "calico-config") => object["data"]["calico_backend"] = json!("vxlan"),
        (Some("DaemonSet"), DAEMON) => daemon(object, networking),
        _ => {}
    }
}

fn daemon(object: &mut Value, networking: &Networking) {
    let containers = object.pointer_mut("/spec/template/spec/containers");
    let containers = containers.and_then(Value::as_array_mut);
    for container in containers.into_iter().flatten() {
        if container["name"] != DAEMON {
            continue;
        }
        // What Calico can deal in: from 4096 addresses down to one.
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

/// In its place among the variables, or after them.
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
    fn calico_takes_the_range_of_the_pods_and_tunnels_of_its_own_port() {
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
            assert_eq!(found.next(), None, "{name} is there once");
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
    fn calico_runs_no_daemon_for_bgp() {
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
