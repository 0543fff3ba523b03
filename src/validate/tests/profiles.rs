use super::{PROFILE, SHOOT, changed, check_profile, lines, table, verdict};

#[test]
fn entries_of_a_profile_are_unique_and_valid() {
    table(
        check_profile,
        &[
            (
                "- version: 1.33.5",
                "- version: 1.34.2",
                "spec.kubernetes.versions[3].version Duplicate: duplicate version \"1.34.2\"",
            ),
            (
                "- version: 1.33.5",
                "- version: v1.33",
                "spec.kubernetes.versions[3].version Invalid: \"v1.33\" is not a full version",
            ),
            (
                "classification: preview",
                "classification: fresh",
                "spec.kubernetes.versions[0].classification NotSupported: unsupported value \"fresh\"",
            ),
            (
                "classification: preview",
                "expirationDate: \"2027-01-01T00:00:00Z\"",
                "spec.kubernetes.versions[0].expirationDate Invalid: newest version 1.35.0 must not expire",
            ),
            (
                "\"2026-06-30T23:59:59Z\"",
                "soon",
                "spec.kubernetes.versions[2].expirationDate Invalid: \"soon\" is not a valid timestamp",
            ),
            (
                "    - version: 1.34.2\n",
                "    - {version: 1.34.2, classification: supported}\n    - {version: 1.34.0, classification: supported}\n",
                "spec.kubernetes.versions[2].classification Forbidden: only one version of 1.34 can be classified as supported",
            ),
            (
                "  - name: large\n    cpu: \"4\"",
                "  - name: small\n    cpu: \"-4\"",
                "spec.machineTypes[1].name Duplicate: duplicate name \"small\"\nspec.machineTypes[1].cpu Invalid: must be at least 0 (is -4)\nwarning: spec.providerConfig.machineTypes[0].name: machine type \"large\" not found in spec.machineTypes",
            ),
            (
                "- name: europe-west1-d",
                "- name: europe-west1-c",
                "spec.regions[0].zones[2].name Duplicate: duplicate name \"europe-west1-c\"",
            ),
            (
                "class: fast-rwo",
                "class: Fast",
                "spec.volumeTypes[1].class Invalid: \"Fast\" is not a valid StorageClass name",
            ),
        ],
    );
}

#[test]
fn findings_in_the_provider_config_have_full_paths() {
    table(
        check_profile,
        &[
            (
                "    machineImages:",
                "    componentImages: {etdc: example.org/etcd:1, coredns: \"https://example.org/dns\", pause: example.org/pause:3}\n    machineImages:",
                "spec.providerConfig.componentImages.coredns Invalid: \"https://example.org/dns\" is not a valid image reference\nspec.providerConfig.componentImages.etdc NotSupported: unknown component \"etdc\"",
            ),
            (
                "    - name: flatcar\n      versions:\n      - version: 3815.2.0",
                "    - name: flatcat\n      versions:\n      - version: 3815.2.0",
                "spec.providerConfig.machineImages[1].name Forbidden: machine image \"flatcat\" not found in spec.machineImages\nspec.machineImages[1].name Invalid: machine image \"flatcar\" not found in spec.providerConfig.machineImages",
            ),
            (
                "      - version: \"22.04\"\n        sourceURL: https://images.example.org/ubuntu-22.04.img\n",
                "",
                "spec.providerConfig.machineImages[0] Invalid: missing versions: 22.04",
            ),
            (
                "https://images.example.org/ubuntu-24.04.img",
                "https://user:word@example.org/u.img",
                "spec.providerConfig.machineImages[0].versions[1].sourceURL Forbidden: must not contain credentials",
            ),
            (
                "https://images.example.org/ubuntu-24.04.img",
                "nowhere",
                "spec.providerConfig.machineImages[0].versions[1].sourceURL Invalid: not a valid URL",
            ),
            (
                "https://images.example.org/ubuntu-24.04.img",
                "ftp://example.org/u.img",
                "spec.providerConfig.machineImages[0].versions[1].sourceURL NotSupported: unsupported URL scheme \"ftp\"",
            ),
            (
                "https://images.example.org/ubuntu-24.04.img",
                "http://example.org/u.img",
                "warning: spec.providerConfig.machineImages[0].versions[1].sourceURL: plain http: the image can be modified in transit",
            ),
            (
                "memory: 32Gi",
                "memory: 8Gi",
                "spec.providerConfig.machineTypes[0].limits.memory Invalid: must be at least 16Gi, as in machine type \"large\" (is 8Gi)",
            ),
            ("{cpu: \"8\", memory: 32Gi}", "{cpu: \"8\"}", ""),
            (
                "    machineImages:",
                "    storageClasses: [{name: Fast, isDefaultClass: true}, {name: slow, isDefaultClass: true, reclaimPolicy: Keep}]\n    machineImages:",
                "spec.providerConfig.storageClasses[1].reclaimPolicy NotSupported: unsupported value \"Keep\"\nspec.providerConfig.storageClasses[0].name Invalid: \"Fast\" is not a valid object name\nspec.providerConfig.storageClasses[1].isDefaultClass Duplicate: only one class can be the default",
            ),
            (
                "    machineImages:",
                "    volumeSnapshotClasses: [{name: a, deletionPolicy: Recycle}, {name: a}]\n    machineImages:",
                "spec.providerConfig.volumeSnapshotClasses[0].deletionPolicy NotSupported: unsupported value \"Recycle\"\nspec.providerConfig.volumeSnapshotClasses[1].name Duplicate: duplicate name \"a\"",
            ),
            (
                "    machineImages:",
                "    templateNamespace: Templates.example\n    machineImages:",
                "spec.providerConfig.templateNamespace Invalid: \"Templates.example\" is not a valid namespace name",
            ),
            (
                "    machineImages:",
                "    templateNamespace: templates\n    disableDefaultInstanceTypes: true\n    disableDefaultPreferences: true\n    machineImages:",
                "",
            ),
        ],
    );
}

#[test]
fn types_that_are_unusable_or_not_in_the_zone_are_rejected() {
    table(
        check_profile,
        &[
            (
                "    memory: 4Gi",
                "    memory: 4Gi\n    usable: false",
                "spec.provider.workers[0].machine.type NotSupported: machine type \"small\" cannot be used for new machines",
            ),
            (
                "    - name: europe-west1-c",
                "    - name: europe-west1-c\n      unavailableMachineTypes: [small]\n      unavailableVolumeTypes: [standard]",
                "spec.provider.workers[0].machine.type NotSupported: machine type \"small\" is not available in zone \"europe-west1-c\"\nspec.provider.workers[0].volume.type NotSupported: volume type \"standard\" is not available in zone \"europe-west1-c\"",
            ),
            (
                "    class: standard-rwo",
                "    class: standard-rwo\n    usable: false",
                "spec.provider.workers[0].volume.type NotSupported: volume type \"standard\" cannot be used for new machines",
            ),
            (
                "https://images.example.org/ubuntu-22.04.img",
                "file:///etc/hostname",
                "spec.providerConfig.machineImages[0].versions[0].sourceURL NotSupported: unsupported URL scheme \"file\"",
            ),
            (
                "version: 1.35.0\n",
                "version: 1.35.0\n      expirationDate: soon\n",
                "spec.kubernetes.versions[0].expirationDate Invalid: \"soon\" is not a valid timestamp",
            ),
            (
                "    gpu: \"0\"",
                "    gpu: \"1\"",
                "warning: spec.provider.workers[0].machine.type: machine type \"small\" has 1 GPU, but the pool attaches 0",
            ),
            (
                "    class: standard-rwo",
                "    class: standard-rwo\n    minSize: 50Gi",
                "spec.provider.workers[0].volume.size Invalid: must be at least 50Gi, the minimum of volume type \"standard\" (is 20Gi)",
            ),
        ],
    );
}

#[test]
fn expired_and_unsupported_versions_are_rejected() {
    let findings = |shoot: &[(&str, &str)], profile: &[(&str, &str)]| {
        let (shoot, profile) = (changed(SHOOT, shoot), changed(PROFILE, profile));
        lines(&verdict(&format!("{shoot}---\n{profile}")))
    };
    assert_eq!(
        findings(
            &[("\"1.34\"", "1.34.1")],
            &[("2026-06-30T23:59:59Z", "2025-06-30T23:59:59Z")]
        ),
        "spec.kubernetes.version NotSupported: Kubernetes version \"1.34.1\" not found in CloudProfile \"kubevirt\"\n"
    );
    assert_eq!(
        findings(&[("\"1.34\"", "1.30.5")], &[("1.33.5", "1.30.5")]),
        "spec.kubernetes.version NotSupported: kvshoot does not support Kubernetes 1.30.5\n"
    );
    let expired = (
        "    - version: \"24.04\"\n  - name: flatcar",
        "    - version: \"24.04\"\n      expirationDate: \"2025-06-30T23:59:59Z\"\n  - name: flatcar",
    );
    assert_eq!(findings(&[], &[expired]), "");
    assert_eq!(
        findings(
            &[(
                "type: small",
                "type: small, image: {name: ubuntu, version: \"24.04\"}"
            )],
            &[expired]
        ),
        "spec.provider.workers[0].machine.image.version NotSupported: version \"24.04\" of machine image \"ubuntu\" is expired\n"
    );
}
