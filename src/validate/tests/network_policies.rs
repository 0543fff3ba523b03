use super::{PROFILE, SHOOT, changed, lines, valid_for_tests, verdict};

const AT: &str = "spec.provider.infrastructureConfig.customNetworkPolicies";

/// The Shoot with this in its InfrastructureConfig.
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

/// What is told of policies of a Shoot, with what its paths have in common as `@`.
fn told(policies: &str) -> String {
    let text = shoot(&format!("customNetworkPolicies: {policies}"));
    check(&text, PROFILE).replace(AT, "@")
}

/// The same of one that is for some pods, with this in its spec.
fn told_of(spec: &str) -> String {
    let pods = "podSelector: {matchLabels: {a: b}}";
    told(&format!("[{{name: a, spec: {{{pods}, {spec}}}}}]")).replace("@[0].spec.", "")
}

fn table(run: fn(&str) -> String, rows: &[(&str, &str)]) {
    for (given, expected) in rows {
        assert_eq!(run(given).trim_end(), *expected, "{given}");
    }
}

#[test]
fn names_of_policies_are_free_and_stay_in_bounds() {
    let spec = "spec: {podSelector: {matchLabels: {a: b}}}";
    assert_eq!(told(&format!("[{{name: a.b-1, {spec}}}]")), "");
    let long = "a".repeat(237);
    for (names, expected) in [
        (
            &["a", "b", "a"][..],
            "@[2].name Duplicate: there is a policy a already",
        ),
        (&["A"], "@[0].name Invalid: \"A\" is no name of an object"),
        (
            &["etcd"],
            "@[0].name Forbidden: etcd is what a policy of kvshoot's own is called",
        ),
        (
            &["cluster-isolation"],
            "@[0].name Forbidden: cluster-isolation is what a policy of kvshoot's own is called",
        ),
        (
            &[&long],
            "@[0].name TooLong: makes a name of 254 characters with shoot--dev--demo before it, more than 253",
        ),
    ] {
        let items: Vec<String> = names
            .iter()
            .map(|it| format!("{{name: {it}, {spec}}}"))
            .collect();
        assert_eq!(
            told(&format!("[{}]", items.join(", "))).trim_end(),
            expected
        );
    }
}

#[test]
fn what_is_for_every_pod_is_told() {
    let every = "@[0].spec.podSelector: is for every pod of the namespace, of the control plane and of other clusters as well";
    table(
        told,
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
        Some("for machines alone write matchLabels: {app.kubernetes.io/component: machine}")
    );
}

#[test]
fn types_are_one_of_each_and_have_their_rules() {
    table(
        told_of,
        &[
            ("policyTypes: [Ingress, Egress]", ""),
            (
                "policyTypes: [egress]",
                "policyTypes[0] NotSupported: \"egress\" is not supported",
            ),
            (
                "policyTypes: [Egress, Ingress, Egress]",
                "policyTypes[2] Duplicate: Egress is there already",
            ),
            (
                "policyTypes: [Ingress], egress: [{}]",
                "warning: egress: has no effect: policyTypes lacks Egress",
            ),
            (
                "egress: [{}]",
                "warning: policyTypes: are absent, so that nobody may connect to the pods either",
            ),
            ("ingress: [{}]", ""),
            ("ingress: [{}], egress: [{}]", ""),
        ],
    );
}

#[test]
fn peers_are_pods_or_a_range() {
    fn of(peers: &str) -> String {
        told_of(&format!(
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
            ("{}", "~[0] Required: names no peer"),
            (
                "{podSelector: {}, ipBlock: {cidr: 10.0.0.0/8}}",
                "~[0].ipBlock Forbidden: excludes podSelector and namespaceSelector",
            ),
            (
                "{ipBlock: {cidr: /32}}",
                "~[0].ipBlock.cidr Invalid: \"/32\" is no range of addresses; write for example 10.0.0.0/16",
            ),
            (
                "{ipBlock: {cidr: \"fd00::1/32\"}}",
                "~[0].ipBlock.cidr Invalid: \"fd00::1/32\" has more than the first 32 bits",
            ),
            (
                "{ipBlock: {cidr: 10.0.0.0/8, except: [11.0.0.0/16]}}",
                "~[0].ipBlock.except[0] Invalid: 11.0.0.0/16 is no part of 10.0.0.0/8",
            ),
            (
                "{ipBlock: {cidr: 10.0.0.0/8, except: [10.0.0.0/8]}}",
                "~[0].ipBlock.except[0] Invalid: 10.0.0.0/8 is no part of 10.0.0.0/8",
            ),
            (
                "{ipBlock: {cidr: 0.0.0.0/0, except: [\"fd00::/8\"]}}",
                "~[0].ipBlock.except[0] Invalid: fd00::/8 is no part of 0.0.0.0/0",
            ),
        ],
    );
    let ingress = told_of("ingress: [{}, {from: [{}]}]");
    assert_eq!(ingress, "ingress[1].from[0] Required: names no peer\n");
}

#[test]
fn selectors_are_such_as_the_api_server_takes() {
    fn of(selector: &str) -> String {
        told(&format!(
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
                "~.matchLabels[a b] Invalid: \"a b\" is no key of a label",
            ),
            (
                "matchLabels: {a: -c}",
                "~.matchLabels.a Invalid: \"-c\" is no value of a label",
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
                "!.operator NotSupported: \"Is\" is not supported",
            ),
            (
                "{key: a, operator: NotIn}",
                "!.values Required: are required with NotIn",
            ),
            (
                "{key: a, operator: Exists, values: [b]}",
                "!.values Forbidden: mean nothing to Exists",
            ),
            (
                "{key: a, operator: In, values: [\"b c\"]}",
                "!.values[0] Invalid: \"b c\" is no value of a label",
            ),
            (
                "{key: a/b/c, operator: Exists}",
                "!.key Invalid: \"a/b/c\" is no key of a label",
            ),
        ],
    );
}

#[test]
fn ports_are_numbers_names_or_a_range() {
    fn of(port: &str) -> String {
        told_of(&format!(
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
            ("{port: 0}", "~.port Invalid: 0 is no port"),
            ("{port: 65536}", "~.port Invalid: 65536 is no port"),
            ("{port: \"53\"}", "~.port Invalid: \"53\" is no port"),
            ("{port: DNS}", "~.port Invalid: \"DNS\" is no port"),
            (
                "{port: 53, protocol: udp}",
                "~.protocol NotSupported: \"udp\" is not supported",
            ),
            (
                "{port: 53, endPort: 52}",
                "~.endPort Invalid: is 52, below port",
            ),
            (
                "{port: 53, endPort: 65536}",
                "~.endPort Invalid: 65536 is no port",
            ),
            (
                "{port: dns, endPort: 60}",
                "~.endPort Forbidden: needs port to be the number that the range begins with",
            ),
            (
                "{endPort: 60}",
                "~.endPort Forbidden: needs port to be the number that the range begins with",
            ),
        ],
    );
}

#[test]
fn policies_of_the_profile_and_of_the_shoot_add_up() {
    let spec = "spec: {podSelector: {matchLabels: {a: b}}}";
    let one = |name: &str| format!("customNetworkPolicies: [{{name: {name}, {spec}}}]");
    let (of_shoot, of_profile) = (shoot(&one("own")), profile(&one("common")));
    let valid = valid_for_tests(&format!("{of_shoot}---\n{of_profile}"));
    let policies = valid.network_policies;
    let names: Vec<&str> = policies.custom.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["common", "own"]);
    assert_eq!(
        check(&shoot(&one("common")), &of_profile),
        format!("{AT}[0].name Duplicate: the profile has a policy common already\n")
    );
    assert_eq!(
        check(SHOOT, &profile(&one("etcd"))),
        "spec.providerConfig.customNetworkPolicies[0].name Forbidden: etcd is what a policy of kvshoot's own is called\n"
    );
    let long = "a".repeat(240);
    assert_eq!(
        check(SHOOT, &profile(&one(&long))),
        "spec.providerConfig.customNetworkPolicies[0].name TooLong: makes a name of 257 characters with shoot--dev--demo before it, more than 253\n"
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
fn an_api_server_by_name_is_told_where_names_are_not_opened() {
    let by = |host: &str, on: bool| {
        let config = format!(
            "    controlPlaneConfig:\n      apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1\n      kind: ControlPlaneConfig\n      nodeAddress: \"{host}\"\n    workers:\n"
        );
        let text = shoot(&format!("enableDefaultNetworkPolicies: {on}"));
        check(&changed(&text, &[("    workers:\n", &config)]), PROFILE)
    };
    assert_eq!(
        by("api.example.org:443", true),
        "warning: spec.provider.controlPlaneConfig.nodeAddress: api.example.org may be out of the machines' reach: network policies open addresses and no names\n"
    );
    assert_eq!(by("api.example.org", false), "");
    assert_eq!(by("10.0.0.1:443", true), "");
    assert_eq!(by("[fd00::1]:443", true), "");
}
