//! What a machine reads when it boots: cloud-config, merged and never glued.

use super::Site;
use super::names::role;
use super::object::metadata;
use super::{Hash, desired};
use crate::validate::cloud_config::{HEAD, NoCloudConfig, parse};
use serde_json::Value as Json;
use serde_json::json;
use serde_yaml::{Mapping, Value};

/// The cloud-config of a machine.
pub(crate) fn cloud_config(
    machine: &str,
    base: Option<&str>,
    ssh_keys: &[String],
) -> Result<String, NoCloudConfig> {
    let mut config = base.map_or(Ok(Mapping::new()), parse)?;
    config.insert("hostname".into(), machine.into());
    config
        .entry("preserve_hostname".into())
        .or_insert(false.into());
    add_ssh_keys(&mut config, ssh_keys);
    let text = serde_yaml::to_string(&config).map_err(|it| NoCloudConfig::Yaml(it.to_string()))?;
    Ok(format!("{HEAD}{text}"))
}

/// Keys that are there stay, in front; none stands twice.
fn add_ssh_keys(config: &mut Mapping, keys: &[String]) {
    if keys.is_empty() {
        return;
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
}

/// The Secret that a machine's VirtualMachine names.
pub(super) fn object(site: &Site, machine: &str, hash: Hash, pool: &desired::Guest) -> Json {
    use base64::Engine;
    let text =
        cloud_config(machine, pool.base, pool.ssh_keys).expect("validation has merged it once");
    let data = base64::engine::general_purpose::STANDARD.encode(text);
    let mut metadata = metadata(site, role::USER_DATA, machine, hash);
    metadata["labels"][super::names::POOL] = json!(pool.name);
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": { "userdata": data } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ssh_keys_are_merged_with_those_that_are_there() {
        let base = "#cloud-config\nssh_authorized_keys: [a]\nruncmd:\n- |\n  ends in a block";
        let text = cloud_config("m", Some(base), &["b ".into(), "a".into()]).expect("it merges");
        let config = parse(&text).expect("cloud-config");
        assert_eq!(config["ssh_authorized_keys"], Value::from(vec!["a", "b"]));
        assert_eq!(config["hostname"], Value::from("m"));
    }

    #[test]
    fn what_is_no_cloud_config_is_refused() {
        let merge = |base| cloud_config("m", Some(base), &[]).expect_err("it cannot be merged");
        assert_eq!(merge("#!/bin/sh\n"), NoCloudConfig::Head);
        assert_eq!(merge("#cloud-config\n- a\n"), NoCloudConfig::NoMapping);
    }
}
