use super::{SHOOT, changed, check, lines, table, valid_for_tests, verdict};
use crate::validate::control_plane::ApiServerExposure;

#[test]
fn shoot_names_are_valid_and_leave_room_for_machine_names() {
    table(
        check,
        &[
            (
                "name: demo",
                "name: Demo",
                "metadata.name Invalid: \"Demo\" is not a valid DNS label",
            ),
            (
                "name: demo",
                "name: de--mo",
                "metadata.name Invalid: \"de--mo\" must not contain two consecutive hyphens",
            ),
            (
                "name: demo",
                "name: demonstration-of-it",
                "metadata.name TooLong: must be at most 21 characters together with project \"dev\" (is 22)",
            ),
            (
                "garden-dev",
                "garden-a--b",
                "metadata.namespace Invalid: \"a--b\" must not contain two consecutive hyphens",
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
                "metadata.annotations[shoot.gardener.cloud/expiration-timestamp] Invalid: \"tomorrow\" is not a valid timestamp",
            ),
            (
                "  namespace: garden-dev\n",
                "  annotations: {gardener.cloud/created-by: me, example.org/a: b, gardener.cloud/operation: retry, shoot.gardener.cloud/foo: bar}\n",
                "warning: metadata.annotations[gardener.cloud/operation]: has no effect: run `kvshoot apply`, which reconciles\n\
                 warning: metadata.annotations[shoot.gardener.cloud/foo]: has no effect: kvshoot does not read it",
            ),
            (
                "  namespace: garden-dev\n",
                "  labels: {a b: c}\n",
                "metadata.labels[a b] Invalid: \"a b\" is not a valid label key",
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
                "spec.kubernetes.version NotSupported: Kubernetes version \"1.35\" not found in CloudProfile \"kubevirt\"",
            ),
            ("\"1.34\"", "1.35.0", ""),
            (
                "\"1.34\"",
                "1.30.1",
                "spec.kubernetes.version NotSupported: Kubernetes version \"1.30.1\" not found in CloudProfile \"kubevirt\"",
            ),
            (
                "\"1.34\"",
                "v1.34",
                "spec.kubernetes.version Invalid: \"v1.34\" is not a valid Kubernetes version",
            ),
            (
                "\"1.34\"",
                "latest",
                "spec.kubernetes.version Invalid: \"latest\" is not a valid Kubernetes version",
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
                "spec.networking.nodes Invalid: 10.244.0.1/16 has host bits set",
            ),
            (
                "10.244.0.0/16",
                "10.244.0.0",
                "spec.networking.nodes Invalid: \"10.244.0.0\" is not a valid CIDR range, such as 10.0.0.0/16",
            ),
            (
                "10.244.0.0/16",
                "fd00::/64",
                "spec.networking.nodes NotSupported: IPv6 ranges are not supported",
            ),
            (
                "10.244.0.0/16",
                "100.100.0.0/16",
                "spec.networking.pods Invalid: 100.96.0.0/11 overlaps with nodes range 100.100.0.0/16",
            ),
            (
                "nodes: 10.244.0.0/16",
                "nodes: 10.244.0.0/16\n    services: 10.244.0.0/24",
                "spec.networking.services Invalid: 10.244.0.0/24 overlaps with nodes range 10.244.0.0/16",
            ),
            (
                "nodes: 10.244.0.0/16",
                "nodes: 10.244.0.0/16\n    pods: 10.1.0.0/25",
                "spec.networking.pods Invalid: 10.1.0.0/25 has room for 0 nodes, but the pools have 1",
            ),
        ],
    );
}

#[test]
fn fields_of_the_spec_are_validated() {
    table(
        check,
        &[
            (
                "region: europe-west1",
                "region: europe-west2",
                "spec.region NotSupported: region \"europe-west2\" not found in CloudProfile \"kubevirt\"",
            ),
            (
                "region: europe-west1",
                "region: default",
                "spec.provider.workers[0].zones[0] NotSupported: zone \"europe-west1-c\" not found in region \"default\"",
            ),
            (
                "region: europe-west1",
                "region: europe-west1\n  purpose: fun",
                "spec.purpose NotSupported: unsupported value \"fun\"",
            ),
            (
                "type: kubevirt",
                "type: aws",
                "spec.provider.type NotSupported: unsupported value \"aws\"",
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
                "spec.cloudProfileName Invalid: \"a\" differs from cloudProfile.name \"b\"",
            ),
            ("  region", "  hibernation: {enabled: true}\n  region", ""),
            (
                "  region",
                "  hibernation: {schedules: [{start: 0 25 * * *, location: Europe/Berlin}]}\n  region",
                "spec.hibernation.schedules[0].start Invalid: \"0 25 * * *\" is not a valid cron expression: \"25\" is not between 0 and 23",
            ),
            (
                "  region",
                "  hibernation: {schedules: [{start: 0 20 * * *, end: 0 20 * * *}]}\n  region",
                "spec.hibernation.schedules[0].end Duplicate: \"0 20 * * *\" is there more than once",
            ),
            (
                "  region",
                "  hibernation: {schedules: [{start: 0 20 * * *, location: Europe/Nowhere}]}\n  region",
                "spec.hibernation.schedules[0].location Invalid: \"Europe/Nowhere\" is not a known time zone",
            ),
            (
                "  region",
                "  maintenance: {timeWindow: {begin: 220000+0100, end: 220500+0100}}\n  region",
                "spec.maintenance.timeWindow Forbidden: must be between 30 and 360 minutes long (is 5)",
            ),
            (
                "  region",
                "  maintenance: {timeWindow: {begin: 233000+0000, end: 013000+0100}}\n  region",
                "",
            ),
            (
                "  region",
                "  maintenance: {timeWindow: {begin: 22h, end: 013000+0100}}\n  region",
                "spec.maintenance.timeWindow.begin Invalid: \"22h\" is not a valid time of day",
            ),
        ],
    );
}

#[test]
fn settings_of_kubelet_and_kube_proxy_are_validated() {
    let kubernetes = "    version: \"1.34\"";
    let with = |settings: &str| check(&[(kubernetes, &format!("{kubernetes}\n    {settings}"))]);
    assert_eq!(
        with("kubelet: {maxPods: -1}"),
        "spec.kubernetes.kubelet.maxPods Invalid: must be at least 0 (is -1)\n"
    );
    assert_eq!(
        with("kubelet: {podPidsLimit: 5}"),
        "spec.kubernetes.kubelet.podPidsLimit Invalid: must be at least 100 (is 5)\n"
    );
    assert_eq!(
        with("kubeProxy: {mode: Userspace}"),
        "spec.kubernetes.kubeProxy.mode NotSupported: unsupported value \"Userspace\"\n"
    );
    assert_eq!(
        with("kubeControllerManager: {nodeCIDRMaskSize: 26}"),
        "spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize Invalid: leaves only 62 addresses for 110 pods on each node\n"
    );
    assert_eq!(
        with("kubelet: {evictionHard: {memoryAvailable: lots, disk: 5%}}"),
        "spec.kubernetes.kubelet.evictionHard.disk Unknown: unknown field \"disk\"\n\
         spec.kubernetes.kubelet.evictionHard.memoryAvailable Invalid: \"lots\" is neither a quantity nor a percentage\n"
    );
}

#[test]
fn networks_and_their_cni_configuration_are_validated() {
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
            "{path}.tenantNetworks[1] Duplicate: duplicate tenant network \"a\"\n{path}.tenantNetworks[1].default Invalid: only one tenant network can be the default\n"
        )
    );
    for (config, expected) in [
        (r"'{'", "not valid JSON: EOF while parsing an object"),
        (r"'null'", "must be a JSON object"),
        (r#"'{"type": "bridge"}'"#, "cniVersion is required"),
        (
            r#"'{"cniVersion": "0.4.0"}'"#,
            "the configuration has no type",
        ),
        (
            r#"'{"cniVersion": "0.4.0", "type": "../../bin/sh"}'"#,
            "the configuration has type \"../../bin/sh\", which must not be a path",
        ),
        (
            r#"'{"cniVersion": "0.4.0", "plugins": [{"type": "bridge"}, {}]}'"#,
            "plugins[1] has no type",
        ),
        (
            r#"'{"cniVersion": "0.4.0", "plugins": []}'"#,
            "plugins must be a non-empty list",
        ),
        (
            r#"'{"cniVersion": "0.4.0", "type": "a", "type": "b"}'"#,
            "not valid JSON: duplicate key \"type\"",
        ),
    ] {
        let findings = with(&format!(
            "{{tenantNetworks: [{{name: a, config: {config}}}]}}"
        ));
        assert_eq!(
            findings,
            format!("{path}.tenantNetworks[0].config Invalid: {expected}\n")
        );
    }
    assert_eq!(
        with(&format!(
            "{{tenantNetworks: [{{name: a_b, config: {cni}}}]}}"
        )),
        format!("{path}.tenantNetworks[0].name Invalid: \"a_b\" is not a valid DNS label\n")
    );
    assert_eq!(
        with("{sharedNetworks: [{name: a}, {name: a, namespace: b}, {name: a}]}"),
        format!("{path}.sharedNetworks[2] Duplicate: duplicate shared network \"a\"\n")
    );
}

#[test]
fn ranges_fit_the_addresses_of_tenant_networks() {
    let with = |default: bool, ranges: &str| {
        let cni = r#"'{"cniVersion": "0.4.0", "type": "bridge", "ipam": {"type": "host-local", "subnet": "10.100.0.0/16"}}'"#;
        let networks =
            format!("{{tenantNetworks: [{{name: a, config: {cni}, default: {default}}}]}}");
        let config = format!(
            "    type: kubevirt\n    infrastructureConfig:\n      apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1\n      kind: InfrastructureConfig\n      networks: {networks}\n"
        );
        check(&[
            ("    type: kubevirt\n", &config),
            ("    nodes: 10.244.0.0/16\n", ranges),
        ])
    };
    assert_eq!(with(true, "    nodes: 10.100.0.0/16\n"), "");
    assert_eq!(with(true, "    nodes: 10.96.0.0/12\n"), "");
    assert_eq!(with(false, "    nodes: 10.225.128.0/17\n"), "");
    assert_eq!(
        with(true, "    nodes: 10.225.128.0/17\n"),
        "spec.networking.nodes Invalid: 10.225.128.0/17 does not contain 10.100.0.0/16, from which tenant network \"a\" assigns the addresses of the nodes\n"
    );
    assert_eq!(
        with(
            false,
            "    nodes: 10.225.128.0/17\n    pods: 10.100.0.0/16\n"
        ),
        "spec.networking.pods Invalid: 10.100.0.0/16 overlaps with 10.100.0.0/16 of tenant network \"a\"\n"
    );
}

#[test]
fn components_have_only_what_their_version_knows() {
    let with = |settings: &str| {
        check(&[(
            "    version: \"1.34\"\n",
            &format!("    version: \"1.34\"\n    {settings}\n"),
        )])
    };
    for (settings, expected) in [
        (
            "kubeAPIServer: {featureGates: {WatchList: true, AllBeta: false}}",
            "",
        ),
        (
            "kubeAPIServer: {featureGates: {A: true}}",
            "kubeAPIServer.featureGates.A NotSupported: kube-apiserver 1.34 has no feature gate \"A\"",
        ),
        (
            "kubeScheduler: {featureGates: {A: true}}",
            "kubeScheduler.featureGates.A NotSupported: kube-scheduler 1.34 has no feature gate \"A\"",
        ),
        (
            "kubeControllerManager: {featureGates: {A: true}}",
            "kubeControllerManager.featureGates.A NotSupported: kube-controller-manager 1.34 has no feature gate \"A\"",
        ),
        (
            "kubeProxy: {featureGates: {A: true}}",
            "kubeProxy.featureGates.A NotSupported: kube-proxy 1.34 has no feature gate \"A\"",
        ),
        (
            "kubelet: {featureGates: {A: true}}",
            "kubelet.featureGates.A NotSupported: kubelet 1.34 has no feature gate \"A\"",
        ),
        (
            "kubeAPIServer: {admissionPlugins: [{name: PodSecurity}, {name: JobValidation}]}",
            "kubeAPIServer.admissionPlugins[1].name NotSupported: kube-apiserver 1.34 has no admission plugin \"JobValidation\"",
        ),
        (
            "kubeAPIServer: {runtimeConfig: {api/beta: true, resource.k8s.io/v1beta2/deviceclasses: true, apps/v2: true}}",
            "kubeAPIServer.runtimeConfig[apps/v2] NotSupported: kube-apiserver 1.34 has no API version \"apps/v2\"",
        ),
    ] {
        let expected = match expected {
            "" => String::new(),
            it => format!("spec.kubernetes.{it}\n"),
        };
        assert_eq!(with(settings), expected, "{settings}");
    }
}

#[test]
fn kubelet_gates_of_the_shoot_are_judged_by_the_versions_of_the_pools_that_inherit_them() {
    // 1.32 is the last version with AppArmor.
    let with = |pool: &str| {
        let kubernetes = "    version: \"1.34\"";
        let gates = format!("{kubernetes}\n    kubelet: {{featureGates: {{AppArmor: true}}}}");
        check(&[(kubernetes, &gates), ("      minimum", pool)])
    };
    let path = "spec.kubernetes.kubelet.featureGates.AppArmor NotSupported";
    let refused = |minor| format!("{path}: kubelet 1.{minor} has no feature gate \"AppArmor\"\n");
    assert_eq!(with("      minimum"), refused(34));
    assert_eq!(
        with("      kubernetes: {version: 1.33.5}\n      minimum"),
        refused(33)
    );
    assert_eq!(with("      kubernetes: {kubelet: {}}\n      minimum"), "");
}

#[test]
fn gates_that_the_cloud_controller_manager_does_not_know_are_dropped() {
    let config = "    type: kubevirt\n    controlPlaneConfig:\n      apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1\n      kind: ControlPlaneConfig\n      cloudControllerManager: {featureGates: {CustomResourceValidation: true, ContextualLogging: false, DryRun: false}}\n";
    let verdict = verdict(&SHOOT.replacen("    type: kubevirt\n", config, 1));
    let path = "warning: spec.provider.controlPlaneConfig.cloudControllerManager.featureGates";
    assert_eq!(
        lines(&verdict),
        format!(
            "{path}.CustomResourceValidation: feature gate \"CustomResourceValidation\" is not set: the cloud controller manager does not know it\n\
             {path}.DryRun: feature gate \"DryRun\" is not set: the cloud controller manager cannot disable it\n"
        )
    );
    let gates = verdict
        .shoot
        .expect("it is valid")
        .control_plane
        .cloud_controller_gates;
    assert_eq!(
        gates,
        std::collections::BTreeMap::from([("ContextualLogging".to_owned(), false)])
    );
}

#[test]
fn addresses_that_reach_the_api_server_are_ranges_of_its_load_balancer() {
    let exposed = |exposure: &str| {
        format!(
            "    type: kubevirt\n    controlPlaneConfig:\n      apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1\n      kind: ControlPlaneConfig\n      exposure: {exposure}\n"
        )
    };
    let acl = |rule: &str| {
        format!(
            "  region: europe-west1\n  extensions: [{{type: acl, providerConfig: {{rule: {rule}}}}}]\n"
        )
    };
    let (provider, region) = ("    type: kubevirt\n", "  region: europe-west1\n");
    let at = "spec.provider.controlPlaneConfig.exposure.loadBalancerSourceRanges";
    let ranges = |changes: &[(&str, &str)]| {
        let shoot = valid_for_tests(&changed(SHOOT, changes));
        match shoot.control_plane.exposure {
            ApiServerExposure::LoadBalancer { source_ranges, .. } => source_ranges,
            other => panic!("{other:?}"),
        }
    };
    let own = exposed("{type: LoadBalancer, loadBalancerSourceRanges: [192.0.2.1/24]}");
    assert_eq!(ranges(&[(provider, &own)]), ["192.0.2.0/24"]);
    let allowed = acl("{action: ALLOW, type: remote_ip, cidrs: [198.51.100.0/24]}");
    assert_eq!(ranges(&[(region, &allowed)]), ["198.51.100.0/24"]);
    let off = allowed.replace("type: acl,", "type: acl, disabled: true,");
    assert_eq!(ranges(&[(region, &off)]), [""; 0]);

    let both = check(&[(provider, &own), (region, &allowed)]);
    assert!(
        both.contains(&format!("{at} Forbidden: cannot be set in addition")),
        "{both}"
    );
    for (exposure, expected) in [
        (
            "{type: LoadBalancer, loadBalancerSourceRanges: [all]}",
            "[0] Invalid: ",
        ),
        (
            "{type: None, loadBalancerSourceRanges: [192.0.2.0/24]}",
            " Forbidden: limits a load balancer",
        ),
    ] {
        let found = check(&[(provider, &exposed(exposure))]);
        assert!(found.contains(&format!("{at}{expected}")), "{found}");
    }
    for (rule, expected) in [
        (
            "{action: DENY, cidrs: [192.0.2.0/24]}",
            "unsupported value \"DENY\" of rule.action",
        ),
        ("{action: ALLOW, cidrs: []}", "rule.cidrs is empty"),
        (
            "{action: ALLOW}",
            "invalid configuration of acl: missing field `cidrs`",
        ),
    ] {
        let found = check(&[(region, &acl(rule))]);
        let expected = format!("spec.extensions[0].providerConfig Invalid: {expected}");
        assert!(found.contains(&expected), "{found}");
    }
    let other = "  region: europe-west1\n  extensions: [{type: shoot-dns-service}]\n";
    let found = check(&[(region, other)]);
    assert!(
        found.starts_with("warning: spec.extensions[0].type: no effect"),
        "{found}"
    );
}

/// Findings below `spec.kubernetes`.
fn kubernetes(rows: &[(&str, &str)]) {
    for (settings, expected) in rows {
        let new = format!("version: \"1.34\"\n    {settings}");
        let expected: String = expected
            .lines()
            .map(|it| format!("spec.kubernetes.{it}\n"))
            .collect();
        assert_eq!(
            check(&[("version: \"1.34\"", &new)]),
            expected,
            "{settings}"
        );
    }
}

#[test]
fn settings_with_which_an_api_server_would_not_start_are_refused() {
    const PLUGINS: &str = "kubeAPIServer.admissionPlugins";
    kubernetes(&[
        ("kubeAPIServer: {eventTTL: 168h}", ""),
        (
            "kubeAPIServer: {eventTTL: 169h}",
            "kubeAPIServer.eventTTL Invalid: must be at most 168h (is 169h)",
        ),
        (
            "kubeAPIServer: {requests: {maxMutatingInflight: 0, maxNonMutatingInflight: 0}}",
            "kubeAPIServer.requests Invalid: both limits are 0: the API server would serve nothing",
        ),
        (
            "kubeAPIServer: {auditConfig: {auditPolicy: {configMapRef: {name: ../policy}}}}",
            "kubeAPIServer.auditConfig.auditPolicy.configMapRef.name Invalid: \"../policy\" is not a valid name of a ConfigMap",
        ),
        (
            "kubeAPIServer: {structuredAuthentication: {configMapName: Auth}}",
            "kubeAPIServer.structuredAuthentication.configMapName Invalid: \"Auth\" is not a valid name of a ConfigMap",
        ),
        (
            "kubeAPIServer: {oidcConfig: {issuerURL: https://a.example.org, clientID: a, caBundle: x}}",
            "kubeAPIServer.oidcConfig.caBundle Invalid: not a valid PEM certificate",
        ),
        (
            "kubeAPIServer: {serviceAccountConfig: {issuer: \"https:/a\", acceptedIssuers: [a, \"b c\"], maxTokenExpiration: 10m}}",
            "kubeAPIServer.serviceAccountConfig.maxTokenExpiration Invalid: must be at least 1h (is 10m)\n\
             kubeAPIServer.serviceAccountConfig.issuer Invalid: \"https:/a\" is not a valid issuer\n\
             kubeAPIServer.serviceAccountConfig.acceptedIssuers[1] Invalid: \"b c\" is not a valid issuer",
        ),
        (
            "kubeAPIServer: {admissionPlugins: [{name: PodSecurity}, {name: PodSecurity}]}",
            &format!("{PLUGINS}[1].name Duplicate: duplicate admission plugin \"PodSecurity\""),
        ),
        (
            "kubeAPIServer: {admissionPlugins: [{name: PodSecurity, config: {apiVersion: v1, defaults: {enforce: strict, warn: baseline}}}]}",
            &format!(
                "{PLUGINS}[0].config.apiVersion NotSupported: unsupported value \"v1\"\n\
                 {PLUGINS}[0].config.kind Required: is required\n\
                 {PLUGINS}[0].config.defaults.enforce NotSupported: unsupported value \"strict\""
            ),
        ),
        (
            "kubeAPIServer: {admissionPlugins: [{name: EventRateLimit, config: {apiVersion: eventratelimit.admission.k8s.io/v1alpha1, kind: Configuration, limits: []}}]}",
            "",
        ),
    ]);
}

#[test]
fn settings_with_which_a_kubelet_would_not_start_are_refused() {
    kubernetes(&[
        (
            "kubelet: {imageGCHighThresholdPercent: 50, imageGCLowThresholdPercent: 50}",
            "kubelet.imageGCLowThresholdPercent Invalid: must be less than imageGCHighThresholdPercent, which is 50",
        ),
        (
            "kubelet: {imageGCHighThresholdPercent: 70}",
            "kubelet.imageGCHighThresholdPercent Invalid: must be greater than imageGCLowThresholdPercent, which is 80",
        ),
        (
            "kubelet: {imageGCLowThresholdPercent: 101}",
            "kubelet.imageGCLowThresholdPercent Invalid: must be between 0 and 100 (is 101)",
        ),
        (
            "kubelet: {imageMaximumGCAge: 1m, imageMinimumGCAge: 2m}",
            "kubelet.imageMaximumGCAge Invalid: must be greater than imageMinimumGCAge, which is 2m",
        ),
        (
            "kubelet: {evictionHard: {memoryAvailable: -1Gi}, evictionMinimumReclaim: {memoryAvailable: -1}}",
            "kubelet.evictionHard.memoryAvailable Invalid: must be at least 0 (is -1Gi)\n\
             kubelet.evictionMinimumReclaim.memoryAvailable Invalid: must be at least 0 (is -1)",
        ),
        (
            "kubelet: {containerLogMaxFiles: 1, containerLogMaxSize: 0, maxParallelImagePulls: 0, registryBurst: -1}",
            "kubelet.registryBurst Invalid: must be at least 0 (is -1)\n\
             kubelet.containerLogMaxFiles Invalid: must be at least 2 (is 1)\n\
             kubelet.maxParallelImagePulls Invalid: must be at least 1 (is 0)\n\
             kubelet.containerLogMaxSize Invalid: must be greater than 0 (is 0)",
        ),
        (
            "kubelet: {cpuManagerPolicy: dynamic, memorySwap: {swapBehavior: UnlimitedSwap}}",
            "kubelet.cpuManagerPolicy NotSupported: unsupported value \"dynamic\"\n\
             kubelet.memorySwap.swapBehavior NotSupported: unsupported value \"UnlimitedSwap\"",
        ),
        (
            "kubeControllerManager: {nodeMonitorGracePeriod: 9s, horizontalPodAutoscaler: {tolerance: -0.1}}",
            "kubeControllerManager.nodeMonitorGracePeriod Invalid: must be at least 10s, in which kubelets renew their Lease (is 9s)\n\
             kubeControllerManager.horizontalPodAutoscaler.tolerance Invalid: must be at least 0 (is -0.1)",
        ),
    ]);
}

#[test]
fn ranges_are_of_addresses_that_hosts_can_have() {
    for (range, expected) in [
        ("127.0.0.0/16", "127.0.0.0/8, loopback addresses"),
        ("169.254.0.0/17", "169.254.0.0/16, link-local addresses"),
        ("239.0.0.0/8", "224.0.0.0/4, multicast addresses"),
        ("240.0.0.0/8", "240.0.0.0/4, reserved addresses"),
    ] {
        let new = format!("nodes: 10.244.0.0/16\n    services: {range}");
        let expected =
            format!("spec.networking.services Invalid: {range} overlaps with {expected}\n");
        assert_eq!(check(&[("nodes: 10.244.0.0/16", &new)]), expected);
    }
}

#[test]
fn settings_of_the_control_plane_are_names_addresses_and_sizes() {
    const AT: &str = "spec.provider.controlPlaneConfig";
    for (settings, expected) in [
        ("nodeAddress: \"fd00::1\"", ""),
        ("nodeAddress: API.example.org:443", ""),
        (
            "nodeAddress: \"https://api.example.org:443/\"",
            ".nodeAddress Invalid: \"https://api.example.org:443/\" is not a valid address",
        ),
        (
            "nodeAddress: \"api.example.org:0\"",
            ".nodeAddress Invalid: \"api.example.org:0\" is not a valid address",
        ),
        (
            "etcd: {size: 500Mi, storageClass: Fast Class}",
            ".etcd.size Invalid: must be at least 1Gi (is 500Mi)\n\
             .etcd.storageClass Invalid: \"Fast Class\" is not a valid StorageClass name",
        ),
        (
            "backup: {schedule: 0 3 * * *, destination: s3://etcd/lab, s3Endpoint: \"https://s3.example.org\", recipients: [age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p], retention: {last: 3}}",
            "",
        ),
        (
            "backup: {schedule: 0 0 30 2 *, destination: backups, recipients: [age1], withPlainKeys: true}",
            ".backup.schedule Invalid: \"0 0 30 2 *\" is not a valid cron expression: there is no such day\n\
             .backup.destination Invalid: \"backups\" is a directory, which only the command kvshoot backup can use\n\
             .backup.recipients[0] Invalid: invalid recipient \"age1\": expected the line \"age1…\" that age-keygen prints\n\
             .backup.withPlainKeys Forbidden: cannot be set with recipients, which the keys are encrypted to",
        ),
        (
            "backup: {schedule: \"@daily\", destination: \"pvc:Data\", withPlainKeys: true}",
            ".backup.schedule Invalid: \"@daily\" is not a valid cron expression: it has 1 fields instead of five\n\
             .backup.destination Invalid: \"pvc:Data\" is not a valid destination: invalid name \"Data\" of a PersistentVolumeClaim",
        ),
        (
            "backup: {schedule: 0 3 * * *, destination: \"pvc:data\", withPlainKeys: true, s3Endpoint: \"http://a@b\"}",
            ".backup.s3Endpoint Invalid: \"http://a@b\" is not a valid URL: expected a URL such as https://s3.example.org, without credentials\n\
             .backup.s3Endpoint Forbidden: applies to destinations s3://BUCKET/PREFIX only",
        ),
        (
            "exposure: {type: NodePort, address: a b}",
            ".exposure.address Invalid: \"a b\" is not a valid host name or IP address",
        ),
        (
            "exposure: {type: Ingress, loadBalancerSourceRanges: [192.0.2.1]}",
            ".exposure.loadBalancerSourceRanges[0] Invalid: \"192.0.2.1\" is not a valid CIDR range, such as 10.0.0.0/16\n\
             .exposure.type NotSupported: unsupported value \"Ingress\"",
        ),
    ] {
        let config = format!(
            "type: kubevirt\n    controlPlaneConfig: {{apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1, kind: ControlPlaneConfig, {settings}}}"
        );
        let expected: String = expected.lines().map(|it| format!("{AT}{it}\n")).collect();
        assert_eq!(
            check(&[("type: kubevirt", &config)]),
            expected,
            "{settings}"
        );
    }
}
