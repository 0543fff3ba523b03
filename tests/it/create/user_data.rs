//! User data of machines: valid for cloud-init, with the settings of the manifest.

use crate::support::kvshoot::Kvshoot;
use crate::support::shoots::EXAMPLES;
use crate::support::user_data::{minimal, of, read};
use serde_json::Value;
use std::fs;

/// Zones for the pool of [`minimal`], with CA certificates and a cloud-config.
const EXTENDED_POOL: &str = "      zones: [zone-a]
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
    manifests.push(minimal(&[(
        "      zones:\n      - zone-a\n",
        EXTENDED_POOL,
    )]));
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
fn the_cloud_config_of_a_pool_is_appended_to_that_of_kvshoot() {
    let manifest = minimal(&[("      zones:\n      - zone-a\n", EXTENDED_POOL)]);
    let config = read(&of(&manifest)[0]);
    let last = |key: &str| config[key].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last("runcmd"), "date");
    assert_eq!(last("write_files")["path"], "/etc/motd");
    assert_eq!(config["ntp"]["servers"][0], "ntp.example.org");
    let trusted = config["ca_certs"]["trusted"][0].as_str().unwrap();
    assert!(trusted.starts_with("-----BEGIN CERTIFICATE-----\nMAAA"));
}

#[test]
fn the_scripts_of_machines_are_valid_for_a_posix_shell() {
    for script in ["join.sh", "renew.sh"] {
        let path = format!(
            "{}/src/render/user_data/{script}",
            env!("CARGO_MANIFEST_DIR")
        );
        let output = Kvshoot::new().program(std::path::Path::new("/bin/sh"), ["-n", &path]);
        assert_eq!(output.code, 0, "{output}");
    }
}
