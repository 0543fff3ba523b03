use super::{check, table};

#[test]
fn names_have_to_leave_room_for_those_of_machines() {
    table(
        check,
        &[
            (
                "name: demo",
                "name: Demo",
                "metadata.name Invalid: \"Demo\" is no DNS label",
            ),
            (
                "name: demo",
                "name: de--mo",
                "metadata.name Invalid: \"de--mo\" has two - in a row",
            ),
            (
                "name: demo",
                "name: demonstration-of-it",
                "metadata.name TooLong: has 22 characters together with the project dev, more than 21",
            ),
            (
                "garden-dev",
                "garden-a--b",
                "metadata.namespace Invalid: \"a--b\" has two - in a row",
            ),
            ("  namespace: garden-dev\n", "", ""),
            (
                "  namespace: garden-dev\n",
                "  annotations: {shoot.gardener.cloud/expiration-timestamp: \"2026-12-24T18:00:00+01:00\"}\n",
                "",
            ),
            (
                "  namespace: garden-dev\n",
                "  annotations: {shoot.gardener.cloud/expiration-timestamp: tomorrow}\n",
                "metadata.annotations[shoot.gardener.cloud/expiration-timestamp] Invalid: \"tomorrow\" is no time",
            ),
            (
                "  namespace: garden-dev\n",
                "  labels: {a b: c}\n",
                "metadata.labels[a b] Invalid: \"a b\" is no key of a label",
            ),
        ],
    );
}

#[test]
fn versions_come_from_the_profile() {
    table(
        check,
        &[
            ("\"1.34\"", "1.34.1", ""),
            (
                "\"1.34\"",
                "\"1.35\"",
                "spec.kubernetes.version NotSupported: 1.35 is not offered",
            ),
            ("\"1.34\"", "1.35.0", ""),
            (
                "\"1.34\"",
                "1.30.1",
                "spec.kubernetes.version NotSupported: 1.30.1 is not offered",
            ),
            (
                "\"1.34\"",
                "v1.34",
                "spec.kubernetes.version Invalid: \"v1.34\" is no version",
            ),
            (
                "\"1.34\"",
                "latest",
                "spec.kubernetes.version Invalid: \"latest\" is no version",
            ),
        ],
    );
}

#[test]
fn ranges_are_canonical_and_disjoint() {
    table(
        check,
        &[
            (
                "10.244.0.0/16",
                "10.244.0.1/16",
                "spec.networking.nodes Invalid: 10.244.0.1/16 has bits set behind its prefix",
            ),
            (
                "10.244.0.0/16",
                "10.244.0.0",
                "spec.networking.nodes Invalid: \"10.244.0.0\" is no range of addresses; write for example 10.0.0.0/16",
            ),
            (
                "10.244.0.0/16",
                "fd00::/64",
                "spec.networking.nodes NotSupported: ranges of IPv6 are not supported",
            ),
            (
                "10.244.0.0/16",
                "100.100.0.0/16",
                "spec.networking.pods Invalid: 100.96.0.0/11 overlaps with 100.100.0.0/16 of nodes",
            ),
            (
                "nodes: 10.244.0.0/16",
                "nodes: 10.244.0.0/16\n    services: 10.244.0.0/24",
                "spec.networking.services Invalid: 10.244.0.0/24 overlaps with 10.244.0.0/16 of nodes",
            ),
            (
                "nodes: 10.244.0.0/16",
                "nodes: 10.244.0.0/16\n    pods: 10.1.0.0/25",
                "spec.networking.pods Invalid: 10.1.0.0/25 has room for 0 nodes, and the pools have 1",
            ),
        ],
    );
}

#[test]
fn fields_of_the_spec_are_judged() {
    table(
        check,
        &[
            (
                "region: europe-west1",
                "region: europe-west2",
                "spec.region NotSupported: europe-west2 is not offered",
            ),
            (
                "region: europe-west1",
                "region: default",
                "spec.provider.workers[0].zones[0] NotSupported: europe-west1-c is not offered",
            ),
            (
                "region: europe-west1",
                "region: europe-west1\n  purpose: fun",
                "spec.purpose NotSupported: \"fun\" is not supported",
            ),
            (
                "type: kubevirt",
                "type: aws",
                "spec.provider.type NotSupported: \"aws\" is not supported",
            ),
            (
                "  cloudProfileName: kubevirt\n",
                "",
                "spec.cloudProfileName Required: is required",
            ),
            (
                "  cloudProfileName: kubevirt\n",
                "  cloudProfile: {name: kubevirt}\n",
                "",
            ),
            (
                "  cloudProfileName: kubevirt\n",
                "  cloudProfileName: a\n  cloudProfile: {name: b}\n",
                "spec.cloudProfileName Invalid: is a, and cloudProfile.name is b",
            ),
            (
                "  region",
                "  hibernation: {enabled: true}\n  region",
                "spec.hibernation.enabled NotSupported: hibernation is not supported yet",
            ),
            (
                "  region",
                "  maintenance: {timeWindow: {begin: 220000+0100, end: 220500+0100}}\n  region",
                "spec.maintenance.timeWindow Forbidden: is 5 minutes long, not within 30 and 360",
            ),
            (
                "  region",
                "  maintenance: {timeWindow: {begin: 233000+0000, end: 013000+0100}}\n  region",
                "",
            ),
            (
                "  region",
                "  maintenance: {timeWindow: {begin: 22h, end: 013000+0100}}\n  region",
                "spec.maintenance.timeWindow.begin Invalid: \"22h\" is no time of day",
            ),
        ],
    );
}

#[test]
fn kubelets_and_proxies_have_bounds() {
    let kubernetes = "    version: \"1.34\"";
    let with = |settings: &str| check(&[(kubernetes, &format!("{kubernetes}\n    {settings}"))]);
    assert_eq!(
        with("kubelet: {maxPods: -1}"),
        "spec.kubernetes.kubelet.maxPods Invalid: is -1, below 0\n"
    );
    assert_eq!(
        with("kubelet: {podPidsLimit: 5}"),
        "spec.kubernetes.kubelet.podPidsLimit Invalid: is 5, below 100\n"
    );
    assert_eq!(
        with("kubeProxy: {mode: Userspace}"),
        "spec.kubernetes.kubeProxy.mode NotSupported: \"Userspace\" is not supported\n"
    );
    assert_eq!(
        with("kubeControllerManager: {nodeCIDRMaskSize: 26}"),
        "spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize Invalid: leaves 62 addresses on a node for 110 pods\n"
    );
    assert_eq!(
        with("kubelet: {evictionHard: {memoryAvailable: lots, disk: 5%}}"),
        "spec.kubernetes.kubelet.evictionHard.disk Unknown: there is no field disk here\n\
         spec.kubernetes.kubelet.evictionHard.memoryAvailable Invalid: \"lots\" is neither an amount nor a share\n"
    );
}

#[test]
fn networks_are_judged_with_their_configuration() {
    let with = |networks: &str| {
        let config = "infrastructureConfig: {apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1, kind: InfrastructureConfig, networks: ";
        check(&[(
            "    type: kubevirt",
            &format!("    type: kubevirt\n    {config}{networks}}}"),
        )])
    };
    let path = "spec.provider.infrastructureConfig.networks";
    let cni = r#"'{"cniVersion": "0.4.0", "type": "bridge"}'"#;
    assert_eq!(
        with(&format!(
            "{{tenantNetworks: [{{name: a, config: {cni}, default: true}}]}}"
        )),
        ""
    );
    assert_eq!(
        with(&format!(
            "{{tenantNetworks: [{{name: a, config: {cni}, default: true}}, {{name: a, config: {cni}, default: true}}]}}"
        )),
        format!(
            "{path}.tenantNetworks[1] Duplicate: tenant network a is there already\n{path}.tenantNetworks[1].default Invalid: another network is the default already\n"
        )
    );
    for (config, expected) in [
        (r"'{'", "is no JSON: EOF while parsing an object"),
        (r"'null'", "is no JSON object"),
        (r#"'{"type": "bridge"}'"#, "has no cniVersion"),
        (
            r#"'{"cniVersion": "0.4.0"}'"#,
            "the configuration has no type",
        ),
        (
            r#"'{"cniVersion": "0.4.0", "type": "../../bin/sh"}'"#,
            "the configuration has the type \"../../bin/sh\", which is a path",
        ),
        (
            r#"'{"cniVersion": "0.4.0", "plugins": [{"type": "bridge"}, {}]}'"#,
            "plugins[1] has no type",
        ),
        (
            r#"'{"cniVersion": "0.4.0", "plugins": []}'"#,
            "has plugins that are no list of at least one",
        ),
        (
            r#"'{"cniVersion": "0.4.0", "type": "a", "type": "b"}'"#,
            "is no JSON: key \"type\" is there twice",
        ),
    ] {
        let told = with(&format!(
            "{{tenantNetworks: [{{name: a, config: {config}}}]}}"
        ));
        assert_eq!(
            told,
            format!("{path}.tenantNetworks[0].config Invalid: {expected}\n")
        );
    }
    assert_eq!(
        with(&format!(
            "{{tenantNetworks: [{{name: a_b, config: {cni}}}]}}"
        )),
        format!("{path}.tenantNetworks[0].name Invalid: \"a_b\" is no DNS label\n")
    );
    assert_eq!(
        with("{sharedNetworks: [{name: a}, {name: a, namespace: b}, {name: a}]}"),
        format!("{path}.sharedNetworks[2] Duplicate: shared network a is there already\n")
    );
}
