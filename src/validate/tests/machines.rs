use super::{SHOOT, check, valid_for_tests};
use crate::validate::image_source::ImageSource;
use crate::validate::testing::{read, today};
use crate::validate::{Input, VolumeApi, validate};

const AT: &str = "spec.provider.workers[0].providerConfig";
const HEAD: &str = "providerConfig: {apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1, kind: WorkerConfig, ";

fn with(config: &str) -> String {
    format!("minimum: 1\n      {HEAD}{config}}}")
}

/// Rows of a WorkerConfig and the findings below it.
fn table(rows: &[(&str, &str)]) {
    for (config, expected) in rows {
        let expected: String = expected.lines().map(|it| format!("{AT}{it}\n")).collect();
        assert_eq!(
            check(&[("minimum: 1", &with(config))]),
            expected,
            "{config}"
        );
    }
}

#[test]
fn a_worker_without_an_image_needs_a_profile_with_images() {
    let (shoot, mut profile) = read(SHOOT);
    profile.spec.machine_images.clear();
    let outcome = validate(&Input {
        shoot: &std::sync::Arc::new(shoot),
        profile: &profile,
        previous: None,
        previous_profile: None,
        now: today(),
    });
    let of_shoot = |it: &&crate::model::Finding| it.document == crate::model::DocumentKind::Shoot;
    let mut errors = outcome.errors.iter().filter(of_shoot);
    let error = errors.next().expect("an error");
    assert_eq!(error.code, "machine/image-not-offered");
    assert!(
        error.message.ends_with("has no machine images"),
        "{}",
        error.message
    );
    assert!(errors.next().is_none());
}

#[test]
fn placement_is_validated() {
    table(&[
        ("affinity: {podAffinityPreset: soft}", ""),
        (
            "affinity: {podAffinityPreset: Soft}",
            ".affinity.podAffinityPreset NotSupported: unsupported value \"Soft\"",
        ),
        (
            "affinity: {podAffinityPreset: soft, podAntiAffinityPreset: hard}",
            ".affinity.podAntiAffinityPreset Forbidden: cannot be combined with podAffinityPreset",
        ),
        (
            "affinity: {nodeAffinityPreset: {type: hard}}",
            ".affinity.nodeAffinityPreset.key Required: is required for node affinity",
        ),
        (
            "affinity: {nodeAffinityPreset: {type: hard, key: a b, values: [c d]}}",
            ".affinity.nodeAffinityPreset.key Invalid: \"a b\" is not a valid label key\n.affinity.nodeAffinityPreset.values[0] Invalid: \"c d\" is not a valid label value",
        ),
        (
            "topologySpreadConstraints: [{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: Never}]",
            ".topologySpreadConstraints[0].maxSkew Invalid: must be at least 1 (is 0)\n.topologySpreadConstraints[0].whenUnsatisfiable NotSupported: unsupported value \"Never\"",
        ),
        (
            "topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]",
            ".topologySpreadConstraints[1].topologyKey Duplicate: duplicate constraint \"a\" with DoNotSchedule",
        ),
        (
            "evictionStrategy: None",
            ".evictionStrategy NotSupported: unsupported value \"None\"",
        ),
        (
            "affinity: {nodeAffinityPreset: {type: hard, key: topology.kubernetes.io/zone, values: [europe-west1-c]}}",
            "",
        ),
        (
            "affinity: {nodeAffinityPreset: {type: soft, key: topology.kubernetes.io/zone, values: [other]}}",
            "",
        ),
        (
            "affinity: {nodeAffinityPreset: {type: hard, key: topology.kubernetes.io/zone, values: [other]}}",
            ".affinity.nodeAffinityPreset.values Forbidden: no host fits machines in \"europe-west1-c\", where the pool has some",
        ),
        (
            "affinity: {nodeAffinityPreset: {type: hard, key: topology.kubernetes.io/region, values: [other]}}",
            ".affinity.nodeAffinityPreset.values Forbidden: no host fits machines in \"europe-west1\", where the pool has some",
        ),
        ("location: {region: europe-west1, zone: europe-west1-c}", ""),
        (
            "location: {region: other, zone: europe-west1-b}",
            ".location.region Invalid: machines are in region \"europe-west1\", not in \"other\"\n.location.zone Invalid: machines are also in zone \"europe-west1-c\", not only in \"europe-west1-b\"",
        ),
        (
            "location: {zone: a b}",
            ".location.zone Invalid: \"a b\" is not a valid label value\n.location.zone Invalid: machines are also in zone \"europe-west1-c\", not only in \"a b\"",
        ),
        (
            "subnet: A",
            ".subnet Invalid: \"A\" is not a valid subnet name",
        ),
        (
            "instancetype: {name: u1, kind: Flavor}",
            ".instancetype.kind NotSupported: unsupported value \"Flavor\"",
        ),
    ]);
}

#[test]
fn templates_are_complete_and_consistent() {
    table(&[
        ("template: {cpus: 2, memory: 4Gi}", ""),
        (
            "template: {cpus: 2}",
            ".template.memory Required: is required with cpus or vcpus",
        ),
        (
            "template: {memory: 4Gi}",
            ".template.cpus Required: is required with memory",
        ),
        (
            "template: {cpus: 2, vcpus: {cores: 2}, memory: 4Gi}",
            ".template.vcpus Forbidden: cannot be combined with cpus",
        ),
        (
            "template: {vcpus: {cores: 0}, memory: 0Gi}",
            ".template.memory Invalid: must be greater than 0 (is 0Gi)\n.template.vcpus.cores Invalid: must be at least 1",
        ),
        (
            "instancetype: {name: u1}, template: {cpus: 2, memory: 4Gi}, cpu: {cores: 2}",
            ".template.cpus Forbidden: cannot be combined with an instancetype\n.template.memory Forbidden: cannot be combined with an instancetype\n.cpu Forbidden: cannot be combined with an instancetype",
        ),
        (
            "template: {secondaryDisks: [{size: 1Gi}, {size: 1Gi}, {size: 1Gi}, {size: 1Gi}]}",
            ".template.secondaryDisks Invalid: must have at most 3 items (has 4)",
        ),
        (
            "template: {secondaryDisks: [{size: 1Gi, storageAccessType: RWX}]}",
            ".template.secondaryDisks[0].storageAccessType NotSupported: unsupported value \"RWX\"",
        ),
        (
            "template: {primaryDisk: {osImage: a b}}",
            ".template.primaryDisk.osImage Invalid: \"a b\" is not a valid image for this source",
        ),
        (
            "template: {primaryDisk: {osImage: disk, pullMethod: pod}}",
            ".template.primaryDisk.pullMethod Forbidden: not supported for a PersistentVolumeClaim",
        ),
        (
            "template: {primaryDisk: {osImage: \"https://a/b\", extraHeaders: [a, \"b: c\"], extraHeadersSecretRef: d}}",
            ".template.primaryDisk.extraHeadersSecretRef Forbidden: cannot be combined with extraHeaders\n.template.primaryDisk.extraHeaders[0] Invalid: not a valid HTTP header",
        ),
    ]);
}

#[test]
fn live_migration_requires_shared_volumes() {
    let shared = "primaryDisk: {storageAccessType: ReadWriteMany}";
    table(&[
        (
            &format!("evictionStrategy: LiveMigrate, template: {{{shared}}}"),
            "",
        ),
        ("evictionStrategy: External", ""),
        (
            "evictionStrategy: LiveMigrate",
            ".evictionStrategy Forbidden: machines cannot migrate: volume \"root-disk\" is not ReadWriteMany",
        ),
        (
            &format!(
                "evictionStrategy: LiveMigrate, template: {{{shared}, secondaryDisks: [{{size: 1Gi, storageAccessType: ReadWriteOnce}}]}}"
            ),
            ".evictionStrategy Forbidden: machines cannot migrate: volume \"secondary-disk-0\" is not ReadWriteMany",
        ),
    ]);
}

#[test]
fn preallocated_disks_are_valid_and_clones_are_not_smaller() {
    let with = |disks: &str, size: &str| {
        let infrastructure = format!(
            "type: kubevirt\n    infrastructureConfig: {{apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1, kind: InfrastructureConfig, preAllocatedDataVolumes: [{disks}]}}"
        );
        let config = format!("template: {{primaryDisk: {{osImage: a, size: {size}}}}}");
        check(&[
            ("type: kubevirt", &infrastructure),
            ("minimum: 1", &self::with(&config)),
        ])
    };
    let good = "{name: a, url: \"https://x/y\", size: 5Gi, storageClass: fast}";
    assert_eq!(with(good, "5Gi"), "");
    assert_eq!(
        with(good, "4Gi"),
        format!(
            "{AT}.template.primaryDisk.size Invalid: must be at least 5Gi, the size of disk \"a\" (is 4Gi)\n"
        )
    );
    let bad = "{name: a, url: x y, size: 0Gi, storageClass: A}";
    let at = "spec.provider.infrastructureConfig.preAllocatedDataVolumes";
    assert_eq!(
        with(&format!("{good}, {bad}"), "5Gi"),
        format!(
            "{at}[1].name Duplicate: duplicate disk \"a\"\n{at}[1].size Invalid: must be greater than 0 (is 0Gi)\n{at}[1].storageClass Invalid: \"A\" is not a valid object name\n{at}[1].url Invalid: \"x y\" is not a valid image URL\n"
        )
    );
}

#[test]
fn a_template_replaces_types_of_the_profile() {
    let config = "template: {vcpus: {cores: 3}, memory: 6Gi, primaryDisk: {osImage: images/debian, size: 7Gi, storageClassName: fast}, secondaryDisks: [{size: 1Gi}]}";
    let text = SHOOT
        .replace("type: small", "type: anything")
        .replace("      volume: {type: standard, size: 20Gi}\n", "")
        .replace("minimum: 1", &with(config));
    let pool = valid_for_tests(&text).pools.remove(0);
    assert_eq!(pool.machine_type.memory.to_string(), "6Gi");
    let name = "debian".to_owned();
    let namespace = Some("images".to_owned());
    assert_eq!(pool.image.source, ImageSource::Claim { namespace, name });
    assert_eq!(
        (pool.root.class.as_str(), pool.root.size.to_string()),
        ("fast", "7Gi".to_owned())
    );
    assert_eq!(pool.root.api, VolumeApi::Storage { access: None });
    let [disk] = pool.data.as_slice() else {
        panic!("{:?}", pool.data)
    };
    assert_eq!(
        (disk.volume.class.as_str(), disk.volume.size.to_string()),
        ("fast", "1Gi".to_owned())
    );
}

#[test]
fn machines_in_several_zones_cannot_be_required_on_one_host() {
    let config = format!("minimum: 2\n      {HEAD}affinity: {{podAffinityPreset: hard}}}}");
    let two = [
        ("minimum: 1", config.as_str()),
        ("maximum: 1", "maximum: 2"),
    ];
    assert_eq!(check(&two), "");
    let zones = (
        "zones: [europe-west1-c]",
        "zones: [europe-west1-c, europe-west1-b]",
    );
    assert_eq!(
        check(&[two[0], two[1], zones]),
        format!(
            "{AT}.affinity.podAffinityPreset Forbidden: machines in several zones cannot be on one host\n"
        )
    );
}

#[test]
fn the_disk_of_the_kubelet_has_a_serial_number_that_a_shell_can_read() {
    let volumes =
        "dataVolumes: [{name: data, type: fast, size: 10Gi}]\n      kubeletDataVolumeName: data";
    let with = |serial: &str| {
        let config = with(&format!(
            "devices: {{disks: [{{name: data, disk: {{}}{serial}}}]}}"
        ));
        let changed = format!("{config}\n      {volumes}");
        check(&[("minimum: 1", &changed)])
    };
    assert_eq!(with(""), "");
    assert_eq!(with(", serial: A-1_b.2"), "");
    for serial in ["\"a'b\"", "a234567890123456789012"] {
        let found = with(&format!(", serial: {serial}"));
        assert!(
            found.starts_with(&format!("{AT}.devices.disks[0].serial Invalid: ")),
            "{found}"
        );
    }
}
