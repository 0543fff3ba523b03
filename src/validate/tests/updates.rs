use super::{check_update, check_update_of_profile};
use crate::validate::testing::{SHOOT, read, today};
use crate::validate::{Input, validate};

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

/// Members join and leave, but volumes do not move to another zone.
#[test]
fn highly_available_members_of_etcd_cannot_be_spread_otherwise() {
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
    for (from, to) in [("node", "zone"), ("zone", "node")] {
        assert_eq!(
            edit(from, to),
            format!(
                "spec.controlPlane.highAvailability.failureTolerance.type Forbidden: \
                 cannot be changed from {from} to {to}: the volumes of etcd stay in their zones\n"
            )
        );
    }
    for same in [
        ("", "none"),
        ("none", ""),
        ("zone", "zone"),
        ("", "zone"),
        ("node", ""),
        ("none", "node"),
    ] {
        assert_eq!(edit(same.0, same.1), "", "{same:?}");
    }
}

/// Edits of controlPlaneConfig, whose fields follow its kind, and of networks.
fn check_provider(before: (&str, &str), now: (&str, &str)) -> String {
    let text = |(control_plane, networks): (&str, &str)| {
        let head = "apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1, kind";
        format!(
            "type: kubevirt\n    controlPlaneConfig: {{{head}: ControlPlaneConfig{control_plane}}}\n    \
             infrastructureConfig: {{{head}: InfrastructureConfig{networks}}}"
        )
    };
    check_update(
        &[("type: kubevirt", &text(before))],
        &[("type: kubevirt", &text(now))],
    )
}

#[test]
fn the_volumes_of_etcd_only_grow() {
    let check = |before: &str, now: &str| check_provider((before, ""), (now, ""));
    let at = "spec.provider.controlPlaneConfig.etcd";
    let fixed = "the volumes of etcd grow, and are not replaced";
    assert_eq!(check("", ", etcd: {size: 20Gi}"), "");
    assert_eq!(
        check("", ", etcd: {size: 5Gi}"),
        format!("{at}.size Forbidden: cannot be changed from 10Gi to 5Gi: {fixed}\n")
    );
    assert_eq!(
        check(", etcd: {storageClass: fast}", ""),
        format!(
            "{at}.storageClass Forbidden: cannot be changed from \"fast\" to the default of the provider: {fixed}\n"
        )
    );
    assert_eq!(check("", ", etcd: {size: 10240Mi}"), "");
}

/// The pod network reaches a ClusterIP, which stays; another default network reaches only the external address.
#[test]
fn an_exposure_that_machines_depend_on_cannot_be_changed() {
    let network = ", networks: {tenantNetworks: [{name: a, default: true, config: '{\"cniVersion\": \"0.4.0\", \"name\": \"a\", \"type\": \"bridge\"}'}]}";
    let refused = "spec.provider.controlPlaneConfig.exposure Forbidden: cannot be changed: the machines reach the API server at its external address\n";
    let node_port = |more: &str| {
        format!(", exposure: {{type: NodePort, address: 192.0.2.1, nodePort: 30443}}{more}")
    };
    let (plain, balanced) = (node_port(""), ", exposure: {type: LoadBalancer}");
    let check = check_provider;
    assert_eq!(check(("", ""), (&plain, "")), "");
    assert_eq!(check(("", network), (&plain, network)), refused);
    assert_eq!(check(("", network), (balanced, network)), "");
    // The address of the machines does not depend on it.
    let named = node_port(", nodeAddress: api.example.org");
    let other = ", exposure: {type: None}, nodeAddress: api.example.org";
    assert_eq!(check((&named, network), (other, network)), "");
    let same = node_port(", nodeAddress: '192.0.2.1:30443'");
    assert_eq!(check((&same, ""), (balanced, "")), refused);
    // The address may be that of the load balancer.
    let balanced = ", exposure: {type: LoadBalancer}, nodeAddress: '192.0.2.1'";
    let both = "spec.provider.controlPlaneConfig.exposure Forbidden: cannot be changed together with nodeAddress: the machines may use its address until they are replaced\n";
    assert_eq!(check((balanced, ""), (&plain, "")), both);
    let kept = ", exposure: {type: None}, nodeAddress: '192.0.2.1'";
    assert_eq!(check((balanced, ""), (kept, "")), "");
}

#[test]
fn the_former_issuer_of_tokens_stays_accepted() {
    let settings = |text: &str| {
        format!("version: \"1.34\"\n    kubeAPIServer: {{serviceAccountConfig: {{{text}}}}}")
    };
    let version = "version: \"1.34\"";
    let issued = settings("issuer: 'https://a.example.org'");
    assert_eq!(
        check_update(&[], &[(version, &issued)]),
        "spec.kubernetes.kubeAPIServer.serviceAccountConfig.issuer Forbidden: \
         cannot replace \"https://kubernetes.default.svc.cluster.local\", whose tokens are in use\n"
    );
    let both =
        settings("issuer: 'https://b.example.org', acceptedIssuers: ['https://a.example.org']");
    assert_eq!(check_update(&[(version, &issued)], &[(version, &both)]), "");
}

#[test]
fn the_pod_range_of_a_node_cannot_be_changed() {
    let version = "version: \"1.34\"";
    let pods = format!("{version}\n    kubelet: {{maxPods: 200}}");
    let refused = "spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize Invalid: \
         the pod range of each node cannot be changed from /24 to /23\n";
    assert_eq!(check_update(&[], &[(version, &pods)]), refused);
    let pinned = format!("{pods}\n    kubeControllerManager: {{nodeCIDRMaskSize: 24}}");
    assert_eq!(check_update(&[], &[(version, &pinned)]), "");
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
fn a_manifest_that_is_older_than_an_automatic_update_changes_no_version() {
    let automatic = |version: &str, on: bool| {
        format!("{version}\n  maintenance: {{autoUpdate: {{kubernetesVersion: {on}}}}}")
    };
    let to = |from: &str, to: &str, on: bool| {
        check_update(&[("\"1.34\"", from)], &[("\"1.34\"", &automatic(to, on))])
    };
    assert_eq!(
        to("1.34.2", "1.34.1", true),
        "warning: spec.kubernetes.version: the cluster keeps 1.34.2, to which it was updated\n"
    );
    let refused = "spec.kubernetes.version Forbidden: cannot be downgraded";
    assert!(to("1.34.2", "1.34.1", false).starts_with(refused));
    assert!(to("1.34.2", "1.33.5", true).starts_with(refused));

    let (before, profile) = read(&SHOOT.replace("\"1.34\"", "1.34.2"));
    let (now, _) = read(&SHOOT.replace("\"1.34\"", &automatic("1.34.1", true)));
    let outcome = validate(&Input {
        shoot: &std::sync::Arc::new(now),
        profile: &profile,
        previous: Some(&before),
        previous_profile: Some(&profile),
        now: today(),
    });
    let shoot = outcome.shoot.expect("it is valid");
    assert_eq!(shoot.kubernetes, "1.34.2");
    assert_eq!(shoot.manifest.spec.kubernetes.version, "1.34.2");
}

#[test]
fn a_manifest_that_is_older_than_an_automatic_update_changes_no_image() {
    let text = |image: &str, on: bool| {
        let machine = format!("type: small, image: {{name: ubuntu, version: \"{image}\"}}");
        let maintenance = format!(
            "maintenance: {{autoUpdate: {{kubernetesVersion: false, machineImageVersion: {on}}}}}\n  region"
        );
        [("type: small", machine), ("region", maintenance)]
    };
    let to = |from: &str, to: &str, on: bool| {
        let (before, now) = (text(from, on), text(to, on));
        let before = before.each_ref().map(|it| (it.0, it.1.as_str()));
        let now = now.each_ref().map(|it| (it.0, it.1.as_str()));
        check_update(&before, &now)
    };
    assert_eq!(
        to("24.04", "22.04", true),
        "warning: spec.provider.workers[0].machine.image.version: the pool keeps 24.04, to which it was updated\n"
    );
    assert_eq!(to("24.04", "22.04", false), "");
    assert_eq!(to("22.04", "24.04", true), "");
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
    let larger = [(
        "class: standard-rwo",
        "class: standard-rwo\n    minSize: 100Gi",
    )];
    assert_eq!(check_update_of_profile(&[], &[], &larger), "");
    assert_eq!(
        check_update_of_profile(&[], &[("size: 20Gi", "size: 30Gi")], &larger),
        "spec.provider.workers[0].volume.size Invalid: must be at least 100Gi, the minimum of volume type \"standard\" (is 30Gi)\n"
    );
    // A new pool must use the current profile.
    assert_eq!(
        check_update_of_profile(&[], &[("- name: cpu", "- name: new")], &gone),
        "spec.provider.workers[0].zones[0] NotSupported: zone \"europe-west1-c\" not found in region \"europe-west1\"\n\
         spec.provider.workers[0].machine.type NotSupported: machine type \"small\" not found in CloudProfile \"kubevirt\"\n\
         spec.provider.workers[0].volume.type NotSupported: volume type \"standard\" not found in CloudProfile \"kubevirt\"\n"
    );
}
