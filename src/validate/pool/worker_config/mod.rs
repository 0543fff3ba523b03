//! The WorkerConfig of a pool.

mod disks;
mod dns;
mod host_devices;
mod processor;

use super::cloud_config::{self, CloudConfigError};
use super::context::{PoolContext, ValidationContext};
use super::{placement, template};
use crate::model::{CpuFeature, CpuFeatureObject, FindingKind, WorkerConfig};
use crate::validate::report::{FieldCursor, FindingSink};

/// Returns the configuration in normalized form: features as objects, and one spelling of networkInterfaceMultiqueue.
pub(crate) fn check(
    context: &ValidationContext,
    pool: &PoolContext,
    report: &mut FindingSink,
) -> Option<WorkerConfig> {
    let Some(given) = &pool.worker.provider_config else {
        return Some(WorkerConfig::default());
    };
    let at = &pool.at.key("providerConfig");
    dns::check(given, at, report);
    disks::check(given, pool, at, report);
    if let Some(it) = &given.devices {
        host_devices::check(it, &at.key("devices"), report);
    }
    if let Some(it) = &given.cpu {
        processor::cpu(it, &at.key("cpu"), report);
    }
    if let Some(it) = &given.memory {
        processor::memory(it, &at.key("memory"), report);
    }
    boot(given, at, report);
    placement::check(given, at, report);
    let region = &context.input.shoot.spec.region;
    placement::check_zones(given, pool.worker, region, at, report);
    template::check(given, at, report);
    Some(in_one_form(given))
}

/// Checks SSH keys and user data.
fn boot(config: &WorkerConfig, at: &FieldCursor, report: &mut FindingSink) {
    for (index, key) in config.ssh_public_keys.iter().enumerate() {
        if !cloud_config::is_public_key(key.trim()) {
            let keys = at.key("sshPublicKeys");
            let (message, hint) = match key.contains("PRIVATE KEY-----") {
                true => (
                    "this is a private key",
                    "use the public key, which is in the file that ends with .pub; everyone who could read this manifest may know the private one",
                ),
                false => (
                    "not a valid SSH public key",
                    "use a line of an authorized_keys file, for example `ssh-ed25519 AAAA… me`",
                ),
            };
            let code = "worker-config/ssh-key";
            report
                .error(&keys.index(index), FindingKind::Invalid, code, message)
                .hint(hint);
        }
    }
    if let Some(user_data) = &config.user_data {
        self::user_data(user_data, &at.key("userData"), report);
    }
}

/// Checks user data, which every machine of the pool gets.
fn user_data(text: &str, at: &FieldCursor, report: &mut FindingSink) {
    let error = match cloud_config::parse(text) {
        Ok(config) => {
            if let Some(secret) = cloud_config::secret(&config) {
                let message = format!(
                    "userData has {secret}, and everyone who reads Secrets of the provider namespace, or is root on a machine, reads it"
                );
                report
                    .warning(at, FindingKind::Forbidden, "worker-config/secret", message)
                    .hint("use SSH keys, or let the machine fetch its secrets");
            }
            return;
        }
        Err(error) => error,
    };
    let hint = match error {
        CloudConfigError::Head => {
            "only a cloud-config can be merged; start it with `#cloud-config`"
        }
        _ => "`cloud-init schema --config-file FILE` finds errors in a cloud-config",
    };
    let message = error.to_string();
    report
        .error(at, FindingKind::Invalid, "worker-config/user-data", message)
        .hint(hint);
}

fn in_one_form(given: &WorkerConfig) -> WorkerConfig {
    let mut config = given.clone();
    if let Some(devices) = &mut config.devices {
        devices.network_interface_multiqueue |= devices.network_interface_multi_queue;
        devices.network_interface_multi_queue = false;
    }
    for feature in config.cpu.iter_mut().flat_map(|it| &mut it.features) {
        if let CpuFeature::Name(name) = feature {
            *feature = CpuFeature::Object(CpuFeatureObject {
                name: std::mem::take(name),
                policy: Some("require".to_owned()),
            });
        }
    }
    config
}
