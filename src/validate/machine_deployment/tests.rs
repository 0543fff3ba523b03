use super::{ConversionInput, Converted, ResolvedValue, convert};
use crate::manifest::{Content, Manifest};
use crate::model::{
    Finding, FindingKind, IntOrString, KeyReference, KubevirtMatcher, MachineDeployment,
    ReferenceKind,
};

const DEPLOYMENT: &str = "\
apiVersion: cluster.k8s.io/v1alpha1
kind: MachineDeployment
metadata: {name: pool}
spec:
  template:
    spec:
      versions: {kubelet: v1.34.2}
      providerSpec:
        value:
          cloudProvider: kubevirt
          operatingSystem: ubuntu
          operatingSystemSpec: {}
          cloudProviderSpec:
            virtualMachine:
              template:
                cpus: 1
                memory: {value: 2048M}
                primaryDisk: {osImage: default/disk, size: 10Gi, storageClassName: a}
";

fn read(text: &str) -> MachineDeployment {
    let manifest = Manifest::parse([("test.yaml".to_owned(), text.into())]);
    assert_eq!(manifest.problems(), [], "{text}");
    let mut contents = manifest.documents().map(|(_, it)| it);
    match contents.next() {
        Some(Content::MachineDeployment(it)) => it.as_ref().clone(),
        other => panic!("{other:?}"),
    }
}

fn converted_with(text: &str, look: &dyn Fn(&KeyReference) -> ResolvedValue) -> Converted {
    convert(&ConversionInput {
        deployment: &read(text),
        zones: vec!["zone-a".to_owned()],
        lookup: look,
    })
}

fn converted(from: &str, to: &str) -> Converted {
    assert!(DEPLOYMENT.contains(from), "{from}");
    converted_with(&DEPLOYMENT.replacen(from, to, 1), &|_| {
        ResolvedValue::Offline
    })
}

/// Converts without errors and warnings.
fn good(from: &str, to: &str) -> Converted {
    let converted = converted(from, to);
    assert_eq!(
        (&converted.errors[..], &converted.warnings[..]),
        (&[][..], &[][..])
    );
    converted
}

fn lines(findings: &[Finding]) -> Vec<String> {
    let line = |finding: &Finding| {
        let path = finding.path.to_string();
        let value = "spec.template.spec.providerSpec.value.";
        let path = path.strip_prefix(value).unwrap_or(&path);
        format!("{path} {:?}: {}", finding.kind, finding.message)
    };
    findings.iter().map(line).collect()
}

#[test]
fn defaults_are_those_of_kubermatic() {
    let worker = good("pool", "pool").worker;
    let image = worker.machine.image.as_ref().map(|it| it.name.as_str());
    assert_eq!(
        (worker.machine.type_.as_str(), image),
        ("custom", Some("ubuntu"))
    );
    assert_eq!((worker.minimum, worker.maximum), (1, 1));
    assert_eq!((worker.max_surge, worker.max_unavailable), (None, None));
    let config = worker.provider_config.expect("it is always set");
    assert_eq!(config.eviction_strategy.as_deref(), Some("External"));
    assert!(
        config
            .devices
            .is_some_and(|it| it.network_interface_multiqueue)
    );
    assert!(config.topology_spread_constraints.is_empty() && config.affinity.is_none());
    let template = config.template.expect("it is set");
    assert_eq!(template.cpus.expect("a scalar").text(), "1");
    assert_eq!(template.memory.expect("an object").text(), "2048M");
}

#[test]
fn replicas_and_rolling_update_are_converted() {
    let spec = "spec:\n  replicas: 3\n  strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 50%}}\n  template:";
    let worker = good("spec:\n  template:", spec).worker;
    assert_eq!((worker.minimum, worker.maximum), (3, 3));
    assert_eq!(worker.max_surge, Some(IntOrString::Int(0)));
    assert_eq!(
        worker.max_unavailable,
        Some(IntOrString::String("50%".into()))
    );
}

#[test]
fn affinity_presets_are_case_insensitive_and_ignored_without_a_type() {
    let affinity = |preset: &str| {
        let to = format!(
            "cloudProviderSpec:\n            affinity: {{podAntiAffinityPreset: HARD, podAffinityPreset: '', nodeAffinityPreset: {preset}}}"
        );
        let config = good("cloudProviderSpec:", &to).worker.provider_config;
        config.and_then(|it| it.affinity).expect("it is given")
    };
    let nothing = affinity("{type: '', key: foo, values: [bar]}");
    assert_eq!(nothing.pod_anti_affinity_preset.as_deref(), Some("hard"));
    assert_eq!(
        (nothing.pod_affinity_preset, nothing.node_affinity_preset),
        (None, None)
    );
    let any = affinity("{type: Soft, key: foo}").node_affinity_preset;
    let any = any.expect("it has a type");
    assert_eq!(
        (any.type_.as_deref(), any.key.as_deref()),
        (Some("soft"), Some("foo"))
    );
    assert!(any.values.is_empty());
}

#[test]
fn a_flavor_becomes_the_instancetype_of_its_name() {
    let sizes = "                cpus: 1\n                memory: {value: 2048M}\n";
    let flavored = |name: &str| {
        let text = DEPLOYMENT.replacen(sizes, "", 1);
        let vm = "virtualMachine:\n              flavor: {name: NAME}".replace("NAME", name);
        let converted = converted_with(&text.replacen("virtualMachine:", &vm, 1), &|_| {
            ResolvedValue::Offline
        });
        assert_eq!(
            (&converted.errors[..], &converted.warnings[..]),
            (&[][..], &[][..])
        );
        converted.worker
    };
    let worker = flavored("big");
    assert_eq!(worker.machine.type_, "big");
    let big = Some(KubevirtMatcher {
        name: "big".into(),
        kind: None,
    });
    assert_eq!(worker.provider_config.expect("it is set").instancetype, big);
    let standard = flavored("kubermatic-standard")
        .provider_config
        .expect("it is set");
    let template = standard.template.expect("it is set");
    let size = (template.cpus, template.memory).clone();
    let text = |it: Option<crate::model::Quantity>| it.expect("given").text().to_owned();
    assert_eq!((text(size.0), text(size.1)), ("2".into(), "8Gi".into()));
    assert_eq!(standard.instancetype, None);
}

#[test]
fn sizes_in_addition_to_an_instancetype_are_ignored_with_a_warning() {
    let vm = "virtualMachine:\n              instancetype: {name: big, kind: VirtualMachineInstancetype}\n              flavor: {name: other}";
    let converted = converted("virtualMachine:", vm);
    let vm = "cloudProviderSpec.virtualMachine";
    assert_eq!(
        lines(&converted.warnings),
        [
            format!("{vm}.template.cpus NotSupported: has no effect: the instancetype defines it"),
            format!(
                "{vm}.template.memory NotSupported: has no effect: the instancetype defines it"
            ),
            format!(
                "{vm}.flavor.name NotSupported: has no effect: CPU and memory are set elsewhere"
            ),
        ]
    );
    let config = converted.worker.provider_config.expect("it is set");
    let template = config.template.expect("it has a disk");
    assert_eq!((template.cpus, template.memory), (None, None));
}

#[test]
fn errors_have_the_path_in_the_machine_deployment() {
    let spec = "spec.template";
    for (from, to, wanted) in [
        (
            "spec:\n  template",
            "spec:\n  paused: true\n  template",
            "spec.paused NotSupported: paused pools are not supported",
        ),
        (
            "spec:\n  template",
            "spec:\n  strategy: {type: OnDelete}\n  template",
            "spec.strategy.type NotSupported: unsupported value \"OnDelete\"",
        ),
        (
            "Provider: kubevirt",
            "Provider: aws",
            "cloudProvider NotSupported: unsupported value \"aws\"",
        ),
        (
            "System: ubuntu",
            "System: flatcar",
            "operatingSystem NotSupported: unsupported operating system \"flatcar\"",
        ),
        (
            "size: 10Gi",
            "size: much",
            "cloudProviderSpec.virtualMachine.template.primaryDisk.size Invalid: \"much\" is not a valid quantity, such as 500m, 2 or 20Gi",
        ),
        (
            "              template:",
            "              enableNetworkMultiQueue: {configMapKeyRef: {namespace: a, name: b, key: c}}\n              template:",
            "cloudProviderSpec.virtualMachine.enableNetworkMultiQueue.configMapKeyRef Required: key \"c\" of ConfigMap \"b\" is in the provider cluster",
        ),
        (
            "cpus: 1",
            "cpus: {secretKeyRef: {namespace: a, name: b, key: c}}",
            "cloudProviderSpec.virtualMachine.template.cpus.secretKeyRef Required: key \"c\" of Secret \"b\" is in the provider cluster",
        ),
        (
            "                cpus: 1",
            "                secondaryDisks: [{storageClassName: a}]\n                cpus: 1",
            "cloudProviderSpec.virtualMachine.template.secondaryDisks[0].size Required: is required",
        ),
        (
            "cloudProviderSpec:",
            "cloudProviderSpec:\n            topologySpreadConstraints: [{maxSkew: one, topologyKey: a, whenUnsatisfiable: ScheduleAnyway}]",
            "cloudProviderSpec.topologySpreadConstraints[0].maxSkew Invalid: must be an integer",
        ),
        (
            "cloudProviderSpec:",
            "cloudProviderSpec:\n            auth: {kubeconfig: '<< KUBECONFIG >>'}",
            "cloudProviderSpec.auth.kubeconfig Invalid: not valid base64",
        ),
    ] {
        assert_eq!(lines(&converted(from, to).errors), [wanted], "{spec} {to}");
    }
}

#[test]
fn a_value_of_a_config_map_is_looked_up() {
    let reference =
        "{configMapKeyRef: {namespace: kube-system, name: sizes, key: memory}, value: 1Gi}";
    let text = DEPLOYMENT.replacen("{value: 2048M}", reference, 1);
    let with = |looked: ResolvedValue| {
        converted_with(&text, &|reference| {
            assert_eq!(reference.kind, ReferenceKind::ConfigMap);
            assert_eq!(
                (reference.name.as_str(), reference.key.as_str()),
                ("sizes", "memory")
            );
            looked.clone()
        })
    };
    let memory = |converted: Converted| {
        let config = converted.worker.provider_config?;
        Some(config.template?.memory?.text().to_owned())
    };
    let found = with(ResolvedValue::Found("4Gi".into()));
    assert!(found.errors.is_empty() && !found.is_pending);
    assert_eq!(memory(found).as_deref(), Some("4Gi"));
    let later = with(ResolvedValue::Pending);
    assert!(later.errors.is_empty() && later.is_pending);
    let missing = with(ResolvedValue::Missing("not found".into()));
    assert_eq!(missing.errors[0].kind, FindingKind::Required);
    assert_eq!(memory(missing), None);
}

#[test]
fn a_value_of_a_secret_is_looked_up_with_a_warning_and_never_shown() {
    let reference = "{secretKeyRef: {namespace: a, name: sizes, key: memory}}";
    let text = DEPLOYMENT.replacen("{value: 2048M}", reference, 1);
    let with = |value: &str| {
        converted_with(&text, &|reference| {
            assert_eq!(reference.kind, ReferenceKind::Secret);
            ResolvedValue::Found(value.into())
        })
    };
    let found = with("4Gi");
    assert_eq!(lines(&found.errors), [""; 0]);
    let warned = found.warnings.iter();
    let warned: Vec<&str> = warned.map(|it| it.message.as_str()).collect();
    let expected =
        "key \"memory\" of Secret \"sizes\" is stored in plain text in machines and in the record";
    assert_eq!(warned, [expected]);
    for wrong in ["much", "a-canary-of-a-secret"] {
        let broken = with(wrong);
        assert_eq!(broken.errors.len(), 1);
        let all = format!("{:?} {:?}", broken.errors, broken.warnings);
        assert!(!all.contains(wrong), "{all}");
    }
}

#[test]
fn the_kubelet_has_a_version_of_its_own() {
    let kubernetes = converted("", "").worker.kubernetes.expect("it is set");
    assert_eq!(kubernetes.version.as_deref(), Some("1.34.2"), "without v");
}

#[test]
fn the_pull_method_applies_only_to_registries() {
    let with = |image: &str| {
        let disk = format!("{{pullMethod: pod, osImage: {image},");
        let converted = converted("{osImage: default/disk,", &disk);
        let config = converted.worker.provider_config.expect("it is set");
        let disk = config.template.and_then(|it| it.primary_disk);
        (
            disk.expect("it is set").pull_method,
            converted.warnings.len(),
        )
    };
    assert_eq!(with("'docker://a/b'"), (Some("pod".into()), 0));
    assert_eq!(with("'https://a/b'"), (None, 1));
    assert_eq!(with("disk, source: registry"), (Some("pod".into()), 0));
}
