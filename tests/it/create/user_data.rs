//! What machines read when they boot: whether cloud-init takes it, and what of a manifest reaches it.

use crate::support::kvshoot::Kvshoot;
use crate::support::shoots::EXAMPLES;
use crate::support::user_data::{minimal, of, read};
use serde_json::Value;
use std::fs;

/// Zones for the pool of [`minimal`], with a bundle of certificates and cloud-config of its own.
const WIDE: &str = "      zones: [zone-a]
      caBundle: |
        -----BEGIN CERTIFICATE-----
        MAAA
        -----END CERTIFICATE-----
      providerConfig:
        apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1
        kind: WorkerConfig
        sshPublicKeys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGxsbGxsbGxsbGxsbGxsbGxs me]
        userData: |
          #cloud-config
          runcmd: [date]
          write_files: [{path: /etc/motd, content: hello}]
          ntp: {servers: [ntp.example.org]}
";

#[test]
fn cloud_init_accepts_the_user_data_of_every_example() {
    let schema = fs::read_to_string("tests/cloud-init/schema-cloud-config-v1.json").unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    assert!(!schema.is_valid(&serde_json::json!({ "runcmd": 1 })));
    let mut manifests = EXAMPLES
        .map(|it| fs::read_to_string(format!("examples/{it}.yaml")).unwrap())
        .to_vec();
    manifests.push(minimal(&[("      zones:\n      - zone-a\n", WIDE)]));
    manifests.push(minimal(&[("type: flannel", "type: none")]));
    for manifest in &manifests {
        for user_data in of(manifest) {
            let config = read(&user_data);
            let errors: Vec<String> = schema
                .iter_errors(&config)
                .map(|it| format!("{}: {it}", it.instance_path()))
                .collect();
            assert!(errors.is_empty(), "{}\n{user_data}", errors.join("\n"));
        }
    }
}

#[test]
fn a_pools_own_cloud_config_comes_after_ours() {
    let manifest = minimal(&[("      zones:\n      - zone-a\n", WIDE)]);
    let config = read(&of(&manifest)[0]);
    let last = |key: &str| config[key].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last("runcmd"), "date");
    assert_eq!(last("write_files")["path"], "/etc/motd");
    assert_eq!(config["ntp"]["servers"][0], "ntp.example.org");
    let trusted = config["ca_certs"]["trusted"][0].as_str().unwrap();
    assert!(trusted.starts_with("-----BEGIN CERTIFICATE-----\nMAAA"));
}

#[test]
fn the_script_is_one_that_a_small_shell_reads() {
    let output = Kvshoot::new().program(
        std::path::Path::new("/bin/sh"),
        [
            "-n",
            concat!(env!("CARGO_MANIFEST_DIR"), "/src/plan/user_data/join.sh"),
        ],
    );
    assert_eq!(output.code, 0, "{output}");
}
