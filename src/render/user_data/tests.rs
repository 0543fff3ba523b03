use super::*;
use crate::state::record::rotation::KeyGeneration;
use crate::validate::ValidShoot;
use crate::validate::cloud_config::CloudConfigError;
use crate::validate::control_plane::Address;
use crate::validate::testing::{SHOOT, WIDE, valid_for_tests};

fn read(shoot: &ValidShoot) -> Mapping {
    read_as(shoot, "m")
}

fn read_as(shoot: &ValidShoot, machine: &str) -> Mapping {
    let address = Address {
        host: "10.0.0.1".into(),
        port: 6443,
    };
    let join = JoinConfig {
        machine,
        namespace: "clusters",
        pool: &shoot.pools[0],
        shoot,
        node_address: &address,
        ca: "PEM\n",
        roots: KeyGeneration::default(),
    };
    parse(&cloud_config(&join)).expect("cloud-config")
}

fn content<'a>(config: &'a Mapping, path: &str) -> &'a str {
    let files = config["write_files"].as_sequence().expect("a list");
    let file = files.iter().find(|it| it["path"] == path);
    file.and_then(|it| it["content"].as_str())
        .unwrap_or_default()
}

#[test]
fn ssh_keys_are_merged_with_existing_ones() {
    let mut shoot = valid_for_tests(SHOOT);
    let worker = &mut shoot.pools[0].worker;
    let base = "#cloud-config\nssh_authorized_keys: [a]\nruncmd:\n- |\n  ends in a block";
    worker.user_data = Some(base.into());
    worker.ssh_public_keys = vec!["b ".into(), "a".into()];
    let config = read(&shoot);
    assert_eq!(config["ssh_authorized_keys"], Value::from(vec!["a", "b"]));
    assert_eq!(config["hostname"], Value::from("m"));
    let commands = config["runcmd"].as_sequence().expect("a list");
    assert_eq!(commands.len(), 3);
    assert_eq!(commands[2], Value::from("ends in a block"));
}

#[test]
fn the_kubelet_of_an_image_waits_for_the_join_script() {
    let mut shoot = valid_for_tests(SHOOT);
    shoot.pools[0].worker.user_data = Some("#cloud-config\nbootcmd: [date]".into());
    let config = read(&shoot);
    let commands = config["bootcmd"].as_sequence().expect("a list");
    assert_eq!(commands.len(), 2);
    assert_eq!(commands[1], Value::from("date"));
    // Run as cloud-init would: systemctl is called on a new machine, and not on one that has joined.
    let words: Vec<&str> = commands[0]
        .as_sequence()
        .expect("words")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let run = |state: &std::path::Path| {
        let script = words[2].replace("/var/lib/kvshoot", state.to_str().expect("text"));
        let script = format!("systemctl() {{ echo \"$*\"; false; }}\n{script}");
        let done = std::process::Command::new(words[0])
            .args([words[1], &script])
            .output()
            .expect("a shell");
        assert!(done.status.success());
        String::from_utf8(done.stdout).expect("text")
    };
    let state = tempfile::tempdir().expect("a folder");
    assert_eq!(run(state.path()), "stop --no-block kubelet.service\n");
    std::fs::write(state.path().join("joined"), "").expect("a file");
    assert_eq!(run(state.path()), "");
}

#[test]
fn machines_that_are_updated_in_place_have_a_timer_for_new_cas() {
    let mut shoot = valid_for_tests(SHOOT);
    let text = |shoot: &ValidShoot| text(read(shoot));
    assert!(!text(&shoot).contains("renew"), "{}", text(&shoot));
    assert!(!text(&shoot).contains("CERTIFICATE_AUTHORITIES"));
    shoot.pools[0].is_updated_in_place = true;
    let config = read(&shoot);
    let settings = content(&config, "/etc/kvshoot/join.conf");
    assert!(
        settings.ends_with("CERTIFICATE_AUTHORITIES='0/alone'\n"),
        "{settings}"
    );
    for path in [
        "/usr/local/lib/kvshoot/renew",
        "/etc/systemd/system/kvshoot-renew.service",
        "/etc/systemd/system/kvshoot-renew.timer",
    ] {
        assert!(!content(&config, path).is_empty(), "{path}");
    }
    let commands = config["runcmd"].as_sequence().expect("a list");
    let start = Value::from(vec!["systemctl", "enable", "--now", "kvshoot-renew.timer"]);
    assert_eq!(commands.last(), Some(&start));
}

#[test]
fn an_invalid_cloud_config_is_rejected() {
    let refuse = |base| parse(base).expect_err("it cannot be merged");
    assert_eq!(refuse("#!/bin/sh\n"), CloudConfigError::Head);
    assert_eq!(refuse("#cloud-config\n- a\n"), CloudConfigError::NoMapping);
}

#[test]
fn the_kubelet_gets_its_name_and_labels() {
    let mut shoot = valid_for_tests(SHOOT);
    let pool = &mut shoot.pools[0];
    for (key, value) in [("a", "b"), ("node-role.kubernetes.io/worker", "")] {
        pool.labels.insert(key.into(), value.into());
    }
    assert_eq!(
        content(&read(&shoot), "/var/lib/kubelet/kubeadm-flags.env"),
        "KUBELET_KUBEADM_ARGS=\"--hostname-override=m --cloud-provider=external --provider-id=kubevirt://m \
         --node-labels=a=b,topology.kubernetes.io/region=europe-west1,worker.gardener.cloud/pool=cpu,worker.gardener.cloud/system-components=true\"\n"
    );
}

#[test]
fn the_kubelet_sets_region_and_zone() {
    let mut shoot = valid_for_tests(SHOOT);
    let flags = |shoot: &ValidShoot| {
        let config = read_as(shoot, "shoot--dev--demo-cpu-z1-abcde-0");
        content(&config, "/var/lib/kubelet/kubeadm-flags.env").to_owned()
    };
    let place =
        "topology.kubernetes.io/region=europe-west1,topology.kubernetes.io/zone=europe-west1-c";
    assert!(flags(&shoot).contains(place));
    // A shoot without zones has the zone `default`, which sets no label.
    shoot.pools[0].zones = vec!["default".into()];
    shoot.region = "default".into();
    assert!(!flags(&shoot).contains("topology"));
}

#[test]
fn the_token_is_in_one_file_that_only_root_can_read() {
    let shoot = valid_for_tests(SHOOT);
    let config = read(&shoot);
    let files = config["write_files"].as_sequence().expect("a list");
    let with_token: Vec<_> = files
        .iter()
        .filter(|file| {
            file["content"]
                .as_str()
                .is_some_and(|it| it.contains(names::TOKEN))
        })
        .collect();
    assert_eq!(with_token.len(), 1);
    assert_eq!(
        with_token[0]["path"],
        "/etc/kubernetes/bootstrap-kubelet.conf"
    );
    assert_eq!(with_token[0]["permissions"], "0600");
    let kubeconfig: Value =
        serde_yaml::from_str(with_token[0]["content"].as_str().expect("text")).expect("YAML");
    let cluster = &kubeconfig["clusters"][0]["cluster"];
    assert_eq!(cluster["server"], "https://10.0.0.1:6443");
    assert_eq!(cluster["certificate-authority-data"], "UEVNCg==");
}

#[test]
fn a_cni_network_is_written_only_for_networking_type_none() {
    let mut shoot = valid_for_tests(SHOOT);
    let path = "/etc/cni/net.d/99-kvshoot.conflist";
    assert_eq!(content(&read(&shoot), path), "");
    shoot.networking.type_ = "none".into();
    let config = read(&shoot);
    let network: Json = serde_json::from_str(content(&config, path)).expect("JSON");
    // For a later version containerd would query the plugins, which need not be installed.
    assert_eq!(network["cniVersion"], "1.0.0");
    assert_eq!(
        network["plugins"][0]["ipam"]["ranges"][0][0]["subnet"],
        "100.96.0.0/24"
    );
}

#[test]
fn certificates_of_a_ca_bundle_are_split() {
    let mut shoot = valid_for_tests(SHOOT);
    let one = |it| format!("-----BEGIN CERTIFICATE-----\n{it}\n-----END CERTIFICATE-----\n");
    shoot.pools[0].ca_bundle = Some(format!("# a comment\n{}\n{}", one("a"), one("b")));
    let config = read(&shoot);
    let trusted = config["ca_certs"]["trusted"].as_sequence().expect("a list");
    assert_eq!(trusted.len(), 2);
    assert_eq!(trusted[1], Value::from(one("b")));
}

#[test]
fn another_registry_is_a_mirror_in_containerd() {
    let mut shoot = valid_for_tests(SHOOT);
    shoot.control_plane.registry = Some("registry.example.org/mirror".into());
    let config = read(&shoot);
    let hosts = content(&config, "/etc/containerd/certs.d/quay.io/hosts.toml");
    assert!(hosts.contains("https://registry.example.org/v2/mirror"));
    for version in [2, 3] {
        let path = format!("/usr/local/lib/kvshoot/containerd-{version}.toml");
        assert!(content(&config, &path).contains("registry.example.org/mirror/pause:3.10.1"));
    }
}

#[test]
fn the_same_machine_has_the_same_user_data() {
    let shoot = valid_for_tests(WIDE);
    assert_eq!(read(&shoot), read(&shoot.clone()));
}

#[test]
fn user_data_is_much_smaller_than_a_secret() {
    let shoot = valid_for_tests(WIDE);
    let text = serde_yaml::to_string(&read(&shoot)).expect("YAML");
    assert!(text.len() < 100_000, "{} bytes", text.len());
}

#[test]
fn a_proxy_is_used_by_the_join_script_and_by_containerd() {
    let mut shoot = valid_for_tests(SHOOT);
    let path = "/etc/systemd/system/containerd.service.d/50-kvshoot-proxy.conf";
    assert_eq!(content(&read(&shoot), path), "");
    let proxy = serde_json::json!({
        "https": "http://u:p%40x@proxy.example.org:3128", "noProxy": [".example.org"],
    });
    shoot.profile.spec.provider_config.proxy = serde_json::from_value(proxy).expect("a proxy");
    let config = read(&shoot);
    let unit = content(&config, path);
    let https = "Environment=\"HTTPS_PROXY=http://u:p%%40x@proxy.example.org:3128\"\n";
    assert!(unit.contains(https), "{unit}");
    let script = content(&config, "/etc/kvshoot/proxy.conf");
    let direct = "no_proxy='localhost,127.0.0.0/8,10.0.0.1,100.64.0.0/13,100.96.0.0/11,.svc,.cluster.local,.example.org'\n";
    assert!(script.contains(direct), "{script}");
    assert!(!script.contains("\nhttp_proxy="), "{script}");
    let files = config["write_files"].as_sequence().expect("a list");
    let private = files.iter().filter(|it| it["permissions"] == "0600");
    assert_eq!(private.count(), 3, "a URL may contain a password");
}

#[test]
fn the_disk_of_the_kubelet_is_named_by_its_serial_number() {
    let mut shoot = valid_for_tests(SHOOT);
    let settings = |shoot: &ValidShoot| content(&read(shoot), "/etc/kvshoot/join.conf").to_owned();
    assert!(!settings(&shoot).contains("KUBELET_VOLUME"));
    shoot.pools[0].kubelet_volume = Some("data".into());
    assert!(settings(&shoot).ends_with("\nKUBELET_VOLUME='kubelet-data'\n"));
}
