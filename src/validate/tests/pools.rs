use super::{SHOOT, check, table, valid_for_tests};
use crate::model::{Amount, CpuFeature};

const POOL: &str = "spec.provider.workers[0]";

/// Rows of a change and what is told below the pool.
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
fn sizes_and_bounds_are_judged() {
    pool(&[
        (
            "minimum: 1",
            "minimum: 2",
            ".maximum Forbidden: is 1, below the minimum of 2",
        ),
        (
            "minimum: 1",
            "minimum: 1\n      maxSurge: 0",
            ".maxUnavailable Invalid: comes to 0 of 1, and maxSurge too; no machine could ever be replaced",
        ),
        (
            "minimum: 1",
            "minimum: 1\n      maxSurge: 0\n      maxUnavailable: 10%",
            ".maxUnavailable Invalid: comes to 0 of 1, and maxSurge too; no machine could ever be replaced",
        ),
        ("minimum: 1", "minimum: 1\n      maxSurge: 1%", ""),
        (
            "minimum: 1",
            "minimum: 1\n      maxSurge: -1",
            ".maxSurge Invalid: is -1, below 0",
        ),
        (
            "minimum: 1",
            "minimum: 1\n      maxSurge: half",
            ".maxSurge Invalid: \"half\" is neither a count nor a share",
        ),
        (
            "minimum: 1",
            "minimum: 1\n      maxUnavailable: 101%",
            ".maxUnavailable Invalid: is 101%, more than all",
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
fn a_pool_does_not_grow_from_nothing() {
    assert_eq!(
        check(&[("minimum: 1", "minimum: 0")]),
        "spec.provider.workers[0].minimum Forbidden: is 0 while the maximum is 1; a pool cannot grow from nothing\n\
         spec.provider.workers Forbidden: no pool has machines\n\
         warning: spec.provider.workers[0].maximum: pool cpu has room to grow, and no autoscaler runs\n"
    );
}

#[test]
fn names_labels_and_taints_have_the_forms_of_kubernetes() {
    pool(&[
        (
            "- name: cpu",
            "- name: a-name-of-16-cha",
            ".name TooLong: has 16 characters, more than 15",
        ),
        (
            "- name: cpu",
            "- name: CPU",
            ".name Invalid: \"CPU\" is no DNS label",
        ),
        (
            "minimum: 1",
            "labels: {a: -b}\n      minimum: 1",
            ".labels.a Invalid: \"-b\" is no value of a label",
        ),
        (
            "minimum: 1",
            "annotations: {a b: c}\n      minimum: 1",
            ".annotations[a b] Invalid: \"a b\" is no key of an annotation",
        ),
        (
            "minimum: 1",
            "taints: [{key: a, effect: PreferNoSchedule}, {key: a, effect: PreferNoSchedule}]\n      minimum: 1",
            ".taints[1] Duplicate: there is a taint a with effect PreferNoSchedule already",
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
            "spec.provider.workers Forbidden: every pool has taints that keep system components away",
        )],
    );
}

#[test]
fn machines_come_from_the_profile() {
    pool(&[
        (
            "type: small",
            "type: smal",
            ".machine.type NotSupported: smal is not offered",
        ),
        (
            "type: small",
            "type: small, image: {name: debian}",
            ".machine.image.name NotSupported: debian is not offered",
        ),
        (
            "type: small",
            "type: small, image: {name: ubuntu, version: \"20.04\"}",
            ".machine.image.version NotSupported: 20.04 of ubuntu is not offered",
        ),
        ("type: small", "type: small, image: {name: flatcar}", ""),
    ]);
    let shoot = valid_for_tests(&SHOOT.replace(
        "type: small",
        "type: large, image: {name: ubuntu, version: \"22.04\"}",
    ));
    let pool = &shoot.pools[0];
    assert_eq!(
        pool.image.source.told(),
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
fn zones_are_those_of_the_region() {
    pool(&[
        (
            "[europe-west1-c]",
            "[]",
            ".zones Required: at least one zone is required",
        ),
        (
            "[europe-west1-c]",
            "[mars]",
            ".zones[0] NotSupported: mars is not offered",
        ),
        (
            "[europe-west1-c]",
            "[europe-west1-c, europe-west1-c]",
            ".zones[1] Duplicate: zone europe-west1-c is there already",
        ),
        (
            "[europe-west1-c]",
            "[europe-west1-c, europe-west1-b]",
            ".maximum Forbidden: is 1, fewer than the 2 zones; system components need a machine in each",
        ),
        (
            "[europe-west1-c]",
            "['a b']",
            ".zones[0] Invalid: \"a b\" is no name of a zone",
        ),
    ]);
}

#[test]
fn volumes_have_a_type_and_whole_gibibytes() {
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
            ".volume.type NotSupported: slow is not offered",
        ),
        (
            "20Gi",
            "0Gi",
            ".volume.size Invalid: 0Gi is no size in whole Gi",
        ),
        (
            "20Gi",
            "20480Mi",
            ".volume.size Invalid: 20480Mi is no size in whole Gi",
        ),
        (
            "20Gi",
            "1.5Gi",
            ".volume.size Invalid: 1.5Gi is no size in whole Gi",
        ),
        (
            "minimum: 1",
            "dataVolumes: [{name: root-disk, type: fast, size: 1Gi}]\n      minimum: 1",
            ".dataVolumes[0].name Invalid: root-disk is the name of the root volume",
        ),
        (
            "minimum: 1",
            "dataVolumes: [{name: a, type: fast, size: 1Gi}, {name: a, type: slow, size: 1Gi}]\n      minimum: 1",
            ".dataVolumes[1].name Duplicate: a is there already\n.dataVolumes[1].type NotSupported: slow is not offered",
        ),
        (
            "minimum: 1",
            "kubeletDataVolumeName: b\n      minimum: 1",
            ".kubeletDataVolumeName Invalid: there is no data volume b",
        ),
    ]);
}

#[test]
fn worker_configurations_fit_their_pool() {
    let with = |config: &str| {
        let head = "providerConfig: {apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1, kind: WorkerConfig, ";
        check(&[("minimum: 1", &format!("minimum: 1\n      {head}{config}}}"))])
    };
    for (config, expected) in [
        (
            "dnsPolicy: Never",
            ".dnsPolicy Invalid: \"Never\" is no DNS policy",
        ),
        (
            "dnsPolicy: None",
            ".dnsConfig Required: is required with dnsPolicy None",
        ),
        (
            "dnsPolicy: None, dnsConfig: {searches: [a]}",
            ".dnsConfig.nameservers Required: are required with dnsPolicy None",
        ),
        (
            "dnsConfig: {nameservers: [\"fd00::53\", ns.example.org]}",
            ".dnsConfig.nameservers[1] Invalid: \"ns.example.org\" is no address",
        ),
        (
            "devices: {disks: [{name: root-disk, bootOrder: 1}]}",
            ".devices.disks[0].bootOrder Forbidden: is not yours to choose",
        ),
        (
            "devices: {disks: [{name: a}]}",
            ".devices.disks[0].name Invalid: there is no matching volume a",
        ),
        (
            "cpu: {features: [{name: pcid, policy: maybe}]}",
            ".cpu.features[0].policy NotSupported: \"maybe\" is not supported",
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
            "{POOL}.providerConfig.devices.disks Invalid: are 2, more than the 1 volumes\n{POOL}.providerConfig.devices.disks[1].name Invalid: disk root-disk already exists\n"
        )
    );
}

#[test]
fn a_feature_may_be_a_name_and_a_switch_has_two_spellings() {
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
fn two_pools_of_a_name_and_a_pool_that_may_grow_are_told() {
    let second = "    - name: cpu\n      machine: {type: small}\n      minimum: 1\n      maximum: 3\n      volume: {type: standard, size: 20Gi}\n      zones: [europe-west1-c]\n";
    assert_eq!(
        check(&[("    - name: cpu\n", &format!("{second}    - name: cpu\n"))]),
        "spec.provider.workers[1].name Duplicate: there is a pool cpu already\n\
         warning: spec.provider.workers[0].maximum: pool cpu has room to grow, and no autoscaler runs\n"
    );
}
