//! The flags of the control plane's programs: which exist, and how the Shoot's settings reach them.

use super::*;
use crate::validate::testing::verdict;
use crate::validate::{KNOWN_MINORS, ValidShoot};
use std::collections::BTreeSet;

/// Flags of 1.36.3 that are not deprecated: program and flag.
const KNOWN: &str = include_str!("flags-1.36.txt");

fn command(objects: &[Value], part: &str, list: &str, index: usize) -> Vec<String> {
    let workload = workloads(objects)
        .into_iter()
        .find(|workload| {
            workload["metadata"]["name"]
                .as_str()
                .is_some_and(|it| it.ends_with(&format!("--demo-{part}")))
        })
        .unwrap_or_else(|| panic!("no {part}"));
    let command = &workload["spec"]["template"]["spec"][list][index]["command"];
    serde_json::from_value(command.clone()).expect("a command is a list of strings")
}

fn api_server_of(shoot: &ValidShoot) -> Vec<String> {
    command(&objects(shoot), "kube-apiserver", "containers", 0)
}

fn file_of(shoot: &ValidShoot, part: &str, file: &str) -> Option<Value> {
    let objects = objects(shoot);
    let text = named(&objects, "ConfigMap", part)["data"][file]
        .as_str()?
        .to_owned();
    Some(serde_json::from_str(&text).expect("generated files are JSON"))
}

/// All settings at once.
const ALL: &str = "
    kubeAPIServer:
      runtimeConfig: {resource.k8s.io/v1beta1: true}
      featureGates: {KubeletTracing: true}
      admissionPlugins:
      - name: PodNodeSelector
      - name: DefaultStorageClass
        disabled: true
      - name: PodSecurity
        config: {apiVersion: pod-security.admission.config.k8s.io/v1, kind: PodSecurityConfiguration, defaults: {enforce: baseline}}
      apiAudiences: [kubernetes, gardener]
      defaultNotReadyTolerationSeconds: 60
      eventTTL: 2h
      logging: {verbosity: 3, httpAccessVerbosity: 4}
      oidcConfig: {issuerURL: https://issuer.example.org, clientID: me, groupsClaim: groups, requiredClaims: {a: b}}
      requests: {maxNonMutatingInflight: 300, maxMutatingInflight: 150}
      serviceAccountConfig:
        issuer: https://a.example.org
        acceptedIssuers: [https://b.example.org]
        extendTokenExpiration: true
        maxTokenExpiration: 720h
      watchCacheSizes: {resources: [{resource: secrets, size: 500}, {apiGroup: apps, resource: deployments, size: 0}]}
      autoscaling: {minAllowed: {memory: 2Gi}}
    kubeControllerManager:
      nodeMonitorGracePeriod: 40s
      podEvictionTimeout: 2m
      nodeCIDRMaskSize: 23
      featureGates: {KubeletTracing: true}
      horizontalPodAutoscaler: {cpuInitializationPeriod: 4m, downscaleStabilization: 6m, initialReadinessDelay: 31s, syncPeriod: 30s, tolerance: 0.2}
    kubeScheduler: {profile: bin-packing, kubeMaxPDVols: \"30\", featureGates: {KubeletTracing: true}}
";

fn unknown(shoot: &ValidShoot) -> Vec<String> {
    let known: BTreeSet<&str> = KNOWN.lines().collect();
    let objects = objects(shoot);
    let commands = [
        command(&objects, "etcd", "containers", 0),
        command(&objects, "kube-apiserver", "containers", 0),
        command(&objects, "kube-apiserver", "initContainers", 0),
        command(&objects, "kube-controller-manager", "containers", 0),
        command(&objects, "kube-scheduler", "containers", 0),
    ];
    let mut unknown = Vec::new();
    for command in commands {
        let program = command[0].trim_start_matches('/');
        for flag in &command[1..] {
            let name = flag
                .trim_start_matches("--")
                .split('=')
                .next()
                .unwrap_or_default();
            let line = format!("{program} {name}");
            if !known.contains(line.as_str()) {
                unknown.push(line);
            }
        }
    }
    unknown
}

#[test]
fn every_flag_exists_and_none_is_deprecated() {
    let mut wide = shoot(36, ALL);
    wide.control_plane.tolerance = Tolerance::Zone;
    for shoot in [shoot(36, ""), wide] {
        assert_eq!(unknown(&shoot), [""; 0]);
    }
}

#[test]
fn settings_of_the_shoot_reach_the_api_server() {
    let command = api_server_of(&shoot(34, ALL));
    for flag in [
        "--runtime-config=resource.k8s.io/v1beta1=true",
        "--feature-gates=KubeletTracing=true",
        "--enable-admission-plugins=NodeRestriction,PodNodeSelector,PodSecurity",
        "--disable-admission-plugins=DefaultStorageClass",
        "--admission-control-config-file=/etc/kubernetes/config/admission.yaml",
        "--api-audiences=kubernetes,gardener",
        "--default-not-ready-toleration-seconds=60",
        // From the pod eviction timeout.
        "--default-unreachable-toleration-seconds=120",
        "--event-ttl=2h",
        "--v=3",
        "--vmodule=httplog=4",
        "--max-requests-inflight=300",
        "--max-mutating-requests-inflight=150",
        "--service-account-issuer=https://a.example.org",
        "--service-account-issuer=https://b.example.org",
        "--service-account-extend-token-expiration=true",
        "--service-account-max-token-expiration=720h",
        "--watch-cache-sizes=secrets#500,deployments.apps#0",
        "--advertise-address=192.0.2.10",
    ] {
        assert!(
            command.iter().any(|it| it == flag),
            "{flag} in {command:#?}"
        );
    }
    let issuers = command
        .iter()
        .filter(|it| it.starts_with("--service-account-issuer="));
    assert!(
        issuers.eq([
            "--service-account-issuer=https://a.example.org",
            "--service-account-issuer=https://b.example.org"
        ]
        .iter())
    );
    let admission = file_of(&shoot(34, ALL), "kube-apiserver", "admission.yaml").expect("a file");
    assert_eq!(
        admission["plugins"][0]["configuration"]["defaults"]["enforce"],
        "baseline"
    );
    let objects = objects(&shoot(34, ALL));
    let pod = &named(&objects, "Deployment", "kube-apiserver")["spec"]["template"]["spec"];
    assert_eq!(
        pod["containers"][0]["resources"]["requests"]["memory"],
        "2Gi"
    );
    assert_eq!(pod["containers"][0]["resources"]["requests"]["cpu"], "250m");
}

#[test]
fn settings_of_the_shoot_reach_the_controllers() {
    let shoot = shoot(34, ALL);
    let objects = objects(&shoot);
    let manager = command(&objects, "kube-controller-manager", "containers", 0);
    for flag in [
        "--node-monitor-grace-period=40s",
        "--node-cidr-mask-size=23",
        "--feature-gates=KubeletTracing=true",
        "--horizontal-pod-autoscaler-cpu-initialization-period=4m",
        "--horizontal-pod-autoscaler-downscale-stabilization=6m",
        "--horizontal-pod-autoscaler-initial-readiness-delay=31s",
        "--horizontal-pod-autoscaler-sync-period=30s",
        "--horizontal-pod-autoscaler-tolerance=0.2",
        "--cluster-name=shoot--dev--demo",
    ] {
        assert!(
            manager.iter().any(|it| it == flag),
            "{flag} in {manager:#?}"
        );
    }
    let scheduler = file_of(&shoot, "kube-scheduler", "scheduler.yaml").expect("a file");
    let scoring = &scheduler["profiles"][0]["pluginConfig"][0]["args"]["scoringStrategy"];
    assert_eq!(scoring["type"], "MostAllocated");
    let pod = &named(&objects, "Deployment", "kube-scheduler")["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0]["env"][0]["value"], "30");
}

#[test]
fn anonymous_requests_are_limited_in_versions_that_support_it() {
    for minor in KNOWN_MINORS {
        let shoot = shoot(minor, "");
        let flags = api_server_of(&shoot);
        let file = file_of(&shoot, "kube-apiserver", "authentication.yaml");
        let has = |name: &str| flags.iter().any(|it| it.starts_with(name));
        assert_eq!(has("--anonymous-auth="), minor == 31, "1.{minor}");
        assert_eq!(has("--authentication-config="), minor > 31, "1.{minor}");
        let Some(file) = file else {
            assert_eq!(minor, 31);
            continue;
        };
        let version = if minor < 34 { "v1beta1" } else { "v1" };
        assert_eq!(
            file["apiVersion"],
            format!("apiserver.config.k8s.io/{version}")
        );
        let paths: Vec<&Value> = file["anonymous"]["conditions"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|it| &it["path"])
            .collect();
        assert!(
            paths.contains(&&Value::from("/livez")) && !paths.contains(&&Value::from("/version"))
        );
    }
}

#[test]
fn an_oidc_issuer_is_configured_in_every_version() {
    for minor in KNOWN_MINORS {
        let shoot = shoot(minor, ALL);
        let flags = api_server_of(&shoot);
        assert!(
            !flags.iter().any(|it| it.starts_with("--oidc-")),
            "they exclude the file"
        );
        let file = file_of(&shoot, "kube-apiserver", "authentication.yaml").expect("a file");
        let issuer = &file["jwt"][0];
        assert_eq!(issuer["issuer"]["audiences"][0], "me");
        assert_eq!(
            issuer["claimMappings"]["username"]["prefix"],
            "https://issuer.example.org#"
        );
        assert_eq!(issuer["claimValidationRules"][0]["requiredValue"], "b");
        assert_eq!(file["anonymous"].is_object(), minor > 31);
    }
}

#[test]
fn config_maps_of_the_user_are_mounted_by_name() {
    let shoot = shoot(
        34,
        "
    kubeAPIServer:
      auditConfig: {auditPolicy: {configMapRef: {name: my-policy}}}
      structuredAuthentication: {configMapName: my-issuers}",
    );
    let flags = api_server_of(&shoot);
    for flag in [
        "--audit-policy-file=/etc/kubernetes/audit/policy",
        "--authentication-config=/etc/kubernetes/authentication/config.yaml",
    ] {
        assert!(flags.iter().any(|it| it == flag), "{flag} in {flags:#?}");
    }
    let objects = objects(&shoot);
    let data = &named(&objects, "ConfigMap", "kube-apiserver")["data"];
    assert!(data["audit-policy.yaml"].is_null() && data["authentication.yaml"].is_null());
    let pod = &named(&objects, "Deployment", "kube-apiserver")["spec"]["template"]["spec"];
    let volumes = pod["volumes"].to_string();
    assert!(volumes.contains("\"my-policy\"") && volumes.contains("\"my-issuers\""));
}

#[test]
fn settings_without_a_flag_are_rejected() {
    let refused = |settings: &str| {
        let yaml = SHOOT.replace(
            "version: \"1.34\"",
            &format!("version: \"1.34\"\n    {settings}"),
        );
        let errors = verdict(&yaml).errors;
        assert_eq!(errors.len(), 1, "{settings}: {errors:?}");
        assert!(errors[0].hint.is_some(), "{errors:?}");
        errors[0].path.to_string()
    };
    for (settings, path) in [
        (
            "kubeAPIServer: {structuredAuthorization: {configMapName: a}}",
            "kubeAPIServer.structuredAuthorization",
        ),
        (
            "kubeAPIServer: {admissionPlugins: [{name: PodSecurity, kubeconfigSecretName: a}]}",
            "kubeAPIServer.admissionPlugins[0].kubeconfigSecretName",
        ),
        (
            "kubeAPIServer: {encryptionConfig: {resources: [configmaps]}}",
            "kubeAPIServer.encryptionConfig.resources[0]",
        ),
        (
            "kubeAPIServer: {watchCacheSizes: {default: 100}}",
            "kubeAPIServer.watchCacheSizes.default",
        ),
        (
            "kubeAPIServer: {serviceAccountConfig: {signingKeySecretName: a}}",
            "kubeAPIServer.serviceAccountConfig.signingKeySecretName",
        ),
        ("kubeScheduler: {profile: random}", "kubeScheduler.profile"),
        (
            "kubeControllerManager: {horizontalPodAutoscaler: {upscaleDelay: 1m}}",
            "kubeControllerManager.horizontalPodAutoscaler.upscaleDelay",
        ),
        (
            "allowPrivilegedContainers: false",
            "allowPrivilegedContainers",
        ),
    ] {
        assert_eq!(refused(settings), format!("spec.kubernetes.{path}"));
    }
}

#[test]
fn every_server_has_the_same_versions_and_cipher_suites_of_tls() {
    let objects = objects(&valid_for_tests(SHOOT));
    for (part, version, suites) in [
        ("etcd", "--tls-min-version=TLS1.2", "--cipher-suites="),
        (
            "kube-apiserver",
            "--tls-min-version=VersionTLS12",
            "--tls-cipher-suites=",
        ),
        (
            "kube-controller-manager",
            "--tls-min-version=VersionTLS12",
            "--tls-cipher-suites=",
        ),
        (
            "kube-scheduler",
            "--tls-min-version=VersionTLS12",
            "--tls-cipher-suites=",
        ),
        (
            "cloud-controller-manager",
            "--tls-min-version=VersionTLS12",
            "--tls-cipher-suites=",
        ),
    ] {
        let command = command(&objects, part, "containers", 0);
        assert!(command.iter().any(|it| it == version), "{part}");
        let suites: Vec<&str> = command
            .iter()
            .filter_map(|it| it.strip_prefix(suites))
            .collect();
        let [suites] = suites[..] else {
            panic!("{part}: {command:?}");
        };
        assert!(
            suites.split(',').all(|it| it.starts_with("TLS_ECDHE_")),
            "{suites}"
        );
    }
    // TLS 1.2 is the oldest version that it accepts.
    let konnectivity = command(&objects, "kube-apiserver", "initContainers", 0);
    assert!(
        konnectivity[0].ends_with("proxy-server"),
        "{konnectivity:?}"
    );
    let suites = konnectivity
        .iter()
        .filter(|it| it.starts_with("--cipher-suites=TLS_ECDHE_"));
    assert_eq!(suites.count(), 1, "{konnectivity:?}");
}

/// The level of a request, by the first rule that matches it, as the API server applies them.
fn audit_level(policy: &Value, user: &str, group: &str, verb: &str, resource: &str) -> String {
    let has = |rule: &Value, field: &str, wanted: &str| {
        let all = rule[field].as_array();
        all.is_none_or(|all| all.iter().any(|it| it == wanted))
    };
    let names = |rule: &Value| {
        let groups = rule["resources"].as_array();
        groups.is_none_or(|it| {
            it.iter()
                .any(|it| it["group"] == "" && has(it, "resources", resource))
        })
    };
    let rules = policy["rules"].as_array().expect("rules");
    let rule = rules.iter().find(|it| {
        let is_path = it["nonResourceURLs"].is_array();
        let is_whom = has(it, "users", user) && has(it, "userGroups", group);
        !is_path && is_whom && has(it, "verbs", verb) && names(it)
    });
    rule.expect("a rule for every request")["level"]
        .as_str()
        .expect("a level")
        .to_owned()
}

#[test]
fn reads_of_secrets_by_nodes_are_audited_and_no_secret_is_in_the_log() {
    let objects = objects(&valid_for_tests(SHOOT));
    let files = &named(&objects, "ConfigMap", "kube-apiserver")["data"];
    let policy = files["audit-policy.yaml"].as_str().expect("a file");
    let policy: Value = serde_yaml::from_str(policy).expect("YAML");
    let node =
        |verb, resource| audit_level(&policy, "system:node:a", "system:nodes", verb, resource);
    for verb in ["get", "list", "watch"] {
        assert_eq!(node(verb, "secrets"), "Metadata");
        assert_eq!(node(verb, "configmaps"), "Metadata");
        assert_eq!(node(verb, "pods"), "None");
    }
    assert_eq!(node("create", "serviceaccounts/token"), "Metadata");
    assert_eq!(node("patch", "pods"), "Request");
    let person = |verb, resource| audit_level(&policy, "jo", "admins", verb, resource);
    for verb in ["create", "update", "patch", "delete"] {
        assert_eq!(person(verb, "secrets"), "Metadata");
        assert_eq!(person(verb, "deployments"), "Request");
    }
    assert_eq!(person("get", "pods"), "Metadata");
}

#[test]
fn pods_below_the_baseline_are_audited_unless_the_shoot_configures_pod_security() {
    let file = |kubernetes: &str| {
        let shoot = shoot(34, kubernetes);
        file_of(&shoot, "kube-apiserver", "admission.yaml")
    };
    let own = file("\n    kubeScheduler: {profile: balanced}\n").expect("a file");
    let defaults = &own["plugins"][0]["configuration"]["defaults"];
    assert_eq!(defaults["enforce"], "privileged");
    assert_eq!(defaults["audit"], "baseline");
    assert_eq!(defaults["warn"], "baseline");
    let off = "\n    kubeAPIServer: {admissionPlugins: [{name: PodSecurity, disabled: true}]}\n";
    assert_eq!(file(off), None);
    let given = file(ALL).expect("a file");
    assert_eq!(given["plugins"].as_array().map(Vec::len), Some(1));
}
