use super::{SHOOT, check, valid_for_tests};
use crate::validate::Claiming;
use crate::validate::image_source::ImageSource;

const AT: &str = "spec.provider.workers[0].providerConfig";
const HEAD: &str = "providerConfig: {apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1, kind: WorkerConfig, ";

fn with(config: &str) -> String {
    format!("minimum: 1\n      {HEAD}{config}}}")
}

/// Rows of a WorkerConfig and what is told below it.
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
fn placement_is_judged() {
    table(&[
        ("affinity: {podAffinityPreset: soft}", ""),
        (
            "affinity: {podAffinityPreset: Soft}",
            ".affinity.podAffinityPreset NotSupported: \"Soft\" is not supported",
        ),
        (
            "affinity: {podAffinityPreset: soft, podAntiAffinityPreset: hard}",
            ".affinity.podAntiAffinityPreset Forbidden: excludes podAffinityPreset",
        ),
        (
            "affinity: {nodeAffinityPreset: {type: hard}}",
            ".affinity.nodeAffinityPreset.key Required: is required for hosts with a label",
        ),
        (
            "affinity: {nodeAffinityPreset: {type: hard, key: a b, values: [c d]}}",
            ".affinity.nodeAffinityPreset.key Invalid: \"a b\" is no key of a label\n.affinity.nodeAffinityPreset.values[0] Invalid: \"c d\" is no value of a label",
        ),
        (
            "topologySpreadConstraints: [{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: Never}]",
            ".topologySpreadConstraints[0].maxSkew Invalid: is 0, below 1\n.topologySpreadConstraints[0].whenUnsatisfiable NotSupported: \"Never\" is not supported",
        ),
        (
            "topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]",
            ".topologySpreadConstraints[1].topologyKey Duplicate: a with DoNotSchedule is there already",
        ),
        (
            "evictionStrategy: None",
            ".evictionStrategy NotSupported: \"None\" is not supported",
        ),
        (
            "location: {zone: a b}",
            ".location.zone Invalid: \"a b\" is no value of a label",
        ),
        ("subnet: A", ".subnet Invalid: \"A\" is no name of a subnet"),
        (
            "instancetype: {name: u1, kind: Flavor}",
            ".instancetype.kind NotSupported: \"Flavor\" is not supported",
        ),
    ]);
}

#[test]
fn a_template_is_whole_and_says_nothing_twice() {
    table(&[
        ("template: {cpus: 2, memory: 4Gi}", ""),
        (
            "template: {cpus: 2}",
            ".template.memory Required: is required beside cpus or vcpus",
        ),
        (
            "template: {memory: 4Gi}",
            ".template.cpus Required: is required beside memory",
        ),
        (
            "template: {cpus: 2, vcpus: {cores: 2}, memory: 4Gi}",
            ".template.vcpus Forbidden: excludes cpus",
        ),
        (
            "template: {vcpus: {cores: 0}, memory: 0Gi}",
            ".template.memory Invalid: is 0Gi, not above 0\n.template.vcpus.cores Invalid: is 0",
        ),
        (
            "instancetype: {name: u1}, template: {cpus: 2, memory: 4Gi}, cpu: {cores: 2}",
            ".template.cpus Forbidden: is what the instancetype says\n.template.memory Forbidden: is what the instancetype says\n.cpu Forbidden: is what the instancetype says",
        ),
        (
            "template: {secondaryDisks: [{size: 1Gi}, {size: 1Gi}, {size: 1Gi}, {size: 1Gi}]}",
            ".template.secondaryDisks Invalid: are 4, and 3 is the most",
        ),
        (
            "template: {secondaryDisks: [{size: 1Gi, storageAccessType: RWX}]}",
            ".template.secondaryDisks[0].storageAccessType NotSupported: \"RWX\" is not supported",
        ),
        (
            "template: {primaryDisk: {osImage: a b}}",
            ".template.primaryDisk.osImage Invalid: \"a b\" is no image of that source",
        ),
        (
            "template: {primaryDisk: {osImage: disk, pullMethod: pod}}",
            ".template.primaryDisk.pullMethod Forbidden: has no meaning for a claim",
        ),
        (
            "template: {primaryDisk: {osImage: \"https://a/b\", extraHeaders: [a, \"b: c\"], extraHeadersSecretRef: d}}",
            ".template.primaryDisk.extraHeadersSecretRef Forbidden: excludes extraHeaders\n.template.primaryDisk.extraHeaders[0] Invalid: is no header",
        ),
    ]);
}

#[test]
fn what_is_to_migrate_has_shared_volumes() {
    let shared = "primaryDisk: {storageAccessType: ReadWriteMany}";
    table(&[
        (
            &format!("evictionStrategy: LiveMigrate, template: {{{shared}}}"),
            "",
        ),
        ("evictionStrategy: External", ""),
        (
            "evictionStrategy: LiveMigrate",
            ".evictionStrategy Forbidden: machines cannot migrate: root-disk is no shared volume",
        ),
        (
            &format!(
                "evictionStrategy: LiveMigrate, template: {{{shared}, secondaryDisks: [{{size: 1Gi, storageAccessType: ReadWriteOnce}}]}}"
            ),
            ".evictionStrategy Forbidden: machines cannot migrate: secondary-disk-0 is no shared volume",
        ),
    ]);
}

#[test]
fn disks_of_the_shoot_are_whole_and_clones_do_not_shrink() {
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
        format!("{AT}.template.primaryDisk.size Invalid: is 4Gi, and a has 5Gi\n")
    );
    let bad = "{name: a, url: x y, size: 0Gi, storageClass: A}";
    let at = "spec.provider.infrastructureConfig.preAllocatedDataVolumes";
    assert_eq!(
        with(&format!("{good}, {bad}"), "5Gi"),
        format!(
            "{at}[1].name Duplicate: there is a disk a already\n{at}[1].size Invalid: is 0Gi, not above 0\n{at}[1].storageClass Invalid: \"A\" is no name of an object\n{at}[1].url Invalid: \"x y\" is no URL of an image\n"
        )
    );
}

#[test]
fn a_template_stands_in_for_what_the_profile_offers() {
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
    assert_eq!(pool.root.claiming, Claiming::Completed { access: None });
    let [disk] = pool.data.as_slice() else {
        panic!("{:?}", pool.data)
    };
    assert_eq!(
        (disk.volume.class.as_str(), disk.volume.size.to_string()),
        ("fast", "1Gi".to_owned())
    );
}
