use super::{
    PROFILE, SHOOT, changed, check, check_update, check_update_of_profile, lines, table,
    valid_for_tests, verdict,
};
use crate::model::{Amount, CpuFeature};

const POOL: &str = "spec.provider.workers[0]";

/// Rows of a change and the findings below the pool.
fn pool(rows: &[(&str, &str, &str)]) {
    for (old, new, expected) in rows {
        let expected: String = expected
            .lines()
            .map(|line| format!("{POOL}{line}\n"))
            .collect();
        assert_eq!(check(&[(old, new)]), expected, "{new}");
    }
}

#[test]
fn sizes_and_rolling_update_bounds_are_validated() {
    pool(&[
        (
            "minimum: 1",
            "minimum: 2",
            ".maximum Forbidden: must be at least 2, the minimum (is 1)",
        ),
        (
            "minimum: 1",
            "minimum: 1\n      maxSurge: 0",
            ".maxUnavailable Invalid: maxUnavailable and maxSurge are both 0 of 1: a rolling update cannot replace any machine",
        ),
        (
            "minimum: 1",
            "minimum: 1\n      maxSurge: 0\n      maxUnavailable: 10%",
            ".maxUnavailable Invalid: maxUnavailable and maxSurge are both 0 of 1: a rolling update cannot replace any machine",
        ),
        ("minimum: 1", "minimum: 1\n      maxSurge: 1%", ""),
        (
            "minimum: 1",
            "minimum: 1\n      maxSurge: -1",
            ".maxSurge Invalid: must be at least 0 (is -1)",
        ),
        (
            "minimum: 1",
            "minimum: 1\n      maxSurge: half",
            ".maxSurge Invalid: \"half\" is neither a number nor a percentage",
        ),
        (
            "minimum: 1",
            "minimum: 1\n      maxUnavailable: 101%",
            ".maxUnavailable Invalid: must be at most 100% (is 101%)",
        ),
    ]);
    let shoot =
        valid_for_tests(&SHOOT.replace("minimum: 1", "minimum: 1\n      maxUnavailable: 50%"));
    assert_eq!(
        (shoot.pools[0].surge, shoot.pools[0].unavailable),
        (Amount::Number(1), Amount::Percent(50))
    );
}

#[test]
fn a_pool_that_is_updated_in_place_may_be_without_a_machine() {
    pool(&[
        (
            "minimum: 1",
            "minimum: 1\n      updateStrategy: ManualInPlaceUpdate",
            ".updateStrategy NotSupported: unsupported value \"ManualInPlaceUpdate\"",
        ),
        (
            "minimum: 1",
            "minimum: 1\n      updateStrategy: AutoInPlaceUpdate\n      maxSurge: 1\n      maxUnavailable: 0",
            ".maxUnavailable Invalid: must be at least 1 of 1: AutoInPlaceUpdate restarts machines",
        ),
        (
            "minimum: 1",
            "minimum: 1\n      updateStrategy: AutoRollingUpdate",
            "",
        ),
    ]);
    let in_place = "minimum: 1\n      updateStrategy: AutoInPlaceUpdate";
    let shoot = valid_for_tests(&SHOOT.replace("minimum: 1", in_place));
    assert_eq!(
        (shoot.pools[0].surge, shoot.pools[0].unavailable),
        (Amount::Number(0), Amount::Number(1))
    );
}

#[test]
fn a_pool_has_machines_at_all_times() {
    assert_eq!(
        check(&[("minimum: 1", "minimum: 0")]),
        "spec.provider.workers Forbidden: no pool has machines\n\
         warning: spec.provider.workers[0].maximum: pool \"cpu\" is scaled automatically only while `kvshoot keep` runs\n"
    );
}

#[test]
fn names_labels_and_taints_are_validated_like_in_kubernetes() {
    pool(&[
        (
            "- name: cpu",
            "- name: a-name-of-16-cha",
            ".name TooLong: must be at most 15 characters (is 16)",
        ),
        (
            "- name: cpu",
            "- name: CPU",
            ".name Invalid: \"CPU\" is not a valid DNS label",
        ),
        (
            "minimum: 1",
            "labels: {a: -b}\n      minimum: 1",
            ".labels.a Invalid: \"-b\" is not a valid label value",
        ),
        (
            "minimum: 1",
            "annotations: {a b: c}\n      minimum: 1",
            ".annotations[a b] Invalid: \"a b\" is not a valid annotation key",
        ),
        (
            "minimum: 1",
            "taints: [{key: a, effect: PreferNoSchedule}, {key: a, effect: PreferNoSchedule}]\n      minimum: 1",
            ".taints[1] Duplicate: duplicate taint \"a\" with effect PreferNoSchedule",
        ),
        (
            "minimum: 1",
            "taints: [{effect: PreferNoSchedule}]\n      minimum: 1",
            ".taints[0].key Required: is required",
        ),
    ]);
    table(
        check,
        &[(
            "minimum: 1",
            "taints: [{key: a, effect: NoSchedule}]\n      minimum: 1",
            "spec.provider.workers Forbidden: every pool has taints that repel system components",
        )],
    );
}

#[test]
fn machines_come_from_the_profile() {
    pool(&[
        (
            "type: small",
            "type: smal",
            ".machine.type NotSupported: machine type \"smal\" not found in CloudProfile \"kubevirt\"",
        ),
        (
            "type: small",
            "type: small, image: {name: debian}",
            ".machine.image.name NotSupported: machine image \"debian\" not found in CloudProfile \"kubevirt\"",
        ),
        (
            "type: small",
            "type: small, image: {name: ubuntu, version: \"20.04\"}",
            ".machine.image.version NotSupported: version \"20.04\" of machine image \"ubuntu\" not found in CloudProfile \"kubevirt\"",
        ),
        ("type: small", "type: small, image: {name: flatcar}", ""),
    ]);
    let shoot = valid_for_tests(&SHOOT.replace(
        "type: small",
        "type: large, image: {name: ubuntu, version: \"22.04\"}",
    ));
    let pool = &shoot.pools[0];
    assert_eq!(
        pool.image.source.display(),
        "https://images.example.org/ubuntu-22.04.img"
    );
    assert_eq!(
        pool.machine_type
            .memory_limit
            .as_ref()
            .map(ToString::to_string)
            .as_deref(),
        Some("32Gi")
    );
}

#[test]
fn zones_must_be_in_the_region() {
    pool(&[
        (
            "[europe-west1-c]",
            "[]",
            ".zones Required: at least one zone is required",
        ),
        (
            "[europe-west1-c]",
            "[mars]",
            ".zones[0] NotSupported: zone \"mars\" not found in region \"europe-west1\"",
        ),
        (
            "[europe-west1-c]",
            "[europe-west1-c, europe-west1-c]",
            ".zones[1] Duplicate: duplicate zone \"europe-west1-c\"",
        ),
        (
            "[europe-west1-c]",
            "[europe-west1-c, europe-west1-b]",
            ".maximum Forbidden: must be at least 2 (is 1): system components need a machine in each zone",
        ),
        (
            "[europe-west1-c]",
            "['a b']",
            ".zones[0] Invalid: \"a b\" is not a valid zone name",
        ),
    ]);
}

#[test]
fn volumes_have_a_type_and_a_size_in_whole_gi() {
    pool(&[
        (
            "      volume: {type: standard, size: 20Gi}\n",
            "",
            ".volume Required: is required",
        ),
        (
            "{type: standard, size: 20Gi}",
            "{size: 20Gi}",
            ".volume.type Required: is required",
        ),
        (
            "{type: standard, size: 20Gi}",
            "{type: standard}",
            ".volume.size Required: is required",
        ),
        (
            "{type: standard, size: 20Gi}",
            "{type: slow, size: 20Gi}",
            ".volume.type NotSupported: volume type \"slow\" not found in CloudProfile \"kubevirt\"",
        ),
        (
            "20Gi",
            "0Gi",
            ".volume.size Invalid: must be at least 1Gi (is 0Gi)",
        ),
        (
            "20Gi",
            "20480Mi",
            ".volume.size Invalid: \"20480Mi\" is not in Gi",
        ),
        (
            "20Gi",
            "1.5Gi",
            ".volume.size Invalid: \"1.5Gi\" is not a whole number of Gi",
        ),
        (
            "minimum: 1",
            "dataVolumes: [{name: root-disk, type: fast, size: 1Gi}]\n      minimum: 1",
            ".dataVolumes[0].name Invalid: \"root-disk\" is reserved for the root volume",
        ),
        (
            "minimum: 1",
            "dataVolumes: [{name: a, type: fast, size: 1Gi}, {name: a, type: slow, size: 1Gi}]\n      minimum: 1",
            ".dataVolumes[1].name Duplicate: duplicate data volume \"a\"\n.dataVolumes[1].type NotSupported: volume type \"slow\" not found in CloudProfile \"kubevirt\"",
        ),
        (
            "minimum: 1",
            "kubeletDataVolumeName: b\n      minimum: 1",
            ".kubeletDataVolumeName Invalid: data volume \"b\" not found",
        ),
    ]);
}

#[test]
fn worker_configs_are_validated() {
    let with = |config: &str| {
        let head = "providerConfig: {apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1, kind: WorkerConfig, ";
        check(&[("minimum: 1", &format!("minimum: 1\n      {head}{config}}}"))])
    };
    for (config, expected) in [
        (
            "sshPublicKeys: [ssh-rsa]",
            ".sshPublicKeys[0] Invalid: not a valid SSH public key",
        ),
        (
            "sshPublicKeys: [\"-----BEGIN RSA PRIVATE KEY----- MIIE\"]",
            ".sshPublicKeys[0] Invalid: this is a private key",
        ),
        (
            "dnsPolicy: Never",
            ".dnsPolicy Invalid: unsupported DNS policy \"Never\"",
        ),
        (
            "dnsPolicy: None",
            ".dnsConfig Required: is required with dnsPolicy None",
        ),
        (
            "dnsPolicy: None, dnsConfig: {searches: [a]}",
            ".dnsConfig.nameservers Required: is required with dnsPolicy None",
        ),
        (
            "dnsConfig: {nameservers: [\"fd00::53\", ns.example.org]}",
            ".dnsConfig.nameservers[1] Invalid: \"ns.example.org\" is not a valid IP address",
        ),
        (
            "devices: {disks: [{name: root-disk, bootOrder: 1}]}",
            ".devices.disks[0].bootOrder Forbidden: cannot be set",
        ),
        (
            "devices: {disks: [{name: a}]}",
            ".devices.disks[0].name Invalid: volume \"a\" not found",
        ),
        (
            "cpu: {features: [{name: pcid, policy: maybe}]}",
            ".cpu.features[0].policy NotSupported: unsupported value \"maybe\"",
        ),
        (
            "dnsConfig: {searches: [a.example.org., \"-a\"], options: [{name: ndots, value: \"2\"}]}",
            ".dnsConfig.searches[1] Invalid: \"-a\" is not a valid domain",
        ),
        (
            "dnsConfig: {options: [{value: \"2\"}]}",
            ".dnsConfig.options[0].name Required: is required",
        ),
        (
            "devices: {disks: [{name: root-disk, disk: {bus: ide}}]}",
            ".devices.disks[0].disk.bus NotSupported: unsupported value \"ide\"",
        ),
        (
            "devices: {disks: [{name: root-disk, lun: {bus: virtio}}]}",
            ".devices.disks[0].lun.bus NotSupported: unsupported value \"virtio\"",
        ),
        (
            "devices: {disks: [{name: root-disk, cache: unsafe}]}",
            ".devices.disks[0].cache NotSupported: unsupported value \"unsafe\"",
        ),
        (
            "devices: {disks: [{name: root-disk, disk: {bus: sata}, lun: {bus: scsi}}]}",
            ".devices.disks[0] Forbidden: only one of disk, lun and cdrom can be set",
        ),
        (
            "cpu: {model: host model}",
            ".cpu.model Invalid: \"host model\" is not a valid name of a CPU model",
        ),
        (
            "cpu: {features: [vmx, a/b]}",
            ".cpu.features[1] Invalid: \"a/b\" is not a valid name of a CPU feature",
        ),
        (
            "memory: {hugepages: {pageSize: 5Mi}}",
            ".memory.hugepages.pageSize Invalid: 5Mi is not the size of a page",
        ),
        (
            "memory: {hugepages: {pageSize: 1Gi}, guest: 1536Mi}",
            ".memory.guest Invalid: must be a multiple of hugepages.pageSize, 1Gi (is 1536Mi)",
        ),
        (
            "memory: {hugepages: {}}",
            ".memory.hugepages.pageSize Required: is required",
        ),
    ] {
        assert_eq!(with(config), format!("{POOL}.providerConfig{expected}\n"));
    }
    assert_eq!(
        with("devices: {disks: [{name: root-disk}, {name: root-disk}]}"),
        format!(
            "{POOL}.providerConfig.devices.disks[1].name Invalid: duplicate disk \"root-disk\"\n"
        )
    );
    let devices = "devices: {gpus: [{name: a, deviceName: nvidia.com/T4}], hostDevices: [{name: a, deviceName: tpu}, {name: b, deviceName: kubernetes.io/b}]}";
    let at = format!("{POOL}.providerConfig.devices.hostDevices");
    assert_eq!(
        with(devices),
        format!(
            "{at}[0].name Invalid: duplicate device \"a\"\n{at}[0].deviceName Invalid: \"tpu\" is not the name of a device\n{at}[1].deviceName Invalid: \"kubernetes.io/b\" is not the name of a device\n"
        )
    );
}

#[test]
fn cpu_features_and_multiqueue_are_normalized() {
    let config = "providerConfig: {apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1, kind: WorkerConfig, cpu: {features: [pcid]}, devices: {networkInterfaceMultiQueue: true}}";
    let shoot =
        valid_for_tests(&SHOOT.replace("minimum: 1", &format!("minimum: 1\n      {config}")));
    let worker = &shoot.pools[0].worker;
    let CpuFeature::Object(feature) = &worker.cpu.as_ref().expect("it was given").features[0]
    else {
        panic!("names become objects");
    };
    assert_eq!(
        (feature.name.as_str(), feature.policy.as_deref()),
        ("pcid", Some("require"))
    );
    assert!(
        worker
            .devices
            .as_ref()
            .expect("it was given")
            .network_interface_multiqueue
    );
}

#[test]
fn duplicate_pools_and_scaled_pools_are_reported() {
    let second = "    - name: cpu\n      machine: {type: small}\n      minimum: 1\n      maximum: 3\n      volume: {type: standard, size: 20Gi}\n      zones: [europe-west1-c]\n";
    assert_eq!(
        check(&[("    - name: cpu\n", &format!("{second}    - name: cpu\n"))]),
        "spec.provider.workers[1].name Duplicate: duplicate pool \"cpu\"\n\
         warning: spec.provider.workers[0].maximum: pool \"cpu\" is scaled automatically only while `kvshoot keep` runs\n"
    );
}

#[test]
fn a_pool_may_lag_behind_the_control_plane() {
    let own =
        |version: &str| format!("    - name: cpu\n      kubernetes: {{version: \"{version}\"}}\n");
    let with = |version: &str| check(&[("    - name: cpu\n", &own(version))]);
    let resolved = |version: &str| {
        let text = SHOOT.replacen("    - name: cpu\n", &own(version), 1);
        let shoot = valid_for_tests(&text);
        let recorded = &shoot.manifest.spec.provider.workers[0].kubernetes;
        let recorded = recorded.as_ref().and_then(|it| it.version.clone());
        assert_eq!(recorded.as_ref(), Some(&shoot.pools[0].kubernetes));
        shoot.pools[0].kubernetes.clone()
    };
    assert_eq!(valid_for_tests(SHOOT).pools[0].kubernetes, "1.34.2");
    assert_eq!(resolved("1.34.1"), "1.34.1");
    assert_eq!(resolved("1.34"), "1.34.2");
    let path = "spec.provider.workers[0].kubernetes.version";
    for (version, expected) in [
        (
            "1.35.0",
            "Forbidden: must not be newer than Kubernetes 1.34.2 of the control plane (is 1.35.0)",
        ),
        (
            "1.99.0",
            "NotSupported: Kubernetes version \"1.99.0\" not found in CloudProfile \"kubevirt\"",
        ),
        ("new", "Invalid: \"new\" is not a valid Kubernetes version"),
    ] {
        assert_eq!(with(version), format!("{path} {expected}\n"), "{version}");
    }
}

#[test]
fn a_pool_lags_by_at_most_three_minor_versions_and_is_never_downgraded() {
    let lag = |version: &str| {
        let own = format!("    - name: cpu\n      kubernetes: {{version: {version}}}\n");
        let profile = PROFILE.replace(
            "- version: 1.34.2",
            "- version: 1.31.0\n    - version: 1.32.0\n    - version: 1.34.2",
        );
        let shoot = SHOOT
            .replacen("    - name: cpu\n", &own, 1)
            .replace("version: \"1.34\"", "version: 1.35.0");
        lines(&verdict(&format!("{shoot}---\n{profile}")))
    };
    assert_eq!(lag("1.32.0"), "");
    assert_eq!(
        lag("1.31.0"),
        "spec.provider.workers[0].kubernetes.version Forbidden: must be at most 3 minor versions older than Kubernetes 1.35.0 of the control plane (is 1.31.0)\n"
    );
    let own = (
        "    - name: cpu\n",
        "    - name: cpu\n      kubernetes: {version: 1.34.1}\n",
    );
    assert_eq!(
        check_update(&[], &[own]),
        "spec.provider.workers[0].kubernetes.version Forbidden: cannot be downgraded from 1.34.2 (is 1.34.1)\n"
    );
    assert_eq!(check_update(&[own], &[]), "", "a pool catches up");
    assert_eq!(check_update(&[own], &[own]), "");
}

#[test]
fn the_image_of_a_pool_is_for_its_kubelet() {
    let last = "    - version: \"24.04\"\n  - name";
    let constraint = |text: &str| {
        let version = "    - version: \"24.04\"\n";
        format!("{version}      kubeletVersionConstraint: \"{text}\"\n  - name")
    };
    let (newer, older) = (constraint(">= 1.35"), constraint("< 1.34"));
    let image = (
        "machine: {type: small}",
        "machine: {type: small, image: {name: ubuntu, version: \"24.04\"}}",
    );
    let given = |profile: &str, shoot: &[(&str, &str)]| {
        let profile = changed(PROFILE, &[(last, profile)]);
        verdict(&format!("{}---\n{profile}", changed(SHOOT, shoot)))
    };
    let open = given(&newer, &[]).shoot.expect("it is valid");
    assert_eq!(open.pools[0].image.version, "22.04");
    let refused = |constraint: &str| {
        format!(
            "spec.provider.workers[0].machine.image.version NotSupported: version \"24.04\" of machine image \"ubuntu\" is for Kubernetes {constraint} (the pool has 1.34.2)\n"
        )
    };
    assert_eq!(lines(&given(&newer, &[image])), refused(">= 1.35"));
    assert_eq!(lines(&given(&constraint("~1.34.1"), &[image])), "");
    assert_eq!(lines(&given(&constraint(""), &[image])), "");
    assert_eq!(
        lines(&given(&constraint("new"), &[])),
        "spec.machineImages[0].versions[1].kubeletVersionConstraint Invalid: \"new\" is not a valid constraint of versions\n"
    );

    let before = ("version: \"1.34\"", "version: 1.33.5");
    let upgraded = |before: &[(&str, &str)], now: &[(&str, &str)]| {
        check_update_of_profile(before, now, &[(last, &older)])
    };
    assert_eq!(upgraded(&[before, image], &[image]), refused("< 1.34"));
    assert_eq!(upgraded(&[before], &[]), "", "another version is chosen");
    assert_eq!(upgraded(&[image], &[image]), "", "nothing changes");
}

#[test]
fn the_architecture_of_a_pool_is_that_of_its_machine_type_and_image() {
    let with = |own: &str, of_type: &str, of_image: &str| {
        let machine = format!("machine: {{type: small{own}}}");
        let shoot = SHOOT.replace("machine: {type: small}", &machine);
        let profile = PROFILE
            .replace("    memory: 4Gi\n", &format!("    memory: 4Gi\n{of_type}"))
            .replace(
                "    - version: \"24.04\"\n  - name",
                &format!("    - version: \"24.04\"\n{of_image}  - name"),
            );
        let verdict = verdict(&format!("{shoot}---\n{profile}"));
        let architecture = verdict
            .shoot
            .as_ref()
            .map(|it| it.pools[0].architecture.clone());
        (lines(&verdict), architecture.flatten())
    };
    let (own, of_type, of_image) = (
        ", architecture: arm64",
        "    architecture: arm64\n",
        "      architectures: [arm64]\n",
    );
    let arm = Some("arm64".to_owned());
    assert_eq!(with("", "", ""), (String::new(), None));
    assert_eq!(with("", of_type, of_image), (String::new(), arm.clone()));
    assert_eq!(with(own, of_type, of_image), (String::new(), arm));
    let path = "spec.provider.workers[0].machine";
    assert_eq!(
        with(own, "", of_image).0,
        format!(
            "{path}.architecture Invalid: must be amd64, the architecture of machine type \"small\" (is arm64)\n"
        )
    );
    assert_eq!(
        with(", image: {name: ubuntu, version: \"24.04\"}", of_type, "").0,
        format!(
            "{path}.image.version NotSupported: version \"24.04\" of machine image \"ubuntu\" is not for arm64\n"
        )
    );
    assert_eq!(
        with(", architecture: s390x", "", "").0,
        format!("{path}.architecture NotSupported: unsupported value \"s390x\"\n")
    );
}

#[test]
fn the_certificates_of_the_profile_reach_every_machine() {
    let certificate = |letter: char| {
        format!("-----BEGIN CERTIFICATE-----\\nM{letter}A=\\n-----END CERTIFICATE-----\\n")
    };
    let with = |of_profile: &str, own: &str| {
        let shoot = SHOOT.replacen("    - name: cpu\n", &format!("    - name: cpu\n{own}"), 1);
        let profile = PROFILE.replacen(
            "  type: kubevirt\n",
            &format!("  type: kubevirt\n{of_profile}"),
            1,
        );
        valid_for_tests(&format!("{shoot}---\n{profile}")).pools[0]
            .ca_bundle
            .clone()
    };
    let of_profile = format!("  caBundle: \"{}\"\n", certificate('A'));
    let own = format!("      caBundle: \"{}\"\n", certificate('B'));
    let text = |letter: char| certificate(letter).replace("\\n", "\n");
    assert_eq!(with("", ""), None);
    assert_eq!(with("", &own), Some(text('B')));
    assert_eq!(with(&of_profile, ""), Some(text('A')));
    assert_eq!(with(&of_profile, &own), Some(text('A') + &text('B')));
}

#[test]
fn what_a_pool_would_not_get_is_refused() {
    let row = |given: &str| {
        check(&[(
            "    - name: cpu\n",
            &format!("    - name: cpu\n      {given}\n"),
        )])
    };
    for (given, expected) in [
        (
            "cri: {name: containerd, containerRuntimes: [{type: gvisor}]}",
            "cri.containerRuntimes[0] NotSupported: container runtime \"gvisor\" is not installed",
        ),
        (
            "machineControllerManager: {maxEvictRetries: 3}",
            "machineControllerManager.maxEvictRetries NotSupported: not supported: evictions are retried until machineDrainTimeout",
        ),
    ] {
        assert_eq!(row(given), format!("{POOL}.{expected}\n"));
    }
}

#[test]
fn labels_and_taints_of_kubernetes_are_not_the_users_to_set() {
    pool(&[
        (
            "minimum: 1",
            "labels: {kubernetes.io/hostname: a, node-role.kubernetes.io/db: \"\"}\n      minimum: 1",
            ".labels[kubernetes.io/hostname] Forbidden: kubernetes.io/hostname is set by Kubernetes",
        ),
        (
            "minimum: 1",
            "taints: [{key: node.kubernetes.io/not-ready, effect: PreferNoSchedule}]\n      minimum: 1",
            ".taints[0].key Forbidden: node.kubernetes.io/not-ready is set and removed by Kubernetes",
        ),
        (
            "minimum: 1",
            "maxUnavailable: \"0\"\n      minimum: 1",
            ".maxUnavailable Invalid: \"0\" is a string, not a number",
        ),
    ]);
}

#[test]
fn a_machine_type_has_room_for_what_its_kubelet_reserves_and_its_guest_sees() {
    table(
        check,
        &[
            (
                "version: \"1.34\"",
                "version: \"1.34\"\n    kubelet: {kubeReserved: {cpu: 500m}, systemReserved: {cpu: 500m, memory: 1Gi}}",
                "spec.provider.workers[0].machine.type Invalid: kubeReserved and systemReserved leave nothing of the 1 cpu of machine type \"small\"",
            ),
            (
                "version: \"1.34\"",
                "version: \"1.34\"\n    kubelet: {kubeReserved: {cpu: 900m}, systemReserved: {memory: 3Gi}}",
                "",
            ),
            (
                "type: small}",
                "type: large}\n      providerConfig: {apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1, kind: WorkerConfig, memory: {guest: 33Gi}}",
                "spec.provider.workers[0].providerConfig.memory.guest Invalid: must be at most 32Gi, the memory limit of machine type \"large\" (is 33Gi)",
            ),
        ],
    );
}
