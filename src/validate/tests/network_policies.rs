use super::{PROFILE, SHOOT, changed, lines, valid_for_tests, verdict};

const AT: &str = "spec.provider.infrastructureConfig.customNetworkPolicies";

/// The Shoot with a field in its InfrastructureConfig.
fn shoot(config: &str) -> String {
    let head = "    infrastructureConfig:\n      apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1\n      kind: InfrastructureConfig\n";
    let workers = "    workers:\n";
    changed(
        SHOOT,
        &[(workers, &format!("{head}      {config}\n{workers}"))],
    )
}

fn profile(config: &str) -> String {
    let place = "    machineImages:";
    changed(PROFILE, &[(place, &format!("    {config}\n{place}"))])
}

fn check(shoot: &str, profile: &str) -> String {
    lines(&verdict(&format!("{shoot}---\n{profile}")))
}

/// Findings about policies of a Shoot, with the common prefix of the paths as `@`.
fn findings(policies: &str) -> String {
    let text = shoot(&format!("customNetworkPolicies: {policies}"));
    check(&text, PROFILE).replace(AT, "@")
}

/// Findings about one policy with a pod selector and the given fields in its spec.
fn findings_of_spec(spec: &str) -> String {
    let pods = "podSelector: {matchLabels: {a: b}}";
    findings(&format!("[{{name: a, spec: {{{pods}, {spec}}}}}]")).replace("@[0].spec.", "")
}

fn table(run: fn(&str) -> String, rows: &[(&str, &str)]) {
    for (given, expected) in rows {
        assert_eq!(run(given).trim_end(), *expected, "{given}");
    }
}

#[test]
fn policy_names_are_unique_and_valid() {
    let spec = "spec: {podSelector: {matchLabels: {a: b}}}";
    assert_eq!(findings(&format!("[{{name: a.b-1, {spec}}}]")), "");
    let long = "a".repeat(237);
    for (names, expected) in [
        (
            &["a", "b", "a"][..],
            "@[2].name Duplicate: duplicate policy \"a\"",
        ),
        (
            &["A"],
            "@[0].name Invalid: \"A\" is not a valid object name",
        ),
        (
            &["etcd"],
            "@[0].name Forbidden: policy name \"etcd\" is reserved",
        ),
        (
            &["cluster-isolation"],
            "@[0].name Forbidden: policy name \"cluster-isolation\" is reserved",
        ),
        (
            &[&long],
            "@[0].name TooLong: object name, prefixed with shoot--dev--demo-, must be at most 253 characters (is 254)",
        ),
    ] {
        let items: Vec<String> = names
            .iter()
            .map(|it| format!("{{name: {it}, {spec}}}"))
            .collect();
        assert_eq!(
            findings(&format!("[{}]", items.join(", "))).trim_end(),
            expected
        );
    }
}

#[test]
fn a_policy_for_every_pod_gets_a_warning() {
    let every = "@[0].spec.podSelector: selects every pod in the namespace, including control planes and other clusters";
    table(
        findings,
        &[
            ("[{name: a, spec: {}}]", &format!("warning: {every}")),
            (
                "[{name: a, spec: {podSelector: {}, policyTypes: [Egress]}}]",
                &format!("warning: {every}"),
            ),
            (
                "[{name: a, spec: {podSelector: {matchLabels: {}}, policyTypes: [Ingress]}}]",
                &format!("warning: {every}"),
            ),
            (
                "[{name: a, spec: {podSelector: {matchLabels: {a: b}}}}]",
                "",
            ),
        ],
    );
    let text = profile("customNetworkPolicies: [{name: a, spec: {podSelector: {}}}]");
    let verdict = verdict(&format!("{SHOOT}---\n{text}"));
    let hint = verdict.warnings[0].hint.as_deref();
    assert_eq!(
        hint,
        Some("to select machines only, use matchLabels: {app.kubernetes.io/component: machine}")
    );
}

#[test]
fn policy_types_are_unique_and_match_the_rules() {
    table(
        findings_of_spec,
        &[
            ("policyTypes: [Ingress, Egress]", ""),
            (
                "policyTypes: [egress]",
                "policyTypes[0] NotSupported: unsupported value \"egress\"",
            ),
            (
                "policyTypes: [Egress, Ingress, Egress]",
                "policyTypes[2] Duplicate: duplicate policy type \"Egress\"",
            ),
            (
                "policyTypes: [Ingress], egress: [{}]",
                "warning: egress: has no effect: policyTypes does not include Egress",
            ),
            (
                "egress: [{}]",
                "warning: policyTypes: not set: ingress to the pods is denied as well",
            ),
            ("ingress: [{}]", ""),
            ("ingress: [{}], egress: [{}]", ""),
        ],
    );
}

#[test]
fn peers_are_selectors_or_an_address_range() {
    fn of(peers: &str) -> String {
        findings_of_spec(&format!(
            "policyTypes: [Egress], egress: [{{to: [{peers}]}}]"
        ))
        .replace("egress[0].to", "~")
    }
    table(
        of,
        &[
            ("{podSelector: {}}, {namespaceSelector: {}}", ""),
            ("{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}", ""),
            ("{ipBlock: {cidr: \"::/0\", except: [\"fc00::/7\"]}}", ""),
            ("{}", "~[0] Required: must not be empty"),
            (
                "{podSelector: {}, ipBlock: {cidr: 10.0.0.0/8}}",
                "~[0].ipBlock Forbidden: cannot be combined with podSelector or namespaceSelector",
            ),
            (
                "{ipBlock: {cidr: /32}}",
                "~[0].ipBlock.cidr Invalid: \"/32\" is not a valid CIDR range, such as 10.0.0.0/16",
            ),
            (
                "{ipBlock: {cidr: \"fd00::1/32\"}}",
                "~[0].ipBlock.cidr Invalid: \"fd00::1/32\" has host bits set after the first 32 bits",
            ),
            (
                "{ipBlock: {cidr: 10.0.0.0/8, except: [11.0.0.0/16]}}",
                "~[0].ipBlock.except[0] Invalid: 11.0.0.0/16 is not a strict subset of 10.0.0.0/8",
            ),
            (
                "{ipBlock: {cidr: 10.0.0.0/8, except: [10.0.0.0/8]}}",
                "~[0].ipBlock.except[0] Invalid: 10.0.0.0/8 is not a strict subset of 10.0.0.0/8",
            ),
            (
                "{ipBlock: {cidr: 0.0.0.0/0, except: [\"fd00::/8\"]}}",
                "~[0].ipBlock.except[0] Invalid: fd00::/8 is not a strict subset of 0.0.0.0/0",
            ),
        ],
    );
    let ingress = findings_of_spec("ingress: [{}, {from: [{}]}]");
    assert_eq!(ingress, "ingress[1].from[0] Required: must not be empty\n");
}

#[test]
fn selectors_are_validated_like_in_the_api_server() {
    fn of(selector: &str) -> String {
        findings(&format!(
            "[{{name: a, spec: {{podSelector: {{{selector}}}}}}}]"
        ))
        .replace("@[0].spec.podSelector", "~")
    }
    fn expressions(items: &str) -> String {
        of(&format!("matchExpressions: [{items}]")).replace("~.matchExpressions[0]", "!")
    }
    table(
        of,
        &[
            ("matchLabels: {example.org/a: b}", ""),
            (
                "matchLabels: {a b: c}",
                "~.matchLabels[a b] Invalid: \"a b\" is not a valid label key",
            ),
            (
                "matchLabels: {a: -c}",
                "~.matchLabels.a Invalid: \"-c\" is not a valid label value",
            ),
        ],
    );
    table(
        expressions,
        &[
            ("{key: a, operator: In, values: [b]}", ""),
            ("{key: a, operator: DoesNotExist}", ""),
            (
                "{key: a, operator: Is, values: [b]}",
                "!.operator NotSupported: unsupported value \"Is\"",
            ),
            (
                "{key: a, operator: NotIn}",
                "!.values Required: required with operator NotIn",
            ),
            (
                "{key: a, operator: Exists, values: [b]}",
                "!.values Forbidden: not allowed with operator Exists",
            ),
            (
                "{key: a, operator: In, values: [\"b c\"]}",
                "!.values[0] Invalid: \"b c\" is not a valid label value",
            ),
            (
                "{key: a/b/c, operator: Exists}",
                "!.key Invalid: \"a/b/c\" is not a valid label key",
            ),
        ],
    );
}

#[test]
fn ports_are_numbers_names_or_ranges() {
    fn of(port: &str) -> String {
        findings_of_spec(&format!(
            "policyTypes: [Egress], egress: [{{ports: [{port}]}}]"
        ))
        .replace("egress[0].ports[0]", "~")
    }
    table(
        of,
        &[
            ("{port: 53, protocol: UDP}", ""),
            ("{port: dns-tcp}", ""),
            ("{port: 1, endPort: 65535, protocol: SCTP}", ""),
            ("{}", ""),
            ("{port: 0}", "~.port Invalid: 0 is not a valid port"),
            ("{port: 65536}", "~.port Invalid: 65536 is not a valid port"),
            (
                "{port: \"53\"}",
                "~.port Invalid: \"53\" is not a valid port",
            ),
            ("{port: DNS}", "~.port Invalid: \"DNS\" is not a valid port"),
            (
                "{port: 53, protocol: udp}",
                "~.protocol NotSupported: unsupported value \"udp\"",
            ),
            (
                "{port: 53, endPort: 52}",
                "~.endPort Invalid: must not be less than port (is 52)",
            ),
            (
                "{port: 53, endPort: 65536}",
                "~.endPort Invalid: 65536 is not a valid port",
            ),
            (
                "{port: dns, endPort: 60}",
                "~.endPort Forbidden: requires a numeric port as the start of the range",
            ),
            (
                "{endPort: 60}",
                "~.endPort Forbidden: requires a numeric port as the start of the range",
            ),
        ],
    );
}

#[test]
fn policies_of_profile_and_shoot_are_combined() {
    let spec = "spec: {podSelector: {matchLabels: {a: b}}}";
    let one = |name: &str| format!("customNetworkPolicies: [{{name: {name}, {spec}}}]");
    let (of_shoot, of_profile) = (shoot(&one("own")), profile(&one("common")));
    let valid = valid_for_tests(&format!("{of_shoot}---\n{of_profile}"));
    let policies = valid.network_policies;
    let names: Vec<&str> = policies.custom.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["common", "own"]);
    assert_eq!(
        check(&shoot(&one("common")), &of_profile),
        format!(
            "{AT}[0].name Duplicate: duplicate policy \"common\": already defined in the CloudProfile\n"
        )
    );
    assert_eq!(
        check(SHOOT, &profile(&one("etcd"))),
        "spec.providerConfig.customNetworkPolicies[0].name Forbidden: policy name \"etcd\" is reserved\n"
    );
    let long = "a".repeat(240);
    assert_eq!(
        check(SHOOT, &profile(&one(&long))),
        "spec.providerConfig.customNetworkPolicies[0].name TooLong: object name, prefixed with shoot--dev--demo-, must be at most 253 characters (is 257)\n"
    );
}

#[test]
fn the_shoot_overrides_its_profile() {
    let switch = |on: bool| format!("enableDefaultNetworkPolicies: {on}");
    let is_on = |shoot: &str, profile: &str| {
        let text = format!("{shoot}---\n{profile}");
        valid_for_tests(&text).network_policies.default
    };
    let on = profile(&switch(true));
    assert!(!is_on(SHOOT, PROFILE));
    assert!(is_on(SHOOT, &on));
    assert!(is_on(&shoot(&switch(true)), PROFILE));
    assert!(!is_on(&shoot(&switch(false)), &on));
}

#[test]
fn a_host_name_of_the_api_server_gets_a_warning_with_default_policies() {
    let by = |host: &str, on: bool| {
        let config = format!(
            "    controlPlaneConfig:\n      apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1\n      kind: ControlPlaneConfig\n      nodeAddress: \"{host}\"\n    workers:\n"
        );
        let text = shoot(&format!("enableDefaultNetworkPolicies: {on}"));
        check(&changed(&text, &[("    workers:\n", &config)]), PROFILE)
    };
    assert_eq!(
        by("api.example.org:443", true),
        "warning: spec.provider.controlPlaneConfig.nodeAddress: machines may be unable to reach \"api.example.org\": network policies allow addresses, not host names\n"
    );
    assert_eq!(by("api.example.org", false), "");
    assert_eq!(by("10.0.0.1:443", true), "");
    assert_eq!(by("[fd00::1]:443", true), "");
}
