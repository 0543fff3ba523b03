//! What a machine reads when it boots: cloud-config that makes it a node, merged with the pool's own and never glued.
//!
//! cloud-init writes files and starts one unit; `join.sh` does the rest, and does it again at every boot. Files stand
//! where kubeadm would put them, so that an image with kubelet and kubeadm needs nothing else, and one with neither
//! is given what it lacks.

mod containerd;
mod download;
mod file;
mod files;
pub(crate) mod join;
mod kubelet;
mod merge;
#[cfg(test)]
mod tests;

use crate::render::metadata::metadata;
use crate::render::user_data::join::Join;
use crate::state::hash::Hash;
use crate::state::names::{self, role};
use crate::state::site::Site;
use crate::validate::cloud_config::{HEAD, parse};
use serde_json::{Value as Json, json};
use serde_yaml::{Mapping, Value};

/// The cloud-config of a machine. [`names::TOKEN`] stands in it for the bootstrap token.
pub(crate) fn cloud_config(join: &Join) -> String {
    let worker = &join.pool.worker;
    let base = worker.user_data.as_deref();
    let base = base.map_or(Ok(Mapping::new()), parse);
    let config = merge::merge(own(join), base.expect("validation has read it once"));
    text(with_ssh_keys(config, &worker.ssh_public_keys))
}

/// An image may start its kubelet at boot. With our files it would register before containerd is as it should be,
/// perhaps in another version than is wanted, and begin pods in cgroups of the wrong kind. The script starts it.
const KUBELET_WAITS: &str =
    "test -e /var/lib/kvshoot/joined || systemctl stop --no-block kubelet.service || true";

fn own(join: &Join) -> Mapping {
    let mut own = Mapping::new();
    let mut set = |key: &str, value: Json| {
        let value = serde_yaml::to_value(value).expect("JSON is YAML");
        own.insert(key.into(), value);
    };
    set("hostname", json!(join.machine));
    set("preserve_hostname", json!(false));
    // A machine that is started anew may have another hardware address, and cloud-init writes the network down by it.
    let when = json!(["boot-new-instance", "boot"]);
    set("updates", json!({ "network": { "when": when } }));
    if let Some(bundle) = &join.pool.ca_bundle {
        set("ca_certs", json!({ "trusted": certificates(bundle) }));
    }
    set("write_files", files::all(join).into());
    set("bootcmd", json!([["sh", "-c", KUBELET_WAITS]]));
    // Not waited for: what comes after in the pool's own list may be what joining needs.
    let start = json!(["systemctl", "enable", "--now", "--no-block", files::UNIT]);
    set("runcmd", json!([["systemctl", "daemon-reload"], start]));
    own
}

/// Trust stores want them one a file.
fn certificates(bundle: &str) -> Vec<String> {
    const END: &str = "-----END CERTIFICATE-----";
    let parts = bundle.split_inclusive(END).map(str::trim);
    parts
        .filter(|it| it.ends_with(END))
        .map(|it| format!("{it}\n"))
        .collect()
}

/// Keys that are there stay, in front; none stands twice.
fn with_ssh_keys(mut config: Mapping, keys: &[String]) -> Mapping {
    if keys.is_empty() {
        return config;
    }
    let list = config
        .entry("ssh_authorized_keys".into())
        .or_insert(Value::Sequence(Vec::new()));
    if let Value::Sequence(list) = list {
        for key in keys.iter().map(|it| it.trim()) {
            if !list
                .iter()
                .any(|it| it.as_str().map(str::trim) == Some(key))
            {
                list.push(key.into());
            }
        }
    }
    config
}

fn text(config: Mapping) -> String {
    let text = serde_yaml::to_string(&config).expect("a mapping of strings can be written");
    format!("{HEAD}{text}")
}

/// The Secret that a machine's VirtualMachine names. It is text, so that the token can be put in when it is written.
pub(crate) fn object(site: &Site, hash: Hash, join: &Join) -> Json {
    let mut metadata = metadata(site, role::USER_DATA, join.machine, hash);
    metadata["labels"][names::POOL] = json!(join.pool.name);
    // Once more by itself, so that nobody has to look for it in the rest.
    let data = json!({ "userdata": cloud_config(join), "token": names::TOKEN });
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "stringData": data })
}
