//! Manifests of one small shoot and a series of edits.

use crate::validate::ValidShoot;
use crate::validate::testing::valid_for_tests;
use std::fmt::Write;

/// Surge and unavailable of every pool.
pub(in crate::plan::check) const BOUNDS: [(&str, &str); 5] =
    [("1", "0"), ("0", "1"), ("2", "1"), ("1", "1"), ("50%", "0")];

/// A pool as it is written in the manifest.
#[derive(Debug, Clone, Copy)]
pub(in crate::plan::check) struct Pool {
    pub(in crate::plan::check) name: &'static str,
    pub(in crate::plan::check) machine_type: &'static str,
    pub(in crate::plan::check) root_disk: &'static str,
    pub(in crate::plan::check) image: &'static str,
    pub(in crate::plan::check) instancetype: &'static str,
    pub(in crate::plan::check) size: (usize, usize),
    pub(in crate::plan::check) zones: &'static str,
    pub(in crate::plan::check) team: &'static str,
}

pub(in crate::plan::check) const A: Pool = Pool {
    name: "a",
    machine_type: "small",
    root_disk: "20Gi",
    image: "22.04",
    instancetype: "standard-2",
    size: (2, 3),
    zones: "europe-west1-b, europe-west1-c",
    team: "green",
};

pub(in crate::plan::check) const B: Pool = Pool {
    name: "b",
    size: (2, 2),
    ..A
};

/// A series of edits that ends with the first manifest again.
pub(in crate::plan::check) fn edits(bounds: (&str, &str)) -> Vec<ValidShoot> {
    let newer = Pool {
        image: "24.04",
        instancetype: "standard-4",
        size: (4, 5),
        ..A
    };
    // The pool shrinks because its maximum does, and gets a zone.
    let wider = Pool {
        size: (1, 3),
        zones: "europe-west1-b, europe-west1-c, europe-west1-d",
        ..newer
    };
    // Only changes that a running machine can adopt.
    let renamed = Pool {
        team: "yellow",
        ..wider
    };
    // Machines of pools that may be without one are restarted, and others are replaced.
    let larger = Pool {
        machine_type: "large",
        ..renamed
    };
    let roomier = Pool {
        root_disk: "30Gi",
        ..larger
    };
    [
        (&["red"][..], &[A, B][..]),
        (&["red", "blue"], &[newer, B]),
        // The last user of the older image and of a network is removed.
        (&["blue"], &[wider]),
        (&["blue"], &[renamed]),
        (&["blue"], &[larger]),
        (&["blue"], &[roomier]),
        // All are replaced: no disk becomes smaller.
        (&["blue"], &[larger]),
        (&["red"], &[A, B]),
    ]
    .map(|(networks, pools)| shoot(networks, pools, bounds))
    .into()
}

pub(in crate::plan::check) fn shoot(
    networks: &[&str],
    pools: &[Pool],
    (surge, unavailable): (&str, &str),
) -> ValidShoot {
    let mut yaml = HEAD.to_owned();
    for name in networks {
        let config = format!(r#"{{"cniVersion":"0.4.0","name":"{name}","type":"bridge"}}"#);
        writeln!(yaml, "        - {{name: {name}, config: '{config}'}}")
            .expect("writing to a String cannot fail");
    }
    yaml += "    workers:\n";
    let strategy = match unavailable {
        "0" => "AutoRollingUpdate",
        _ => "AutoInPlaceUpdate",
    };
    for Pool {
        name,
        machine_type,
        root_disk,
        image,
        instancetype,
        size: (minimum, maximum),
        zones,
        team,
    } in pools
    {
        writeln!(
            yaml,
            "    - name: {name}
      machine: {{type: {machine_type}, image: {{name: ubuntu, version: \"{image}\"}}}}
      minimum: {minimum}
      maximum: {maximum}
      maxSurge: {surge}
      maxUnavailable: {unavailable}
      updateStrategy: {strategy}
      labels: {{example.org/team: {team}}}
      volume: {{type: standard, size: {root_disk}}}
      zones: [{zones}]
      providerConfig:
        apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1
        kind: WorkerConfig
        instancetype: {{name: {instancetype}}}
      machineControllerManager: {{machineCreationTimeout: 10m}}"
        )
        .expect("writing to a String cannot fail");
    }
    valid_for_tests(&yaml)
}

const HEAD: &str = r#"
apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: {name: demo, namespace: garden-dev}
spec:
  cloudProfileName: kubevirt
  region: europe-west1
  networking: {type: calico, nodes: 10.244.0.0/16}
  kubernetes: {version: "1.34"}
  provider:
    type: kubevirt
    infrastructureConfig:
      apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1
      kind: InfrastructureConfig
      networks:
        tenantNetworks:
"#;
