//! User data of a machine: the cloud-config that makes it a node, merged with the pool's own (never concatenated).
//!
//! cloud-init writes files and starts one unit; `join.sh` does the rest, at every boot. Files are at kubeadm's paths,
//! so that an image with kubelet and kubeadm needs nothing else; images without them get what is missing.

mod containerd;
mod download;
mod file;
mod files;
pub(crate) mod join;
mod kubelet;
mod merge;
mod proxy;
#[cfg(test)]
mod tests;

use crate::render::metadata::metadata;
use crate::render::user_data::join::JoinConfig;
use crate::state::hash::Hash;
use crate::state::names::{self, role};
use crate::state::site::Site;
use crate::validate::cloud_config::{HEAD, parse};
use serde_json::{Value as Json, json};
use serde_yaml::{Mapping, Value};

/// The cloud-config of a machine, with [`names::TOKEN`] in place of the bootstrap token.
pub(crate) fn cloud_config(join: &JoinConfig) -> String {
    let worker = &join.pool.worker;
    let base = worker.user_data.as_deref();
    let base = base.map_or(Ok(Mapping::new()), parse);
    let config = merge::merge(own(join), base.expect("validation has read it once"));
    text(with_ssh_keys(config, &worker.ssh_public_keys))
}

/// Stops a kubelet that the image starts at boot. With our files it would register before containerd is configured,
/// perhaps in a different version, and start pods in cgroups of the wrong kind. The script starts it.
const KUBELET_WAITS: &str =
    "test -e /var/lib/kvshoot/joined || systemctl stop --no-block kubelet.service || true";

fn own(join: &JoinConfig) -> Mapping {
    let mut own = Mapping::new();
    let mut set = |key: &str, value: Json| {
        let value = serde_yaml::to_value(value).expect("JSON is YAML");
        own.insert(key.into(), value);
    };
    set("hostname", json!(join.machine));
    set("preserve_hostname", json!(false));
    // A restarted VM may have another MAC address, which cloud-init's network configuration contains.
    let when = json!(["boot-new-instance", "boot"]);
    set("updates", json!({ "network": { "when": when } }));
    if let Some(bundle) = &join.pool.ca_bundle {
        set("ca_certs", json!({ "trusted": certificates(bundle) }));
    }
    set("write_files", files::all(join).into());
    set("bootcmd", json!([["sh", "-c", KUBELET_WAITS]]));
    // Not waited for, because joining may depend on later entries of the pool's own list.
    let start = json!(["systemctl", "enable", "--now", "--no-block", files::UNIT]);
    let mut run = vec![json!(["systemctl", "daemon-reload"]), start];
    if join.pool.is_updated_in_place {
        run.push(json!(["systemctl", "enable", "--now", files::TIMER]));
    }
    set("runcmd", run.into());
    own
}

/// Splits a bundle, because trust stores expect one certificate per file.
fn certificates(bundle: &str) -> Vec<String> {
    const END: &str = "-----END CERTIFICATE-----";
    let parts = bundle.split_inclusive(END).map(str::trim);
    parts
        .filter(|it| it.ends_with(END))
        .map(|it| format!("{it}\n"))
        .collect()
}

/// Appends keys to the existing ones, without duplicates.
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

/// The Secret of a VirtualMachine's user data. It is text, so that the token can be inserted when it is written.
pub(crate) fn object(site: &Site, hash: Hash, join: &JoinConfig) -> Json {
    let mut metadata = metadata(site, role::USER_DATA, join.machine, hash);
    metadata["labels"][names::POOL] = json!(join.pool.name);
    // Also as a separate key, so that it can be read without parsing the user data.
    let data = json!({ "userdata": cloud_config(join), "token": names::TOKEN });
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "stringData": data })
}
