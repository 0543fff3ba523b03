//! MachineDeployments as a person gives them: whose pools they are, and where their faults are told.

use super::{lines, load, load_with};
use crate::load::{FetchedValues, LastApplied, LoadContext, judge};
use crate::manifest::Manifest;
use crate::model::Shoot;
use crate::ui::problems;
use crate::validate::testing::{PROFILE, SHOOT, today};

const DEPLOYMENT: &str = "\
apiVersion: cluster.k8s.io/v1alpha1
kind: MachineDeployment
metadata:
  name: machines
spec:
  template:
    spec:
      versions:
        kubelet: VERSION
      metadata:
        labels:
          example.org/tier: front
      providerSpec:
        value:
          cloudProvider: kubevirt
          operatingSystem: ubuntu
          operatingSystemSpec: {}
          cloudProviderSpec:
            auth:
              kubeconfig: Y2x1c3RlcnM6IFtdCg==
            virtualMachine:
              template:
                cpus: \"1\"
                memory: 2Gi
                primaryDisk:
                  osImage: ubuntu-disk
                  size: 10Gi
                  storageClassName: standard
";

fn deployment() -> String {
    let shoot = load(&[("s.yaml", SHOOT), ("p.yaml", PROFILE)]);
    DEPLOYMENT.replace("VERSION", &shoot.shoots[0].kubernetes)
}

fn told(from: &str, to: &str) -> String {
    let text = deployment();
    assert!(text.contains(from), "{from}");
    let text = text.replacen(from, to, 1);
    lines(&load(&[
        ("m.yaml", &text),
        ("s.yaml", SHOOT),
        ("p.yaml", PROFILE),
    ]))
}

#[test]
fn a_machine_deployment_is_a_pool_of_the_shoot_beside_it() {
    let loaded = load(&[
        ("m.yaml", &deployment()),
        ("s.yaml", SHOOT),
        ("p.yaml", PROFILE),
    ]);
    assert_eq!(lines(&loaded), "");
    let pools = &loaded.shoots[0].pools;
    let names: Vec<&str> = pools.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["cpu", "machines"]);
    assert_eq!(pools[1].zones, ["europe-west1-b"], "one for each machine");
    assert_eq!(pools[1].labels["example.org/tier"], "front");
}

#[test]
fn zones_come_with_machines_and_stay() {
    let with = |replicas: usize, last: Option<LastApplied>| {
        let spec = format!("spec:\n  replicas: {replicas}\n  template");
        let text = deployment().replace("spec:\n  template", &spec);
        let files = [
            ("m.yaml", text.as_str()),
            ("s.yaml", SHOOT),
            ("p.yaml", PROFILE),
        ];
        load_with(&files, &[], last)
    };
    let two = with(2, None);
    assert_eq!(
        two.shoots[0].pools[1].zones,
        ["europe-west1-b", "europe-west1-c"]
    );
    assert_eq!(with(9, None).shoots[0].pools[1].zones.len(), 3);
    let before = Shoot::clone(&two.shoots[0].manifest);
    let one = with(1, Some((before, two.shoots[0].profile.clone())));
    assert!(lines(&one).contains("spec.replicas Forbidden: is 1, fewer than the 2 zones"));
}

#[test]
fn what_the_rules_say_of_its_pool_is_told_at_its_lines() {
    for (from, to, wanted) in [
        (
            "tier: front",
            "tier: '*'",
            "m.yaml:12:29 spec.template.spec.metadata.labels[example.org/tier] Invalid: \"*\" is no value of a label\n",
        ),
        (
            "name: machines",
            "name: Machines",
            "m.yaml:4:9 metadata.name Invalid: \"Machines\" is no DNS label\n",
        ),
        (
            "name: machines",
            "name: machines-of-which-the-name-is-long",
            "m.yaml:4:9 metadata.name TooLong: has 34 characters, more than 32\n",
        ),
        (
            "name: machines",
            "name: machines-of-which-the-name-fits",
            "",
        ),
        (
            "name: machines",
            "name: cpu",
            "m.yaml:4:9 metadata.name Duplicate: there is a pool cpu already\n",
        ),
        (
            "spec:\n  template",
            "spec:\n  replicas: -1\n  template",
            "m.yaml:6:13 spec.replicas Invalid: is -1, below 0\n",
        ),
        (
            "            virtualMachine:",
            "            affinity: {podAffinityPreset: hard, podAntiAffinityPreset: soft}\n            virtualMachine:",
            "m.yaml:21:72 spec.template.spec.providerSpec.value.cloudProviderSpec.affinity.podAntiAffinityPreset Forbidden: excludes podAffinityPreset\n",
        ),
        (
            "                  size: 10Gi",
            "                  size: lots",
            "m.yaml:27:25 spec.template.spec.providerSpec.value.cloudProviderSpec.virtualMachine.template.primaryDisk.size Invalid: \"lots\" is no quantity; write for example 500m, 2 or 20Gi\n",
        ),
        (
            "                memory: 2Gi\n",
            "",
            "m.yaml:22:15 spec.template.spec.providerSpec.value.cloudProviderSpec.virtualMachine.template.memory Required: is required\n",
        ),
        (
            "                  size: 10Gi\n                  storageClassName: standard\n",
            "                  size: 10Gi\n",
            "m.yaml:25:17 spec.template.spec.providerSpec.value.cloudProviderSpec.virtualMachine.template.primaryDisk.storageClassName Required: is required\n",
        ),
        (
            "cpus:",
            "cpuss:",
            "m.yaml:23:17 spec.template.spec.providerSpec.value.cloudProviderSpec.virtualMachine.template.cpuss Unknown: there is no field cpuss here\n",
        ),
    ] {
        assert_eq!(told(from, to), wanted, "{to}");
    }
}

#[test]
fn a_fault_of_the_shoot_itself_stays_there() {
    let shoot = SHOOT.replace("minimum: 1", "minimum: -1");
    let told = lines(&load(&[
        ("m.yaml", &deployment()),
        ("s.yaml", &shoot),
        ("p.yaml", PROFILE),
    ]));
    assert!(
        told.starts_with("s.yaml:19:16 spec.provider.workers[0].minimum"),
        "{told}"
    );
    assert!(!told.contains("m.yaml"), "{told}");
}

#[test]
fn of_several_shoots_one_is_named() {
    let other = SHOOT.replace("name: demo", "name: other");
    assert_ne!(other, SHOOT);
    let with = |cluster: &str| {
        let text =
            deployment().replace("            auth:", &format!("{cluster}            auth:"));
        let files = [
            ("m.yaml", text.as_str()),
            ("s.yaml", SHOOT),
            ("o.yaml", &other),
            ("p.yaml", PROFILE),
        ];
        let loaded = load(&files);
        let pools = loaded.shoots.iter().map(|it| it.pools.len());
        (lines(&loaded), pools.collect::<Vec<_>>())
    };
    let name = |it: &str| with(&format!("            clusterName: {it}\n"));
    assert_eq!(name("other"), (String::new(), vec![1, 2]));
    assert_eq!(name("shoot--dev--demo"), (String::new(), vec![2, 1]));
    let cluster = "spec.template.spec.providerSpec.value.cloudProviderSpec.clusterName";
    assert_eq!(
        name("third").0,
        format!("m.yaml:19:26 {cluster} Invalid: there is no Shoot third\n")
    );
    let none = "m.yaml:4:9 metadata.name Required: there are 2 Shoots that it could belong to\n";
    assert_eq!(with("").0, none);
}

#[test]
fn without_a_shoot_it_belongs_to_nothing() {
    let told = lines(&load(&[("m.yaml", &deployment())]));
    let wanted =
        "m.yaml:4:9 metadata.name Required: there is no Shoot that the pool could belong to\n";
    assert_eq!(told, wanted);
}

#[test]
fn its_kubeconfig_is_never_shown() {
    const KEY: &str = "aHVudGVyMg==";
    for (from, to) in [
        (
            "Y2x1c3RlcnM6IFtdCg==\n",
            "aHVudGVyMg==\n              more: 1\n",
        ),
        (
            "Y2x1c3RlcnM6IFtdCg==\n            virtualMachine:",
            "aHVudGVyMg==\n            virtualMachines:",
        ),
        ("Y2x1c3RlcnM6IFtdCg==\n", "{value: aHVudGVyMg==, valu: 1}\n"),
        (
            "Y2x1c3RlcnM6IFtdCg==\n",
            "\n                value: aHVudGVyMg==!\n",
        ),
        ("Y2x1c3RlcnM6IFtdCg==\n", "[aHVudGVyMg==]\n"),
        (
            "Y2x1c3RlcnM6IFtdCg==\n",
            "\n                value: >-\n                  aHVudGVyMg==\n                  aHVudGVyMg==\n                other:\n",
        ),
    ] {
        let text = deployment();
        assert!(text.contains(from), "{from}");
        let text = text.replacen(from, to, 1);
        let loaded = load(&[("m.yaml", &text), ("s.yaml", SHOOT), ("p.yaml", PROFILE)]);
        let (errors, sources) = (loaded.manifest.problems(), loaded.manifest.sources());
        assert!(!errors.is_empty(), "{to}");
        let shown = problems::all_as_text(errors, &[], sources, false, 100);
        let json = problems::json(errors, &[], sources).to_string();
        for shown in [&shown, &json] {
            assert!(!shown.contains(KEY) && !shown.contains("hunter"), "{shown}");
        }
    }
}

/// Values that stand in the provider are no faults of a manifest that is looked at without one, and hide none of others.
#[test]
fn what_nobody_is_asked_for_is_doubtful_and_all_else_is_judged() {
    let value = "{configMapKeyRef: {namespace: a, name: b, key: c}}";
    let unasked = |text: &str| {
        let files = [("m.yaml", text), ("s.yaml", SHOOT), ("p.yaml", PROFILE)];
        let files = files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
        let context = LoadContext {
            values: FetchedValues::Skipped,
            ..LoadContext::at(today())
        };
        let loaded = judge(Manifest::parse(files), &context);
        let told = lines(&loaded);
        let (warnings, errors): (Vec<&str>, _) =
            told.lines().partition(|it| it.starts_with("warning: "));
        (warnings.len(), errors.join("\n"))
    };
    let all = "\
                cpus: VALUE
                memory: VALUE
                primaryDisk:
                  osImage: VALUE
                  source: VALUE
                  pullMethod: VALUE
                  dataVolumeSecretRef: VALUE
                  extraHeadersSecretRef: VALUE
                  storageAccessType: VALUE
                  storageTarget: VALUE
                  size: VALUE
                  storageClassName: VALUE
                secondaryDisks:
                - size: VALUE
                  storageClassName: VALUE
                  storageAccessType: VALUE
              dnsPolicy: VALUE
            affinity:
              podAffinityPreset: VALUE
              podAntiAffinityPreset: VALUE
              nodeAffinityPreset: {type: soft, key: VALUE, values: [VALUE]}
            topologySpreadConstraints:
            - {maxSkew: VALUE, topologyKey: VALUE, whenUnsatisfiable: VALUE}
";
    let text = deployment();
    let (before, _) = text.split_once("cpus:").expect("it is there");
    let text = format!("{before}{}", all.replace("VALUE", value));
    assert_eq!(unasked(&text), (text.matches(value).count(), String::new()));

    // A value of the machine itself hides nothing of its disks.
    let beside = deployment().replacen(
        "              template:",
        &format!("              dnsPolicy: {value}\n              template:"),
        1,
    );
    let broken = beside.replacen("osImage: ubuntu-disk", "osImage: ftp://a", 1);
    let (warnings, told) = unasked(&broken);
    assert_eq!(warnings, 1);
    assert!(told.contains("primaryDisk.osImage Invalid"), "{told}");

    let (_, told) = unasked(&text.replace("tier: front", "tier: '*'"));
    assert_eq!(
        told,
        "m.yaml:12:29 spec.template.spec.metadata.labels[example.org/tier] Invalid: \"*\" is no value of a label"
    );
}
