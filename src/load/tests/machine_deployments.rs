//! MachineDeployments among other manifests: the Shoot of each, and where problems are reported.

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
              kubeconfig: Y2x1c3RlcnM6IFt7bmFtZTogYywgY2x1c3Rlcjoge3NlcnZlcjogJ2h0dHBzOi8vMTkyLjAuMi4xJ319XQpjb250ZXh0czogW3tuYW1lOiBjLCBjb250ZXh0OiB7Y2x1c3RlcjogY319XQpjdXJyZW50LWNvbnRleHQ6IGMK
            virtualMachine:
              template:
                cpus: \"1\"
                memory: 2Gi
                primaryDisk:
                  osImage: ubuntu-disk
                  size: 10Gi
                  storageClassName: standard
";

pub(super) fn deployment() -> String {
    let shoot = load(&[("s.yaml", SHOOT), ("p.yaml", PROFILE)]);
    DEPLOYMENT.replace("VERSION", &shoot.shoots[0].kubernetes)
}

fn reported(from: &str, to: &str) -> String {
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
fn a_machine_deployment_is_a_pool_of_the_only_shoot() {
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
fn zones_are_added_with_machines_and_kept() {
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
    assert!(
        lines(&one).contains("spec.replicas Forbidden: must be at least 2 (is 1)"),
        "{}",
        lines(&one)
    );
}

#[test]
fn a_machine_deployment_is_placed_in_the_zone_of_its_location() {
    let with = |location: &str| {
        let text = deployment().replace(
            "            virtualMachine:\n",
            &format!("            virtualMachine:\n              location: {location}\n"),
        );
        load(&[("m.yaml", &text), ("s.yaml", SHOOT), ("p.yaml", PROFILE)])
    };
    for zone in ["europe-west1-c", "europe-west1-d"] {
        let loaded = with(&format!("{{region: europe-west1, zone: {zone}}}"));
        assert_eq!(lines(&loaded), "");
        assert_eq!(loaded.shoots[0].pools[1].zones, [zone]);
    }
    assert_eq!(
        lines(&with("{zone: elsewhere}")),
        "m.yaml:22:32 spec.template.spec.providerSpec.value.cloudProviderSpec.virtualMachine.location.zone NotSupported: zone \"elsewhere\" not found in region \"europe-west1\"\n"
    );
    assert_eq!(
        lines(&with("{region: elsewhere}")),
        "m.yaml:22:34 spec.template.spec.providerSpec.value.cloudProviderSpec.virtualMachine.location.region Invalid: machines are in region \"europe-west1\", not in \"elsewhere\"\n"
    );
}

#[test]
fn machines_that_must_share_a_host_are_in_one_zone() {
    let text = deployment()
        .replace("spec:\n  template", "spec:\n  replicas: 3\n  template")
        .replace(
            "          cloudProviderSpec:\n",
            "          cloudProviderSpec:\n            affinity: {podAffinityPreset: hard}\n",
        );
    let loaded = load(&[("m.yaml", &text), ("s.yaml", SHOOT), ("p.yaml", PROFILE)]);
    assert_eq!(lines(&loaded), "");
    assert_eq!(loaded.shoots[0].pools[1].zones, ["europe-west1-b"]);
}

#[test]
fn problems_of_a_pool_are_reported_in_its_machine_deployment() {
    for (from, to, wanted) in [
        (
            "tier: front",
            "tier: '*'",
            "m.yaml:12:29 spec.template.spec.metadata.labels[example.org/tier] Invalid: \"*\" is not a valid label value\n",
        ),
        (
            "name: machines",
            "name: Machines",
            "m.yaml:4:9 metadata.name Invalid: \"Machines\" is not a valid DNS label\n",
        ),
        (
            "name: machines",
            "name: machines-of-which-the-name-is-long",
            "m.yaml:4:9 metadata.name TooLong: must be at most 32 characters (is 34)\n",
        ),
        (
            "name: machines",
            "name: machines-of-which-the-name-fits",
            "",
        ),
        (
            "name: machines",
            "name: cpu",
            "m.yaml:4:9 metadata.name Duplicate: duplicate pool \"cpu\"\n",
        ),
        (
            "spec:\n  template",
            "spec:\n  replicas: -1\n  template",
            "m.yaml:6:13 spec.replicas Invalid: must be at least 0 (is -1)\n",
        ),
        (
            "            virtualMachine:",
            "            affinity: {podAffinityPreset: hard, podAntiAffinityPreset: soft}\n            virtualMachine:",
            "m.yaml:21:72 spec.template.spec.providerSpec.value.cloudProviderSpec.affinity.podAntiAffinityPreset Forbidden: cannot be combined with podAffinityPreset\n",
        ),
        (
            "                  size: 10Gi",
            "                  size: lots",
            "m.yaml:27:25 spec.template.spec.providerSpec.value.cloudProviderSpec.virtualMachine.template.primaryDisk.size Invalid: \"lots\" is not a valid quantity, such as 500m, 2 or 20Gi\n",
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
            "m.yaml:23:17 spec.template.spec.providerSpec.value.cloudProviderSpec.virtualMachine.template.cpuss Unknown: unknown field \"cpuss\"\n",
        ),
    ] {
        assert_eq!(reported(from, to), wanted, "{to}");
    }
}

/// Found by the search with random changes.
#[test]
fn a_missing_operating_system_is_the_only_problem() {
    let text = deployment().replace("osImage: ubuntu-disk", "osImage:");
    let text = text.replace("          operatingSystem: ubuntu\n", "");
    let reported = lines(&load(&[
        ("m.yaml", &text),
        ("s.yaml", SHOOT),
        ("p.yaml", PROFILE),
    ]));
    assert_eq!(reported.matches("is required").count(), 1, "{reported}");
    assert_eq!(reported.lines().count(), 1, "{reported}");
}

#[test]
fn a_problem_of_the_shoot_is_reported_in_the_shoot() {
    let shoot = SHOOT.replace("minimum: 1", "minimum: -1");
    let reported = lines(&load(&[
        ("m.yaml", &deployment()),
        ("s.yaml", &shoot),
        ("p.yaml", PROFILE),
    ]));
    assert!(
        reported.starts_with("s.yaml:19:16 spec.provider.workers[0].minimum"),
        "{reported}"
    );
    assert!(!reported.contains("m.yaml"), "{reported}");
}

#[test]
fn one_of_several_shoots_is_selected_by_name() {
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
        format!("m.yaml:19:26 {cluster} Invalid: Shoot \"third\" not found\n")
    );
    let none = "m.yaml:4:9 metadata.name Required: the pool could belong to any of 2 Shoots\n";
    assert_eq!(with("").0, none);
}

#[test]
fn a_shoot_is_required() {
    let reported = lines(&load(&[("m.yaml", &deployment())]));
    let wanted = "m.yaml:4:9 metadata.name Required: no Shoot for this pool\n";
    assert_eq!(reported, wanted);
}

#[test]
fn its_kubeconfig_is_never_shown() {
    const KEY: &str = "aHVudGVyMg==";
    for (from, to) in [
        (
            "Y2x1c3RlcnM6IFt7bmFtZTogYywgY2x1c3Rlcjoge3NlcnZlcjogJ2h0dHBzOi8vMTkyLjAuMi4xJ319XQpjb250ZXh0czogW3tuYW1lOiBjLCBjb250ZXh0OiB7Y2x1c3RlcjogY319XQpjdXJyZW50LWNvbnRleHQ6IGMK\n",
            "aHVudGVyMg==\n              more: 1\n",
        ),
        (
            "Y2x1c3RlcnM6IFt7bmFtZTogYywgY2x1c3Rlcjoge3NlcnZlcjogJ2h0dHBzOi8vMTkyLjAuMi4xJ319XQpjb250ZXh0czogW3tuYW1lOiBjLCBjb250ZXh0OiB7Y2x1c3RlcjogY319XQpjdXJyZW50LWNvbnRleHQ6IGMK\n            virtualMachine:",
            "aHVudGVyMg==\n            virtualMachines:",
        ),
        (
            "Y2x1c3RlcnM6IFt7bmFtZTogYywgY2x1c3Rlcjoge3NlcnZlcjogJ2h0dHBzOi8vMTkyLjAuMi4xJ319XQpjb250ZXh0czogW3tuYW1lOiBjLCBjb250ZXh0OiB7Y2x1c3RlcjogY319XQpjdXJyZW50LWNvbnRleHQ6IGMK\n",
            "{value: aHVudGVyMg==, valu: 1}\n",
        ),
        (
            "Y2x1c3RlcnM6IFt7bmFtZTogYywgY2x1c3Rlcjoge3NlcnZlcjogJ2h0dHBzOi8vMTkyLjAuMi4xJ319XQpjb250ZXh0czogW3tuYW1lOiBjLCBjb250ZXh0OiB7Y2x1c3RlcjogY319XQpjdXJyZW50LWNvbnRleHQ6IGMK\n",
            "\n                value: aHVudGVyMg==!\n",
        ),
        (
            "Y2x1c3RlcnM6IFt7bmFtZTogYywgY2x1c3Rlcjoge3NlcnZlcjogJ2h0dHBzOi8vMTkyLjAuMi4xJ319XQpjb250ZXh0czogW3tuYW1lOiBjLCBjb250ZXh0OiB7Y2x1c3RlcjogY319XQpjdXJyZW50LWNvbnRleHQ6IGMK\n",
            "[aHVudGVyMg==]\n",
        ),
        (
            "Y2x1c3RlcnM6IFt7bmFtZTogYywgY2x1c3Rlcjoge3NlcnZlcjogJ2h0dHBzOi8vMTkyLjAuMi4xJ319XQpjb250ZXh0czogW3tuYW1lOiBjLCBjb250ZXh0OiB7Y2x1c3RlcjogY319XQpjdXJyZW50LWNvbnRleHQ6IGMK\n",
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

/// References to values in the provider cluster are warnings, and do not hide other problems.
#[test]
fn without_a_provider_cluster_references_are_warnings() {
    let value = "{configMapKeyRef: {namespace: a, name: b, key: c}}";
    let offline = |text: &str| {
        let files = [("m.yaml", text), ("s.yaml", SHOOT), ("p.yaml", PROFILE)];
        let files = files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
        let context = LoadContext {
            values: FetchedValues::Skipped,
            ..LoadContext::at(today())
        };
        let loaded = judge(Manifest::parse(files), &context);
        let reported = lines(&loaded);
        let (warnings, errors): (Vec<&str>, _) =
            reported.lines().partition(|it| it.starts_with("warning: "));
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
    let (before, _) = text.split_once("cpus:").expect("cpus");
    let text = format!("{before}{}", all.replace("VALUE", value));
    assert_eq!(offline(&text), (text.matches(value).count(), String::new()));

    // A reference in the machine does not hide problems of its disks.
    let with_reference = deployment().replacen(
        "              template:",
        &format!("              dnsPolicy: {value}\n              template:"),
        1,
    );
    let broken = with_reference.replacen("osImage: ubuntu-disk", "osImage: ftp://a", 1);
    let (warnings, reported) = offline(&broken);
    assert_eq!(warnings, 1);
    assert!(
        reported.contains("primaryDisk.osImage Invalid"),
        "{reported}"
    );

    let (_, reported) = offline(&text.replace("tier: front", "tier: '*'"));
    assert_eq!(
        reported,
        "m.yaml:12:29 spec.template.spec.metadata.labels[example.org/tier] Invalid: \"*\" is not a valid label value"
    );
}
