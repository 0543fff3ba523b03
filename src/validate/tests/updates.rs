use super::{check_update, check_update_of_profile};

#[test]
fn what_is_fixed_cannot_be_changed() {
    for (old, new, expected) in [
        (
            "type: calico",
            "type: cilium",
            "spec.networking.type Invalid: cannot be changed from calico\n",
        ),
        (
            "10.244.0.0/16",
            "10.245.0.0/16",
            "spec.networking.nodes Invalid: cannot be changed from 10.244.0.0/16\n",
        ),
        (
            "type: calico",
            "type: calico\n    pods: 10.0.0.0/12",
            "spec.networking.pods Invalid: cannot be changed from 100.96.0.0/11\n",
        ),
        ("type: calico", "type: calico\n    pods: 100.96.0.0/11", ""),
        (
            "[europe-west1-c]",
            "[europe-west1-b]",
            "spec.provider.workers[0].zones Invalid: were europe-west1-c; new ones can only be added at the end\n",
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

#[test]
fn kubernetes_goes_up_one_minor_version_at_a_time() {
    let to = |from: &str, to: &str| check_update(&[("\"1.34\"", from)], &[("\"1.34\"", to)]);
    assert_eq!(to("1.33.5", "1.34.2"), "");
    assert_eq!(to("1.34.2", "\"1.34\""), "");
    assert_eq!(
        to("1.34.2", "1.34.1"),
        "spec.kubernetes.version Forbidden: is 1.34.1, below 1.34.2, which the shoot has\n"
    );
    assert_eq!(
        to("1.33.5", "1.35.0"),
        "spec.kubernetes.version Forbidden: is 1.35.0, more than one minor version above 1.33.5\n"
    );
}

#[test]
fn what_is_unchanged_is_not_judged_again() {
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
    // A pool that is new has to choose from what is there.
    assert_eq!(
        check_update_of_profile(&[], &[("- name: cpu", "- name: new")], &gone),
        "spec.provider.workers[0].zones[0] NotSupported: europe-west1-c is not offered\n\
         spec.provider.workers[0].machine.type NotSupported: small is not offered\n\
         spec.provider.workers[0].volume.type NotSupported: standard is not offered\n"
    );
}
