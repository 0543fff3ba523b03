use super::{check_update, check_update_of_profile};

#[test]
fn immutable_fields_cannot_be_changed() {
    for (old, new, expected) in [
        (
            "type: calico",
            "type: cilium",
            "spec.networking.type Invalid: immutable (was calico)\n",
        ),
        (
            "10.244.0.0/16",
            "10.245.0.0/16",
            "spec.networking.nodes Invalid: immutable (was 10.244.0.0/16)\n",
        ),
        (
            "type: calico",
            "type: calico\n    pods: 10.0.0.0/12",
            "spec.networking.pods Invalid: immutable (was 100.96.0.0/11)\n",
        ),
        ("type: calico", "type: calico\n    pods: 100.96.0.0/11", ""),
        (
            "[europe-west1-c]",
            "[europe-west1-b]",
            "spec.provider.workers[0].zones Invalid: zones can only be appended to europe-west1-c\n",
        ),
        (
            "maximum: 1",
            "maximum: 1\n      cri: {name: containerd}",
            "",
        ),
    ] {
        assert_eq!(check_update(&[], &[(old, new)]), expected, "{new}");
    }
    assert_eq!(
        check_update(
            &[],
            &[
                ("maximum: 1", "maximum: 2"),
                ("minimum: 1", "minimum: 2"),
                ("[europe-west1-c]", "[europe-west1-c, europe-west1-d]")
            ]
        ),
        ""
    );
}

/// Its members would found a second cluster, or lose their quorum.
#[test]
fn the_number_of_etcd_members_cannot_be_changed() {
    let tolerance = |of: &str| {
        format!(
            "controlPlane: {{highAvailability: {{failureTolerance: {{type: {of}}}}}}}\n  region"
        )
    };
    let edit = |from: &str, to: &str| {
        let text = |of: &str| match of {
            "" => "region".to_owned(),
            of => tolerance(of),
        };
        check_update(&[("region", &text(from))], &[("region", &text(to))])
    };
    for (from, to) in [
        ("none", "node"),
        ("node", "none"),
        ("node", "zone"),
        ("zone", "node"),
    ] {
        assert_eq!(
            edit(from, to),
            format!(
                "spec.controlPlane.highAvailability.failureTolerance.type Forbidden: \
                 cannot be changed from {from} to {to}: the members of etcd are fixed\n"
            )
        );
    }
    assert!(edit("", "zone").contains("from none to zone"));
    assert!(edit("zone", "").contains("from zone to none"));
    for same in [("", "none"), ("none", ""), ("zone", "zone")] {
        assert_eq!(edit(same.0, same.1), "", "{same:?}");
    }
}

#[test]
fn kubernetes_is_upgraded_one_minor_version_at_a_time() {
    let to = |from: &str, to: &str| check_update(&[("\"1.34\"", from)], &[("\"1.34\"", to)]);
    assert_eq!(to("1.33.5", "1.34.2"), "");
    assert_eq!(to("1.34.2", "\"1.34\""), "");
    assert_eq!(
        to("1.34.2", "1.34.1"),
        "spec.kubernetes.version Forbidden: cannot be downgraded from 1.34.2 to 1.34.1\n"
    );
    assert_eq!(
        to("1.33.5", "1.35.0"),
        "spec.kubernetes.version Forbidden: cannot skip minor versions between 1.33.5 and 1.35.0\n"
    );
}

#[test]
fn unchanged_values_are_not_validated_again() {
    let gone = [
        ("    - version: 1.34.2\n", ""),
        (
            "  - name: small\n    cpu: \"1\"\n    gpu: \"0\"\n    memory: 4Gi\n",
            "",
        ),
        ("  - name: standard\n    class: standard-rwo\n", ""),
        ("    - name: europe-west1-c\n", ""),
    ];
    assert_eq!(check_update_of_profile(&[], &[], &gone), "");
    // A new pool must use the current profile.
    assert_eq!(
        check_update_of_profile(&[], &[("- name: cpu", "- name: new")], &gone),
        "spec.provider.workers[0].zones[0] NotSupported: zone \"europe-west1-c\" not found in region \"europe-west1\"\n\
         spec.provider.workers[0].machine.type NotSupported: machine type \"small\" not found in CloudProfile \"kubevirt\"\n\
         spec.provider.workers[0].volume.type NotSupported: volume type \"standard\" not found in CloudProfile \"kubevirt\"\n"
    );
}
