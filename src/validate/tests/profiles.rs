use super::{PROFILE, SHOOT, changed, check_profile, lines, table, verdict};

#[test]
fn what_is_offered_is_named_once_and_well() {
    table(
        check_profile,
        &[
            (
                "- version: 1.33.5",
                "- version: 1.34.2",
                "spec.kubernetes.versions[3].version Duplicate: 1.34.2 is there already",
            ),
            (
                "- version: 1.33.5",
                "- version: v1.33",
                "spec.kubernetes.versions[3].version Invalid: \"v1.33\" is no version of three numbers",
            ),
            (
                "classification: preview",
                "classification: fresh",
                "spec.kubernetes.versions[0].classification NotSupported: \"fresh\" is not supported",
            ),
            (
                "classification: preview",
                "expirationDate: \"2027-01-01T00:00:00Z\"",
                "spec.kubernetes.versions[0].expirationDate Invalid: 1.35.0 is the newest version, which must not expire",
            ),
            (
                "\"2026-06-30T23:59:59Z\"",
                "soon",
                "spec.kubernetes.versions[2].expirationDate Invalid: \"soon\" is no time",
            ),
            (
                "    - version: 1.34.2\n",
                "    - {version: 1.34.2, classification: supported}\n    - {version: 1.34.0, classification: supported}\n",
                "spec.kubernetes.versions[2].classification Forbidden: another version of 1.34 is the supported one already",
            ),
            (
                "  - name: large\n    cpu: \"4\"",
                "  - name: small\n    cpu: \"-4\"",
                "spec.machineTypes[1].name Duplicate: small is there already\nspec.machineTypes[1].cpu Invalid: is -4, below nothing\nwarning: spec.providerConfig.machineTypes[0].name: the profile has no machine type large",
            ),
            (
                "- name: europe-west1-d",
                "- name: europe-west1-c",
                "spec.regions[0].zones[2].name Duplicate: europe-west1-c is there already",
            ),
            (
                "class: fast-rwo",
                "class: Fast",
                "spec.volumeTypes[1].class Invalid: \"Fast\" is no name of a StorageClass",
            ),
        ],
    );
}

#[test]
fn paths_inside_the_configuration_are_whole() {
    table(
        check_profile,
        &[
            (
                "    machineImages:",
                "    componentImages: {etdc: example.org/etcd:1, coredns: \"https://example.org/dns\", pause: example.org/pause:3}\n    machineImages:",
                "spec.providerConfig.componentImages.coredns Invalid: \"https://example.org/dns\" is no image\nspec.providerConfig.componentImages.etdc NotSupported: no component is called etdc",
            ),
            (
                "    - name: flatcar\n      versions:\n      - version: 3815.2.0",
                "    - name: flatcat\n      versions:\n      - version: 3815.2.0",
                "spec.providerConfig.machineImages[1].name Forbidden: the profile has no image flatcat\nspec.machineImages[1].name Invalid: flatcar has no entry in spec.providerConfig.machineImages",
            ),
            (
                "      - version: \"22.04\"\n        sourceURL: https://images.example.org/ubuntu-22.04.img\n",
                "",
                "spec.providerConfig.machineImages[0] Invalid: missing versions: 22.04",
            ),
            (
                "https://images.example.org/ubuntu-24.04.img",
                "https://user:word@example.org/u.img",
                "spec.providerConfig.machineImages[0].versions[1].sourceURL Forbidden: holds credentials",
            ),
            (
                "https://images.example.org/ubuntu-24.04.img",
                "nowhere",
                "spec.providerConfig.machineImages[0].versions[1].sourceURL Invalid: is no URL",
            ),
            (
                "https://images.example.org/ubuntu-24.04.img",
                "ftp://example.org/u.img",
                "spec.providerConfig.machineImages[0].versions[1].sourceURL NotSupported: URLs with ftp are not supported",
            ),
            (
                "https://images.example.org/ubuntu-24.04.img",
                "http://example.org/u.img",
                "warning: spec.providerConfig.machineImages[0].versions[1].sourceURL: is plain http: whoever is on the way can change the image",
            ),
            (
                "memory: 32Gi",
                "memory: 8Gi",
                "spec.providerConfig.machineTypes[0].limits.memory Invalid: is 8Gi, below the 16Gi that large has",
            ),
            ("{cpu: \"8\", memory: 32Gi}", "{cpu: \"8\"}", ""),
            (
                "    machineImages:",
                "    storageClasses: [{name: Fast, isDefaultClass: true}, {name: slow, isDefaultClass: true, reclaimPolicy: Keep}]\n    machineImages:",
                "spec.providerConfig.storageClasses[1].reclaimPolicy NotSupported: \"Keep\" is not supported\nspec.providerConfig.storageClasses[0].name Invalid: \"Fast\" is no name of an object\nspec.providerConfig.storageClasses[1].isDefaultClass Duplicate: there is a default class already",
            ),
            (
                "    machineImages:",
                "    volumeSnapshotClasses: [{name: a, deletionPolicy: Recycle}, {name: a}]\n    machineImages:",
                "spec.providerConfig.volumeSnapshotClasses[0].deletionPolicy NotSupported: \"Recycle\" is not supported\nspec.providerConfig.volumeSnapshotClasses[1].name Duplicate: a is there already",
            ),
            (
                "    machineImages:",
                "    templateNamespace: Templates.example\n    machineImages:",
                "spec.providerConfig.templateNamespace Invalid: \"Templates.example\" is no name of a namespace",
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
fn what_is_not_usable_or_not_in_the_zone_is_not_offered() {
    table(
        check_profile,
        &[
            (
                "    memory: 4Gi",
                "    memory: 4Gi\n    usable: false",
                "spec.provider.workers[0].machine.type NotSupported: small is not offered",
            ),
            (
                "    - name: europe-west1-c",
                "    - name: europe-west1-c\n      unavailableMachineTypes: [small]\n      unavailableVolumeTypes: [standard]",
                "spec.provider.workers[0].machine.type NotSupported: small is not there in zone europe-west1-c\nspec.provider.workers[0].volume.type NotSupported: standard is not there in zone europe-west1-c",
            ),
            (
                "    gpu: \"0\"",
                "    gpu: \"1\"",
                "warning: spec.provider.workers[0].machine.type: small is offered with 1 GPU, and the machines get none",
            ),
            (
                "    class: standard-rwo",
                "    class: standard-rwo\n    minSize: 50Gi",
                "spec.provider.workers[0].volume.size Invalid: is 20Gi, below the 50Gi that standard has at least",
            ),
        ],
    );
}

#[test]
fn what_is_expired_or_unknown_to_kvshoot_cannot_be_chosen() {
    let told = |shoot: &[(&str, &str)], profile: &[(&str, &str)]| {
        let (shoot, profile) = (changed(SHOOT, shoot), changed(PROFILE, profile));
        lines(&verdict(&format!("{shoot}---\n{profile}")))
    };
    assert_eq!(
        told(
            &[("\"1.34\"", "1.34.1")],
            &[("2026-06-30T23:59:59Z", "2025-06-30T23:59:59Z")]
        ),
        "spec.kubernetes.version NotSupported: 1.34.1 is not offered\n"
    );
    assert_eq!(
        told(&[("\"1.34\"", "1.30.5")], &[("1.33.5", "1.30.5")]),
        "spec.kubernetes.version NotSupported: 1.30.5 is not supported by kvshoot\n"
    );
    let expired = (
        "    - version: \"24.04\"\n  - name: flatcar",
        "    - version: \"24.04\"\n      expirationDate: \"2025-06-30T23:59:59Z\"\n  - name: flatcar",
    );
    assert_eq!(told(&[], &[expired]), "");
    assert_eq!(
        told(
            &[(
                "type: small",
                "type: small, image: {name: ubuntu, version: \"24.04\"}"
            )],
            &[expired]
        ),
        "spec.provider.workers[0].machine.image.version NotSupported: 24.04 of ubuntu is expired\n"
    );
}
