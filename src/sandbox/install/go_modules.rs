//! The Go modules of the sandbox's programs, embedded in this program.

use sha2::{Digest, Sha256};

pub(in crate::sandbox) const KUBEVIRT_VERSION: &str = "v1.8.4";

/// Path and text of a file of a module.
type File = (&'static str, &'static str);

pub(super) struct Module {
    pub(super) name: &'static str,
    pub(super) files: &'static [File],
    pub(super) builds: &'static [Build],
}

pub(super) struct Build {
    pub(super) package: &'static str,
    pub(super) output: &'static str,
    /// The names under which the binary is called.
    pub(super) programs: &'static [&'static str],
    /// Only needed for CDI's controllers.
    pub(super) cdi: bool,
    /// Version variables that the linker sets: packages, and assignments in each.
    stamps: &'static [(&'static str, &'static str)],
}

macro_rules! files {
    ($folder:literal: $($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../programs/", $folder, "/", $path)))),+]
    };
}

const KUBERNETES_STAMP: &str = "gitVersion=v1.36.3 gitMajor=1 gitMinor=36 gitTreeState=clean gitCommit=0000000000000000000000000000000000000000 buildDate=2026-07-22T00:00:00Z";
const KUBEVIRT_STAMP: &str =
    "gitVersion=v1.8.4 gitTreeState=clean gitCommit=0000000 buildDate=2026-06-15T00:00:00Z";

pub(super) const MODULES: &[Module] = &[
    Module {
        name: "kubernetes",
        files: files!("k8s":
            "go.mod", "go.sum", "main.go", "ccm/balancer.go", "ccm/cloud.go", "ccm/instances.go", "ccm/main.go",
            "controller/controller.go", "csi/cluster/cluster.go", "csi/cluster/informers.go",
            "csi/cluster/snapshots.go", "csi/driver/attachments.go", "csi/driver/driver.go",
            "csi/driver/snapshots.go", "csi/driver/volumes.go", "csi/flags/flags.go", "csi/main.go",
            "csi/sidecar/attacher.go", "csi/sidecar/election.go", "csi/sidecar/liveness.go",
            "csi/sidecar/options.go", "csi/sidecar/provision_volume.go", "csi/sidecar/provisioner.go",
            "csi/sidecar/resizer.go", "csi/sidecar/snapshot_controller.go", "csi/sidecar/snapshot_deletion.go",
            "csi/sidecar/snapshots.go", "csi/sidecar/snapshotter.go", "echo/echo.go", "faults/faults.go",
            "guest/cloudinit/cloudinit.go", "guest/cloudinit/commands.go", "guest/cloudinit/userdata.go",
            "guest/guests.go", "guest/kubelet/authorization.go", "guest/kubelet/csi.go", "guest/kubelet/identity.go",
            "guest/kubelet/konnectivity.go", "guest/kubelet/node.go", "guest/kubelet/pods.go",
            "guest/kubelet/podstatus.go", "guest/kubelet/references.go", "guest/kubelet/server.go",
            "guest/kubelet/services.go", "guest/kubelet/status.go", "guest/kubelet/volumes.go",
            "guest/kubelet/workloads.go", "guest/kubeletconfig/settings.go", "guest/kubeletconfig/unit.go",
            "guest/machine/disk.go", "guest/machine/machine.go", "guest/machine/network.go",
            "guest/metricsserver/scrape.go", "guest/metricsserver/server.go", "guest/serving/serving.go",
            "konnectivity/konnectivity.go", "network/addresses.go", "network/forwarder.go",
            "network/loadbalancer.go", "network/loopback.go", "pods/arguments.go", "pods/container.go",
            "pods/environment.go", "pods/kubelet.go", "pods/libraries.go", "pods/memory.go", "pods/probes.go",
            "pods/process.go", "pods/roots.go", "pods/runner.go", "pods/status.go", "pods/volumes.go",
            "pods/worker.go", "simulator/machines.go", "simulator/nodes.go", "simulator/pods.go",
            "simulator/simulator.go", "storage/claims.go", "storage/controller.go", "storage/hotplug.go",
            "storage/imports.go", "storage/snapshots.go", "storage/volumes.go",
        ),
        builds: &[
            Build {
                package: ".",
                output: "sandbox-kubernetes",
                programs: &[
                    "etcd",
                    "kube-apiserver",
                    "kube-controller-manager",
                    "kube-scheduler",
                    "kubectl",
                    "simulator",
                    "proxy-server",
                    "proxy-agent",
                ],
                cdi: false,
                stamps: &[
                    ("k8s.io/component-base/version", KUBERNETES_STAMP),
                    ("k8s.io/client-go/pkg/version", KUBERNETES_STAMP),
                ],
            },
            // A separate program, because it needs 30 MiB less memory than one that contains all of the above.
            Build {
                package: "./ccm",
                output: "sandbox-ccm",
                programs: &["kubevirt-cloud-controller-manager"],
                cdi: false,
                stamps: &[
                    ("k8s.io/component-base/version", KUBERNETES_STAMP),
                    ("k8s.io/client-go/pkg/version", KUBERNETES_STAMP),
                ],
            },
            // Seven of these run for every cluster, so the program contains no typed client.
            Build {
                package: "./csi",
                output: "sandbox-csi",
                programs: &[
                    "kubevirt-csi-driver",
                    "csi-provisioner",
                    "csi-attacher",
                    "csi-resizer",
                    "csi-snapshotter",
                    "snapshot-controller",
                    "livenessprobe",
                ],
                cdi: false,
                stamps: &[],
            },
        ],
    },
    Module {
        name: "kubevirt",
        files: files!("kubevirt": "go.mod", "go.sum", "main.go", "manifests.go", "api/main.go"),
        builds: &[
            Build {
                package: ".",
                output: "sandbox-kubevirt",
                programs: &["virt-controller", "virt-manifests"],
                cdi: false,
                stamps: &[("kubevirt.io/client-go/version", KUBEVIRT_STAMP)],
            },
            Build {
                package: "./api",
                output: "sandbox-virt-api",
                programs: &["virt-api"],
                cdi: false,
                stamps: &[("kubevirt.io/client-go/version", KUBEVIRT_STAMP)],
            },
        ],
    },
    Module {
        name: "cdi",
        files: files!("cdi":
            "go.mod", "go.sum", "main.go", "controller.go", "apiserver.go", "keys.go", "manifests.go", "crds/main.go",
        ),
        builds: &[
            Build {
                package: "./crds",
                output: "sandbox-cdi-crds",
                programs: &["cdi-crds"],
                cdi: false,
                stamps: &[],
            },
            Build {
                package: ".",
                output: "sandbox-cdi",
                programs: &[
                    "cdi-controller",
                    "cdi-apiserver",
                    "cdi-keys",
                    "cdi-manifests",
                ],
                cdi: true,
                stamps: &[],
            },
        ],
    },
];

impl Build {
    pub(super) fn ldflags(&self) -> String {
        let mut flags = String::from("-s -w");
        for (package, values) in self.stamps {
            for value in values.split(' ') {
                flags.push_str(&format!(" -X {package}.{value}"));
            }
        }
        flags
    }
}

/// Returns a digest of the modules and their builds.
pub(super) fn digest() -> String {
    let mut hash = Sha256::new();
    for module in MODULES {
        for (path, text) in module.files {
            for part in [module.name, path, text] {
                hash.update(part.len().to_be_bytes());
                hash.update(part);
            }
        }
        for build in module.builds {
            hash.update(build.ldflags());
            hash.update(build.programs.concat());
        }
    }
    let bytes = hash.finalize();
    bytes[..6]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Builds that a sandbox needs, each with its module.
pub(super) fn needed(cdi: bool) -> impl Iterator<Item = (&'static Module, &'static Build)> {
    MODULES
        .iter()
        .flat_map(|module| module.builds.iter().map(move |build| (module, build)))
        .filter(move |(_, build)| cdi || !build.cdi)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_a_module_is_embedded() {
        for (module, folder) in MODULES.iter().zip(["k8s", "kubevirt", "cdi"]) {
            let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("src/sandbox/programs")
                .join(folder);
            let mut folders = vec![root.clone()];
            let mut found = Vec::new();
            while let Some(folder) = folders.pop() {
                for entry in std::fs::read_dir(folder).unwrap() {
                    let path = entry.unwrap().path();
                    match path.is_dir() {
                        // Tests are not built.
                        true if path.ends_with("machinetest") => {}
                        false if path.to_string_lossy().ends_with("_test.go") => {}
                        true => folders.push(path),
                        false => found.push(path.strip_prefix(&root).unwrap().to_owned()),
                    }
                }
            }
            let mut embedded: Vec<_> = module
                .files
                .iter()
                .map(|(path, _)| std::path::PathBuf::from(path))
                .collect();
            found.sort();
            embedded.sort();
            assert_eq!(found, embedded);
        }
    }

    #[test]
    fn the_stamps_match_the_versions_in_go_mod() {
        for (module, name, stamp) in [
            (&MODULES[0], "k8s.io/kubernetes", KUBERNETES_STAMP),
            (&MODULES[1], "kubevirt.io/kubevirt", KUBEVIRT_STAMP),
        ] {
            let version = stamp.split(['=', ' ']).nth(1).unwrap();
            let (_, text) = module.files[0];
            assert!(
                text.contains(&format!("{name} {version}\n")),
                "{name} {version}"
            );
        }
        assert!(KUBEVIRT_STAMP.starts_with(&format!("gitVersion={KUBEVIRT_VERSION} ")));
    }
}
